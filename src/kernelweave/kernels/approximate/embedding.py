"""Kernels that stand for another kernel through a few explicit features, learned from training rows.

There are two sorts.  An `Approximation` is a description, such as ``Fourier(RBF())``; its `fitted` returns an
`Embedded` kernel, which holds what was learned: landmarks or frequencies.  The latter is the inner product of its
features, so every solver can use it, and so can those that walk in the space of features.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NoReturn

import numpy as np

from kernelweave.data import select
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_kernel
from kernelweave.kernels.compose import On
from kernelweave.kernels.vector.table import products, squared_norms


class Embedded(Kernel, Features):
    """Inner product of explicit features.  Unlike other kernels it holds data; it is made while fitting, never by hand.

    A subclass has the features, how many there are (`rank_`) and how far they are off (`approximation_error_`).
    """

    kind = "columns"
    kernel: Kernel
    error: float

    @abstractmethod
    def rows(self, X: Any, dtype: type = np.float64) -> Array:
        """Return the features of the rows of X, (n, rank_)."""

    def n_features(self, X: Any) -> int:
        """Return how many features there are."""
        return self.rank_

    @property
    @abstractmethod
    def rank_(self) -> int:
        """How many features there are."""

    @property
    def approximation_error_(self) -> float:
        """How far the kernel is from the one it stands for, on the training rows, relative to the mean diagonal."""
        return self.error

    def prepare(self, X: Any) -> Array:
        """Return the features of the rows of X."""
        return self.rows(X)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the inner products of features."""
        return products(A, B, A is B).astype(dtype, copy=False)

    def diagonal(self, A: Any) -> Array:
        """Return the squared lengths of features."""
        return squared_norms(A)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kernel!r}, rank {self.rank_})"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


class Approximation(Kernel, Features):
    """A description of how to stand for `kernel`: it has values once it is fitted to training rows."""

    kind = "columns"
    kernel: Kernel

    def children(self) -> tuple[Kernel, ...]:
        """Return the kernel to stand for."""
        return (self.kernel,)

    @abstractmethod
    def check(self) -> None:
        """Raise if a parameter has no meaning."""

    @abstractmethod
    def embedded(self, kernel: Kernel, X: Any, weight: Array | None) -> Embedded:
        """Return the features of a kernel that is itself fitted, learned from the rows of X."""

    def fitted(self, X: Any, sample_weight: Array | None = None) -> Kernel:
        """Return the kernel that holds its features, with `rank_` and `approximation_error_`.

        Of a kernel on some columns only those are held: the result is then the features of the selection, `On` it.

        Parameters
        ----------
        X : training rows
        sample_weight : (n,) non-negative; a row of weight w counts as w rows, one of weight 0 not at all
        """
        check_kernel(self, self.kernel)
        self.check()
        if isinstance(self.kernel, On):
            inner = type(self)(**{**self.get_params(deep=False), "kernel": self.kernel.kernel})
            return On(inner.fitted(select(X, self.kernel.columns), sample_weight), self.kernel.columns)
        kernel = self.kernel.fitted(X, sample_weight)
        if not kernel.definite:
            raise ValueError(
                f"{kernel!r} is not positive semi-definite, so no features have it as their inner product."
            )
        return self.embedded(kernel, X, sample_weight)

    def rows(self, X: Any, dtype: type = np.float64) -> Array:
        """Raise: the features are learned first."""
        self._unfitted()

    def n_features(self, X: Any) -> int:
        """Raise: the features are learned first."""
        self._unfitted()

    def prepare(self, X: Any) -> Any:
        """Raise: the features are learned first."""
        self._unfitted()

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Raise: the features are learned first."""
        self._unfitted()

    def diagonal(self, A: Any) -> Array:
        """Raise: the features are learned first."""
        self._unfitted()

    def _unfitted(self) -> NoReturn:
        raise ValueError(
            f"{self!r} learns its features from training data: call fitted(X) and use the kernel it returns."
        )


def counted_rows(n: int, weight: Array | None) -> Array:
    """Return the numbers of the rows that count, those of positive weight; raise where there is none."""
    rows = np.arange(n) if weight is None else np.flatnonzero(np.asarray(weight) > 0)
    if len(rows) == 0:
        raise ValueError("Features are learned from training rows, but there is none of positive weight.")
    return rows
