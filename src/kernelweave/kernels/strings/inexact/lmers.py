"""The l-mers of rows: of sequences as they are, or packed into words with one field of bits for each letter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels.base import Array
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.kmers import count_kmers, count_long_kmers
from kernelweave.kernels.strings.sorting import merge_rows

WORD_BITS = 62
"""Bits of a word that fields fill; numbers stay non-negative."""


def field_bits(size: int) -> int:
    """Return how many bits the field of a letter has: a power of two that holds `size` letters."""
    bits = 2
    while 1 << bits < size:
        bits *= 2
    return bits


def pack_lmers(X: Sequences, length: int) -> Counts:
    """Return the l-mers of each row, packed, with their counts."""
    bits = field_bits(X.alphabet.size)
    sizes, ones, none = np.array([length]), np.ones(1), np.empty(0, np.int64)
    if length * bits <= WORD_BITS:
        return count_kmers(X, sizes, ones, np.zeros(1, np.int64), 1 << length * bits, none, 1 << bits)
    return count_long_kmers(X, sizes, ones, none, 1 << bits, 0)


@dataclass(frozen=True)
class StringLmers:
    """The l-mers of sequences, with weights by place or without.

    Attributes
    ----------
    rows : the sequences, or their reverse complements
    length : l
    place : from the number of letters of a row to the weights of its l-mers; None where all are 1
    turned : whether rows are reverse complements, whose weights go with the l-mers that they are turned from
    """

    rows: Sequences
    length: int
    place: Callable[[int], Array | None] | None = None
    turned: bool = False

    @property
    def alphabet(self) -> Alphabet:
        """What the rows are spelled with."""
        return self.rows.alphabet

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, some: Any) -> StringLmers:
        return StringLmers(self.rows[some], self.length, self.place, self.turned)

    @property
    def entries(self) -> int:
        """How many l-mers there are, those with masked letters among them."""
        return int(np.maximum(self.rows.lengths - self.length + 1, 0).sum())

    @property
    def weights(self) -> list[Array]:
        """The weights of the l-mers of each row; an empty list where all are 1."""
        if self.place is None:
            return []
        known = {int(letters): self.place(int(letters)) for letters in np.unique(self.rows.lengths)}
        each = [known[int(letters)] for letters in self.rows.lengths]
        return [one[::-1] if self.turned else one for one in each if one is not None]

    @cached_property
    def counts(self) -> Counts:
        """The l-mers packed, each once a row with its count or weight; made when first asked for."""
        weights = self.weights
        if not weights:
            return pack_lmers(self.rows, self.length)
        lengths = np.maximum(self.rows.lengths - self.length + 1, 0)
        found = pack_lmers(_windows(self.rows, lengths, self.length), self.length)
        values = found.values * np.repeat(np.concatenate(weights), np.diff(found.starts))
        bounds = found.starts[np.concatenate([[0], np.cumsum(lengths)])]
        codes, values, bounds = merge_rows(found.codes.astype(np.int64), values, bounds)
        return Counts(codes, values, bounds, self.alphabet)


def _windows(X: Sequences, lengths: Array, size: int) -> Sequences:
    """Return every window of each row, of which a row has `lengths`, as a row of its own."""
    before = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    starts = np.arange(int(lengths.sum())) + np.repeat(np.asarray(X.offsets)[:-1] - before, lengths)
    codes = np.asarray(X.codes)[starts[:, None] + np.arange(size)]
    return Sequences(codes.reshape(-1), size * np.arange(len(starts) + 1), X.alphabet)


Lmers = StringLmers | Counts
"""The l-mers of rows: of sequences, or packed ones with their expected counts."""


def packed(lmers: Lmers) -> Counts:
    """Return l-mers as packed ones with their counts."""
    return lmers.counts if isinstance(lmers, StringLmers) else lmers
