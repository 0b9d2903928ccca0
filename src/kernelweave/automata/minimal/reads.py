"""The loops of `MinimalStore` that read: weights of strings, sums over them, checks of what is to be added."""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.borrow import borrowed
from kernelweave.automata.base import EPSILON
from kernelweave.automata.intersect import add_up
from kernelweave.automata.minimal.pool import COUNT, NOTHING, REFERENCES, START
from kernelweave.automata.minimal.register import LARGEST_WHOLE

ROOT = 0
LONG = 8
"""Where a state has this many times the arcs that are looked for, it is searched by halves, not one by one."""


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
def item_from(pool, at, end, label, halves):  # type: ignore[no-untyped-def]
    """Return the first item from `at` on whose label is not smaller, or `end`: one by one, or by halves."""
    if not halves:
        while at < end and pool.items[at, 0] < label:
            at += 1
        return at
    while at < end:
        middle = (at + end) // 2
        if pool.items[middle, 0] < label:
            at = middle + 1
        else:
            end = middle
    return at


@jit
def machine_total(owned_pool, machine, heads, met, links, values):  # type: ignore[no-untyped-def]
    """Return whether there was space for all pairs, and D(A o W): the sweep of `intersect`, with W in the pool.

    The states of A come in topological order, and one sweep is enough.  Where A has cycles, `heads` has two lines: W
    has none, so that strings end, and each sweep takes all pairs of states one letter further.

    heads[:, p] : the last pair that came to wait at p, -1 for none, as at the start and at the end
    met[q] : the pair in which q was met first at this state, -1 in between;  links, values : as in `intersect`
    """
    pool = borrowed(owned_pool)
    total, used, spare, more = 0.0, 1, -1, True
    now, later = 0, heads.shape[0] - 1
    heads[0, 0], links[0, 0], links[0, 1], values[0] = 0, ROOT, NOTHING, 1.0
    while more:
        more = False
        for p in range(heads.shape[1]):
            pair = np.int64(heads[now, p])
            if pair < 0:
                continue
            heads[now, p] = NOTHING
            if links[pair, 1] >= 0:
                add_up(pair, met, links, values)
            while pair >= 0:
                following = np.int64(links[pair, 1])
                q, v = links[pair, 0], values[pair]
                links[pair, 1], spare = spare, pair
                ended, used, spare = pairs_behind(pool, machine, p, q, v, heads[later], links, values, used, spare)
                if used < 0:
                    heads[:] = NOTHING
                    return False, total
                total += ended
                more = now != later
                pair = following
        now, later = later, now
    return True, total


@jit
def pairs_behind(pool, machine, p, q, v, heads, links, values, used, spare):  # type: ignore[no-untyped-def]
    """Let the pairs behind (p, q) wait; return what ends there, and how many pairs are in use, -1 if too many."""
    starts, target, labels, weights, finals = machine
    at, ended = np.int64(pool.entries[q, START]), 0.0
    end = at + pool.entries[q, COUNT]
    if at < end and pool.items[at, 0] == EPSILON:
        ended = v * finals[p] * pool.weights[at]
        at += 1
    halves = end - at > LONG * (starts[p + 1] - starts[p])
    for arc in range(starts[p], starts[p + 1]):
        at = item_from(pool, at, end, labels[arc], halves)
        if at == end:
            break
        if pool.items[at, 0] != labels[arc]:
            continue
        place = spare
        if spare >= 0:
            spare = np.int64(links[spare, 1])
        elif used < values.shape[0]:
            place = used
            used += 1
        else:
            return ended, -1, spare
        there = target[arc]
        links[place, 0], links[place, 1] = pool.items[at, 1], heads[there]
        values[place] = v * weights[arc] * pool.weights[at]
        heads[there] = place
    return ended, used, spare


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
