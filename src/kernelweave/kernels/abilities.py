"""What some kernels can do beyond comparing rows.  Ask with ``isinstance(kernel, Features)``.

A kernel around others has an ability while all kernels inside it have it.
"""

from __future__ import annotations

from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from math import comb
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from kernelweave._numba.csr import CSR, coded
from kernelweave.kernels.base import Array, Combination, Kernel, Wrapper

if TYPE_CHECKING:
    from kernelweave.automata.rows import MachineRows

MOST_PATTERNS = 4096
"""More choices of places of an l-mer than this are not tried."""
Table = Sequence[int] | Sequence[Fraction]
"""Whole numbers or fractions by Hamming distance."""
MOST_COLUMNS = 2**63 - 1
"""The highest column number that sparse tables can hold."""


def _inside(kernel: Any, ability: type) -> bool:
    """Tell whether the kernels inside a wrapper or a sum have an ability: its class alone cannot tell."""
    return not isinstance(kernel, Wrapper | Combination) or all(isinstance(k, ability) for k in kernel.children())


class _Ability(type(Protocol)):  # type: ignore[misc]
    def __instancecheck__(cls, kernel: Any) -> bool:
        return super().__instancecheck__(kernel) and _inside(kernel, cls)


class _FeatureAbility(ABCMeta):
    def __instancecheck__(cls, kernel: Any) -> bool:
        return super().__instancecheck__(kernel) and (cls is not Features or _inside(kernel, cls))


def representatives(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return kernels of which each stands for all of its types: what types tell is asked of few.

    A kernel is of the types of another if it is of its class, around kernels of the same classes; sums and products
    stand for themselves.

    Examples
    --------
    >>> from kernelweave.kernels import RBF, Cosine
    >>> representatives([RBF(width=1.0), RBF(width=2.0), Cosine(RBF(width=1.0))])
    [RBF(width=1.0), Cosine(RBF(width=1.0))]
    """
    level = kernels
    while len(found := set(map(type, level))) == 1:  # the usual case, without a walk along each kernel
        (cls,) = found
        if not issubclass(cls, Wrapper):
            return list(kernels if issubclass(cls, Combination) else kernels[:1])
        level = list(map(attrgetter("kernel"), level))
    return list({_types(kernel): kernel for kernel in reversed(kernels)}.values())[::-1]


def _types(kernel: Kernel) -> tuple[Any, ...]:
    """Return the types of a kernel and of those inside; of a sum or product itself, as its own number."""
    types, inner = [type(kernel)], kernel
    while isinstance(inner, Wrapper):
        inner = inner.kernel
        types.append(type(inner))
    return (id(kernel),) if isinstance(inner, Combination) else tuple(types)


def which_have(ability: type, kernels: Sequence[Kernel]) -> list[bool]:
    """Tell which kernels have an ability; those of the same types are asked once.

    Examples
    --------
    >>> from kernelweave.kernels import RBF, Cosine
    >>> which_have(Elementwise, [RBF(width=1.0), RBF(width=2.0), Cosine(RBF(width=1.0))])
    [True, True, False]
    """
    asked = representatives(kernels)
    able = [isinstance(kernel, ability) for kernel in asked]
    if all(able) or not any(able):
        return [all(able)] * len(kernels)
    known = {_types(kernel): one for kernel, one in zip(asked, able)}
    return [known[_types(kernel)] for kernel in kernels]


class Features(ABC, metaclass=_FeatureAbility):
    """Ability: explicit features whose inner product is the kernel.

    Attributes
    ----------
    kind : "columns" where features are the columns of a table, the same few for all rows; "codes" where each has a
        code, and a row has few of all that there could be; "strings" where the codes name strings of letters
    identity : whether the features are the columns of the table as they are
    """

    kind: str = "codes"
    identity: bool = False

    @abstractmethod
    def rows(self, X: Any, dtype: type = np.float64) -> CSR | Array:
        """Return the features of the rows of X: a table (n, n_features), or rows of codes, which rise in each row.

        The result may share memory with X: never write to it.
        """

    @abstractmethod
    def n_features(self, X: Any) -> int:
        """Return how many features there could be for rows like those of X; codes of one word are below that."""

    def spell(self, codes: Array, alphabet: Any) -> list[Any]:
        """Decode features: what each one counts, for example a k-mer or (k-mer, position).

        Parameters
        ----------
        codes : (m, words) as `rows` gives them, or (m,) numbers of columns
        alphabet : Alphabet or its name: codes hold no letters; for a sum also a list with one for each part
        """
        return np.asarray(codes).reshape(len(codes), -1)[:, 0].tolist()

    def letters(self, codes: Array, alphabet: Any) -> Array:
        """Return the letters of the strings that codes name, (m, longest) int32, -1 behind the end."""
        raise TypeError(f"The features of {self!r} are not strings.")

    def alphabets(self, X: Any) -> Any:
        """Return the alphabet of the rows of X, as `spell` takes it."""
        return getattr(X, "alphabet", "dna")

    def counts(self, X: Any) -> CSR:
        """Return the features of the rows of X as rows of codes, whatever their form; those of a table are columns."""
        rows = self.rows(X)
        return rows if isinstance(rows, CSR) else coded(rows)

    def features(self, X: Any, dtype: type = np.float64) -> Any:
        """Return the features of the rows of X as a table (n, n_features), an array or one of scipy's CSR arrays."""
        if self.kind != "columns":
            check_columns(self, self.n_features(X))
        rows = self.rows(X, dtype)
        return sparse_table(rows, self.n_features(X)) if isinstance(rows, CSR) else rows

    def names(self, columns: Array, alphabet: Any = "dna") -> list[Any]:
        """Decode columns of `features`: what each one counts, for example a k-mer or (k-mer, position).

        Columns have fixed numbers that hold no letters: `alphabet` (or its name) says how to spell them.
        """
        return self.spell(columns, alphabet)


def has_codes(kernel: Kernel) -> bool:
    """Tell whether a kernel has features with codes, of which a row has few."""
    return isinstance(kernel, Features) and kernel.kind != "columns"


def has_columns(kernel: Kernel) -> bool:
    """Tell whether the features of a kernel are the columns of a table."""
    return isinstance(kernel, Features) and kernel.kind == "columns"


def check_columns(kernel: Any, width: int) -> None:
    """Raise unless the number of every feature fits 63 bits."""
    if width > MOST_COLUMNS:
        raise ValueError(
            f"{kernel!r} has about 10^{len(str(width)) - 1} features, more than 63-bit column numbers can hold; "
            "take shorter k-mers, or use its Gram matrix, which has no such limit."
        )


def sparse_table(rows: CSR, width: int, rising: bool = True) -> Any:
    """Return rows of numbered columns, which rise in each row or do not, as a scipy table (n, width)."""
    from scipy import sparse

    columns, starts = rows.codes[:, 0], rows.starts
    if rows.entries <= np.iinfo(columns.dtype).max:
        starts = starts.astype(columns.dtype)
    table = sparse.csr_array((rows.values, columns, starts), shape=(len(rows), width))
    if rising:
        table.has_sorted_indices = table.has_canonical_format = True
    return table


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
class Decaying(Protocol, metaclass=_Ability):
    """Ability of an `Elementwise` kernel: it is ``factor exp(-rate x)`` of its base number x >= 0."""

    def decay(self) -> tuple[float, float]:
        """Return the factor and the rate."""


@runtime_checkable
class Ranged(Protocol, metaclass=_Ability):
    """Ability of a base number: an interval is known that holds its values on all pairs of prepared rows."""

    def interval(self, A: Any) -> tuple[float, float]:
        """Return the least and the greatest value that a pair of the rows may have."""


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
class Transduced(Protocol, metaclass=_Ability):
    """Ability: rows are automata and kernel values sums over pairs of their paths, which need no list of strings."""

    def machines(self, X: Any) -> MachineRows:
        """Return what each row writes and what is read of it."""


@runtime_checkable
class Windowed(Protocol, metaclass=_Ability):
    """Ability: features count k-mers, so that those of a row are the sums of those of its windows."""

    def window_lengths(self) -> tuple[int, ...]:
        """Return the lengths of the windows; none where features ask whether a k-mer is there, not how often."""


@runtime_checkable
class Occurrences(Protocol, metaclass=_Ability):
    """Ability: features count occurrences of strings, each of which uses as many letters as its string has.

    A masked letter is part of none.
    """

    def counts_occurrences(self) -> bool:
        """Return whether features do so under the parameters of this kernel."""


@runtime_checkable
class Hamming(Protocol, metaclass=_Ability):
    """Ability: a sum over all pairs of l-mers of two rows of a number that depends on their Hamming distance alone.

        K(x, y) = sum_i sum_j g_i g_j c[d(x_i .. x_{i+l-1}, y_j .. y_{j+l-1})]

    c are the `coefficients` (zero beyond their end), g the `place_weights`.  With reverse complements, the l-mers of
    the other strand of y count as well, each with the weight of its place, and the inner product of the `own_features`
    is taken off.  An l-mer with a masked letter counts nothing.  Operators hold such a kernel as a table over all
    l-mers.
    """

    reverse_complement: bool

    def window(self) -> tuple[int, int]:
        """Return l, and how many letters of a feature are fixed."""

    def coefficients(self, size: int) -> Sequence[float]:
        """Return c[0], c[1], .. for an alphabet of `size` letters."""

    def place_weights(self, length: int) -> Array | None:
        """Return g, (length - l + 1,), of a row of so many letters; None where every l-mer counts alike."""

    def own_features(self, X: Any) -> CSR | None:
        """Return features that both strands share and that would count twice; None where there are none."""


def pattern_shares(length: int, table: Table) -> dict[int, float]:
    """Return a_j for the numbers of places j that count: c[d] = sum_j a_j C(l - d, j); rounded only in the end."""
    shares: dict[int, int | Fraction] = {}
    for d in range(len(table) - 1, -1, -1):
        rest = table[d] - sum(a * comb(length - d, j) for j, a in shares.items())
        if rest:
            shares[length - d] = rest
    return {j: float(a) for j, a in shares.items()}


@runtime_checkable
class Reweighted(Protocol, metaclass=_Ability):
    """Ability of a `Positional` kernel: it can compare rows under other weights of the lengths."""

    def reweighted(self, weights: Array) -> Kernel:
        """Return the kernel with these weights of the lengths, the same at every position."""
