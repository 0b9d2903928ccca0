"""What reading a file whose parts do not fit together raises, and what is said of it."""

from __future__ import annotations

import re

UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RuntimeError)
"""What reading a body whose parts do not fit together can raise."""
LONGEST_REASON = 200
INNER = re.compile(r"\b[A-Z]\w*(Error|Exception|Warning)\b|__|object at 0x|<class ")
"""What reasons that are written for people do not hold."""


def misfit(error: Exception) -> str:
    """Return what is wrong with the body of a file, as a clause: what our checks say, and of others that it is so.

    Examples
    --------
    >>> misfit(ValueError("intercept_ is not finite")), misfit(KeyError("rows"))
    ('intercept_ is not finite', 'its parts do not fit together')
    """
    text = " ".join(str(error).split()).rstrip(".")
    plain = isinstance(error, ValueError) and 0 < len(text) <= LONGEST_REASON and not INNER.search(text)
    return text if plain else "its parts do not fit together"
