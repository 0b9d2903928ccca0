"""Features through landmarks: some training rows P with which every row is compared.

    phi(x) = F' k(x),   k(x) = (K(x, p))_{p in P},   F F' = K_PP^-1  (pseudo-inverse where K_PP has none)

so that ``phi(x)'phi(y) = k(x)' K_PP^-1 k(y)``: the kernel of the two rows projected onto the span of the landmarks.
It is exact where one of the two lies in that span, never larger than the kernel on the diagonal, and what it misses
there, ``K(x, x) - |phi(x)|^2``, is the squared distance of the row from the span.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kernelweave.kernels.approximate.embedding import Embedded, counted_rows
from kernelweave.kernels.base import Array, Kernel, take
from kernelweave.kernels.parts import by_rows
from kernelweave.kernels.reference import reference

UNLIKE_ITSELF = 1e-6
"""Relative difference between a row compared with itself and with its copy that is more than rounding (of float32)."""


class Landmarks(Embedded):
    """Features through landmarks.

    Parameters
    ----------
    kernel : the kernel they stand for
    landmarks : p rows
    factor : (p, rank), F above
    error : the share of the trace on the training rows that is missed
    """

    def __init__(self, kernel: Kernel, landmarks: Any, factor: Array, error: float):
        self.kernel, self.landmarks, self.factor, self.error = kernel, landmarks, factor, error

    @property
    def rank_(self) -> int:
        """How many features there are."""
        return int(self.factor.shape[1])

    @cached_property
    def prepared_landmarks(self) -> Any:
        """The landmarks as the kernel prepares them."""
        return self.kernel.prepare(self.landmarks)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "prepared_landmarks"}

    def rows(self, X: Any, dtype: type = np.float64) -> Array:
        """Return the features of the rows of X, (n, rank_)."""

        def features(part: Any) -> Array:
            return self.kernel.block(self.kernel.prepare(part), self.prepared_landmarks) @ self.factor

        return by_rows(X, features, dtype)


def landmark_rows(kernel: Kernel, X: Any, prepared: Any, rows: Array) -> tuple[Any, Array]:
    """Return the landmarks as they can be kept, and the kernel between them, (p, p).

    Parameters
    ----------
    kernel : a fitted kernel
    X, prepared : training rows, also as the kernel prepares them
    rows : the numbers of the landmarks

    Raises
    ------
    TypeError where a row is not like its copy: then a row that was kept says nothing.
    """
    kept, some = reference(kernel, X, rows), take(prepared, rows)
    inner = kernel.block(some, kernel.prepare(kept))
    itself = kernel.diagonal(some)
    if not np.allclose(np.diag(inner), itself, rtol=UNLIKE_ITSELF, atol=UNLIKE_ITSELF * abs(itself).max()):
        raise TypeError(f"{kernel!r} treats equal rows as different, so new rows cannot be compared with landmarks.")
    return kept, inner


def diagonal_and_shares(kernel: Kernel, prepared: Any, weight: Array | None) -> tuple[Array, Array]:
    """Return the diagonal of the kernel and the share of each row in its mean, both (n,)."""
    diagonal = kernel.diagonal(prepared)
    rows = counted_rows(len(diagonal), weight)
    bad = rows[~np.isfinite(diagonal[rows])]
    if len(bad):
        raise ValueError(f"{kernel!r} of row {bad[0]} with itself is not finite; rescale the features of the table.")
    share = np.ones(len(diagonal)) if weight is None else np.asarray(weight, dtype=np.float64)
    return np.maximum(diagonal, 0.0), share / share.sum()
