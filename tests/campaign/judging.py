"""What counts as a refusal: a documented type, one sentence, the name of the file, no name of an inner exception."""

from __future__ import annotations

import re
from pathlib import Path

from .stage import Outcome

LONGEST = 600
"""Letters of a sentence, a path aside."""
INNER = re.compile(r"\b[A-Z]\w*(Error|Exception|Warning)\b|Traceback|<class |object at 0x")
DOCUMENTED = (ValueError, OSError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


def refusal(kind: str, error: Exception, path: Path | None = None) -> Outcome:
    """Return the outcome of a call that raised: "refused" if a user can do something with it.

    Parameters
    ----------
    path : the file that the sentence must name; None where it is about a model in memory
    """
    text, cls = str(error), type(error)
    said = f"{cls.__name__}: {text}"[:LONGEST]
    if isinstance(error, MemoryError):
        return Outcome(kind, "growth", said)
    ours = cls.__module__.startswith(("kernelweave.", "sklearn.exceptions")) and isinstance(error, ValueError)
    if cls not in DOCUMENTED and not ours:
        return Outcome(kind, "inner exception", said)
    plain = text.replace(str(path), path.name) if path is not None else text
    if path is not None and path.name not in plain:
        return Outcome(kind, "inner exception", f"the file is not named in {said}")
    if INNER.search(plain) or "\n" in plain or len(plain) > LONGEST or not plain.endswith((".", ")", "?")):
        return Outcome(kind, "inner exception", f"not one plain sentence: {said}")
    return Outcome(kind, "refused", said)
