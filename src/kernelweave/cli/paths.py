"""Files that a command is given, looked for before anything slow is imported."""

from __future__ import annotations

import os


def check_readable(*paths: str | None) -> None:
    """Raise one clear sentence if a file that was named is not there; None stands for a file that was not named."""
    for path in paths:
        if path is not None and not os.path.exists(path):
            raise FileNotFoundError(f"{path} does not exist.")
