"""Intervals of what places add, where training rows were drawn anew."""

from __future__ import annotations

import numpy as np

from kernelweave.report.numbers import signed

Ends = tuple[np.ndarray, np.ndarray]
"""Lower and upper ends of the intervals of places, one beside the other."""


def between(ends: Ends | None, place: int) -> str:
    """Return the interval of a place as what is said of it goes on; nothing where there is none.

    >>> between((np.array([-0.5]), np.array([0.25])), 0)
    ' (−0.5000 to +0.2500)'
    """
    return "" if ends is None else f" ({signed(float(ends[0][place]), 4)} to {signed(float(ends[1][place]), 4)})"


def sure(ends: Ends | None, place: int) -> bool:
    """Tell whether an interval leaves out zero.

    >>> sure((np.array([0.25]), np.array([0.5])), 0), sure(None, 0)
    (True, False)
    """
    return ends is not None and bool(ends[0][place] > 0 or ends[1][place] < 0)
