"""The loops of the weighted-degree kernel over pairs of rows, on the bit planes of `_numba.bits`.

The weight of a k-mer that starts at i factors, c_ik = beta_k p_i.  On the diagonal that compares x_{i+s} with y_i

    count:  sum_k beta_k |match_k and starts|                   p_i constant where it is not zero: bits are counted
    walk:   sum_i sqrt(p_i p_{i+s}) (beta_1 + .. + beta_{r_i})  r_i <= d the length of the run of matches from i on

The first costs O(d L / 64), the second O(L), so degrees above 64 are walked, too.  The diagonals s and -s are added
to each other first, which makes K(x, y) and K(y, x) the same bits.  `plan` is a `weighted_degree_plan.Plan`.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.bits import NONE, ONE, TOP, WORD, move, popcount, reversed_bits, trailing_zeros
from kernelweave.kernels.base import Array
from kernelweave.kernels.positional.weights import Plan

LANES = 128
"""Rows that are compared with one row at a time: the loops over them are what the compiler turns into vectors."""


def block_values(planes: Array, others: Array, plan: Plan, same: bool, dtype: type) -> Array:
    """Return the kernel of all pairs of rows; `same` says that both sides are the same rows."""
    planes = np.ascontiguousarray(planes)
    others = planes if same else np.ascontiguousarray(others)
    turned = _filled(len(planes)) > _filled(len(others))  # a few columns would leave most lanes empty
    if turned:
        planes, others = others, planes
    out: Array = np.empty((len(planes), len(others)), dtype)
    pair_values(planes, others, plan, same, out)
    return np.ascontiguousarray(out.T) if turned else out


def _filled(columns: int) -> float:
    """Return which part of the lanes hold a row."""
    return columns / (-(-columns // LANES) * LANES)


@jit
def lanes(planes):  # type: ignore[no-untyped-def]
    """Return rows in groups, lying side by side: (groups, words, planes, LANES), the last group filled with zeros."""
    n, words, depth = planes.shape
    out = np.zeros((-(-n // LANES), words, depth, LANES), np.uint64)
    for b in range(n):
        for w in range(words):
            for p in range(depth):
                out[b // LANES, w, p, b % LANES] = planes[b, w, p]
    return out


@jit
def place(planes, a, reach, moved):  # type: ignore[no-untyped-def]
    """Move one row to every diagonal 0, 1, -1, 2, -2, ..; letters that no k-mer can touch match nothing."""
    last = planes.shape[2] - 1
    for t in range(moved.shape[0]):
        move(planes, a, (t + 1) // 2 if t % 2 else -(t // 2), moved[t])
        for w in range(moved.shape[1]):
            moved[t, w, last] &= reach[t, w]


@jit
def match(row, group, low, high, mask):  # type: ignore[no-untyped-def]
    """Write where one row (words, planes) and each row of a group match, (words + 1, LANES)."""
    last = row.shape[1] - 1
    for w in range(low, high):
        valid = row[w, last]
        for b in range(LANES):
            mask[w, b] = valid & group[w, last, b]
        for p in range(last):
            word = row[w, p]
            for b in range(LANES):
                mask[w, b] &= ~(word ^ group[w, p, b])


@jit
def count(mask, starts, low, high, found):  # type: ignore[no-untyped-def]
    """Write how many k-mers start at a bit of `starts`, and narrow the masks to (k+1)-mers; return if any is left."""
    found[:] = 0
    left = NONE
    for w in range(low, high):
        allowed = starts[w]
        for b in range(LANES):
            word = mask[w, b]
            found[b] += popcount(word & allowed)
            word &= (word >> ONE) | (mask[w + 1, b] << TOP)
            mask[w, b] = word
            left |= word
    return left != NONE


@jit
def walk(mask, factors, gains, low, high, value):  # type: ignore[no-untyped-def]
    """Write the sums over matches of the factor of the place times the gain of the run of matches from there on."""
    longest = gains.shape[0] - 1
    for b in range(LANES):
        total, run, previous = 0.0, 0, -1
        for w in range(high - 1, low - 1, -1):
            left = reversed_bits(mask[w, b])  # the lowest bit is found and cleared fastest
            while left != NONE:
                i = w * WORD + WORD - 1 - trailing_zeros(left)
                run = min(run + 1, longest) if i + 1 == previous else 1
                previous = i
                total += factors[i] * gains[run]
                left &= left - ONE
        value[b] = total


@jit
def weigh(mask, t, plan, found, value):  # type: ignore[no-untyped-def]
    """Write what one diagonal adds to each lane; destroys the masks."""
    if plan.walked:
        walk(mask, plan.factors[t], plan.gains, plan.low, plan.high, value)
        return
    value[:] = 0.0
    for k in range(plan.weights.shape[0]):
        left = count(mask, plan.starts[t], plan.low, plan.high, found)
        weight = plan.weights[k]
        for b in range(LANES):
            value[b] += weight * found[b]
        if not left:
            break


@jit
def compare(moved, group, plan, mask, found, values):  # type: ignore[no-untyped-def]
    """Write the kernel of one placed row with each row of a group into ``values[0]``."""
    match(moved[0], group, plan.low, plan.high, mask)
    weigh(mask, 0, plan, found, values[0])
    for s in range(1, plan.shifts.shape[0]):
        match(moved[2 * s - 1], group, plan.low, plan.high, mask)
        weigh(mask, 2 * s - 1, plan, found, values[1])
        match(moved[2 * s], group, plan.low, plan.high, mask)
        weigh(mask, 2 * s, plan, found, values[2])
        for b in range(LANES):
            values[0, b] += plan.shifts[s] * (values[1, b] + values[2, b])


@jit
def pair_values(planes, others, plan, same, out):  # type: ignore[no-untyped-def]
    """Write the kernel of all pairs of rows; `same` says that both sides are the same rows."""
    groups = lanes(others)
    moved = np.empty((2 * plan.shifts.shape[0] - 1, planes.shape[1], planes.shape[2]), np.uint64)
    mask = np.zeros((planes.shape[1] + 1, LANES), np.uint64)
    found, values = np.empty(LANES, np.int64), np.empty((3, LANES))
    for a in range(out.shape[0]):
        place(planes, a, plan.reach, moved)
        columns = a + 1 if same else out.shape[1]
        for g in range(-(-columns // LANES)):
            compare(moved, groups[g], plan, mask, found, values)
            for b in range(g * LANES, min((g + 1) * LANES, columns)):
                out[a, b] = values[0, b - g * LANES]
                if same:
                    out[b, a] = out[a, b]


@jit
def own_values(planes, plan, out):  # type: ignore[no-untyped-def]
    """Write the kernel of every row with itself."""
    moved = np.empty((2 * plan.shifts.shape[0] - 1, planes.shape[1], planes.shape[2]), np.uint64)
    mask = np.zeros((planes.shape[1] + 1, LANES), np.uint64)
    found, values = np.empty(LANES, np.int64), np.empty((3, LANES))
    for a in range(out.shape[0]):
        place(planes, a, plan.reach, moved)
        compare(moved, lanes(planes[a : a + 1])[0], plan, mask, found, values)
        out[a] = values[0, 0]


@jit
def walk_degrees(mask, factors, factor, low, high, out):  # type: ignore[no-untyped-def]
    """Add to (rows, d) what one diagonal shares for each length, one row of `out` for each lane."""
    degree = out.shape[1]
    runs = np.empty(degree)
    for b in range(out.shape[0]):
        runs[:] = 0.0
        run, previous = 0, -1
        for w in range(high - 1, low - 1, -1):
            left = reversed_bits(mask[w, b])
            while left != NONE:
                i = w * WORD + WORD - 1 - trailing_zeros(left)
                run = min(run + 1, degree) if i + 1 == previous else 1
                previous = i
                runs[run - 1] += factors[i]
                left &= left - ONE
        total = 0.0
        for k in range(degree - 1, -1, -1):  # a run of r letters holds a k-mer of each length up to r
            total += runs[k]
            out[b, k] += factor * total


@jit
def pair_degrees(planes, others, plan, out):  # type: ignore[no-untyped-def]
    """Write what all pairs of rows share for each length of k-mers, (n, m, d), before the lengths are weighed."""
    groups = lanes(others)
    moved = np.empty((2 * plan.shifts.shape[0] - 1, planes.shape[1], planes.shape[2]), np.uint64)
    mask = np.zeros((planes.shape[1] + 1, LANES), np.uint64)
    found = np.empty(LANES, np.int64)
    out[:] = 0.0
    for a in range(out.shape[0]):
        place(planes, a, plan.reach, moved)
        for g in range(groups.shape[0]):
            part = out[a, g * LANES : (g + 1) * LANES]
            for t in range(moved.shape[0]):
                match(moved[t], groups[g], plan.low, plan.high, mask)
                factor = plan.shifts[(t + 1) // 2]
                if plan.walked:
                    walk_degrees(mask, plan.factors[t], factor, plan.low, plan.high, part)
                    continue
                for k in range(plan.weights.shape[0]):
                    left = count(mask, plan.starts[t], plan.low, plan.high, found)
                    for b in range(part.shape[0]):
                        part[b, k] += factor * plan.weights[k] * found[b]
                    if not left:
                        break
