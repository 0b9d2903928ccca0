"""Rows of numbers, and the numbers per pair that vector kernels share: inner products and distances.

Everything is accumulated in float64, where `|x|^2 + |y|^2 - 2 <x, y>` keeps close points apart, and a float32 block is
rounded once, at the end.  Squared distances of float32 are made in float32 throughout, in half of the time, unless the
norms are so large beside the distances that rounding would be felt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from kernelweave._numba import jit
from kernelweave.data.kinds import blocks_of, kind_of
from kernelweave.data.tables import canonical
from kernelweave.kernels.base import Array, Kernel

NOISE = 16.0
"""Squared distances below so many units of rounding of the squared norms are rounding of zero: those of equal rows."""
LEAST_KEPT = 0.25
"""Squared distances over squared norms, on average, down to which single precision serves: about 1 where columns are
centred; an entry has lost as many times more than its last bits as this is smaller than 1."""
LOOKED_AT = 64
"""Every so many lines of a block are looked at for that."""
SMALLEST = 1e-30
"""Squared norms below this have no more than a few bits in single precision."""
SUMS_TOGETHER = 512
"""Columns handled together by the Manhattan loop: their running sums stay in the first cache."""
LONGEST = float(np.finfo(np.float64).max) / 4.0
"""Squared norms up to which the distance of any two rows is a finite number."""
WIDE = 1 << 24
"""Columns of sparse rows from which on most are empty."""


def as_table(X: Any) -> Any:
    """Return X as float64, (n, d): a C-contiguous array, or a CSR array with sorted indices.

    Parameters
    ----------
    X : array, DataFrame, nested list or scipy sparse matrix of numbers; a 1-D array is one column

    Examples
    --------
    >>> as_table([1, 2]).shape
    (2, 1)
    """
    if sparse.issparse(X):
        return _as_csr(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        values = X
    else:
        values = _as_numbers(X)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise ValueError(f"A vector kernel compares rows of a 2-D table, but got an array of shape {values.shape}.")
    return np.ascontiguousarray(values, dtype=np.float64)


def _as_numbers(X: Any) -> Array:
    """Return X as float64; strings are refused even where they spell numbers."""
    kind = kind_of(X)
    if not kind.tabular:
        views = blocks_of(X)
        got = type(X).__name__ if views is None else f"the views {', '.join(map(repr, views))}"
        wanted = "numbers" if views is None else "one table"
        raise TypeError(f"A vector kernel compares rows of {wanted}, but got {got}; {kind.advice(X)}.")
    try:
        values = np.asarray(X)
        if values.dtype.kind in "biufO" and values.ndim > 0:
            return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"A vector kernel compares rows of numbers, but {type(X).__name__} holds others: {error}."
        ) from None
    raise TypeError(f"A vector kernel compares rows of numbers, but got {type(X).__name__} of {values.dtype}.")


def _as_csr(X: Any) -> Any:
    """Return X as a CSR array whose rows list each column once, in order: products then are exactly symmetric."""
    if X.dtype.kind not in "biuf":
        raise TypeError(f"A vector kernel compares rows of numbers, but got a sparse matrix of {X.dtype}.")
    return canonical(sparse.csr_array(X, dtype=np.float64))


def squared_norms(rows: Any) -> Array:
    """Return `|x|^2` for each row of a table."""
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows)


def products(rows: Any, others: Any, same: bool) -> Array:
    """Return the inner products of two tables, (n, m) float64, exactly symmetric where they are the `same` side.

    numpy calls another BLAS routine (syrk, not gemm) where both operands begin at one address, and the two round
    differently.  A caller who compares two sides gets the same bits whether or not they happen to share memory.
    """
    _check_width(rows, others)
    if not same and not sparse.issparse(rows) and not sparse.issparse(others) and np.may_share_memory(rows, others):
        others = others.copy()
    if hasattr(rows, "tocsr") and rows.shape[1] > WIDE:
        rows, others = _without_empty(rows, others)
    values = rows @ others.T
    return values.toarray() if sparse.issparse(values) else values


def _without_empty(rows: Any, others: Any) -> tuple[Any, Any]:
    """Return sparse rows without the columns that are empty on either side: the transpose takes 8 bytes for each."""
    if not hasattr(others, "tocsr"):
        return rows, others
    rows, others = rows.tocsr(), others.tocsr()
    used = np.unique(np.concatenate([rows.indices, others.indices]))

    def narrow(side: Any) -> Any:
        places = np.searchsorted(used, side.indices)
        return sparse.csr_array((side.data, places, side.indptr), shape=(side.shape[0], max(1, len(used))))

    return narrow(rows), narrow(others)


def _check_width(rows: Any, others: Any) -> None:
    if rows.shape[1] != others.shape[1]:
        raise ValueError(
            f"Rows of different width cannot be compared: one side has {rows.shape[1]} columns, the other "
            f"{others.shape[1]}."
        )


def variance(rows: Any, sample_weight: Array | None = None) -> float:
    """Return the variance of all entries of a table, where a row of weight w counts as w rows.

    Examples
    --------
    >>> variance(np.array([[0.0], [3.0]]), np.array([2.0, 1.0]))
    2.0
    """
    n, d = rows.shape
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    total = weight.sum() * d
    if not total > 0:
        raise ValueError("The variance of a table needs at least one row of positive weight.")
    mean = float(weight @ np.asarray(rows.sum(axis=1)).ravel()) / total
    if not sparse.issparse(rows):
        return float(weight @ np.square(rows - mean).sum(axis=1) / total)
    stored = np.repeat(weight, np.diff(rows.indptr))
    absent = total - stored.sum()
    return float((stored @ np.square(rows.data - mean) + absent * mean**2) / total)


class Dot(Kernel):
    """Inner products: the number under Linear, Polynomial and Sigmoid.

    Examples
    --------
    >>> Dot().gram([[1.0, 2.0], [0.0, 1.0]])
    array([[5., 2.],
           [2., 1.]])
    """

    def prepare(self, X: Any) -> Any:
        """Return the rows of the table."""
        return as_table(X)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the inner products of two tables."""
        return products(A, B, A is B).astype(dtype, copy=False)

    def diagonal(self, A: Any) -> Array:
        """Return the squared norms."""
        return squared_norms(A)

    def interval(self, A: Any) -> tuple[float, float]:
        """Return the greatest squared norm, which no product exceeds in size."""
        most = float(squared_norms(A).max(initial=0.0))
        return -most, most


class SquaredDistance(Kernel):
    """Squared Euclidean distances: the number under RBF.

    Examples
    --------
    >>> SquaredDistance().gram([[1.0, 2.0], [0.0, 1.0]])
    array([[0., 2.],
           [2., 0.]])
    """

    @property
    def definite(self) -> bool:
        """A distance is not a similarity."""
        return False

    def prepare(self, X: Any) -> Any:
        """Return the rows of the table and their squared norms, or raise where distances would not be finite."""
        rows = as_table(X)
        with np.errstate(over="ignore"):
            norms = squared_norms(rows)
        if norms.max(initial=0.0) > LONGEST:
            row = int(np.argmax(norms > LONGEST))
            raise ValueError(
                f"The squared length of row {row} is {norms[row]:.1g}, too large for distances in double precision; "
                "rescale the features of the table."
            )
        return rows, norms

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the squared distances between two prepared tables, exactly 0 on the diagonal where ``A is B``."""
        out: Array | None = None
        if np.dtype(dtype) == np.float32 and not sparse.issparse(A[0]) and not sparse.issparse(B[0]):
            out = self._single(A, B)
        if out is None:
            values = products(A[0], B[0], A is B)
            out = values if np.dtype(dtype) == values.dtype else np.empty(values.shape, dtype)
            _distances(values, A[1], B[1], NOISE * np.finfo(np.float64).eps, out)
        if A is B:
            np.fill_diagonal(out, 0.0)
        return out

    def _single(self, A: Any, B: Any) -> Array | None:
        """Return the distances made in single precision, or None where so much cancels that it would be felt."""
        with np.errstate(all="ignore"):
            (rows, norms), (others, squares) = ([part.astype(np.float32) for part in side] for side in (A, B))
            values = products(rows, rows if A is B else others, A is B)
        kept = _distances(values, norms, squares, np.float32(NOISE * np.finfo(np.float32).eps), values)
        return values if kept >= LEAST_KEPT else None

    def diagonal(self, A: Any) -> Array:
        """Return zeros."""
        return np.zeros(len(A[1]))

    def interval(self, A: Any) -> tuple[float, float]:
        """Return the squared diagonal of the box around the rows, or what their norms allow where rows are sparse."""
        rows, norms = A
        if sparse.issparse(rows):
            return 0.0, 4.0 * float(norms.max(initial=0.0))
        return 0.0, float(np.square(_sides(rows)).sum())


class Manhattan(Kernel):
    """Sums of absolute differences: the number under Laplacian.

    Examples
    --------
    >>> Manhattan().gram([[1.0, 2.0], [0.0, 1.0]])
    array([[0., 2.],
           [2., 0.]])
    """

    @property
    def definite(self) -> bool:
        """A distance is not a similarity."""
        return False

    def prepare(self, X: Any) -> Any:
        """Return the rows of a dense table."""
        if sparse.issparse(X):
            raise TypeError("Absolute differences need a dense table, but got a sparse one; use X.toarray().")
        return as_table(X)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the sums of absolute differences between two tables."""
        _check_width(A, B)
        out: Array = np.empty((len(A), len(B)), dtype)
        _absolute_differences(A, np.ascontiguousarray(B.T), SUMS_TOGETHER, out)
        return out

    def diagonal(self, A: Any) -> Array:
        """Return zeros."""
        return np.zeros(len(A))

    def interval(self, A: Any) -> tuple[float, float]:
        """Return the sum of the sides of the box around the rows."""
        return 0.0, float(_sides(A).sum())


def _sides(rows: Array) -> Array:
    """Return by how much each column of a table varies."""
    return rows.max(axis=0) - rows.min(axis=0) if len(rows) else np.zeros(rows.shape[1])


@jit
def _distances(dots, norms, others, noise, out):  # type: ignore[no-untyped-def]
    # Two loops, because na + nb - 2ab is exactly symmetric only if na + nb is rounded first.
    # Returns which share of the norms is left in the distances, on average over some lines.
    total, kept, seen = np.empty_like(others), 0.0, 0
    for i in range(dots.shape[0]):
        for j in range(others.shape[0]):
            total[j] = norms[i] + others[j]
        for j in range(others.shape[0]):
            value = total[j] - (dots[i, j] + dots[i, j])
            out[i, j] = value - value if value < noise * total[j] else value
        if i % LOOKED_AT == 0:
            seen += others.shape[0]
            for j in range(others.shape[0]):
                kept += out[i, j] / total[j] if total[j] > SMALLEST else 0.0
    return kept / max(seen, 1)


@jit
def _absolute_differences(rows, columns, tile, out):  # type: ignore[no-untyped-def]
    total = np.empty(tile)
    for first in range(0, columns.shape[1], tile):
        size = min(tile, columns.shape[1] - first)
        for i in range(rows.shape[0]):
            total[:size] = 0.0
            for k in range(columns.shape[0]):
                x = rows[i, k]
                for j in range(size):
                    total[j] += abs(x - columns[k, first + j])
            for j in range(size):
                out[i, first + j] = total[j]
