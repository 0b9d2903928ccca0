"""Gram matrices that the user computed: the rows of X are rows of the matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kernelweave._numba import jit
from kernelweave.kernels.base import Array, Kernel

ASYMMETRY = 1e-6
"""How far K and its transpose may differ, relative to the largest entry, to count as rounding (of float32)."""


@dataclass(frozen=True)
class GramRows:
    """Rows of a Gram matrix.

    Attributes
    ----------
    values : (n, n_train) similarities with all training rows, or None if only the numbers of the rows are known
    index : (n,) which training rows these are, or None for new rows
    """

    values: Array | None
    index: Array | None

    def __len__(self) -> int:
        return len(self.values if self.values is not None else self.index)  # type: ignore[arg-type]

    def __getitem__(self, rows: Any) -> GramRows:
        values = None if self.values is None else self.values[rows]
        return GramRows(values, None if self.index is None else self.index[rows])


class Precomputed(Kernel):
    """Similarities that are handed in: X is the (n, n) Gram matrix in training, (m, n) against it afterwards.

    An array of integers, (k,) or (k, 1), stands for these training rows without their similarities: enough for the
    right-hand side of ``gram``.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> Precomputed().gram(K)
    array([[2., 1.],
           [1., 3.]])
    >>> Precomputed().gram(np.array([[0.5, 0.25]]), np.array([1]))
    array([[0.25]])
    """

    def prepare(self, X: Any) -> GramRows:
        """Return rows of the matrix; a square symmetric one holds the training rows."""
        if sparse.issparse(X):
            raise TypeError("A precomputed Gram matrix must be dense, but got a sparse one; use K.toarray().")
        values = np.atleast_1d(np.asarray(X))
        if values.dtype.kind in "iu" and values.shape in ((len(values),), (len(values), 1)):
            if values.min(initial=0) < 0:
                raise ValueError(f"Training rows are numbered from 0, but got {values.min()}.")
            return GramRows(None, values.ravel().astype(np.int64))
        if values.ndim != 2 or values.dtype.kind not in "biuf":
            raise ValueError(
                f"A precomputed Gram matrix is a 2-D array of numbers, but got {values.dtype} of shape {values.shape}."
            )
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        return GramRows(values, np.arange(len(values)) if _is_symmetric(values) else None)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the columns of A that belong to the training rows B."""
        self._check(A, B)
        out = A.values[:, B.index].astype(dtype, copy=False)
        if A is B:
            _average_with_transpose(out)
        return out

    def diagonal(self, A: Any) -> Array:
        """Return the similarity of each training row with itself."""
        if A.values is None or A.index is None:
            raise ValueError(
                "A precomputed Gram matrix has a diagonal only where it is square and symmetric; the diagonal of other "
                "rows is not known."
            )
        return A.values[np.arange(len(A)), A.index].astype(np.float64)

    def _check(self, A: GramRows, B: GramRows) -> None:
        if B.index is None and B.values is not None:
            n, m = B.values.shape
            fault = f"its shape is ({n}, {m})" if n != m else "it differs from its transpose"
            raise ValueError(f"A Gram matrix of training rows must be square and symmetric, but {fault}.")
        if A.values is None or B.index is None:
            raise ValueError("The similarities of these rows are not known: only their numbers were given.")
        known = A.values.shape[1]
        needed = B.values.shape[1] if B.values is not None else int(B.index.max(initial=-1)) + 1
        if known < needed or (B.values is not None and known != needed):
            raise ValueError(
                f"A Gram matrix against training rows has one column for each of them, but this one has {known} "
                f"columns where {needed} or more are needed."
            )


def _is_symmetric(values: Array) -> bool:
    if values.shape[0] != values.shape[1]:
        return False
    extremes = np.zeros(2)
    _asymmetry(values, extremes)
    return bool(extremes[0] <= ASYMMETRY * extremes[1])


@jit
def _asymmetry(values, extremes):  # type: ignore[no-untyped-def]
    # Tiles, because the transposed side of a large matrix would otherwise miss the cache at each step.
    n, tile = values.shape[0], 64
    difference, largest = 0.0, 0.0
    for top in range(0, n, tile):
        for left in range(0, top + 1, tile):
            for i in range(top, min(top + tile, n)):
                for j in range(left, min(left + tile, n)):
                    difference = max(difference, abs(values[i, j] - values[j, i]))
                    largest = max(largest, abs(values[i, j]))
    extremes[0] = difference
    extremes[1] = largest


@jit
def _average_with_transpose(values):  # type: ignore[no-untyped-def]
    for i in range(values.shape[0]):
        for j in range(i):
            mean = (values[i, j] + values[j, i]) / 2
            values[i, j] = mean
            values[j, i] = mean
