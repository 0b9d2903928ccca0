"""What kernels of inexact k-mers share: a Gram form by Hamming distances, and features that are enumerated.

    K(x, y) = sum over features u of  phi_u(x) phi_u(y) = sum_{v in x} sum_{w in y} c[d(v, w)]

With reverse complements, u and its reverse complement u~ are one feature with the value phi_u + phi_u~ (and phi_u where
u is its own), so that, with y~ the other strand of y,

    K(x, y) + K(x, y~) - sum over u = u~ of  phi_u(x) phi_u(y).

A kernel with few features takes its Gram matrix from them.  On lattices, each l-mer counts as often as it is expected.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.kinds import kind_of
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels.abilities import MOST_COLUMNS, Features, check_columns
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_strings
from kernelweave.kernels.strings.columns import code_type, partners
from kernelweave.kernels.strings.counting import collect
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.inexact.hamming import pair_sums, within_rows
from kernelweave.kernels.strings.inexact.lmers import Lmers, StringLmers, pack_lmers
from kernelweave.kernels.strings.lattices.near import on_strings

FEW_COLUMNS = 4096
"""Up to this many features, a table of them is smaller work than the distances."""
MOST_NEAR = 2**20
"""More features than this for a single letter of a row are not enumerated."""


class NearKmers(Kernel, Features):
    """A kernel whose features count l-mers up to some differences."""

    reverse_complement: bool

    @abstractmethod
    def check(self) -> None:
        """Raise unless the parameters make sense."""

    @abstractmethod
    def window(self) -> tuple[int, int]:
        """Return the length of the l-mers, and how many letters of a feature are fixed."""

    @abstractmethod
    def coefficients(self, size: int) -> list[int]:
        """Return c[0], c[1], ..: how many features two l-mers at each distance share, for `size` letters."""

    @abstractmethod
    def n_columns(self, size: int) -> int:
        """Return the number of feature columns for `size` letters."""

    @abstractmethod
    def arguments(self, size: int) -> tuple[Any, ...]:
        """Return the jitted function that fills in features, and what it needs to know of the kernel."""

    def window_lengths(self) -> tuple[int, ...]:
        """Return the length of the l-mers."""
        return (self.window()[0],)

    def place_weights(self, length: int) -> Array | None:
        """Return None: an l-mer counts the same wherever it stands."""
        return None

    def own_features(self, X: Any) -> Counts | None:
        """Return the features of each row that are their own reverse complement; None where there are none."""
        turn = partners(self, X.alphabet, self.reverse_complement)
        if not turn.size or (self.window()[1] % 2 and not (turn == np.arange(len(turn))).any()):
            return None
        if self.n_columns(X.alphabet.size) > MOST_COLUMNS:
            raise ValueError(f"{self!r} has too many features for reverse_complement=True; take shorter k-mers.")
        return self._neighbours(X, turn, own=True)

    def prepare(self, X: Any) -> Any:
        """Return the packed l-mers of each row, also of the other strand if it counts; or few features."""
        self.check()
        check_strings(self, X)
        length = self.window()[0]
        turn = partners(self, X.alphabet, self.reverse_complement)
        if self._few(X.alphabet):
            return self._neighbours(X, turn)
        lmers = _lmers(X, length)
        if not turn.size:
            return lmers
        turned = _lmers(X, length, turned=True)
        own = self.own_features(X)
        return (lmers, turned) if own is None else (lmers, turned, own)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the sums over pairs of l-mers."""
        length = self.window()[0]
        (first, *_), (second, *others) = (side if isinstance(side, tuple) else (side,) for side in (A, B))
        if self._few(first.alphabet):
            return first.gram(second, dtype)
        table = self.coefficients(first.alphabet.size)
        values = pair_sums(first, second, length, table)
        if others:
            values += pair_sums(first, others[0], length, table)
        if len(others) > 1:
            values -= A[2].gram(A[2] if A is B else others[1])
        return values.astype(dtype, copy=False)

    def diagonal(self, A: Any) -> Array:
        """Return the sums over pairs of l-mers within each row."""
        first, *others = A if isinstance(A, tuple) else (A,)
        if self._few(first.alphabet):
            return first.diagonal()
        values = within_rows(self, first, others[:1], self.coefficients(first.alphabet.size))
        if len(others) > 1:
            values -= others[1].diagonal()
        return values

    def rows(self, X: Any, dtype: type = np.float64) -> Counts:
        """Return how many l-mers of each row count for each feature, or raise where these are too many."""
        check_columns(self, self.n_features(X))
        return self._neighbours(X, partners(self, X.alphabet, self.reverse_complement)).astype(dtype)

    def n_features(self, X: Any) -> int:
        """Return the number of features over the alphabet of X."""
        self.check()
        check_strings(self, X)
        return self.n_columns(X.alphabet.size)

    def _few(self, alphabet: Alphabet) -> bool:
        return self.n_columns(alphabet.size) <= FEW_COLUMNS

    def _neighbours(self, X: Any, turn: Array, own: bool = False) -> Counts:
        """Return the features of each row; `own` keeps those alone that are their own reverse complement."""
        return on_strings(X, self.window()[0], lambda strings: self._neighbour_strings(strings, turn, own))

    def _neighbour_strings(self, X: Sequences, turn: Array, own: bool) -> Counts:
        near = self.coefficients(X.alphabet.size)[0]
        if near > MOST_NEAR:
            raise ValueError(
                f"{self!r} has {near} features for each letter of a row over the {X.alphabet.name} alphabet, too many "
                "to list; use its Gram matrix without reverse_complement."
            )
        columns = self.n_columns(X.alphabet.size)
        offsets = np.asarray(X.offsets)
        rooms = np.minimum(np.maximum(X.lengths - self.window()[0] + 1, 0) * near, columns)
        loop, *known = self.arguments(X.alphabet.size)
        fixed = (X.codes, offsets, X.alphabet.mask, X.alphabet.size, *known, turn, own, columns)

        def fill(first: int, last: int, codes: Array, values: Array, filled: int, bounds: Array) -> Any:
            return loop(*fixed, first, last, codes, values, filled, bounds)

        codes, values, bounds = collect(rooms, code_type(columns), fill)
        return Counts(codes.reshape(-1, 1), values, bounds, X.alphabet)


def _lmers(X: Any, length: int, turned: bool = False) -> Lmers:
    """Return the l-mers of rows or of their reverse complements; of lattices packed, with their expected counts."""
    if not kind_of(X).uncertain:
        return StringLmers(X.reverse_complement() if turned else X, length)
    return on_strings(X, length, lambda rows: pack_lmers(rows.reverse_complement() if turned else rows, length))


@jit
def kmer_starts(letters, start, stop, mask, size, out):  # type: ignore[no-untyped-def]
    """Write where the k-mers of a row without a masked letter start; return how many there are."""
    n, run = 0, 0
    for i in range(start, stop):
        run = 0 if letters[i] == mask else run + 1
        if run >= size:
            out[n] = i - size + 1
            n += 1
    return n


@jit
def longest_row(offsets, first, last):  # type: ignore[no-untyped-def]
    """Return the number of letters of the longest of some rows."""
    longest = 0
    for row in range(first, last):
        longest = max(longest, offsets[row + 1] - offsets[row])
    return longest


@jit
def place_values(base, size):  # type: ignore[no-untyped-def]
    """Return what a digit is worth at each place of a number of `size` digits, highest first."""
    worth = np.ones(size, np.int64)
    for place in range(size - 2, -1, -1):
        worth[place] = worth[place + 1] * base
    return worth
