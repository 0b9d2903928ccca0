"""Kernels on rows of numbers.  Each is a curve over one number per pair, which a family of kernels can share:

    Linear      <x, y>                              RBF         exp(-gamma |x - y|^2),   gamma = 1 / width
    Polynomial  (gamma <x, y> + coef0)^degree       Laplacian   exp(-gamma |x - y|_1)
    Sigmoid     tanh(gamma <x, y> + coef0)

gamma = None or "scale" stands for 1 / (n_features * variance of the training table), so that the unit of the numbers
does not matter (Laplacian: standard deviation instead of variance), gamma = "auto" for 1 / n_features.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from kernelweave._numba.csr import CSR
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_count, check_number, check_positive
from kernelweave.kernels.parts import by_rows
from kernelweave.kernels.vector.monomials import EXPAND_UP_TO, expanded, n_monomials
from kernelweave.kernels.vector.table import Dot, Manhattan, SquaredDistance, as_table, variance

LEARNED = ("scale", "auto")
"""Words for a gamma that training data settle."""


class Curve(Kernel):
    """A function of one number per pair of table rows (an `Elementwise` kernel)."""

    @abstractmethod
    def base(self) -> Kernel:
        """Return the description of the number."""

    @abstractmethod
    def _apply(self, values: Array, n_features: int | None) -> Array:
        """Turn base values into kernel values, in place; n_features is None where it is not known."""

    def check(self) -> None:
        """Raise if a parameter has no meaning."""

    def prepare(self, X: Any) -> Any:
        """Return what the shared number needs of the rows of X."""
        self.check()
        return self.base().prepare(X)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return kernel values between two prepared tables."""
        return self._apply(self.base().block(A, B, dtype), _width(A))

    def diagonal(self, A: Any) -> Array:
        """Return the kernel of each row with itself."""
        return self._apply(self.base().diagonal(A), _width(A))

    def finish(self, values: Array) -> Array:
        """Turn base values into kernel values, in place."""
        return self._apply(values, None)


class GammaCurve(Curve):
    """A curve with a rate `gamma` that may be learned from training data."""

    gamma: float | str | None

    def check(self) -> None:
        """Raise if gamma is not positive, "scale", "auto" or None."""
        if self.gamma is not None and not (isinstance(self.gamma, str) and self.gamma in LEARNED):
            check_positive(self, "gamma", self.gamma, "a positive number, 'scale', 'auto' or None")

    def settled(self) -> float | None:
        """Return gamma as a number where the parameters alone give it."""
        self.check()
        return None if self.gamma is None or isinstance(self.gamma, str) else float(self.gamma)

    def rate(self, n_features: int | None) -> float:
        """Return gamma as a number; the width of the table settles ``gamma="auto"``."""
        gamma = self.settled()
        if gamma is not None:
            return gamma
        if self.gamma == "auto" and n_features:
            return 1.0 / n_features
        raise ValueError(f"{self!r} learns gamma from training data: call fitted(X) and use the kernel it returns.")

    def unit(self, rows: Any, sample_weight: Array | None) -> float:
        """Return what the base values of a column grow with: the variance of the table."""
        return variance(rows, sample_weight)

    def fitted(self, X: Any, sample_weight: Array | None = None) -> Kernel:
        """Return the kernel with gamma filled in from training data.

        Parameters
        ----------
        X : (n, d) table
        sample_weight : (n,) non-negative; a row of weight w counts as w rows, which does not matter for "auto"
        """
        if self.settled() is not None:
            return self
        rows = as_table(X)
        if rows.shape[1] == 0:
            raise ValueError(f"{self!r} divides by the number of columns, but the table has none.")
        with np.errstate(over="ignore"):
            spread = 1.0 if self.gamma == "auto" else self.unit(rows, sample_weight)
            gamma = float(1.0 / (rows.shape[1] * np.float64(spread))) if spread > 0 else 1.0
        if not 0.0 < gamma < np.inf:
            raise ValueError(
                f"gamma of {self!r} is 1 / (number of columns * {spread:.1g}), which is {gamma:g} in double precision; "
                "rescale the features of the table."
            )
        return type(self)(**{**self.get_params(deep=False), "gamma": gamma})


class Exponential(GammaCurve):
    """A curve that falls at the rate `gamma`, ``exp(-gamma x)``."""

    def decay(self) -> tuple[float, float]:
        """Return one and gamma, which must be a number by now."""
        return 1.0, self.rate(None)

    def _apply(self, values: Array, n_features: int | None) -> Array:
        values *= -self.rate(n_features)
        return np.exp(values, out=values)


class Linear(Curve, Features):
    """Inner product of two rows.

    Examples
    --------
    >>> Linear().gram([[1.0, 2.0], [0.0, 1.0]])
    array([[5., 2.],
           [2., 1.]])
    """

    kind = "columns"
    identity = True

    def base(self) -> Kernel:
        """Return the inner product."""
        return Dot()

    def rows(self, X: Any, dtype: type = np.float64) -> CSR | Array:
        """Return the table itself: its columns are the features."""
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == dtype:
            return np.ascontiguousarray(X)
        table = as_table(X).astype(dtype, copy=False)
        return table if isinstance(table, np.ndarray) else CSR(table.indices[:, None], table.data, table.indptr)

    def n_features(self, X: Any) -> int:
        """Return the number of columns."""
        return int(X.shape[1]) if getattr(X, "ndim", 0) == 2 else int(as_table(X).shape[1])

    def _apply(self, values: Array, n_features: int | None) -> Array:
        return values


class Polynomial(GammaCurve, Features):
    """Power of an affine function of the inner product, ``(gamma <x, y> + coef0) ** degree``.

    Parameters
    ----------
    degree : positive integer
    gamma : positive; None or "scale" for 1 / (n_features * variance), "auto" for 1 / n_features
    coef0 : a negative value may make Gram matrices indefinite

    Examples
    --------
    >>> Polynomial(degree=2).gram([[1.0, 2.0], [0.0, 1.0]])
    array([[36.,  9.],
           [ 9.,  4.]])
    """

    kind = "columns"

    def __init__(self, degree: int = 3, gamma: float | str | None = 1.0, coef0: float = 1.0):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    @property
    def definite(self) -> bool:
        """Whether no term of the expanded power has a negative weight."""
        return self.coef0 >= 0

    def check(self) -> None:
        """Raise if the degree is no positive integer, gamma not positive or coef0 no number."""
        super().check()
        check_count(self, "degree", self.degree)
        check_number(self, "coef0", self.coef0)

    def base(self) -> Kernel:
        """Return the inner product."""
        return Dot()

    def _apply(self, values: Array, n_features: int | None) -> Array:
        values *= self.rate(n_features)
        values += self.coef0
        return _raise_to(values, self.degree)

    def square(self, X: Any) -> tuple[Array, float, float]:
        """Return the rows of X as a dense table, gamma and coef0."""
        rows = as_table(X)
        table = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float64)
        return table, float(self.rate(table.shape[1])), float(self.coef0)

    def n_features(self, X: Any) -> int:
        """Return the number of monomials up to the degree."""
        return n_monomials(Linear().n_features(X), self.degree, self.coef0 > 0)

    def rows(self, X: Any, dtype: type = np.float64) -> Array:
        """Return all monomials up to the degree; a ValueError where there are more than `EXPAND_UP_TO`."""
        self.check()
        if not self.definite:
            raise ValueError(f"{self!r} has monomials of negative weight, so it is not an inner product of features.")

        def features(part: Any) -> Array:
            rows = as_table(part)
            columns = n_monomials(rows.shape[1], self.degree, self.coef0 > 0)
            if columns > EXPAND_UP_TO:
                raise ValueError(
                    f"{self!r} has {columns} monomials of {rows.shape[1]} columns, more than the limit of "
                    f"{EXPAND_UP_TO}; use IncompleteCholesky or Nystrom."
                )
            dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
            return expanded(dense, self.degree, self.rate(rows.shape[1]), self.coef0)

        return by_rows(X, features, dtype)


class RBF(Exponential):
    """Gaussian kernel, ``exp(-|x - y|^2 / width)`` or, with gamma = 1 / width, ``exp(-gamma |x - y|^2)``.

    Parameters
    ----------
    gamma : positive; None or "scale" for 1 / (n_features * variance), "auto" for 1 / n_features
    width : positive; may be given instead of gamma

    Examples
    --------
    >>> RBF(width=2.0).gram([[0.0], [2.0]]).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    >>> RBF.grid([0.5, 2])
    [RBF(width=0.5), RBF(width=2.0)]
    """

    def __init__(self, gamma: float | str | None = None, width: float | None = None):
        self.gamma = gamma
        self.width = width

    @staticmethod
    def grid(widths: Iterable[float]) -> list[RBF]:
        """Return one kernel per width; they share one distance computation."""
        return [RBF(width=float(width)) for width in widths]

    def check(self) -> None:
        """Raise if both gamma and width are given or one is not positive."""
        super().check()
        if self.width is not None:
            check_positive(self, "width", self.width, "a positive number or None")
            if self.gamma is not None:
                raise ValueError(f"{self!r} has both gamma and width; give one, gamma = 1 / width.")

    def settled(self) -> float | None:
        """Return gamma as a number where the parameters alone give it."""
        gamma = super().settled()
        return gamma if self.width is None else 1.0 / float(self.width)

    def base(self) -> Kernel:
        """Return the squared distance."""
        return SquaredDistance()

    def frequencies(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        """Return normal frequencies of variance 2 gamma, (n_features, size)."""
        return rng.normal(scale=np.sqrt(2.0 * self.rate(n_features)), size=(n_features, size))


class Laplacian(Exponential):
    """Exponential of the sum of absolute differences, ``exp(-gamma |x - y|_1)``, on dense tables.

    Parameters
    ----------
    gamma : positive; None or "scale" for 1 / (n_features * standard deviation), "auto" for 1 / n_features

    Examples
    --------
    >>> Laplacian(gamma=0.5).gram([[0.0], [2.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    def __init__(self, gamma: float | str | None = None):
        self.gamma = gamma

    def base(self) -> Kernel:
        """Return the sum of absolute differences."""
        return Manhattan()

    def unit(self, rows: Any, sample_weight: Array | None) -> float:
        """Return what absolute differences grow with: the standard deviation of the table."""
        return float(np.sqrt(variance(rows, sample_weight)))

    def frequencies(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        """Return Cauchy frequencies of scale gamma, (n_features, size)."""
        return self.rate(n_features) * rng.standard_cauchy((n_features, size))


class Sigmoid(GammaCurve):
    """Hyperbolic tangent of an affine function of the inner product; not positive semi-definite.

    Parameters
    ----------
    gamma : positive; None or "scale" for 1 / (n_features * variance), "auto" for 1 / n_features
    coef0 : added before the tangent

    Examples
    --------
    >>> Sigmoid(gamma=0.5).gram([[1.0], [2.0]]).round(3)
    array([[0.462, 0.762],
           [0.762, 0.964]])
    """

    def __init__(self, gamma: float | str | None = None, coef0: float = 0.0):
        self.gamma = gamma
        self.coef0 = coef0

    @property
    def definite(self) -> bool:
        """Never guaranteed."""
        return False

    def check(self) -> None:
        """Raise if gamma is not positive or coef0 no number."""
        super().check()
        check_number(self, "coef0", self.coef0)

    def base(self) -> Kernel:
        """Return the inner product."""
        return Dot()

    def _apply(self, values: Array, n_features: int | None) -> Array:
        values *= self.rate(n_features)
        values += self.coef0
        return np.tanh(values, out=values)


def _width(prepared: Any) -> int:
    """Return the number of columns of a prepared table."""
    rows = prepared[0] if isinstance(prepared, tuple) else prepared
    return int(rows.shape[1])


def _raise_to(values: Array, degree: int) -> Array:
    """Raise to a positive integer power in place, by squaring and multiplying (much faster than ``**``)."""
    binary = bin(degree)[3:]
    factor = values.copy() if "1" in binary else values
    for bit in binary:
        values *= values
        if bit == "1":
            values *= factor
    return values
