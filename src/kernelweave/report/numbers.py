"""Numbers as a page writes them: a true minus sign, digits that stand under one another, no more of them than mean
something."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

MINUS, DASH = "\u2212", "\u2013"
LEAST_PERCENT = 1e-6
"""Relative errors below are not told apart."""


def fixed(value: float, digits: int = 3) -> str:
    """Return a number with so many digits after the point.

    >>> fixed(-0.25, 2), fixed(float("nan"))
    ('−0.25', '–')
    """
    if not math.isfinite(value):
        return DASH if math.isnan(value) else ("" if value > 0 else MINUS) + "∞"
    shown = f"{value:.{digits}f}"
    return shown.lstrip("-") if float(shown) == 0 else shown.replace("-", MINUS)


def signed(value: float, digits: int = 3) -> str:
    """Return a number with its sign.

    >>> signed(0.5, 2), signed(-0.5, 2), signed(0.0, 1)
    ('+0.50', '−0.50', '0.0')
    """
    shown = fixed(value, digits)
    return shown if value <= 0 or shown.strip("0.") == "" else "+" + shown


def short(value: float) -> str:
    """Return a number of any size with three or four digits that mean something.

    >>> short(0.000123), short(1234.5), short(2.0)
    ('0.000123', '1,234', '2')
    """
    if not math.isfinite(value):
        return fixed(value)
    size = abs(value)
    if (value == int(value) and size < 1e7) or size >= 1000:
        shown = f"{value:,.0f}" if size < 1e7 else f"{value:.3g}"
    elif size and size < 1e-4:
        shown = f"{value:.2e}"
    else:
        shown = f"{value:.3g}"
    return shown.replace("-", MINUS)


def written(n: int) -> str:
    """Return a whole number with a true minus sign.

    >>> written(-3)
    '−3'
    """
    return str(n).replace("-", MINUS)


def aligned(values: Sequence[float]) -> list[str]:
    """Return numbers that stand under one another, with three digits of the largest.

    >>> aligned([0.34, 0.1234]), aligned([12.0, 3.5])
    (['0.340', '0.123'], ['12.0', '3.5'])
    """
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    if not largest or not 1e-4 <= largest < 1e7:
        return [short(v) for v in values]
    digits = min(max(0, 2 - math.floor(math.log10(largest))), 6)
    return [fixed(v, digits) if digits else f"{v:,.0f}".replace("-", MINUS) for v in values]


def count(n: int, what: str = "") -> str:
    """Return a number of things.

    >>> count(1, "row"), count(12000, "row"), count(7), count(2, "class")
    ('1 row', '12,000 rows', '7', '2 classes')
    """
    plural = "" if n == 1 or not what else "es" if what.endswith("s") else "s"
    return f"{n:,} {what}{plural}".rstrip()


def share(value: float, digits: int = 1) -> str:
    """Return a share in percent.

    >>> share(0.125)
    '12.5%'
    """
    return f"{fixed(100 * value, digits)}%"


def interval(found: Any, digits: int = 3) -> str:
    """Return the interval around a number, by its ends.

    >>> from kernelweave.interpret import Interval
    >>> interval(Interval(0.9, 0.85, 0.95), 2)
    '0.85 to 0.95'
    """
    return f"{fixed(found.low, digits)} to {fixed(found.high, digits)}"


def tiny(value: float) -> str:
    """Return a relative error as people say it.

    >>> tiny(0.00042), tiny(0.0), tiny(7.2e-7), tiny(3e-12)
    ('0.042%', '0%', '0.000072%', '<0.000001%')
    """
    percent = 100 * max(value, 0.0)
    if 0 < percent < LEAST_PERCENT:
        return f"<{LEAST_PERCENT:f}%"
    shown = f"{percent:.2g}" if percent == 0 or percent >= 1e-4 else f"{percent:.6f}".rstrip("0")
    return shown.replace("-", MINUS) + "%"
