"""Sorted arrays: for each position the codes of its k-mers in order, each with its weight.

The code of a k-mer is its letters, numbered from 1, as digits in base A + 1, filled up with zeros to d digits:

    code(u_1 .. u_k) = sum_l (u_l + 1) (A + 1)^(d - l),

so a k-mer stands before its extensions and these before all that follows (the tries of `trie.py`, read in preorder).

Rows are added by sorting their k-mers and merging the result with what is there.  Rows are looked up in the order of
their suffixes: then the codes sought at a position only ever grow, each search starts where the last one ended, in
doubling steps, and a row starts below the prefix that it shares with the row before.  Many rows cost one pass over
the arrays, few rows a binary search each.  The order of the suffixes at j follows from that at j + 1 by one stable
sort of a letter, linear in the number of rows.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.sorting import bit_length, sort_carrying, sort_order
from kernelweave.operators.kmers.stores.base import WHILE_GROWING, Array, PositionalStore, grown, most_kmers

ROWS_IN_ORDER = 4096
"""Rows that are sorted together: the more there are, the more they share; beyond this they leave the cache."""


class SortedArrays(PositionalStore):
    """Sparse weights in sorted arrays, the smallest of the stores.

    Parameters are those of `PositionalStore`.

    Examples
    --------
    >>> store = SortedArrays(np.array([[1.0, 1.0], [1.0, 0.0]]), np.ones(1), size=4, mask=255)
    >>> store.add(np.array([[0, 1], [0, 2]], np.uint8), np.array([10.0, 1.0]))
    >>> store.look_up(np.array([0, 1], np.uint8))  # A at 0: 11, AC at 0: 10, C at 1: 10
    31.0
    """

    def _reserve(self) -> None:
        base = self.size + 1
        self._powers = np.array([base ** (self._depth - 1 - k) for k in range(self._depth)], np.int64)
        self._bounds = np.zeros(len(self._reach) + 1, np.int64)
        self._keys, self._weights = np.empty(0, np.int64), np.empty(0)

    @classmethod
    def code_count(cls, depth: int, size: int) -> int:
        """Return the numbers of so many digits."""
        return int((size + 1) ** depth)

    @classmethod
    def most_bytes(cls, rows: int, cells: Array, shifts: int, size: int, reserved: bool = False) -> float:
        """Return the bytes of keys and weights while they grow, and of the k-mers of one position that are added."""
        kmers = float(most_kmers(rows, cells, shifts, size).sum())
        added = 2.0 * rows * (2 * shifts - 1) * cells.shape[1]
        return 16.0 * ((1.0 if reserved else WHILE_GROWING) * kmers + added) + 8 * (len(cells) + 1)

    def reserve(self, rows: int) -> None:
        """Make room for so many rows."""
        least = int(most_kmers(rows, self._roots, len(self._shifts), self.size).sum())
        if least > len(self._keys):
            self._keys, self._weights = np.empty(least, np.int64), np.empty(least)
            self.clear()

    def clear(self) -> None:
        """Forget everything, keep the memory."""
        self._bounds[:] = 0

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return self._keys.nbytes + self._weights.nbytes + self._bounds.nbytes

    def _add(self, codes: Array, steps: Array) -> None:
        held = int(self._bounds[-1])
        old_keys, old_weights = self._keys[:held], self._weights[:held]
        if held:
            self._keys, self._weights = np.empty(held, np.int64), np.empty(held)
        bounds, done = np.zeros_like(self._bounds), 0
        while True:
            done, least = _merge(
                codes, steps, self._roots, self._shifts, self._reach, self.mask, self._powers, done,
                self._bounds, old_keys, old_weights, bounds, self._keys, self._weights,
            )  # fmt: skip
            if done == len(self._reach):
                self._bounds = bounds
                return
            self._keys, self._weights = grown(self._keys, least), grown(self._weights, least)

    def _batch(self, codes: Array, out: Array) -> None:
        for start in range(0, len(codes), ROWS_IN_ORDER):
            rows = slice(start, start + ROWS_IN_ORDER)
            _look_up(
                codes[rows], self._reach, self.size, self.mask, self._powers,
                self._bounds, self._keys, self._weights, out[rows],
            )  # fmt: skip


@jit
def _merge(  # type: ignore[no-untyped-def]
    codes, steps, roots, shifts, reach, mask, powers, start, old_bounds, old_keys, old_weights, bounds, keys, weights
):
    # Returns the number of positions done, and the room the next one needs when that is not all of them.
    length = codes.shape[1]
    most = codes.shape[0] * (2 * shifts.shape[0] - 1)
    new_keys, new_weights = np.empty(most * powers.shape[0], np.int64), np.empty(most * powers.shape[0])
    for j in range(start, length):
        count = _new_entries(codes, steps, roots, shifts, reach, mask, powers, j, new_keys, new_weights)
        least = bounds[j] + count + old_bounds[j + 1] - old_bounds[j]
        if least > keys.shape[0]:
            return j, least
        at, new, old = bounds[j], 0, old_bounds[j]
        while new < count or old < old_bounds[j + 1]:
            from_new = new < count and (old == old_bounds[j + 1] or new_keys[new] <= old_keys[old])
            from_old = old < old_bounds[j + 1] and (new == count or old_keys[old] <= new_keys[new])
            keys[at] = new_keys[new] if from_new else old_keys[old]
            weights[at] = 0.0
            if from_old:
                weights[at] += old_weights[old]
                old += 1
            if from_new:
                weights[at] += new_weights[new]
                new += 1
            at += 1
        bounds[j + 1] = at
    return length, 0


@jit
def _new_entries(codes, steps, roots, shifts, reach, mask, powers, j, new_keys, new_weights):  # type: ignore[no-untyped-def]
    # Writes what the rows add at position j, in order, each k-mer once; returns how many they are.
    places, order = _ordered_sources(codes, steps, shifts, reach, mask, powers, j)
    entry = np.empty(powers.shape[0], np.int64)  # where the prefix of k + 1 letters of the latest k-mer is written
    length = codes.shape[1]
    last_row, last_i, last_k, count = 0, 0, 0, 0
    for a in order:
        row, i = places[a] // length, places[a] % length
        step = steps[row] * shifts[abs(i - j)]
        k, code, shared = 0, 0, True
        while k < min(reach[i], reach[j]) and codes[row, i + k] != mask:
            letter = codes[row, i + k]
            code += (letter + 1) * powers[k]
            shared = shared and k < last_k and codes[last_row, last_i + k] == letter
            if not shared:
                entry[k] = count
                new_keys[count] = code
                new_weights[count] = 0.0
                count += 1
            new_weights[entry[k]] += step * roots[i, k] * roots[j, k]
            k += 1
        last_row, last_i, last_k = row, i, k
    return count


@jit
def _ordered_sources(codes, steps, shifts, reach, mask, powers, j):  # type: ignore[no-untyped-def]
    # Returns the places (row, i) that reach j, as row * length + i, and their order by the code of the longest k-mer.
    q, length = codes.shape
    largest = shifts.shape[0] - 1
    longest, places = np.empty(q * (2 * largest + 1), np.int64), np.empty(q * (2 * largest + 1), np.int64)
    count = 0
    for i in range(max(0, j - largest), min(length, j + largest + 1)):
        for row in range(q):
            if steps[row] == 0.0:
                continue
            code, k = 0, 0
            while k < min(reach[i], reach[j]) and codes[row, i + k] != mask:
                code += (codes[row, i + k] + 1) * powers[k]
                k += 1
            longest[count], places[count] = code, row * length + i
            count += 1
    largest = 0
    for code in longest[:count]:
        largest = max(largest, code)
    return places[:count], sort_order(longest[:count], bit_length(largest))


@jit
def _look_up(codes, reach, size, mask, powers, bounds, keys, weights, out):  # type: ignore[no-untyped-def]
    n, length = codes.shape
    letters, order, bits = np.empty(n, np.int64), np.arange(n), bit_length(size)
    for j in range(length - 1, -1, -1):
        for place in range(n):
            letters[place] = min(np.int64(codes[order[place], j]), size)  # the mask last: it ends a k-mer
        letters, order = sort_carrying(letters, order, bits)
        if bounds[j] < bounds[j + 1]:
            _read_in_order(codes, j, reach[j], mask, powers, bounds[j], bounds[j + 1], keys, weights, order, out)


@jit
def _read_in_order(codes, j, depth, mask, powers, at, stop, keys, weights, order, out):  # type: ignore[no-untyped-def]
    # found: letters of the latest row that were found from j on; totals[k], prefix[k]: weight and code of its first k.
    totals, prefix = np.zeros(depth + 1), np.zeros(depth + 1, np.int64)
    found, last = 0, order[0]
    for row in order:
        k = 0
        while k < found and codes[row, j + k] == codes[last, j + k]:
            k += 1
        while k < depth and codes[row, j + k] != mask:
            code = prefix[k] + (codes[row, j + k] + 1) * powers[k]
            at = _seek(keys, at, stop, code)
            if at == stop or keys[at] != code:
                break
            prefix[k + 1] = code
            totals[k + 1] = totals[k] + weights[at]
            at += 1
            k += 1
        found, last = k, row
        out[row] += totals[k]


@jit
def _seek(keys, at, stop, code):  # type: ignore[no-untyped-def]
    # Returns the first place from `at` on with a key that is not below the code, `stop` if there is none.
    if at == stop or keys[at] >= code:
        return at
    step = 1
    while at + step < stop and keys[at + step] < code:
        at += step
        step *= 2
    low, high = at + 1, min(at + step, stop)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low
