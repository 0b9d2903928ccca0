"""Features that count the more, the fewer training rows have them (tf-idf).

    K(x, y) = sum_u idf_u^2 value_u(x) value_u(y),        idf_u = log((1 + n) / (1 + n_u)) + 1

n training rows, n_u of them with feature u: the weights of scikit-learn's `TfidfTransformer`.  A feature that no
training row has gets the weight of n_u = 0.  With ``normalize="cosine"`` it is the usual kernel of documents.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn, cast

import numpy as np

from kernelweave._numba.csr import CSR
from kernelweave.data import select
from kernelweave.kernels.abilities import Features, has_codes
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_kernel
from kernelweave.kernels.compose import On
from kernelweave.kernels.strings.counts import Counts, find_codes


class TfIdf(Kernel):
    """A kernel of counted features, each weighted by how rare it is among the training rows.

    It has values once it is fitted; an estimator does that.

    Parameters
    ----------
    kernel : what is counted: `NGram`, `Spectrum`, `GappedKmer` or another kernel whose features are k-mers or n-grams

    Examples
    --------
    >>> from kernelweave.data import Sequences
    >>> from kernelweave.kernels import NGram
    >>> X = Sequences.from_strings(["the cat", "the dog", "the end"], alphabet="words")
    >>> TfIdf(NGram(1)).fitted(X).gram(X).round(2)
    array([[3.87, 1.  , 1.  ],
           [1.  , 3.87, 1.  ],
           [1.  , 1.  , 3.87]])
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def fitted(self, X: Any, sample_weight: Array | None = None) -> Kernel:
        """Return the kernel with the weights that the rows of X give.

        Parameters
        ----------
        X : training rows
        sample_weight : (n,) non-negative; a row of weight w counts as w rows
        """
        check_kernel(self, self.kernel)
        if isinstance(self.kernel, On):
            inner, columns = self.kernel.kernel, self.kernel.columns
            return On(TfIdf(inner).fitted(select(X, columns), sample_weight), columns)
        kernel = self.kernel.fitted(X, sample_weight)
        if not has_codes(kernel):
            raise TypeError(
                f"TfIdf weights features that are counted, and {kernel!r} counts none; use a kernel such as NGram(1)."
            )
        found = cast(Features, kernel).counts(X)
        each = np.ones(found.n) if sample_weight is None else np.asarray(sample_weight, np.float64)
        codes, place = np.unique(found.codes, axis=0, return_inverse=True)
        rows_with = np.bincount(place.ravel(), np.repeat(each, np.diff(found.starts)), len(codes))
        total = 1.0 + each.sum()
        return Rarity(kernel, codes, np.log(total / (1.0 + rows_with)) + 1.0, float(np.log(total) + 1.0))

    def prepare(self, X: Any) -> Any:
        """Raise: the weights are learned first."""
        self._unfitted()

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Raise: the weights are learned first."""
        self._unfitted()

    def diagonal(self, A: Any) -> Array:
        """Raise: the weights are learned first."""
        self._unfitted()

    def _unfitted(self) -> NoReturn:
        raise ValueError(f"{self!r} learns weights from training data: call fitted(X) and use the kernel it returns.")


class Rarity(Kernel, Features):
    """The inner product of weighted features.  Unlike other kernels it holds data; it is made while fitting.

    Parameters
    ----------
    kernel : what is counted
    codes : (m, words) the features of the training rows, rising
    weights : (m,) what each is multiplied with
    unseen : what others are multiplied with
    """

    def __init__(self, kernel: Kernel, codes: Array, weights: Array, unseen: float):
        codes, weights = np.ascontiguousarray(codes), np.ascontiguousarray(weights, np.float64)
        if codes.ndim != 2 or codes.dtype.kind not in "iu" or weights.shape != (len(codes),):
            raise ValueError(f"Weights of {kernel!r} need one code each, not shapes {codes.shape} and {weights.shape}.")
        if not (np.isfinite(weights).all() and np.isfinite(unseen)):
            raise ValueError(f"Weights of {kernel!r} must be finite.")
        self.kernel, self.codes, self.weights, self.unseen = kernel, codes, weights, float(unseen)

    @property
    def _counted(self) -> Features:
        return cast(Features, self.kernel)

    @property
    def kind(self) -> str:  # type: ignore[override]
        """What the features are, as in the kernel inside."""
        return self._counted.kind

    def rows(self, X: Any, dtype: type = np.float64) -> CSR:
        """Return the features of the kernel inside, weighted."""
        found = self._counted.counts(X)
        if found.codes.shape[1] != self.codes.shape[1]:
            raise ValueError(f"The weights of {self.kernel!r} belong to features of another alphabet.")
        place = find_codes(np.ascontiguousarray(found.codes), self.codes)
        known = np.append(self.weights, self.unseen)
        return replace(found, values=found.values * known[place]).astype(dtype)

    def n_features(self, X: Any) -> int:
        """Return how many features there could be in the kernel inside."""
        return self._counted.n_features(X)

    def spell(self, codes: Array, alphabet: Any) -> list[Any]:
        """Decode features of the kernel inside."""
        return self._counted.spell(codes, alphabet)

    def letters(self, codes: Array, alphabet: Any) -> Array:
        """Return the letters of the strings that codes name in the kernel inside."""
        return self._counted.letters(codes, alphabet)

    def prepare(self, X: Any) -> Counts:
        """Return the weighted features of the rows of X."""
        found = self.rows(X)
        if isinstance(found, Counts):
            return found
        return Counts(found.columns, found.values, found.starts, self.alphabets(X))

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the inner products of weighted features."""
        return A.gram(B, dtype)

    def diagonal(self, A: Any) -> Array:
        """Return the squared lengths of weighted features."""
        return A.diagonal()

    def __repr__(self) -> str:
        return f"TfIdf({self.kernel!r})"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__
