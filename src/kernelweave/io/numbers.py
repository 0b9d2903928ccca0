"""Numbers as text: ASCII digits, at most so long, and nothing that only some languages read.

Python's `float` also takes digits of other scripts, underscores, and control characters around a number; a file that
holds such a cell is damaged, or means something else.
"""

from __future__ import annotations

import re

LONGEST_NUMBER = 400
"""Letters of a number: a double written without an exponent has at most 327."""
_NUMBER = re.compile(r"[ \t]*+[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++|inf|infinity|nan)(?:e[+-]?[0-9]++)?[ \t]*+", re.I)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def read_number(text: str) -> float | None:
    """Return the number that a text is, None where it is none.

    Examples
    --------
    >>> read_number(" 1.5e3 "), read_number("1_000"), read_number("9\\x1c")
    (1500.0, None, None)
    """
    if len(text) > LONGEST_NUMBER or _NUMBER.fullmatch(text) is None:
        return None
    return float(text)


def is_number(text: str) -> bool:
    """Tell whether a text is a number, in a form that every program reads alike."""
    return read_number(text) is not None


def almost_number(text: str) -> bool:
    """Tell a text that is no number here, but one for Python, or one but for its length.

    Examples
    --------
    >>> almost_number("1_000"), almost_number("9" * 500), almost_number("7"), almost_number("seven")
    (True, True, False, False)
    """
    if is_number(text):
        return False
    if len(text) > LONGEST_NUMBER:
        return _NUMBER.fullmatch(text) is not None
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_integer(text: str) -> int | None:
    """Return the integer of at most 18 digits that a text is, None where it is none.

    Examples
    --------
    >>> read_integer("-12"), read_integer("1.0"), read_integer("9" * 19)
    (-12, None, None)
    """
    return int(text) if _INTEGER.fullmatch(text) else None
