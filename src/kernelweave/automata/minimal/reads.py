"""The loops of `MinimalStore` that read: weights of strings, sums over them, checks of what is to be added."""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.borrow import borrowed
from kernelweave.automata.base import EPSILON
from kernelweave.automata.minimal.pool import COUNT, NOTHING, REFERENCES, START
from kernelweave.automata.minimal.register import LARGEST_WHOLE

ROOT = 0


@jit
def string_weights(pool, strings, out):  # type: ignore[no-untyped-def]
    """Write the weight of each string; prefixes shared with the string before are not walked again."""
    longest = strings.shape[1]
    states, products = np.empty(longest + 1, np.int64), np.empty(longest + 1)
    states[0], products[0] = ROOT, 1.0
    known = 0
    for row in range(strings.shape[0]):
        depth = min(known, common(strings, row - 1, row)) if row > 0 else 0
        while depth < longest and strings[row, depth] != EPSILON and states[depth] != NOTHING:
            item = arc_with(pool, states[depth], strings[row, depth])
            depth += 1
            states[depth] = NOTHING if item == NOTHING else pool.items[item, 1]
            products[depth] = 0.0 if item == NOTHING else products[depth - 1] * pool.weights[item]
        known = depth
        end = NOTHING if states[depth] == NOTHING else arc_with(pool, states[depth], EPSILON)
        out[row] = 0.0 if end == NOTHING else products[depth] * pool.weights[end]


@jit
def row_totals(owned_pool, strings, values, bounds, out):  # type: ignore[no-untyped-def]
    """Write, for each row of strings, the sum of value times weight."""
    pool = borrowed(owned_pool)
    for i in range(out.shape[0]):
        start, stop = bounds[i], bounds[i + 1]
        weights = np.empty(stop - start)
        string_weights(pool, strings[start:stop], weights)
        total = 0.0
        for k in range(stop - start):
            total += values[start + k] * weights[k]
        out[i] = total


@jit
def arc_with(pool, state, label):  # type: ignore[no-untyped-def]
    """Return the item of a state with a label, or NOTHING."""
    low = np.int64(pool.entries[state, START])
    stop = low + pool.entries[state, COUNT]
    high = stop
    while low < high:
        middle = (low + high) // 2
        if pool.items[middle, 0] < label:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and pool.items[low, 0] == label else NOTHING


@jit
def first_unsorted(strings):  # type: ignore[no-untyped-def]
    """Return the first string that is smaller than the one before, or NOTHING."""
    for row in range(1, strings.shape[0]):
        j = common(strings, row - 1, row)
        if j < strings.shape[1] and strings[row, j] < strings[row - 1, j]:
            return row
    return NOTHING


@jit
def first_too_large(strings, weights, deltas):  # type: ignore[no-untyped-def]
    """Return the first string whose weight would leave the exact whole numbers, or NOTHING."""
    total = 0.0
    for row in range(strings.shape[0]):
        j = common(strings, row - 1, row) if row > 0 else 0
        same = row > 0 and (j == strings.shape[1] or strings[row - 1, j] == strings[row, j])
        total = (total if same else weights[row]) + deltas[row]
        if not abs(total) <= LARGEST_WHOLE:
            return row
    return NOTHING


@jit
def write_machine(pool, order, place, source, target, labels, weights, finals):  # type: ignore[no-untyped-def]
    """Number the states so that arcs lead to higher numbers, and write their arcs."""
    waiting = np.empty(place.shape[0], np.int64)
    for state in range(place.shape[0]):
        waiting[state] = pool.entries[state, REFERENCES]
    order[0], filled, arc = ROOT, 1, 0
    for i in range(order.shape[0]):
        state = order[i]
        place[state] = i
        start = pool.entries[state, START]
        for item in range(start, start + pool.entries[state, COUNT]):
            if pool.items[item, 0] == EPSILON:
                finals[i] = pool.weights[item]
                continue
            end = pool.items[item, 1]
            source[arc], target[arc], labels[arc], weights[arc] = i, end, pool.items[item, 0], pool.weights[item]
            arc += 1
            waiting[end] -= 1
            if waiting[end] == 0:
                order[filled] = end
                filled += 1
    for k in range(arc):
        target[k] = place[target[k]]


@jit
def common(strings, a, b):  # type: ignore[no-untyped-def]
    """Return the length of the common prefix of two strings."""
    j = 0
    while j < strings.shape[1] and strings[a, j] == strings[b, j] and strings[a, j] != EPSILON:
        j += 1
    return j
