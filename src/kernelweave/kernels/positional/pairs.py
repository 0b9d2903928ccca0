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
from kernelweave._numba.bits import NONE, ONE, TOP, WORD, popcount, reversed_bits, trailing_zeros
from kernelweave.kernels.base import Array
from kernelweave.kernels.positional.weights import Plan

LANES = 128
"""Rows that are compared with one row at a time: the loops over them are what the compiler turns into vectors."""


CACHE_LINE = 64
"""Bytes that are loaded together."""
EVERY, HALF, OWN = 0, 1, 2
"""Which pairs `pair_values` writes: all, those of equal rows on both sides once, or each row with itself."""


def block_values(planes: Array, others: Array, plan: Plan, same: bool, dtype: type) -> Array:
    """Return the kernel of all pairs of rows; `same` says that both sides are the same rows."""
    turned = not same and _filled(len(planes)) > _filled(len(others))  # a few columns would leave most lanes empty
    if turned:
        planes, others = others, planes
    out: Array = np.empty((len(planes), len(others)), dtype)
    pair_values(np.ascontiguousarray(planes), lanes(others), plan, HALF if same else EVERY, *scratch(planes, plan), out)
    return np.ascontiguousarray(out.T) if turned else out


def own_values(planes: Array, plan: Plan) -> Array:
    """Return the kernel of every row with itself."""
    out = np.empty((len(planes), 1))
    pair_values(np.ascontiguousarray(planes), lanes(planes[:1]), plan, OWN, *scratch(planes, plan), out)
    return out[:, 0]


def degree_values(planes: Array, others: Array, plan: Plan) -> Array:
    """Return what all pairs of rows share for each length of k-mers, (n, m, d), before the lengths are weighed."""
    out = np.zeros((len(planes), len(others), len(plan.weights)))
    moved, mask, found, _ = scratch(planes, plan)
    pair_degrees(np.ascontiguousarray(planes), lanes(others), plan, moved, mask, found, out)
    return out


def _filled(columns: int) -> float:
    """Return which part of the lanes hold a row."""
    return columns / (-(-columns // LANES) * LANES)


def lanes(planes: Array) -> Array:
    """Return rows in groups, lying side by side: (groups, words, planes, LANES), the last group filled with zeros."""
    n, words, depth = planes.shape
    groups, whole = -(-n // LANES), n // LANES
    out = aligned(groups * words * depth).reshape(groups, words, depth, LANES)
    out[:whole] = planes[: whole * LANES].reshape(whole, LANES, words, depth).transpose(0, 2, 3, 1)
    if groups > whole:
        rest = n - whole * LANES
        out[whole, :, :, :rest] = planes[whole * LANES :].transpose(1, 2, 0)
        out[whole, :, :, rest:] = 0
    return out


def scratch(planes: Array, plan: Plan) -> tuple[Array, Array, Array, Array]:
    """Return what the loops overwrite: one row moved to every diagonal, masks, counts and values of the lanes."""
    _, words, depth = planes.shape
    moved = np.empty((2 * len(plan.shifts) - 1, words, depth), np.uint64)
    lines = aligned(words + 5)
    lines[: words + 1] = 0
    return moved, lines[: words + 1], lines[words + 1].view(np.int64), lines[words + 2 :].view(np.float64)


def aligned(n: int) -> Array:
    """Return (n, LANES) words that begin where a line of the cache does: vectors across two lines cost a fifth more."""
    items = CACHE_LINE // 8
    room = np.empty(n * LANES + items, np.uint64)
    start = -(room.__array_interface__["data"][0] // 8) % items
    return room[start : start + n * LANES].reshape(n, LANES)


@jit
def place(planes, a, reach, moved):  # type: ignore[no-untyped-def]
    """Move one row to every diagonal 0, 1, -1, 2, -2, ..; letters that no k-mer can touch match nothing."""
    words, last = planes.shape[1], planes.shape[2] - 1
    for t in range(moved.shape[0]):
        offset = (t + 1) // 2 if t % 2 else -(t // 2)
        whole, part = offset // WORD, np.uint64(offset % WORD)
        for w in range(words):
            q = w + whole
            for p in range(last + 1):
                low = planes[a, q, p] if 0 <= q < words else NONE
                high = planes[a, q + 1, p] if 0 <= q + 1 < words else NONE
                moved[t, w, p] = low if part == NONE else (low >> part) | (high << (np.uint64(WORD) - part))
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
def pair_values(planes, groups, plan, pairs, moved, mask, found, values, out):  # type: ignore[no-untyped-def]
    """Write the kernel of pairs of rows; the last arguments but `out` are scratch."""
    words, depth, low, high = planes.shape[1], planes.shape[2], plan.low, plan.high
    for a in range(out.shape[0]):
        place(planes, a, plan.reach, moved)
        if pairs == OWN:
            for w in range(words):
                for p in range(depth):
                    groups[0, w, p, 0] = planes[a, w, p]
        columns = a + 1 if pairs == HALF else out.shape[1]
        for g in range(-(-columns // LANES)):
            for t in range(moved.shape[0]):
                value = values[min(t, 2 - t % 2)]
                match(moved[t], groups[g], low, high, mask)
                if plan.walked:
                    walk(mask, plan.factors[t], plan.gains, low, high, value)
                else:
                    value[:] = 0.0
                    for k in range(plan.weights.shape[0]):
                        left = count(mask, plan.starts[t], low, high, found)
                        weight = plan.weights[k]
                        for b in range(LANES):
                            value[b] += weight * found[b]
                        if not left:
                            break
                if t > 0 and t % 2 == 0:
                    for b in range(LANES):
                        values[0, b] += plan.shifts[t // 2] * (values[1, b] + values[2, b])
            for b in range(g * LANES, min((g + 1) * LANES, columns)):
                out[a, b] = values[0, b - g * LANES]
                if pairs == HALF:
                    out[b, a] = out[a, b]


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
def pair_degrees(planes, groups, plan, moved, mask, found, out):  # type: ignore[no-untyped-def]
    """Add what all pairs of rows share for each length of k-mers to `out`, which is zero."""
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
