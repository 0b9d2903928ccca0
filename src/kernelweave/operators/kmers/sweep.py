"""Scores of many new rows under k-mers with a place, by one sweep over the positions from the last to the first.

    f(x) = sum_p sum_k w[p, k] sum_j coef_j [x and x_j share the k letters from position p on]

Kept and new rows are sorted together by the letters from a position on.  Those that share k letters with a new row
stand next to it in one run, so the inner sum is a difference of two running sums of coefficients:

    order of p     is the order of p + 1, divided stably by the letter at p: nothing is ever compared
    lcp of p       letters that neighbours share: one more than the least between them at p + 1
    to the left    A(x) = sum_k w[p, k] (P(x) - P(first row that shares k letters)),  P the sum of coefficients before
    to the right   the same from the other end

The first row that shares k letters is the same for all k beyond what a row shares with the one before it.  So
``G(k) = sum_{h <= k} w[p, h] P(first of h)`` has to be written only for the k up to which the next row may reach
(`_from_left`).  A position costs three passes over the rows, whatever the degree and however many rows share a k-mer,
and everything a pass reads beside one letter of each row lies in order: a row carries its number, and its coefficient
or its score.  Memory: 26 bytes a row beside the letters.

Rounding: running sums are as large as all coefficients together, so a score is right to about 1e-16 of the sum of
their sizes times the largest kernel value.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.strings.alphabet import Alphabet

Array = np.ndarray
AHEAD = 4
"""Depths beyond the one that a row shares which are written at once, in one vector; going further is rare."""
LANES = 8
"""Letters whose least common prefixes fit the bytes of one word."""
MOST_DEGREE = 126
"""Depths are kept in seven bits."""
MOST_LETTERS = 254
KEPT_TIMES, FEWEST_BLOCKS, SMALLEST_BLOCK, LARGEST_BLOCK = 4, 4, 1 << 14, 1 << 18
"""Rows of a block: so many times the kept ones, a share of all for several threads, and limits of either.  Beyond the
largest, what a pass reads leaves the caches and nothing is gained."""
HIGH, ONES = np.uint64(0x8080808080808080), np.uint64(0x0101010101010101)
SEVEN, BYTE, UNSEEN = np.uint64(7), np.uint64(255), np.uint64(127)


def can_sweep(alphabet: Alphabet, reach: int, degree: int) -> bool:
    """Tell whether a sweep can score: few enough letters, no shifts, k-mers that are not too long."""
    return alphabet.size <= MOST_LETTERS and alphabet.dtype == np.uint8 and reach == 0 and degree <= MOST_DEGREE


def block_rows(new: int, kept: int) -> int:
    """Return how many new rows are swept together: some times the kept ones, so that sorting those costs little.

    Examples
    --------
    >>> block_rows(1000, 100), block_rows(1_000_000, 10_000), block_rows(1_000_000, 100_000)
    (16384, 250000, 262144)
    """
    return min(max(KEPT_TIMES * kept, -(-new // FEWEST_BLOCKS), SMALLEST_BLOCK), LARGEST_BLOCK)


def sweep_scores(kept: Array, new: Array, letters: int, sums: Array, coef: Array) -> Array:
    """Return the scores of new rows, (rows,).

    Parameters
    ----------
    kept, new : (length, rows) symbols; those from `letters` on match nothing
    letters : number of letters
    sums : (length, degree + 1) what k-mers of up to k letters at a position give together
    coef : (kept rows,)

    Examples
    --------
    >>> rows = np.array([[0, 0, 1], [1, 1, 1]], np.uint8)
    >>> sums = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 1.0]])
    >>> sweep_scores(rows[:, :1], rows, 4, sums, np.ones(1))
    array([3., 3., 1.])
    """
    out = np.zeros(new.shape[1])
    every = kept.shape[1] + new.shape[1]
    beyond = np.concatenate([sums, np.repeat(sums[:, -1:], AHEAD + 1, axis=1)], axis=1)
    number = np.int32 if every < 2**31 else np.int64
    _sweep(kept, new, letters, np.ascontiguousarray(beyond), coef, np.arange(every, dtype=number), out)
    return out


@jit
def _sweep(kept, new, letters, sums, coef, order, out):  # type: ignore[no-untyped-def]
    length, n = kept.shape
    every = len(order)
    degree = sums.shape[1] - 2 - AHEAD
    lcp, lcp_next, order_next = np.zeros(every, np.uint8), np.empty(every, np.uint8), np.empty_like(order)
    values, values_next, left = np.zeros(every), np.empty(every), np.empty(every)
    for i in range(n):
        values[i] = coef[i]
    symbols = np.empty(every, np.uint8)
    for position in range(length - 1, -1, -1):
        for i in range(n):
            symbols[i] = min(kept[position, i], letters)
        for i in range(n, every):
            symbols[i] = min(new[position, i - n], letters)
        if letters < LANES:
            divide(symbols, order, lcp, values, letters + 1, degree, order_next, lcp_next, values_next)
        else:
            divide_many(symbols, order, lcp, values, letters + 1, degree, order_next, lcp_next, values_next)
        order, order_next = order_next, order
        lcp, lcp_next = lcp_next, lcp
        values, values_next = values_next, values
        _from_left(order, lcp, n, values, sums[position], left)
        _from_right(order, lcp, n, left, sums[position], values)
    for i in range(every):
        if order[i] >= n:
            out[order[i] - n] = values[i]


@jit
def _starts(symbols, fan):  # type: ignore[no-untyped-def]
    """Return where the rows of each letter begin."""
    starts = np.zeros(fan + 1, np.int64)
    for i in range(len(symbols)):
        starts[symbols[i] + 1] += 1
    for c in range(fan):
        starts[c + 1] += starts[c]
    return starts


@jit
def _unshared(first, masked, lcp):  # type: ignore[no-untyped-def]
    """The first row of a letter shares nothing with the one before it, and masked letters share nothing at all."""
    for c in range(len(first)):
        if first[c] < len(lcp):
            lcp[first[c]] = 0
    for i in range(masked, len(lcp)):
        lcp[i] = 0


@jit
def divide(symbols, order, lcp, values, fan, degree, order_out, lcp_out, values_out):  # type: ignore[no-untyped-def]
    """Sort stably by letter; the least lcp since the last row of each letter is a byte of `least`."""
    starts = _starts(symbols, fan)
    first = starts[:fan].copy()
    least, most = UNSEEN * ONES, np.uint64(degree)
    for i in range(len(order)):
        here = np.uint64(lcp[i]) * ONES
        smaller = ((((least | HIGH) - here) & HIGH) >> SEVEN) * BYTE
        least = (here & smaller) | (least & ~smaller)
        row = order[i]
        letter = symbols[row]
        lane = np.uint64(letter) << np.uint64(3)
        at = starts[letter]
        order_out[at] = row
        values_out[at] = values[i]
        lcp_out[at] = min(((least >> lane) & BYTE) + np.uint64(1), most)
        starts[letter] = at + 1
        least |= UNSEEN << lane
    _unshared(first, first[fan - 1], lcp_out)


@jit
def divide_many(symbols, order, lcp, values, fan, degree, order_out, lcp_out, values_out):  # type: ignore[no-untyped-def]
    """The same for any number of letters."""
    starts = _starts(symbols, fan)
    first = starts[:fan].copy()
    least = np.full(fan, 127, np.uint8)
    for i in range(len(order)):
        here = lcp[i]
        for c in range(fan):
            least[c] = min(least[c], here)
        row = order[i]
        letter = symbols[row]
        at = starts[letter]
        order_out[at] = row
        values_out[at] = values[i]
        lcp_out[at] = min(least[letter] + 1, degree)
        starts[letter] = at + 1
        least[letter] = 127
    _unshared(first, first[fan - 1], lcp_out)


@jit
def _from_left(order, lcp, n, values, sums, left):  # type: ignore[no-untyped-def]
    """Write what rows to the left share with each row; `upper[k]` is G(k) as far as the row before reaches."""
    upper = np.zeros(len(sums))
    running, former, depth = 0.0, 0.0, np.int64(0)
    for i in range(len(order)):
        shared = np.int64(lcp[i])
        if shared > depth + AHEAD:
            _reach(upper, sums, depth, shared, former)
        depth = shared
        value, given = upper[depth], sums[depth]
        left[i] = given * running - value
        for k in range(1, AHEAD + 1):
            upper[depth + k] = value + (sums[depth + k] - given) * running
        former = running
        running += values[i] if order[i] < n else 0.0


@jit
def _from_right(order, lcp, n, left, sums, values):  # type: ignore[no-untyped-def]
    """Add what rows on both sides share with each new row to its score."""
    upper = np.zeros(len(sums))
    running, former, depth, shared = 0.0, 0.0, np.int64(0), np.int64(0)
    for i in range(len(order) - 1, -1, -1):
        if shared > depth + AHEAD:
            _reach(upper, sums, depth, shared, former)
        depth = shared
        value, given, held = upper[depth], sums[depth], values[i]
        for k in range(1, AHEAD + 1):
            upper[depth + k] = value + (sums[depth + k] - given) * running
        kept = order[i] < n
        values[i] = held if kept else held + (left[i] + (given * running - value))
        former = running
        running += held if kept else 0.0
        shared = np.int64(lcp[i])


@jit
def _reach(upper, sums, depth, shared, former):  # type: ignore[no-untyped-def]
    for k in range(depth + AHEAD + 1, shared + 1):
        upper[k] = upper[depth] + (sums[k] - sums[depth]) * former
