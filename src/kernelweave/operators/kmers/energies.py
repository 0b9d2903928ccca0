"""Energies of k-mers with a place: what each cell (position, k) adds to ``alpha'K alpha``, for all cells in one sweep.

    E[p, k] = sum over the k-mers u at p of (sum of coef_j, j has u at p)^2

Rows that share k letters stand next to each other in the order of a position (see `sweep`), so a k-mer is a run of rows
and its sum a difference of two running sums.  A run of one row is one for all longer k as well, so these are counted
where they begin; the work is in proportion to the k-mers that rows share, whatever the number of kernels.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave.operators.kmers.sweep import LANES, divide, divide_many

Array = np.ndarray


def cell_energies(rows: Array, letters: int, degree: int, coef: Array) -> Array:
    """Return E, (length, degree); k-mers that reach beyond the end count as if rows shared nothing there.

    Parameters
    ----------
    rows : (length, rows) symbols, none of them masked
    letters : number of letters
    coef : (rows,)

    Examples
    --------
    >>> rows = np.array([[0, 0, 1], [1, 2, 1]], np.uint8)
    >>> cell_energies(rows, 4, 2, np.array([1.0, 2.0, 3.0]))
    array([[18., 14.],
           [20., 14.]])
    """
    out = np.zeros((len(rows), degree))
    order = np.arange(rows.shape[1], dtype=np.int32 if rows.shape[1] < 2**31 else np.int64)
    _energies(rows, letters, coef, order, out)
    return out


@jit
def _energies(rows, letters, coef, order, out):  # type: ignore[no-untyped-def]
    (length, n), degree = rows.shape, out.shape[1]
    lcp, lcp_next, order_next = np.zeros(n, np.uint8), np.empty(n, np.uint8), np.empty_like(order)
    values, values_next, starts = coef.copy(), np.empty(n), np.empty(degree + 1)
    for position in range(length - 1, -1, -1):
        if letters < LANES:
            divide(rows[position], order, lcp, values, letters + 1, degree, order_next, lcp_next, values_next)
        else:
            divide_many(rows[position], order, lcp, values, letters + 1, degree, order_next, lcp_next, values_next)
        order, order_next = order_next, order
        lcp, lcp_next = lcp_next, lcp
        values, values_next = values_next, values
        _runs(lcp, values, starts, out[position])


@jit
def _runs(lcp, values, starts, out):  # type: ignore[no-untyped-def]
    """Add the squared sums of all runs of a position; `starts[k]` is the running sum before that of k + 1 letters."""
    n, degree = len(values), len(out)
    alone = np.zeros(degree + 1)  # squares of rows that share k letters with no other, by the first such k
    depth, running, former = np.int64(0), 0.0, 0.0
    for i in range(n + 1):
        shared = np.int64(lcp[i]) if i < n else np.int64(0)
        for k in range(shared, depth):
            out[k] += (running - starts[k]) ** 2
        for k in range(depth, shared):
            starts[k] = former
        if i > 0:
            alone[max(depth, shared)] += values[i - 1] ** 2
        former, depth = running, shared
        running += values[i] if i < n else 0.0
    total = 0.0
    for k in range(degree):
        total += alone[k]
        out[k] += total
