"""Where training rows share k-mers: prefix codes for the short ones, sorted order for the long ones.

At position l every row has a word, its letters l, l+1, ..., of which k-mers of all lengths are prefixes.

    prefix[l, i]   the first letters of row i's word, as many as 16 bits hold: its leading bits are an address in a
                   table that is small enough for the cache
    order[l]       the rows, sorted by their words; rank[l] is its inverse
    lcp[l, t]      how many letters the words of order[l, t-1] and order[l, t] share, at most the degree

Rows that share more than D letters with a given row are its neighbours in the order, as far as lcp stays above D: they
are found without looking at a single letter.  A masked letter is a symbol of its own that matches nothing.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.sorting import sort_carrying
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.engines.base import Engine

Array = np.ndarray

PREFIX_BITS = 16
"""Prefix codes are stored in 16 bits: alphabets of more letters than that have no prefix index."""
TABLE_BITS = 12
"""A table of 2^12 doubles is as large as a first-level cache: no table is smaller while letters allow it."""
WORD_BITS = 63
FEW_TIES = 32
"""Up to so many rows, moving single ones is faster than counting."""


class Spelling:
    """How letters become symbols: bits a symbol, and how many of them make a prefix.

    Parameters
    ----------
    alphabet : of the rows
    masked : whether masked letters occur; they take a symbol of their own

    Attributes
    ----------
    bits : of a symbol
    depth : letters of a prefix
    shallow : letters of the smallest table that is ever used
    """

    def __init__(self, alphabet: Alphabet, masked: bool):
        self.mask_code, self.size, self.masked = int(alphabet.mask), int(alphabet.size), masked
        self.bits = max(1, int(self.size + masked - 1).bit_length())
        self.depth = max(1, PREFIX_BITS // self.bits)
        self.shallow = max(1, TABLE_BITS // self.bits)

    @property
    def mask(self) -> int:
        """Symbol of a masked letter; one that never occurs where there is none."""
        return self.size if self.masked else (1 << self.bits)

    def symbols(self, codes: Array) -> Array:
        """Return letter codes as symbols, rows contiguous."""
        if self.masked:
            codes = np.where(codes == self.mask_code, np.asarray(self.size, codes.dtype), codes)
        return read_only(np.ascontiguousarray(codes))


def read_only(array: Array) -> Array:
    """Return an array that cannot be written, as the codes of Sequences are: loops are compiled for one kind only."""
    same = array.view()
    same.flags.writeable = False
    return same


def has_masked(codes: Array, alphabet: Alphabet) -> bool:
    """Tell whether a masked letter occurs."""
    return bool(codes.size) and int(codes.max()) >= alphabet.size


class PrefixIndex:
    """Prefix codes and sorted orders of n rows of one length at every position.

    Parameters
    ----------
    symbols : (n, length), see `Spelling`
    degree : longest k-mer that counts
    engine : positions are sorted in parallel
    """

    def __init__(self, symbols: Array, spelling: Spelling, degree: int, engine: Engine):
        n, length = symbols.shape
        self.symbols, self.spelling, self.degree, self.n, self.length = symbols, spelling, degree, n, length
        self.depth = spelling.depth
        self.prefix: Array = np.empty((length, n), np.uint16)
        self.deep = _deep(length, degree, spelling)
        self.order: Array = np.empty((self.deep, n), np.int32)
        self.rank: Array = np.empty((self.deep, n), np.int32)
        self.lcp: Array = np.empty((self.deep, n), np.uint8 if degree < 256 else np.uint16)
        by_position = np.ascontiguousarray(symbols.T)
        sorted_ = list(zip(self.order, self.rank, self.lcp))
        targets = [(one, *sorted_[p]) if p < self.deep else (one,) for p, one in enumerate(self.prefix)]
        engine.map_into(targets, partial(_fill, symbols, by_position, spelling, degree), range(length))

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return sum(part.nbytes for part in (self.prefix, self.order, self.rank, self.lcp))


def _fill(
    symbols: Array, by_position: Array, spelling: Spelling, degree: int, position: int, prefix: Array, *orders: Array
) -> None:
    """Write the prefix codes of one position and, where k-mers may be longer, their order, rank and common letters."""
    length = len(by_position)
    letters = min(spelling.depth, length - position)
    codes = pack(by_position[position : position + letters], spelling.bits)
    prefix[:] = codes << (spelling.bits * (spelling.depth - letters))
    if orders:
        whole = min(degree, length - position)
        letters = min(whole, WORD_BITS // spelling.bits)
        keys = pack(by_position[position : position + letters], spelling.bits)
        sort_words(symbols, keys, position, letters, whole, spelling.bits, spelling.mask, *orders)


def index_bytes(n: int, length: int, degree: int, spelling: Spelling) -> int:
    """Return how many bytes the index of n rows will take."""
    deep = _deep(length, degree, spelling)
    return n * (2 * length + (8 + (1 if degree < 256 else 2)) * deep)


def _deep(length: int, degree: int, spelling: Spelling) -> int:
    """Return at how many positions a k-mer may be longer than the prefixes of the smallest table."""
    return max(0, length - spelling.shallow) if degree > spelling.shallow else 0


def spread(cells: Array, shifts: Array) -> Array:
    """Return what a k-mer at position l + s - S gives to position l, (2S + 1, length, degree).

    With c the cells and m the weights of the shifts it is ``m_|s-S| sqrt(c[l + s - S, k] c[l, k])``.
    """
    reach, length = len(shifts) - 1, len(cells)
    out = np.zeros((2 * reach + 1, *cells.shape))
    for s in range(-reach, reach + 1):
        low, high = max(0, -s), min(length, length - s)
        if low < high:
            out[s + reach, low:high] = shifts[abs(s)] * np.sqrt(cells[low + s : high + s] * cells[low:high])
    return out


@jit
def pack(letters, bits):  # type: ignore[no-untyped-def]
    """Return the columns of (letters, n) symbols as numbers, first letter first."""
    keys = np.zeros(letters.shape[1], np.int64)
    for k in range(letters.shape[0]):
        row = letters[k]
        for i in range(len(row)):
            keys[i] = (keys[i] << bits) | np.int64(row[i])
    return keys


@jit
def sort_words(symbols, keys, position, letters, whole, bits, mask, order, rank, lcp):  # type: ignore[no-untyped-def]
    """Sort the rows by their words at one position."""
    rows = np.empty(len(keys), np.int32)
    for i in range(len(rows)):
        rows[i] = i
    keys, rows = sort_carrying(keys, rows, letters * bits)
    for i in range(len(rows)):
        order[i] = rows[i]
    if whole > letters:
        _sort_ties(symbols, keys, position, letters, whole, bits, order)
    exact = whole == letters and mask >= (1 << bits)
    lcp[0] = 0
    rank[order[0]] = 0
    for t in range(1, len(order)):
        rank[order[t]] = t
        if exact:
            lcp[t] = _shared_digits(keys[t - 1] ^ keys[t], letters, bits)
        else:
            lcp[t] = shared_letters(symbols, order[t - 1], position, order[t], position, whole, mask)


@jit
def _shared_digits(difference, letters, bits):  # type: ignore[no-untyped-def]
    while difference > 0:
        difference >>= bits
        letters -= 1
    return letters


@jit
def shared_letters(symbols, i, at, j, there, longest, mask):  # type: ignore[no-untyped-def]
    """Return how many letters the words of two rows at two places share."""
    k = 0
    while k < longest and symbols[i, at + k] == symbols[j, there + k] and symbols[i, at + k] != mask:
        k += 1
    return k


@jit
def _sort_ties(symbols, keys, position, letters, whole, bits, order):  # type: ignore[no-untyped-def]
    # Words that agree in every packed letter: stable sorts of the rest, letter by letter from the last.
    counts, spare = np.empty((1 << bits) + 1, np.int64), np.empty(len(order), np.int32)
    start = np.int64(0)  # a plain 0 would have the callee compiled for that literal as well
    while start < len(order):
        stop = start + 1
        while stop < len(order) and keys[stop] == keys[start]:
            stop += 1
        if stop - start > 1:
            for k in range(whole - 1, letters - 1, -1):
                _sort_by_letter(symbols, position + k, start, stop, order, counts, spare)
        start = stop


@jit
def _sort_by_letter(symbols, at, start, stop, order, counts, spare):  # type: ignore[no-untyped-def]
    # Stable: single rows are moved where there are few, else rows are counted by their letter.
    if stop - start <= FEW_TIES:
        for t in range(start + 1, stop):
            row, u = order[t], t
            while u > start and symbols[order[u - 1], at] > symbols[row, at]:
                order[u] = order[u - 1]
                u -= 1
            order[u] = row
        return
    counts[:] = 0
    for t in range(start, stop):
        counts[symbols[order[t], at] + 1] += 1
    for c in range(len(counts) - 1):
        counts[c + 1] += counts[c]
    for t in range(start, stop):
        letter = symbols[order[t], at]
        spare[counts[letter]] = order[t]
        counts[letter] += 1
    for t in range(start, stop):
        order[t] = spare[t - start]
