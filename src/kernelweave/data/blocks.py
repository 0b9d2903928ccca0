"""How many rows are worked on together, and how work is cut into parts.

Sizes follow from the bytes of a row and from the caches of usual processors, never from the number of workers or from
the machine at hand: sums that are merged part by part have the same bits everywhere.  A size that only one file needs
stands in that file, under a name that says what it counts.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

L1, L2, L3 = 1 << 15, 1 << 18, 1 << 23
"""Bytes of the first and second cache of a core and of what it can have of the third, as the smaller processors in use
have them."""


def rows_in(cache: int, bytes_per_row: int) -> int:
    """Return how many rows of so many bytes a cache holds, at least one.

    Examples
    --------
    >>> rows_in(L1, 8)
    4096
    """
    return max(1, cache // bytes_per_row)


def spans(n: int, size: int) -> list[slice]:
    """Cut ``range(n)`` into slices of at most `size`.

    Examples
    --------
    >>> spans(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def sample_rows(n: int, most: int) -> np.ndarray:
    """Return the numbers of at most so many of n rows, evenly spread: a sample without chance.

    Examples
    --------
    >>> sample_rows(9, 3)
    array([0, 4, 8])
    """
    some = min(n, most)
    return np.arange(some) * (n - 1) // max(1, some - 1)


PART_ROWS = rows_in(L1, 8)
"""Rows of one part of a product with a vector: their outputs stay in the first cache."""
LOOKUP_ROWS = rows_in(L2, 16)
"""Rows looked up together at one position before the next: their prefixes and outputs stay in the second cache."""
FEATURE_ROWS = rows_in(L3, 4096)
"""Rows whose features are made or scored together: enough for matrix products, and 500 numbers a row stay in cache."""
TILE = isqrt(rows_in(L3, 32))
"""Rows and columns of a square of kernel values that are computed together, a quarter of the cache: what is made on
the way to them has the rest."""
COLUMNS_TOGETHER = 256
"""Columns of a kernel matrix that are worked through together."""
LINES_TOGETHER = 256
"""Lines of a submatrix of a kernel matrix that are one part of the work."""
LETTERS_TOGETHER = 4 * L2
"""Letters that are searched, counted or translated together: few bytes beside a buffer that may fill the memory."""
