"""What becomes of numbers of matches that are held as planes of bits: pairs counted by their number of mismatches.

Bit j of word w stands for the l-mer of a row that starts at 64 w + j; r0 .. r3 are the binary digits of the number of
letters in which it agrees with an l-mer i.  Most pairs disagree too often to count; those that do not are looked at one
by one, or, where there are many, bits are counted for each number of mismatches.  Counts are whole numbers, so that
sums are exact and symmetric whatever the function of the distance is.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.bits import NONE, ONE, WORD, popcount, trailing_zeros
from kernelweave.kernels.base import Array

FEW = 6
"""Pairs of a word up to which each is looked at; with more, bits are counted for each number of mismatches."""
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
PLANES = 4
"""Digits of a number of matches."""
TOGETHER = 64
"""L-mers of a row whose numbers of matches are held together."""


def wanted(length: int, reach: int) -> Array:
    """Return, for each number of mismatches, what to XOR to each plane so that all planes are ones there."""
    matches = [length - m for m in range(reach)]
    return np.array([[NONE if (n >> p) & 1 else ALL for p in range(PLANES)] for n in matches], np.uint64)


@jit
def longest_row(offsets):  # type: ignore[no-untyped-def]
    """Return the number of letters of the longest row."""
    longest = 0
    for row in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    return longest


@jit
def write_bits(letters, start, stop, mask, length, bits, valid):  # type: ignore[no-untyped-def]
    """Write the l-mers of a row that have letter x at place s to bits[x, s], those without a masked one to valid."""
    n = stop - start - length + 1
    words = (stop - start) // WORD + 1
    for w in range(words + 1):
        valid[w] = NONE
        for x in range(bits.shape[0]):
            bits[x, 0, w] = NONE
    run = 0
    for p in range(stop - start):
        letter = letters[start + p]
        run = 0 if letter == mask else run + 1
        if letter != mask:
            bits[letter, 0, p // WORD] |= ONE << np.uint64(p % WORD)
        if run >= length:
            j = p - length + 1
            valid[j // WORD] |= ONE << np.uint64(j % WORD)
    for x in range(bits.shape[0]):
        for s in range(1, length):
            for w in range(n // WORD + 1):
                low, high = bits[x, 0, w], bits[x, 0, w + 1]
                bits[x, s, w] = (low >> np.uint64(s)) | (high << np.uint64(WORD - s))


@jit
def tally(matches, places, many, own, length, n, valid, planes, mine, theirs, found, diagonal):  # type: ignore[no-untyped-def]
    """Add the pairs of the l-mers at some places with the n of another row to found, by their number of mismatches.

    matches (many, words, 4) holds the planes of their numbers of matches.  With `own`, the rows are one: an l-mer
    counts with those from it on, and with itself also in diagonal.
    """
    # as many matches as count at all: compared plane by plane with that number, whose zeros are ones in t
    reach = planes.shape[0]
    t0, t1, t2, t3 = planes[reach - 1, 0], planes[reach - 1, 1], planes[reach - 1, 2], planes[reach - 1, 3]
    for k in range(many):
        i = places[k]
        row, begin = matches[k], np.uint64(i // WORD)
        for w in range(begin if own else np.uint64(0), np.uint64((n - 1) // WORD + 1)):
            r0, r1, r2, r3 = row[w, 0], row[w, 1], row[w, 2], row[w, 3]
            enough = r0 | t0
            enough = (r1 & enough) | (t1 & (r1 | enough))
            enough = (r2 & enough) | (t2 & (r2 | enough))
            enough = ((r3 & enough) | (t3 & (r3 | enough))) & valid[w]
            start = own and w == begin
            if start:
                enough &= ALL << np.uint64(i % WORD)
            if enough == NONE:
                continue
            if len(mine) == 0 and popcount(enough) > FEW:
                for m in range(reach):
                    here = (
                        (r0 ^ planes[m, 0]) & (r1 ^ planes[m, 1]) & (r2 ^ planes[m, 2]) & (r3 ^ planes[m, 3]) & enough
                    )
                    found[m] += popcount(here)
                    if start:
                        diagonal[m] += np.float64((here >> np.uint64(i % WORD)) & ONE)
                continue
            while enough != NONE:
                j = np.uint64(trailing_zeros(enough))
                low, high = (
                    ((r0 >> j) & ONE) | (((r1 >> j) & ONE) << ONE),
                    ((r2 >> j) & ONE) | (((r3 >> j) & ONE) << ONE),
                )
                m, at = length - np.int64(low) - 4 * np.int64(high), np.int64(w) * WORD + np.int64(j)
                worth = mine[i] * theirs[at] if len(mine) else 1.0
                found[m] += worth
                if start and at == i:
                    diagonal[m] += worth
                enough &= enough - ONE
