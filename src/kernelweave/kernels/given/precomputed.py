"""Gram matrices that the user computed: the rows of X are rows of the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.errors import Incomparable
from kernelweave.data.gram import GramRows
from kernelweave.kernels.base import Array, Kernel


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
        return GramRows.of(X)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the columns of A that belong to the training rows B."""
        self._check(A, B)
        out = A.values[:, B.index].astype(dtype, copy=False)
        if A is B:
            _average_with_transpose(out)
        return out

    def diagonal(self, A: Any) -> Array:
        """Return the similarity of each training row with itself."""
        own = A.diagonal()
        if own is None:
            raise ValueError(
                "A precomputed Gram matrix has a diagonal only where it is square and symmetric; the diagonal of other "
                "rows is not known."
            )
        return own

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
            raise Incomparable(
                f"A Gram matrix against training rows has one column for each of them, but this one has {known} "
                f"columns where {needed} or more are needed."
            )


@jit
def _average_with_transpose(values):  # type: ignore[no-untyped-def]
    for i in range(values.shape[0]):
        for j in range(i):
            mean = (values[i, j] + values[j, i]) / 2
            values[i, j] = mean
            values[j, i] = mean
