"""Kernels made of kernels: restricted to columns or a view, added, multiplied, scaled, normalised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from kernelweave.data import select
from kernelweave.kernels.abilities import Counted, Elementwise, Embedding, FeatureMap, Positional, Reweighted
from kernelweave.kernels.base import Array, Combination, Kernel, Wrapper
from kernelweave.kernels.checks import check_kernel, check_positive
from kernelweave.kernels.parts import beside, by_rows, unit
from kernelweave.kernels.strings.columns import interleave, unit_rows


class Passing(Wrapper):
    """A wrapper whose features and shifts mean what they mean in the kernel inside."""

    def names(self, columns: Array, alphabet: Any = "dna") -> list[Any]:
        """Decode feature columns of the kernel inside."""
        return cast(FeatureMap, self.kernel).names(columns, alphabet)

    def spelled(self, codes: Array, alphabet: Any) -> Array:
        """Return the letters of the strings that codes name in the kernel inside."""
        return cast(Counted, self.kernel).spelled(codes, alphabet)

    def shift_weights(self) -> Array:
        """Return those of the kernel inside."""
        return cast(Positional, self.kernel).shift_weights()

    def reweighted(self, weights: Array) -> Kernel:
        """Return the kernel inside with these weights of the lengths; it is told prepared rows, not where they lie."""
        return cast(Reweighted, self.kernel).reweighted(weights)

    @property
    def rank_(self) -> int:
        """How many features the approximation inside has."""
        return self.kernel.rank_  # type: ignore[attr-defined]

    @property
    def approximation_error_(self) -> float:
        """How far the approximation inside is off."""
        return self.kernel.approximation_error_  # type: ignore[attr-defined]


class On(Passing):
    """A kernel restricted to some columns of a table or to a named view.

    Parameters
    ----------
    kernel : the kernel that compares what was selected
    columns : an integer, a list, a slice or a mask of columns; or the name of a view (or a list of names)

    Examples
    --------
    >>> from kernelweave.kernels.vector.kernels import Linear
    >>> On(Linear(), [0, 2]).gram([[1.0, 5.0, 1.0], [2.0, 5.0, 0.0]])
    array([[2., 2.],
           [2., 4.]])
    """

    def __init__(self, kernel: Kernel, columns: Any):
        self.kernel = kernel
        self.columns = columns

    def fitted(self, X: Any, sample_weight: Array | None = None) -> Kernel:
        """Return the kernel fitted to the selection."""
        check_kernel(self, self.kernel)
        return On(self.kernel.fitted(select(X, self.columns), sample_weight), self.columns)

    def prepare(self, X: Any) -> Any:
        """Return what the kernel inside needs of the selection."""
        check_kernel(self, self.kernel)
        return self.kernel.prepare(select(X, self.columns))

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the values of the kernel inside."""
        return self.kernel.block(A, B, dtype)

    def diagonal(self, A: Any) -> Array:
        """Return the diagonal of the kernel inside."""
        return self.kernel.diagonal(A)

    def base(self) -> Kernel:
        """Return the number under the kernel inside, on the same columns."""
        return On(cast(Elementwise, self.kernel).base(), self.columns)

    def finish(self, values: Array) -> Array:
        """Turn base values into kernel values, in place."""
        return cast(Elementwise, self.kernel).finish(values)

    def features(self, X: Any) -> Any:
        """Return the features of the selection."""
        check_kernel(self, self.kernel)
        return cast(FeatureMap, self.kernel).features(select(X, self.columns))

    def counts(self, X: Any) -> Any:
        """Return the counted strings of the selection."""
        check_kernel(self, self.kernel)
        return cast(Counted, self.kernel).counts(select(X, self.columns))

    def embedding(self, X: Any, dtype: type = np.float64) -> Any:
        """Return the explicit features of the selection."""
        check_kernel(self, self.kernel)
        inner = cast(Embedding, self.kernel)
        return by_rows(X, lambda part: inner.embedding(select(part, self.columns), dtype), dtype)

    def cells(self, length: int) -> Array:
        """Return the weights of positioned k-mers in the kernel inside."""
        return cast(Positional, self.kernel).cells(length)


class Scaled(Passing):
    """A kernel times a positive number.

    Examples
    --------
    >>> from kernelweave.kernels.vector.kernels import Linear
    >>> (2 * Linear()).gram([[1.0], [3.0]])
    array([[ 2.,  6.],
           [ 6., 18.]])
    """

    def __init__(self, kernel: Kernel, factor: float):
        self.kernel = kernel
        self.factor = factor

    def fitted(self, X: Any, sample_weight: Array | None = None) -> Kernel:
        """Return the fitted kernel times the same number."""
        check_kernel(self, self.kernel)
        return Scaled(self.kernel.fitted(X, sample_weight), self.factor)

    def prepare(self, X: Any) -> Any:
        """Return what the kernel inside needs."""
        check_kernel(self, self.kernel)
        check_positive(self, "factor", self.factor)
        return self.kernel.prepare(X)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the scaled values."""
        values = self.kernel.block(A, B, dtype)
        values *= self.factor
        return values

    def diagonal(self, A: Any) -> Array:
        """Return the scaled diagonal."""
        return self.kernel.diagonal(A) * self.factor

    def base(self) -> Kernel:
        """Return the number under the kernel inside."""
        return cast(Elementwise, self.kernel).base()

    def finish(self, values: Array) -> Array:
        """Turn base values into kernel values, in place."""
        check_positive(self, "factor", self.factor)
        values = cast(Elementwise, self.kernel).finish(values)
        values *= self.factor
        return values

    def features(self, X: Any) -> Any:
        """Return the features of the kernel inside times the root of the factor."""
        check_kernel(self, self.kernel)
        check_positive(self, "factor", self.factor)
        table = cast(FeatureMap, self.kernel).features(X)
        table.data *= np.sqrt(self.factor)
        return table

    def counts(self, X: Any) -> Any:
        """Return the counted strings of the kernel inside, times the root of the factor."""
        check_kernel(self, self.kernel)
        check_positive(self, "factor", self.factor)
        return cast(Counted, self.kernel).counts(X).times(np.sqrt(self.factor))

    def embedding(self, X: Any, dtype: type = np.float64) -> Any:
        """Return the explicit features of the kernel inside times the root of the factor."""
        check_kernel(self, self.kernel)
        check_positive(self, "factor", self.factor)
        inner, root = cast(Embedding, self.kernel), float(np.sqrt(self.factor))
        return by_rows(X, lambda part: inner.embedding(part, dtype) * root, dtype)

    def cells(self, length: int) -> Array:
        """Return the scaled weights of positioned k-mers."""
        check_positive(self, "factor", self.factor)
        return cast(Positional, self.kernel).cells(length) * self.factor


class Cosine(Passing):
    """A kernel divided by the geometric mean of the two diagonals; a row that is zero resembles nothing (0/0 = 0).

    Examples
    --------
    >>> from kernelweave.kernels.vector.kernels import Linear
    >>> Cosine(Linear()).gram([[3.0, 4.0], [0.0, 2.0], [0.0, 0.0]])
    array([[1. , 0.8, 0. ],
           [0.8, 1. , 0. ],
           [0. , 0. , 0. ]])
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def fitted(self, X: Any, sample_weight: Array | None = None) -> Kernel:
        """Return the fitted kernel, normalised."""
        check_kernel(self, self.kernel)
        return Cosine(self.kernel.fitted(X, sample_weight))

    def prepare(self, X: Any) -> Any:
        """Return what the kernel inside needs, and one over the norm of each row."""
        check_kernel(self, self.kernel)
        inner = self.kernel.prepare(X)
        norms = self.kernel.diagonal(inner)
        if np.any(norms < 0):
            row = int(np.argmax(norms < 0))
            raise ValueError(f"{self.kernel!r} cannot be normalised: row {row} has the negative norm {norms[row]}.")
        with np.errstate(divide="ignore"):
            return inner, np.where(norms > 0, 1 / np.sqrt(norms), 0.0)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the normalised values; where ``A is B`` the diagonal is exactly 1 (or 0)."""
        same = A is B
        (inner, scale), (others, other_scale) = A, B
        values = self.kernel.block(inner, others, dtype)
        values *= np.multiply.outer(scale, other_scale)
        if same:
            np.fill_diagonal(values, self.diagonal(A))
        return values

    def diagonal(self, A: Any) -> Array:
        """Return ones, and zeros for rows that are zero."""
        return (A[1] > 0).astype(np.float64)

    def features(self, X: Any) -> Any:
        """Return the features of the kernel inside, each row divided by its length."""
        check_kernel(self, self.kernel)
        return unit_rows(cast(FeatureMap, self.kernel).features(X))

    def counts(self, X: Any) -> Any:
        """Return the counted strings of the kernel inside, each row divided by its length."""
        check_kernel(self, self.kernel)
        found = cast(Counted, self.kernel).counts(X)
        norms = np.sqrt(found.diagonal())
        return found.times(1.0 / np.where(norms > 0, norms, 1.0))

    def embedding(self, X: Any, dtype: type = np.float64) -> Any:
        """Return the explicit features of the kernel inside, each row divided by its length."""
        check_kernel(self, self.kernel)
        inner = cast(Embedding, self.kernel)
        return by_rows(X, lambda part: unit(inner.embedding(part)), dtype)


class Sum(Combination):
    """Sum of kernels.

    Examples
    --------
    >>> from kernelweave.kernels.vector.kernels import Linear, RBF
    >>> Linear() + RBF(gamma=1.0)
    Sum([Linear(), RBF(gamma=1.0)])
    """

    ufunc = np.add

    def __init__(self, kernels: Sequence[Kernel]):
        self.kernels = kernels

    def features(self, X: Any) -> Any:
        """Return the features of all p parts; column c of part i is column ``c p + i``."""
        self.check()
        for kernel in self.kernels:
            if not isinstance(kernel, FeatureMap):
                raise TypeError(f"{kernel!r} has no explicit features, so the sum it is part of has none.")
        return interleave([cast(FeatureMap, kernel).features(X) for kernel in self.kernels])

    def embedding(self, X: Any, dtype: type = np.float64) -> Any:
        """Return the explicit features of all parts side by side."""
        self.check()
        for kernel in self.kernels:
            if not isinstance(kernel, Embedding):
                raise TypeError(f"{kernel!r} has no explicit features, so the sum it is part of has none.")
        inner = [cast(Embedding, kernel) for kernel in self.kernels]
        return by_rows(X, lambda part: beside([kernel.embedding(part, dtype) for kernel in inner]), dtype)

    def names(self, columns: Array, alphabet: Any = "dna") -> list[tuple[int, Any]]:
        """Decode feature columns: the number of the part, and what the feature counts there.

        Parameters
        ----------
        columns : column numbers
        alphabet : of all parts, or a list with one for each part

        Examples
        --------
        >>> from kernelweave.kernels.strings.spectrum import Spectrum
        >>> Sum([Spectrum(1), Spectrum(3)]).names([2, 3])
        [(0, 'C'), (1, 'AAC')]
        """
        self.check()
        alphabets = alphabet if isinstance(alphabet, list | tuple) else [alphabet] * len(self.kernels)
        numbers, parts = np.divmod(np.asarray(columns, np.int64), len(self.kernels))
        found: list[Any] = [None] * len(parts)
        for i, kernel in enumerate(self.kernels):
            places = np.flatnonzero(parts == i)
            for place, name in zip(places, cast(FeatureMap, kernel).names(numbers[places], alphabets[i])):
                found[place] = (i, name)
        return found


class Product(Combination):
    """Entrywise product of kernels.

    Examples
    --------
    >>> from kernelweave.kernels.vector.kernels import Linear, RBF
    >>> (Linear() * RBF(gamma=1.0)).gram([[1.0], [2.0]]).round(3)
    array([[1.   , 0.736],
           [0.736, 4.   ]])
    """

    ufunc = np.multiply

    def __init__(self, kernels: Sequence[Kernel]):
        self.kernels = kernels


def per_feature(kernels: Kernel | Iterable[Kernel], n_features: int) -> list[Kernel]:
    """Return each kernel on each single column, all kernels of column 0 first.

    Parameters
    ----------
    kernels : one kernel or several
    n_features : number of columns of the table

    Examples
    --------
    >>> from kernelweave.kernels.vector.kernels import RBF
    >>> per_feature(RBF.grid([1, 2]), 2)[1:3]
    [On(RBF(width=2.0), 0), On(RBF(width=1.0), 1)]
    """
    each = [kernels] if isinstance(kernels, Kernel) else list(kernels)
    return [kernel.on(column) for column in range(n_features) for kernel in each]
