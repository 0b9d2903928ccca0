"""Gaussian of the distance that another kernel induces.

    K(x, y) = exp(-gamma |Phi(x) - Phi(y)|^2),        |Phi(x) - Phi(y)|^2 = k(x, x) + k(y, y) - 2 k(x, y)

It has no explicit features, so machines hold its values, each of which costs what a value of k costs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.kernels.base import Array, Kernel, Wrapper
from kernelweave.kernels.checks import check_kernel, check_positive


class InducedRBF(Wrapper):
    """Gaussian of the distance between rows that another kernel measures, on sequences as well as on tables.

    ``InducedRBF(LSGKM().normalized(), gamma=g / 2)`` is gkmrbf of LS-GKM, ``exp(g (k(x, y) - 1))``.

    Parameters
    ----------
    kernel : the kernel whose distances count; rows of different length are best normalised first
    gamma : rate

    Examples
    --------
    >>> from kernelweave.kernels.vector.kernels import Linear
    >>> InducedRBF(Linear(), gamma=0.5).gram([[0.0], [2.0]]).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """

    def __init__(self, kernel: Kernel, gamma: float = 1.0):
        self.kernel = kernel
        self.gamma = gamma

    def fitted(self, X: Any, sample_weight: Array | None = None) -> Kernel:
        """Return the Gaussian of the fitted kernel."""
        check_kernel(self, self.kernel)
        return InducedRBF(self.kernel.fitted(X, sample_weight), self.gamma)

    def prepare(self, X: Any) -> Any:
        """Return what the kernel inside needs, and its diagonal."""
        check_kernel(self, self.kernel)
        check_positive(self, "gamma", self.gamma)
        inner = self.kernel.prepare(X)
        return inner, self.kernel.diagonal(inner)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the values; where ``A is B`` the diagonal is exactly 1."""
        (inner, norms), (others, other_norms) = A, B
        values = self.kernel.block(inner, others, np.float64)
        values *= -2.0
        values += np.add.outer(norms, other_norms)
        np.maximum(values, 0.0, out=values)
        values *= -self.gamma
        np.exp(values, out=values)
        if A is B:
            np.fill_diagonal(values, 1.0)
        return values.astype(dtype, copy=False)

    def diagonal(self, A: Any) -> Array:
        """Return ones."""
        return np.ones(len(A[1]))
