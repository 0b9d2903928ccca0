"""Kernels made of kernels: restricted to columns or a view, added, multiplied, scaled, normalised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from kernelweave._numba.csr import CSR
from kernelweave.data import select
from kernelweave.data.selection import column_numbers, has_names
from kernelweave.data.tables import is_sparse
from kernelweave.kernels.abilities import Decaying, Elementwise, Features, Positional, Ranged, Reweighted
from kernelweave.kernels.base import Array, Combination, Kernel, Wrapper
from kernelweave.kernels.checks import check_kernel, check_positive
from kernelweave.kernels.parts import beside, by_rows, joined_codes, split_codes, unit

SMALLEST_SINGLE, LARGEST_SINGLE = 1e-37, 1e38
"""Factors that single precision holds."""


class Forwarding(Wrapper, Features):
    """A wrapper whose features and shifts mean what they mean in the kernel inside.

    A subclass says what rows the kernel inside sees, and what becomes of its features.
    """

    doubled = False
    """Whether what becomes of features is computed in double precision, whatever is asked for."""

    def seen(self, X: Any) -> Any:
        """Return the rows of X as the kernel inside sees them."""
        return X

    def changed(self, rows: CSR | Array) -> CSR | Array:
        """Return features of the kernel inside as those of this one."""
        return rows

    @property
    def inside(self) -> Features:
        """The kernel inside, for its features."""
        check_kernel(self, self.kernel)
        return cast(Features, self.kernel)

    @property
    def kind(self) -> str:  # type: ignore[override]
        """What the features of the kernel inside are."""
        return self.inside.kind

    def rows(self, X: Any, dtype: type = np.float64) -> CSR | Array:
        """Return the features of the kernel inside, changed."""
        inside = self.inside
        if inside.kind == "columns":
            held = np.float64 if self.doubled else dtype
            return by_rows(X, lambda part: self.changed(inside.rows(self.seen(part), held)), dtype)
        return cast(CSR, self.changed(inside.rows(self.seen(X)))).astype(dtype)

    def n_features(self, X: Any) -> int:
        """Return how many features there could be in the kernel inside."""
        return self.inside.n_features(self.seen(X))

    def spell(self, codes: Array, alphabet: Any) -> list[Any]:
        """Decode features of the kernel inside."""
        return self.inside.spell(codes, alphabet)

    def letters(self, codes: Array, alphabet: Any) -> Array:
        """Return the letters of the strings that codes name in the kernel inside."""
        return self.inside.letters(codes, alphabet)

    def alphabets(self, X: Any) -> Any:
        """Return the alphabet of the rows that the kernel inside sees."""
        return self.inside.alphabets(self.seen(X))

    def shift_weights(self) -> Array:
        """Return those of the kernel inside."""
        return cast(Positional, self.kernel).shift_weights()

    def reweighted(self, weights: Array) -> Kernel:
        """Return the kernel inside with these weights of the lengths; it gets prepared rows, not where they lie."""
        return cast(Reweighted, self.kernel).reweighted(weights)

    @property
    def rank_(self) -> int:
        """How many features the approximation inside has."""
        return self.kernel.rank_  # type: ignore[attr-defined]

    @property
    def approximation_error_(self) -> float:
        """How far the approximation inside is off."""
        return self.kernel.approximation_error_  # type: ignore[attr-defined]


class On(Forwarding):
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
        plain = isinstance(X, np.ndarray) or is_sparse(X)
        if plain and type(self.kernel).fitted is Kernel.fitted and not has_names(self.columns):
            column_numbers(self.columns, X.shape[1])  # nothing is learned from the selection, but it must exist
            return self
        return On(self.kernel.fitted(self.seen(X), sample_weight), self.columns)

    def seen(self, X: Any) -> Any:
        """Return the selection."""
        return select(X, self.columns)

    def prepare(self, X: Any) -> Any:
        """Return what the kernel inside needs of the selection."""
        check_kernel(self, self.kernel)
        return self.kernel.prepare(self.seen(X))

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

    def decay(self) -> tuple[float, float]:
        """Return factor and rate of the kernel inside."""
        return cast(Decaying, self.kernel).decay()

    def interval(self, A: Any) -> tuple[float, float]:
        """Return the interval of the number inside."""
        return cast(Ranged, self.kernel).interval(A)

    def cells(self, length: int) -> Array:
        """Return the weights of positioned k-mers in the kernel inside."""
        return cast(Positional, self.kernel).cells(length)


def _scaled(values: Array, factor: float) -> Array:
    """Multiply in place; by a factor beyond single precision in double, so that it does not turn into infinity."""
    if values.dtype == np.float32 and not SMALLEST_SINGLE < factor < LARGEST_SINGLE:
        values[...] = values.astype(np.float64) * factor
    else:
        values *= factor
    return values


class Scaled(Forwarding):
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
        return _scaled(values, self.factor)

    def diagonal(self, A: Any) -> Array:
        """Return the scaled diagonal."""
        return self.kernel.diagonal(A) * self.factor

    def base(self) -> Kernel:
        """Return the number under the kernel inside."""
        return cast(Elementwise, self.kernel).base()

    def finish(self, values: Array) -> Array:
        """Turn base values into kernel values, in place."""
        check_positive(self, "factor", self.factor)
        return _scaled(cast(Elementwise, self.kernel).finish(values), self.factor)

    def decay(self) -> tuple[float, float]:
        """Return the scaled factor, and the rate of the kernel inside."""
        factor, rate = cast(Decaying, self.kernel).decay()
        return self.factor * factor, rate

    def changed(self, rows: CSR | Array) -> CSR | Array:
        """Return features times the root of the factor."""
        check_positive(self, "factor", self.factor)
        root = float(np.sqrt(self.factor))
        return rows.times(root) if isinstance(rows, CSR) else rows * root

    def cells(self, length: int) -> Array:
        """Return the scaled weights of positioned k-mers."""
        check_positive(self, "factor", self.factor)
        return cast(Positional, self.kernel).cells(length) * self.factor


class Cosine(Forwarding):
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
        with np.errstate(over="ignore", invalid="ignore"):
            norms = self.kernel.diagonal(inner)
        if not np.isfinite(norms).all():
            row = int(np.argmin(np.isfinite(norms)))
            raise ValueError(
                f"Kernel {self.kernel!r} of row {row} with itself is not finite; rescale the features of the table."
            )
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

    doubled = True

    def changed(self, rows: CSR | Array) -> CSR | Array:
        """Return each row of features divided by its length."""
        return unit(rows)


class Sum(Combination, Features):
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

    @property
    def kind(self) -> str:  # type: ignore[override]
        """ "columns" where the features of all parts are, else "codes"."""
        return "columns" if all(part.kind == "columns" for part in self._parts()) else "codes"

    def rows(self, X: Any, dtype: type = np.float64) -> CSR | Array:
        """Return the features of all p parts: columns side by side, or codes.

        Feature c of part i has the code ``c p + i``; where that does not fit a word, a first word names the part.
        """
        parts = self._parts()
        if self.kind == "columns":
            X = X.tocsr() if is_sparse(X) else X  # not every sparse form can be sliced
            widths = [part.n_features(X[:1] if hasattr(X, "shape") else X) for part in parts]
            return by_rows(X, lambda some: beside([part.rows(some, dtype) for part in parts], widths), dtype)
        return joined_codes([part.counts(X) for part in parts], [part.n_features(X) for part in parts]).astype(dtype)

    def n_features(self, X: Any) -> int:
        """Return how many features there could be."""
        widths = [part.n_features(X) for part in self._parts()]
        return sum(widths) if self.kind == "columns" else max(widths) * len(widths)

    def spell(self, codes: Array, alphabet: Any) -> list[Any]:
        """Decode features: the number of the part, and what the feature counts there.

        Parameters
        ----------
        codes : (m, words) as `rows` gives them, or (m,) numbers of columns
        alphabet : of all parts, or a list with one for each part

        Examples
        --------
        >>> from kernelweave.kernels.strings.spectrum import Spectrum
        >>> Sum([Spectrum(1), Spectrum(3)]).names([2, 3])
        [(0, 'C'), (1, 'AAC')]
        """
        parts, codes = self._parts(), np.asarray(codes)
        if self.kind == "columns":
            return super().spell(codes, alphabet)
        alphabets = alphabet if isinstance(alphabet, list | tuple) else [alphabet] * len(parts)
        found: list[Any] = [None] * len(codes)
        for i, (places, inner) in enumerate(split_codes(codes, len(parts))):
            for place, name in zip(places, parts[i].spell(inner, alphabets[i])):
                found[place] = (i, name)
        return found

    def alphabets(self, X: Any) -> list[Any]:
        """Return the alphabets of the rows that the parts see."""
        return [part.alphabets(X) for part in self._parts()]

    def _parts(self) -> list[Features]:
        self.check()
        for kernel in self.kernels:
            if not isinstance(kernel, Features):
                raise TypeError(f"{kernel!r} has no explicit features, so the sum it is part of has none.")
        return [cast(Features, kernel) for kernel in self.kernels]


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
