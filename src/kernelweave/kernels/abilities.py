"""What some kernels can do beyond comparing rows.  Ask with ``isinstance(kernel, Positional)``."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from kernelweave.kernels.base import Array, Combination, Kernel, Wrapper


class _Ability(type(Protocol)):  # type: ignore[misc]
    """Asks wrappers and sums for the abilities of the kernels inside them: the class alone cannot tell."""

    def __instancecheck__(cls, kernel: Any) -> bool:
        if not super().__instancecheck__(kernel):
            return False
        return not isinstance(kernel, Wrapper | Combination) or all(isinstance(k, cls) for k in kernel.children())


@runtime_checkable
class Elementwise(Protocol, metaclass=_Ability):
    """Ability: the kernel is a function of one number per pair, which other kernels may share.

    Ten Gaussian widths have the same `base` (squared distances) and differ in `finish` only.
    """

    def base(self) -> Kernel:
        """Return the description of the shared number; equal descriptions mean equal numbers."""

    def finish(self, values: Array) -> Array:
        """Turn base values into kernel values, in place."""


@runtime_checkable
class FeatureMap(Protocol, metaclass=_Ability):
    """Ability: explicit sparse features whose inner product is the kernel, each of which can be decoded."""

    def features(self, X: Any) -> Any:
        """Return the features of the rows of X, CSR (n, number of features)."""

    def names(self, columns: Array, alphabet: Any = "dna") -> list[Any]:
        """Decode feature columns: what each one counts, for example (k-mer, position).

        Columns have fixed numbers that hold no letters: `alphabet` (or its name) says how to spell them.
        """


@runtime_checkable
class Embedding(Protocol, metaclass=_Ability):
    """Ability: few explicit features, the same columns for all rows, whose inner product is the kernel.

    Unlike those of a `FeatureMap` they have no names, and most of them are not zero.
    """

    def embedding(self, X: Any, dtype: type = np.float64) -> Any:
        """Return the features of the rows of X, (n, columns): an array, or CSR where the features are a sparse table.

        The result may share memory with X: never write to it.
        """


@runtime_checkable
class Square(Protocol, metaclass=_Ability):
    """Ability: a power of an affine function of the inner product of tables; the second power is a quadratic form."""

    degree: int

    def square(self, X: Any) -> tuple[Array, float, float]:
        """Return the rows of X as a dense table, and g and c of the kernel ``(g <x, y> + c) ** degree``."""


@runtime_checkable
class Stationary(Protocol, metaclass=_Ability):
    """Ability: ``K(x, y) = E cos(w'(x - y))`` over a distribution of frequencies w that can be drawn from."""

    def frequencies(self, n_features: int, size: int, rng: np.random.Generator) -> Array:
        """Return frequencies, (n_features, size)."""


@runtime_checkable
class Counted(Protocol, metaclass=_Ability):
    """Ability: each feature is a string, and codes name them however many there could be.

    Where `features` must refuse (more columns than can be numbered), the codes of `counts` take several words.
    """

    def counts(self, X: Any) -> Any:
        """Return the features of the rows of X: codes (total, words), values (total,), bounds (n + 1,).

        Codes are sorted and come once a row.
        """

    def spelled(self, codes: Array, alphabet: Any) -> Array:
        """Return the letters of the strings that codes name, (m, longest) int32, -1 behind the end."""


@runtime_checkable
class Positional(Protocol, metaclass=_Ability):
    """Ability: the kernel counts k-mers that two rows of one length share at (nearly) the same place.

        K(x, y) = sum_k sum_{|i - j| <= S} m_|i-j| sqrt(c_ik c_jk) [x_i .. x_{i+k-1} = y_j .. y_{j+k-1}]

    c are the `cells`, m the `shift_weights` (m_0 = 1, S = len(m) - 1).  Its prepared rows have `codes` (n, length)
    and `alphabet`.  Operators hold such a kernel as weights on tries, one for each position.
    """

    def cells(self, length: int) -> Array:
        """Return c, (length, degree): the weight of a k-mer of length k (column k - 1) that starts at position i.

        Zero where the k-mer would leave the row.
        """

    def shift_weights(self) -> Array:
        """Return m, (S + 1,)."""


@runtime_checkable
class Reweighted(Protocol, metaclass=_Ability):
    """Ability of a `Positional` kernel: it can compare rows under other weights of the lengths."""

    def reweighted(self, weights: Array) -> Kernel:
        """Return the kernel with these weights of the lengths, the same at every position."""
