"""Explicit map: each weight has an address computed from position, length and letters of its k-mer.

The k-mers of all lengths 1..d over an alphabet of A letters are numbered like the nodes of the complete A-ary tree,

    code(u_1 .. u_k) = A code(u_1 .. u_{k-1}) + u_k + 1,    code of the empty word 0,

so a code tells length and letters, and the next longer k-mer costs one multiplication.  While a table with a cell for
every code is small, the code is the address.  Beyond that each position has a hash table with open addressing: the
search for a code starts at the top bits of its product with an odd constant and goes on cell by cell, until the code
(keys are exact) or an empty cell.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.hashing import GOLDEN
from kernelweave.data.blocks import LOOKUP_ROWS
from kernelweave.operators.kmers.stores.base import Array, PositionalStore, most_kmers

DIRECT_CELLS = 2**22
"""Up to this many cells in all, 32 MB, every k-mer has its own."""

FULLEST = 0.625
"""Largest part of a hash table that is filled; a fruitless search of linear probing then reads about four cells."""

WHILE_DOUBLING = 1.5
"""Bytes while hash tables double, for each of the new ones."""

_FIRST_BITS = 6  # an empty hash table has 2 ** this many cells a position
_WORD_BITS = 64


class MapStore(PositionalStore):
    """Sparse weights addressed by (position, length, k-mer): directly while that is small, hashed beyond.

    Parameters are those of `PositionalStore`.

    Examples
    --------
    >>> store = MapStore(np.array([[1.0, 1.0], [1.0, 0.0]]), np.ones(1), size=4, mask=255)
    >>> store.add(np.array([[0, 1], [0, 2]], np.uint8), np.array([10.0, 1.0]))
    >>> store.look_up(np.array([0, 1], np.uint8))  # A at 0: 11, AC at 0: 10, C at 1: 10
    31.0
    """

    def _reserve(self) -> None:
        codes = self.code_count(self._depth, self.size)
        used = self._reach > 0
        self._tables: Array = np.cumsum(used) - used  # the table of each position; those without k-mers have none
        self._direct = codes * int(used.sum()) <= DIRECT_CELLS
        self._counts = np.zeros(int(used.sum()), np.int64)
        self._set_cells(codes if self._direct else 1 << _FIRST_BITS)

    @classmethod
    def code_count(cls, depth: int, size: int) -> int:
        """Return the nodes of the complete tree of so many levels."""
        return 1 + sum(size**k for k in range(1, depth + 1))

    @classmethod
    def most_bytes(cls, rows: int, cells: Array, shifts: int, size: int, reserved: bool = False) -> float:
        """Return the bytes of the direct table, or of the fullest hash tables with those before their last growth."""
        used = int((cells > 0).any(axis=1).sum())
        codes = cls.code_count(cells.shape[1], size)
        if codes * used <= DIRECT_CELLS:
            return 8.0 * codes * used
        return (1.0 if reserved else WHILE_DOUBLING) * 16.0 * _lines(rows, cells, shifts, size) * used

    def reserve(self, rows: int) -> None:
        """Make room for so many rows."""
        lines = _lines(rows, self._roots, len(self._shifts), self.size)
        if not self._direct and lines > self._keys.shape[1]:
            self._set_cells(lines)
            self.clear()

    def _set_cells(self, cells: int) -> None:
        """Take new arrays with so many cells a position."""
        self._weights = np.zeros((len(self._counts), cells))
        self._keys = np.zeros((len(self._counts), 0 if self._direct else cells), np.int64)

    def clear(self) -> None:
        """Forget everything, keep the memory."""
        self._counts[:] = 0
        self._keys[:] = 0
        if self._direct:
            self._weights[:] = 0.0

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return self._weights.nbytes + self._keys.nbytes

    def _add(self, codes: Array, steps: Array) -> None:
        done, paths = 0, len(codes) * len(self._reach) * (2 * len(self._shifts) - 1)
        while True:
            room = int(FULLEST * self._keys.shape[1])
            done = _insert(
                codes, steps, self._roots, self._shifts, self._reach, self.size, self.mask, self._direct, room, done,
                self._tables, self._counts, self._keys, self._weights,
            )  # fmt: skip
            if done == paths:
                return
            self._grow()

    def _grow(self) -> None:
        """Double the hash tables, at least until a row fits in all of them."""
        keys, weights, cells = self._keys, self._weights, 2 * self._keys.shape[1]
        while int(FULLEST * cells) < self._counts.max() + self._depth:
            cells *= 2
        self._set_cells(cells)
        _rehash(keys, weights, self._keys, self._weights)

    def _batch(self, codes: Array, out: Array) -> None:
        _collect(
            codes, self._reach, self.size, self.mask, self._direct, self._tables, self._keys, self._weights,
            LOOKUP_ROWS, out,
        )  # fmt: skip


def _lines(rows: int, cells: Array, shifts: int, size: int) -> int:
    """Return the lines of a hash table that the k-mers of so many rows do not overfill at any position."""
    fullest = float(most_kmers(rows, cells, shifts, size).max(initial=0.0)) + cells.shape[1]
    return max(1 << _FIRST_BITS, 1 << int(fullest / FULLEST).bit_length())


@jit
def _find(keys, table, code, shift):  # type: ignore[no-untyped-def]
    # Returns the cell of the code, or the empty cell where it belongs.
    cell = np.int64((np.uint64(code) * GOLDEN) >> shift)
    while keys[table, cell] != code and keys[table, cell] != 0:
        cell = (cell + 1) & (keys.shape[1] - 1)
    return cell


@jit
def _shift(cells):  # type: ignore[no-untyped-def]
    # How far a product is shifted so that as many bits are left as number the cells, a power of two.
    shift = _WORD_BITS
    while cells > 1:
        cells >>= 1
        shift -= 1
    return np.uint64(shift)


@jit
def _insert(codes, steps, roots, shifts, reach, size, mask, direct, room, start, tables, counts, keys, weights):  # type: ignore[no-untyped-def]
    # A path is one row at one source i for one target j, the targets outermost: the table in work stays in the cache.
    # Returns the number of paths done, fewer than all of them when a table has no `room`.
    q, length = codes.shape
    span = 2 * shifts.shape[0] - 1
    shift = _shift(keys.shape[1])
    for path in range(start, q * length * span):
        row = path % q
        j = path // q // span
        i = j + path // q % span - (shifts.shape[0] - 1)
        if i < 0 or i >= length or steps[row] == 0.0:
            continue
        depth = min(reach[i], reach[j])
        if depth == 0:
            continue
        table = tables[j]
        if not direct and counts[table] + depth > room:
            return path
        step = steps[row] * shifts[abs(i - j)]
        code = 0
        for k in range(depth):
            letter = codes[row, i + k]
            if letter == mask:
                break
            code = code * size + letter + 1
            cell = code
            if not direct:
                cell = _find(keys, table, code, shift)
                if keys[table, cell] == 0:
                    keys[table, cell] = code
                    weights[table, cell] = 0.0
                    counts[table] += 1
            weights[table, cell] += step * roots[i, k] * roots[j, k]
    return q * length * span


@jit
def _rehash(old_keys, old_weights, keys, weights):  # type: ignore[no-untyped-def]
    shift = _shift(keys.shape[1])
    for table in range(keys.shape[0]):
        for old in range(old_keys.shape[1]):
            if old_keys[table, old] != 0:
                cell = _find(keys, table, old_keys[table, old], shift)
                keys[table, cell] = old_keys[table, old]
                weights[table, cell] = old_weights[table, old]


@jit
def _collect(codes, reach, size, mask, direct, tables, keys, weights, rows, out):  # type: ignore[no-untyped-def]
    n, length = codes.shape
    shift = _shift(keys.shape[1])
    for begin in range(0, n, rows):
        for j in range(length):
            table = tables[j]
            for row in range(begin, min(begin + rows, n)):
                total, code = 0.0, 0
                for k in range(j, j + reach[j]):
                    letter = codes[row, k]
                    if letter == mask:
                        break
                    code = code * size + letter + 1
                    cell = code
                    if not direct:
                        cell = _find(keys, table, code, shift)
                        if keys[table, cell] == 0:
                            break
                    total += weights[table, cell]
                out[row] += total
