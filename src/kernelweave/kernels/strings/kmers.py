"""All k-mers of each row, wherever they stand, counted in one pass.

The number of a k-mer follows from that of its neighbour by taking one digit off and adding one:

    code' = (code - first * base^(k-1)) * base + next,
    turned' = turned / base + partner of next * base^(k-1)                     the reverse complement

A masked letter breaks k-mers: none contains it.  K-mers whose number does not fit 63 bits are spelled with several
words, digits being 1..|A| in base |A| + 1, so that k-mers of different lengths stay apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels.abilities import MOST_COLUMNS
from kernelweave.kernels.base import Array
from kernelweave.kernels.strings.columns import code_type
from kernelweave.kernels.strings.counting import collect, emit
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.sorting import sort_row


def count_kmers(
    X: Sequences, sizes: Array, scales: Array, starts: Array, columns: int, turn: Array, base: int, binary: bool = False
) -> Counts:
    """Return the k-mers of each row with their counts, sorted.

    Parameters
    ----------
    sizes : (s,) lengths of the k-mers, rising
    scales : (s,) factor of the counts of each length
    starts : (s,) number of the first k-mer of each length
    columns : how many numbers there are
    turn : (size,) complements, to count a k-mer and its reverse complement as the smaller of the two; or empty
    base : of the numbers, at least the size of the alphabet
    binary : whether a k-mer is there instead of how often
    """
    offsets = np.asarray(X.offsets)
    bits = np.array([(base ** int(size) - 1).bit_length() for size in sizes], np.int64)
    rooms = np.zeros(len(X), np.int64)
    for size in sizes.tolist():
        rooms += np.clip(X.lengths - size + 1, 0, min(base**size, MOST_COLUMNS))
    fixed = (X.codes, offsets, X.alphabet.mask, base, sizes, scales, starts, bits, turn, binary)

    def fill(first: int, last: int, codes: Array, values: Array, filled: int, bounds: Array) -> Any:
        return _count(*fixed, first, last, codes, values, filled, bounds)

    codes, values, bounds = collect(rooms, code_type(columns), fill)
    return Counts(codes.reshape(-1, 1), values, bounds, X.alphabet)


def count_long_kmers(
    X: Sequences, sizes: Array, scales: Array, turn: Array, base: int, raised: int, binary: bool = False
) -> Counts:
    """Return k-mers whose numbers take several words with their counts; digits are letters plus `raised`."""
    per_word = digits_per_word(base)
    offsets = np.asarray(X.offsets)
    room = sum(int(np.maximum(X.lengths - size + 1, 0).sum()) for size in sizes.tolist())
    codes = np.empty((room, -(-int(sizes[-1]) // per_word)), np.int64)
    values, bounds = np.empty(room), np.zeros(len(X) + 1, np.int64)
    mask = X.alphabet.mask
    _count_long(X.codes, offsets, mask, base, raised, per_word, sizes, scales, turn, binary, codes, values, bounds)
    return Counts(codes[: bounds[-1]].copy(), values[: bounds[-1]].copy(), bounds, X.alphabet)


def digits_per_word(base: int) -> int:
    """Return how many digits of a base fit a word of 63 bits.

    Examples
    --------
    >>> digits_per_word(2), digits_per_word(257)
    (62, 7)
    """
    return max(digits for digits in range(1, 64) if base**digits <= MOST_COLUMNS)


@jit
def _count(  # type: ignore[no-untyped-def]
    letters, offsets, mask, base, sizes, scales, starts, bits, turn, binary, first, last, codes, values, filled, bounds
):
    longest = 0
    for row in range(first, last):
        longest = max(longest, offsets[row + 1] - offsets[row])
    buffer, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for row in range(first, last):
        for s in range(sizes.shape[0]):
            n = _roll(letters, offsets[row], offsets[row + 1], mask, base, sizes[s], turn, buffer)
            filled = emit(buffer, spare, n, bits[s], starts[s], scales[s], binary, codes, values, filled)
        bounds[row + 1] = filled
    return filled


@jit
def _roll(letters, start, stop, mask, base, size, turn, out):  # type: ignore[no-untyped-def]
    if stop - start < size:
        return 0
    high = 1
    for _ in range(size - 1):
        high *= base
    n, run, code, turned = 0, 0, 0, 0
    for i in range(start, stop):
        letter = np.int64(letters[i])
        if letter == mask:
            run, code, turned = 0, 0, 0
            continue
        if run >= size:
            code -= np.int64(letters[i - size]) * high
        code = code * base + letter
        run += 1
        if turn.shape[0] > 0:
            turned = turned // base + turn[letter] * high
        if run >= size:
            out[n] = turned if turn.shape[0] > 0 and turned < code else code
            n += 1
    return n


@jit
def _count_long(  # type: ignore[no-untyped-def]
    letters, offsets, mask, base, raised, per_word, sizes, scales, turn, binary, codes, values, bounds
):
    filled = 0
    for row in range(offsets.shape[0] - 1):
        found = filled
        for s in range(sizes.shape[0]):
            start, stop, room = offsets[row], offsets[row + 1], codes[found:]
            n = _spell(letters, start, stop, mask, base, raised, per_word, sizes[s], turn, room)
            values[found : found + n] = scales[s]
            found += n
        filled = _count_spelled(codes, values, filled, found - filled, binary)
        bounds[row + 1] = filled


@jit
def _spell(letters, start, stop, mask, base, raised, per_word, size, turn, out):  # type: ignore[no-untyped-def]
    n, run = 0, 0
    turned = np.empty(out.shape[1], np.int64)
    for i in range(start, stop):
        run = 0 if letters[i] == mask else run + 1
        if run < size:
            continue
        out[n] = 0
        turned[:] = 0
        for t in range(size):
            word = t // per_word
            out[n, word] = out[n, word] * base + np.int64(letters[i - size + 1 + t]) + raised
            if turn.shape[0] > 0:
                turned[word] = turned[word] * base + turn[letters[i - t]] + raised
        if turn.shape[0] > 0:
            for word in range(turned.shape[0]):
                if turned[word] != out[n, word]:
                    if turned[word] < out[n, word]:
                        for each in range(turned.shape[0]):
                            out[n, each] = turned[each]
                    break
        n += 1
    return n


@jit
def _count_spelled(codes, values, filled, n, binary):  # type: ignore[no-untyped-def]
    # Shrinks codes[filled:filled + n] to distinct ones, sorted, in place; returns their end.
    start, words = filled, codes.shape[1]
    sort_row(codes, values, start, start + n)
    for i in range(start, start + n):
        same = filled > start
        for word in range(words):
            same = same and codes[i, word] == codes[filled - 1, word]
        if not same:
            for word in range(words):
                codes[filled, word] = codes[i, word]
            values[filled] = values[i]
            filled += 1
        elif not binary:
            values[filled - 1] += values[i]
    return filled
