"""L-mers over any small alphabet: the matches of one letter after another are added, 64 pairs at once.

A row y has a plane of bits for each letter x and each place s of an l-mer: its l-mers that have x at s.  An l-mer of
another row picks one for each of its letters and adds them up with half adders.

Legend: a, b rows; i starts of l-mers; w word of 64 starts; r0 .. r3 planes of the number of matches.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.bits import NONE, WORD
from kernelweave.kernels.strings.bitwise.tally import PLANES, TOGETHER, longest_row, tally, write_bits

LETTERS, LONGEST = 64, 15
"""Most letters of an alphabet, and the longest l-mer: four planes hold up to 15 matches."""


@jit
def own_letters(  # type: ignore[no-untyped-def]
    letters, offsets, mask, size, length, turn, values, planes, weights, starts, out
):
    """Add the sum over all pairs of l-mers of each row with itself, and with its other strand if `turn` says how."""
    words = longest_row(offsets) // WORD + 1
    valid, bits = np.empty(words + 1, np.uint64), np.empty((size, length, words + 1), np.uint64)
    found, diagonal = np.empty(len(values)), np.empty(len(values))
    for row in range(out.shape[0]):
        n = offsets[row + 1] - offsets[row] - length + 1
        if n <= 0:
            continue
        mine = weights[starts[row] : starts[row] + n] if len(weights) else weights
        write_bits(letters, offsets[row], offsets[row + 1], mask, length, bits, valid)
        for strand in range(2 if len(turn) else 1):
            found[:], diagonal[:] = 0.0, 0.0
            other = turn if strand == 1 else turn[:0]
            _count(
                letters, offsets[row], n, mask, length, bits, other, valid, True, n, planes, mine, mine, found, diagonal
            )
            for m in range(len(values)):
                out[row] += values[m] * (2.0 * found[m] - diagonal[m])


@jit
def pair_letters(  # type: ignore[no-untyped-def]
    letters, offsets, weights, starts, others, bounds, other_weights, other_starts, mask, size, length, values, planes,
    same, out,
):  # fmt: skip
    """Add the sum over all pairs of l-mers of each row of one side and each of the other."""
    words = longest_row(bounds) // WORD + 1
    valid, bits = np.empty(words + 1, np.uint64), np.empty((size, length, words + 1), np.uint64)
    found, none, turn = np.empty(len(values)), np.empty(len(values)), np.empty(0, np.int64)
    for b in range(out.shape[1]):
        n = bounds[b + 1] - bounds[b] - length + 1
        if n <= 0:
            continue
        write_bits(others, bounds[b], bounds[b + 1], mask, length, bits, valid)
        theirs = other_weights[other_starts[b] : other_starts[b] + n] if len(weights) else weights
        for a in range(b if same else 0, out.shape[0]):
            many = offsets[a + 1] - offsets[a] - length + 1
            if many <= 0:
                continue
            mine = weights[starts[a] : starts[a] + many] if len(weights) else weights
            found[:] = 0.0
            _count(
                letters, offsets[a], many, mask, length, bits, turn, valid, False, n, planes, mine, theirs, found, none
            )
            for m in range(len(values)):
                out[a, b] += values[m] * found[m]
            if same:
                out[b, a] = out[a, b]


@jit
def _count(  # type: ignore[no-untyped-def]
    letters, start, many, mask, length, bits, turn, valid, own, n, planes, mine, theirs, found, diagonal
):
    # Adds to found[m] the pairs with m mismatches of the `many` l-mers of a row with the n of another; with `own`, the
    # rows are one: each l-mer with those from it on, and with itself also to diagonal[m].
    last, held, masked = (n - 1) // WORD + 1, 0, -1
    matches, places = np.empty((TOGETHER, last, PLANES), np.uint64), np.empty(TOGETHER, np.int64)
    for p in range(length - 1):
        masked = p if letters[start + p] == mask else masked
    for i in range(many):
        masked = i + length - 1 if letters[start + i + length - 1] == mask else masked
        if masked < i:
            places[held], out = i, matches[held]
            held += 1
            for w in range(np.uint64(i // WORD if own else 0), np.uint64(last)):
                r0, r1, r2, r3 = NONE, NONE, NONE, NONE
                for s in range(length):
                    x = letters[start + i + s]
                    one = bits[turn[x], length - 1 - s, w] if len(turn) else bits[x, s, w]
                    two = r0 & one
                    r0 ^= one
                    four = r1 & two
                    r1 ^= two
                    r3 ^= r2 & four
                    r2 ^= four
                out[w, 0], out[w, 1], out[w, 2], out[w, 3] = r0, r1, r2, r3
        if held == TOGETHER or i == many - 1:
            tally(matches, places, held, own, length, n, valid, planes, mine, theirs, found, diagonal)
            held = 0
