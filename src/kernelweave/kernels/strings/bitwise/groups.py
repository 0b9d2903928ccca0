"""L-mers of dna and rna: matches of three letters are looked up, and added by full adders.

For l-mers of up to four letters and l <= 12, the letters are cut into four groups of three; for each group c and each
of the 64 words of three letters, a table of a row y holds in how many of these letters its l-mers agree, in binary, one
bit plane for each digit:

    agree[c, word] = (p0, p1),     p0 + 2 p1 = [y_(j+3c) = word_0] + [y_(j+3c+1) = word_1] + [y_(j+3c+2) = word_2]

An l-mer of x looks up four of these and adds them plane by plane: three additions for 64 pairs.  The other strand of y
needs no second row: its l-mer at j agrees with a word as y does with the word's reverse complement.

Legend: a, b rows; i, j starts of l-mers; w word of 64 starts; r0 .. r3 planes of the number of matches.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.bits import NONE, ONE, WORD, popcount, trailing_zeros
from kernelweave.kernels.strings.bitwise.tally import ALL, FEW, longest_row, write_bits

LETTERS, LONGEST = 4, 12
"""Most letters of an alphabet, and the longest l-mer, for which four groups of three letters suffice."""
GROUPS, GROUP, WORDS = 4, 3, 64
"""Groups of letters, letters of a group, and words that these spell."""
MASKED = 64
"""What is added to the number of three letters where their l-mer has a masked letter."""


@jit
def own_groups(letters, offsets, mask, length, turn, values, planes, weights, starts, out):  # type: ignore[no-untyped-def]
    """Add the sum over all pairs of l-mers of each row with itself."""
    longest = longest_row(offsets)
    words = longest // WORD + 1
    masks, codes = _room(words, length), np.empty(len(letters), np.uint8)
    _spell(letters, offsets, mask, length, codes)
    found, diagonal = np.empty(len(values)), np.empty(len(values))
    for row in range(out.shape[0]):
        start, stop = offsets[row], offsets[row + 1]
        n = stop - start - length + 1
        if n <= 0:
            continue
        mine = weights[starts[row] : starts[row] + n] if len(weights) else weights
        valid, bits, agree = masks
        write_bits(letters, start, stop, mask, length, bits, valid)
        for strand in range(2 if len(turn) else 1):
            _write_agreement(bits, length, turn, strand == 1, n, agree)
            found[:], diagonal[:] = 0.0, 0.0
            _count(agree, codes[start:], n, length, valid, True, n, planes, mine, mine, found, diagonal)
            for m in range(len(values)):
                out[row] += values[m] * (2.0 * found[m] - diagonal[m])


@jit
def pair_groups(  # type: ignore[no-untyped-def]
    letters, offsets, weights, starts, others, bounds, other_weights, other_starts, mask, length, values, planes, same,
    out,
):  # fmt: skip
    """Add the sum over all pairs of l-mers of each row of one side and each of the other."""
    valid, bits, agree = _room(longest_row(bounds) // WORD + 1, length)
    codes = np.empty(len(letters), np.uint8)
    _spell(letters, offsets, mask, length, codes)
    found, none, turn = np.empty(len(values)), np.empty(len(values)), np.empty(0, np.int64)
    for b in range(out.shape[1]):
        n = bounds[b + 1] - bounds[b] - length + 1
        if n <= 0:
            continue
        write_bits(others, bounds[b], bounds[b + 1], mask, length, bits, valid)
        _write_agreement(bits, length, turn, False, n, agree)
        theirs = other_weights[other_starts[b] : other_starts[b] + n] if len(weights) else weights
        for a in range(b if same else 0, out.shape[0]):
            mine = offsets[a + 1] - offsets[a] - length + 1
            if mine <= 0:
                continue
            own = weights[starts[a] : starts[a] + mine] if len(weights) else weights
            found[:] = 0.0
            _count(agree, codes[offsets[a] :], mine, length, valid, False, n, planes, own, theirs, found, none)
            for m in range(len(values)):
                out[a, b] += values[m] * found[m]
            if same:
                out[b, a] = out[a, b]


@jit
def _room(words, length):  # type: ignore[no-untyped-def]
    valid, bits = np.empty(words + 1, np.uint64), np.empty((LETTERS, length, words + 1), np.uint64)
    return valid, bits, np.empty((GROUPS, WORDS, words, 2), np.uint64)


@jit
def _write_agreement(bits, length, turn, turned, n, agree):  # type: ignore[no-untyped-def]
    # For the other strand, letter x at place s is the complement of x at place l - 1 - s of the l-mer itself.
    words = np.uint64((n - 1) // WORD + 1)
    for group in range(GROUPS):
        first = group * GROUP
        for word in range(WORDS // LETTERS):
            x, y = word >> 2, word & 3
            for w in range(words):
                one = _has(bits, length, turn, turned, x, first, w)
                two = _has(bits, length, turn, turned, y, first + 1, w)
                low, high = one ^ two, one & two
                for z in range(LETTERS):
                    three = _has(bits, length, turn, turned, z, first + 2, w)
                    agree[group, LETTERS * word + z, w, 0] = low ^ three
                    agree[group, LETTERS * word + z, w, 1] = high | (low & three)


@jit
def _has(bits, length, turn, turned, x, place, w):  # type: ignore[no-untyped-def]
    # The l-mers that have a letter at a place; none behind the end.
    if place >= length:
        return NONE
    return bits[turn[x], length - 1 - place, w] if turned else bits[x, place, w]


@jit
def _spell(letters, offsets, mask, length, codes):  # type: ignore[no-untyped-def]
    # The three letters from each place on as a number below 64, `MASKED` more where the l-mer has a masked letter.
    for row in range(offsets.shape[0] - 1):
        code, bad = 0, offsets[row + 1]
        for i in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            code = (code >> 2) | ((np.int64(letters[i]) & 3) << 4)
            bad = i if letters[i] == mask else bad
            codes[i] = code if bad >= i + length else code + MASKED


@jit
def _count(agree, codes, many, length, valid, own, n, planes, mine, theirs, found, diagonal):  # type: ignore[no-untyped-def]
    # Adds to found[m] the pairs with m mismatches of the `many` l-mers of a row with the n of another; with `own`, the
    # rows are one: each l-mer with those from it on, and with itself also to diagonal[m].  The second half of the loop
    # is that of `tally`: through a buffer of planes, or a call for each word, all of this takes twice the time.
    reach, last = planes.shape[0], (n - 1) // WORD + 1
    t0, t1, t2, t3 = planes[reach - 1, 0], planes[reach - 1, 1], planes[reach - 1, 2], planes[reach - 1, 3]
    for i in range(many):
        if codes[i] >= MASKED:
            continue
        first, second = agree[0, codes[i]], agree[1, codes[i + 3] % MASKED if length > 3 else 0]
        third = agree[2, codes[i + 6] % MASKED if length > 6 else 0]
        fourth = agree[3, codes[i + 9] % MASKED if length > 9 else 0]
        begin = i // WORD if own else 0
        for w in range(np.uint64(begin), np.uint64(last)):
            a0, a1, b0, b1 = first[w, 0], first[w, 1], second[w, 0], second[w, 1]
            c0, c1, d0, d1 = third[w, 0], third[w, 1], fourth[w, 0], fourth[w, 1]
            carry, both = a0 & b0, a1 ^ b1
            s0, s1, s2 = a0 ^ b0, both ^ carry, (a1 & b1) | (both & carry)
            carry, both = c0 & d0, c1 ^ d1
            u0, u1, u2 = c0 ^ d0, both ^ carry, (c1 & d1) | (both & carry)
            r0, carry, both = s0 ^ u0, s0 & u0, s1 ^ u1
            r1, carry = both ^ carry, (s1 & u1) | (both & carry)
            both = s2 ^ u2
            r2, r3 = both ^ carry, (s2 & u2) | (both & carry)
            # as many matches as count at all: compared plane by plane with that number, whose zeros are ones in t
            enough = r0 | t0
            enough = (r1 & enough) | (t1 & (r1 | enough))
            enough = (r2 & enough) | (t2 & (r2 | enough))
            enough = ((r3 & enough) | (t3 & (r3 | enough))) & valid[w]
            start = own and w == np.uint64(begin)
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
