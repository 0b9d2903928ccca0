"""Incomplete Cholesky factors with pivots (Fine and Scheinberg, 2001): K = L L' + E, E positive semi-definite.

With the rows P chosen so far, L L' is the kernel projected onto their span, and the residual diagonal d = diag(E) tells
how far each row is from it.  The next row chosen is the one farthest away,

    p = argmax d,   l = (K(:, p) - L L(p, :)') / sqrt(d_p),   L <- (L, l),   d <- d - l^2,

until sum(d) <= tolerance * sum(diag K).  As E is positive semi-definite, no |E_ij| exceeds sqrt(d_i d_j).

One column at a time would read all of L for each row chosen.  So columns are made for several candidates together, the
farthest row of each of b stretches of rows, with one matrix product for K - L L'.  They are taken one after the other,
the farthest first, as long as one has a tenth of the largest residual there then is; b follows how many that were.
"""

from __future__ import annotations

import warnings
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from kernelweave.kernels.approximate.embedding import Approximation
from kernelweave.kernels.approximate.landmarks import Landmarks, diagonal_and_shares, landmark_rows
from kernelweave.kernels.base import Array, Kernel, take
from kernelweave.kernels.checks import check_count

WORTH = 0.1
"""A candidate is taken while its residual is this share of the largest one.  Measured, the rank that a tolerance needs
is the same as with 1, or smaller: the very farthest rows are outliers that stand for themselves only."""
CANDIDATES = 32
"""Most columns made together: beyond this the products hardly get faster and the steps among them slower."""
SPAN = 1 << 14
"""Rows whose columns are made together."""
COLUMN_BYTES = 1 << 28
"""Most bytes for the columns of the candidates."""
FACTOR_BYTES = 1 << 31
"""Most bytes for the factor where `max_rank` does not say how large it may become."""
ROUNDING = 1e-13
"""Share of the largest diagonal entry below which a residual is what rounding left."""


class IncompleteCholesky(Approximation):
    """Features of any kernel to a stated tolerance: the rows farthest from the span of the others become landmarks.

    Parameters
    ----------
    kernel : the kernel to stand for
    tolerance : the share of the trace on the training rows that may be missed; 0 for all but rounding
    max_rank : most features; None for as many as the tolerance needs, as long as the factor takes at most 2 GiB

    Warns
    -----
    UserWarning when `max_rank` is reached before the tolerance.

    Examples
    --------
    >>> from kernelweave.kernels.vector.kernels import RBF
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> kernel = IncompleteCholesky(RBF(width=1.0)).fitted(X)
    >>> kernel.rank_, kernel.approximation_error_ <= 1e-6
    (6, True)
    >>> np.abs(kernel.gram(X) - RBF(width=1.0).gram(X)).max() < 1e-5
    np.True_
    """

    def __init__(self, kernel: Kernel, tolerance: float = 1e-6, max_rank: int | None = None):
        self.kernel = kernel
        self.tolerance = tolerance
        self.max_rank = max_rank

    def check(self) -> None:
        """Raise unless the tolerance is a share and the rank a positive integer."""
        if not isinstance(self.tolerance, Real) or not 0 <= float(self.tolerance) < 1:
            raise ValueError(f"tolerance={self.tolerance!r} of IncompleteCholesky must be at least 0 and below 1.")
        if self.max_rank is not None:
            check_count(self, "max_rank", self.max_rank)

    def embedded(self, kernel: Kernel, X: Any, weight: Array | None) -> Landmarks:
        """Return features through the rows that the factorisation chose."""
        prepared = kernel.prepare(X)
        diagonal, share = diagonal_and_shares(kernel, prepared, weight)
        room = FACTOR_BYTES // (8 * len(diagonal)) if self.max_rank is None else int(self.max_rank)
        limit = min(len(diagonal), max(1, room))
        found = factorise(kernel, prepared, diagonal, share, float(self.tolerance), limit)
        if len(found.pivots) == 0:  # the kernel is zero on all rows, and so is the one feature
            kept, _ = landmark_rows(kernel, X, prepared, np.array([0]))
            return Landmarks(kernel, kept, np.zeros((1, 1)), 0.0)
        if len(found.pivots) == limit and found.error > self.tolerance:
            warnings.warn(
                f"{self!r} stopped at {limit} features with a relative error of {found.error:.2g}, above its tolerance "
                f"of {self.tolerance:.2g}; raise max_rank or the tolerance.", UserWarning, stacklevel=4,
            )  # fmt: skip
        kept, _ = landmark_rows(kernel, X, prepared, found.pivots)
        inverse = solve_triangular(found.lower, np.eye(len(found.pivots)), lower=True)
        return Landmarks(kernel, kept, np.ascontiguousarray(inverse.T), found.error)


class Factor(NamedTuple):
    """What the factorisation found.

    Attributes
    ----------
    pivots : (r,) numbers of the rows chosen, in order
    lower : (r, r) the rows of L that belong to them, lower triangular
    error : share of the trace that is missed
    """

    pivots: Array
    lower: Array
    error: float


def factorise(kernel: Kernel, prepared: Any, diagonal: Array, share: Array, tolerance: float, limit: int) -> Factor:
    """Choose rows until the missed share of the trace is within the tolerance.

    Parameters
    ----------
    kernel, prepared : the fitted kernel, and all rows as it prepares them
    diagonal, share : (n,) kernel of each row with itself, non-negative, and its weight in the trace
    limit : most rows to choose
    """
    n = len(diagonal)
    residual = np.where(share > 0, diagonal, 0.0)
    trace, floor = float(share @ residual), ROUNDING * float(residual.max())
    enough, most = tolerance * trace, max(1, min(CANDIDATES, COLUMN_BYTES // (8 * n)))
    factor: Array = np.empty((limit, n))  # L', of which the machine gives out what is written to
    pivots: Array = np.empty(limit, np.int64)
    rank, width = 0, max(1, most // 4)
    while rank < limit and share @ residual > enough and residual.max() > floor:
        rows = _candidates(residual, floor, min(width, limit - rank))
        columns = factor[rank : rank + len(rows)]
        _fill(kernel, prepared, rows, factor[:rank], columns)
        taken = _take(columns, rows, residual, share, enough, floor)
        pivots[rank : rank + taken] = rows[:taken]
        rank += taken
        width = min(most, 2 * width) if taken == width else max(1, min(width, 2 * taken))
    lower = np.tril(factor[:rank, pivots[:rank]].T)
    return Factor(pivots[:rank], lower, float(share @ residual) / trace if trace > 0 else 0.0)


def _candidates(residual: Array, floor: float, width: int) -> Array:
    """Return the farthest row of each of `width` stretches of rows, where it is worth a column."""
    bounds = np.linspace(0, len(residual), width + 1).astype(np.int64)
    tops = np.array([first + np.argmax(residual[first:last]) for first, last in pairwise(bounds) if first < last])
    return tops[residual[tops] >= max(WORTH * residual.max(), floor)]


def _fill(kernel: Kernel, prepared: Any, rows: Array, factor: Array, out: Array) -> None:
    """Write what is left of columns of the kernel, (rows, n)."""
    some, heads = take(prepared, rows), np.ascontiguousarray(factor[:, rows].T)
    for start in range(0, out.shape[1], SPAN):
        part = slice(start, min(start + SPAN, out.shape[1]))
        np.subtract(kernel.block(some, take(prepared, part)), heads @ factor[:, part], out=out[:, part])


def _take(columns: Array, rows: Array, residual: Array, share: Array, enough: float, floor: float) -> int:
    """Turn columns of candidates into columns of L, in place and in the order they are taken; return how many were."""
    for t in range(len(rows)):
        best = t + int(np.argmax(residual[rows[t:]]))
        height = float(residual[rows[best]])
        if t and (height < max(WORTH * residual.max(), floor) or share @ residual <= enough):
            return t
        if best != t:
            rows[[t, best]] = rows[[best, t]]
            columns[[t, best]] = columns[[best, t]]
        column = columns[t]
        column -= columns[:t, rows[t]] @ columns[:t]
        column /= np.sqrt(height)
        residual -= column * column
        np.maximum(residual, 0.0, out=residual)
        residual[rows[t]] = 0.0
    return len(rows)
