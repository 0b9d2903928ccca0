"""The loops of the weighted-degree kernel over pairs of rows, on the bit planes of `_numba.bits`.

The weight of a k-mer that starts at i factors, c_ik = beta_k p_i.  On the diagonal that compares x_{i+s} with y_i

    count:  sum_k beta_k |match_k and starts|                   p_i constant where it is not zero: bits are counted
    walk:   sum_i sqrt(p_i p_{i+s}) (beta_1 + .. + beta_{r_i})  r_i <= d the length of the run of matches from i on

The first costs O(d L / 64), the second O(L), so degrees above 64 are walked, too.  The diagonals s and -s are added
to each other first, which makes K(x, y) and K(y, x) the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.bits import NONE, ONE, WORD, leading_zeros, match, move, narrow, popcount


class Plan(NamedTuple):
    """What the loops know of a kernel and of the length of the rows; diagonals t stand for s = 0, 1, -1, 2, -2, ..

    Attributes
    ----------
    reach : (2 S + 1, words) uint64, the letters that a k-mer may touch
    starts : (2 S + 1, words) uint64, where a k-mer may start
    factors : (2 S + 1, length), sqrt(p_i p_{i+s})
    weights : (d,) beta, times p where that is constant
    gains : (d + 1,) sums of beta
    shifts : (S + 1,) m
    walked : whether to walk along runs rather than to count bits
    low, high : the words in which anything can match
    """

    reach: np.ndarray
    starts: np.ndarray
    factors: np.ndarray
    weights: np.ndarray
    gains: np.ndarray
    shifts: np.ndarray
    walked: bool
    low: int
    high: int


@jit
def count(mask, starts, weights, low, high):  # type: ignore[no-untyped-def]
    """Return the weighted number of k-mers of all lengths that start at a bit of `starts`; destroys the mask."""
    total = 0.0
    for k in range(weights.shape[0]):
        found = 0
        for w in range(low, high):
            found += popcount(mask[w] & starts[w])
        total += weights[k] * found
        if not narrow(mask, low, high):
            break
    return total


@jit
def walk(mask, factors, gains, low, high):  # type: ignore[no-untyped-def]
    """Return the sum over matches of the factor of the place times the gain of the run of matches from there on."""
    total, run, previous, longest = 0.0, 0, -1, gains.shape[0] - 1
    for w in range(high - 1, low - 1, -1):
        left = mask[w]
        while left != NONE:
            bit = WORD - 1 - leading_zeros(left)
            i = w * WORD + bit
            run = min(run + 1, longest) if i + 1 == previous else 1
            previous = i
            total += factors[i] * gains[run]
            left ^= ONE << np.uint64(bit)
    return total


@jit
def compare(moved, t, others, b, mask, plan):  # type: ignore[no-untyped-def]
    """Return what one diagonal of one pair adds."""
    match(moved[t], others, b, plan.low, plan.high, mask)
    if plan.walked:
        return walk(mask, plan.factors[t], plan.gains, plan.low, plan.high)
    return count(mask, plan.starts[t], plan.weights, plan.low, plan.high)


@jit
def place(planes, a, reach, moved):  # type: ignore[no-untyped-def]
    """Move one row to every diagonal 0, 1, -1, 2, -2, ..; letters that no k-mer can touch match nothing."""
    last = planes.shape[2] - 1
    for t in range(moved.shape[0]):
        move(planes, a, (t + 1) // 2 if t % 2 else -(t // 2), moved[t])
        for w in range(moved.shape[1]):
            moved[t, w, last] &= reach[t, w]


@jit
def pair_value(moved, others, b, mask, plan):  # type: ignore[no-untyped-def]
    """Return the kernel of one placed row with row b of the others."""
    total = compare(moved, 0, others, b, mask, plan)
    for s in range(1, plan.shifts.shape[0]):
        up = compare(moved, 2 * s - 1, others, b, mask, plan)
        down = compare(moved, 2 * s, others, b, mask, plan)
        total += plan.shifts[s] * (up + down)
    return total


@jit
def pair_values(planes, others, plan, same, out):  # type: ignore[no-untyped-def]
    """Write the kernel of all pairs of rows; `same` says that both sides are the same rows."""
    moved = np.empty((2 * plan.shifts.shape[0] - 1, planes.shape[1], planes.shape[2]), np.uint64)
    mask = np.zeros(planes.shape[1] + 1, np.uint64)
    for a in range(out.shape[0]):
        place(planes, a, plan.reach, moved)
        for b in range(a + 1 if same else out.shape[1]):
            out[a, b] = pair_value(moved, others, b, mask, plan)
            if same:
                out[b, a] = out[a, b]


@jit
def own_values(planes, plan, out):  # type: ignore[no-untyped-def]
    """Write the kernel of every row with itself."""
    moved = np.empty((2 * plan.shifts.shape[0] - 1, planes.shape[1], planes.shape[2]), np.uint64)
    mask = np.zeros(planes.shape[1] + 1, np.uint64)
    for a in range(out.shape[0]):
        place(planes, a, plan.reach, moved)
        out[a] = pair_value(moved, planes, a, mask, plan)
