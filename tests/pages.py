"""Runs the examples of a page of the manual."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def examples(page: str, least: int) -> dict:
    """Run the Python blocks of a page from top to bottom, in one namespace, and return it."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) >= least
    names: dict = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names
