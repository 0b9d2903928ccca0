"""The second half of adding an automaton (see `union`): nodes become states, from the ends to the initial state."""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.borrow import borrowed
from kernelweave.automata.base import EPSILON
from kernelweave.automata.minimal.pool import (
    COUNT,
    FINE,
    NOTHING,
    OUT_OF_RANGE,
    REFERENCES,
    START,
    drop_items,
    free_entry,
    new_entry,
    write_items,
)
from kernelweave.automata.minimal.reads import ROOT, item_from
from kernelweave.automata.minimal.register import LARGEST_WHOLE, enter, find, leave, normalise
from kernelweave.automata.minimal.union import FACTOR, FIRST, NEXT_HERE, OF_A, OF_W, RESULT, STATE


@jit
def settle(owned_pool, rules, machine, owned_work, heads):  # type: ignore[no-untyped-def]
    """Make the states of all nodes in the pool; return FINE or OUT_OF_RANGE, and how many items were written."""
    pool, work = borrowed(owned_pool), borrowed(owned_work)
    starts, _, labels, weights, finals = machine
    items, values, written = np.empty((0, 2), np.int32), np.empty(0), 0
    for p in range(heads.shape[0] - 1, -1, -1):
        node = heads[p]
        while node != NOTHING:
            q = work.nodes[node, STATE]
            most = starts[p + 1] - starts[p] + 1 + (np.int64(pool.entries[q, COUNT]) if q != NOTHING else 0)
            if most > values.shape[0]:
                items, values = np.empty((2 * most, 2), np.int32), np.empty(2 * most)
            if node == 0 and revised(pool, rules, work, starts[p], starts[p + 1], labels, weights, finals[p]):
                return FINE, written + starts[p + 1] - starts[p]
            count = merged(pool, rules, work, node, starts[p], starts[p + 1], labels, weights, finals[p], items, values)
            written += count
            if rules.exact and count > 0 and np.abs(values[:count]).max() > LARGEST_WHOLE:
                return OUT_OF_RANGE, written
            if node == 0:
                become(pool, items, values, count)
            elif count == 0:
                work.nodes[node, RESULT] = NOTHING
            else:
                factor = normalise(values, 0, count, rules.exact)
                if factor == 0.0 or not np.isfinite(factor):
                    return OUT_OF_RANGE, written
                work.nodes[node, RESULT], work.shares[node, FACTOR] = entered(pool, rules, items, values, count), factor
            node = work.nodes[node, NEXT_HERE]
    return FINE, written


@jit
def entered(pool, rules, items, values, count):  # type: ignore[no-untyped-def]
    """Return the state of a normalised list: one of the register, or a new one that nothing refers to yet."""
    found, key = find(pool, rules, items, values, 0, count)
    if found == NOTHING:
        found = new_entry(pool)
        pool.entries[found, REFERENCES] = 0
        write_items(pool, found, items, values, 0, count)
        enter(pool, found, key)
        for k in range(count):
            if items[k, 1] != NOTHING:
                pool.entries[items[k, 1], REFERENCES] += 1
    return found


@jit
def end_weight(pool, rules, work, node, final):  # type: ignore[no-untyped-def]
    """Return the weight of ending at a node, 0 where it has cancelled."""
    q, old = work.nodes[node, STATE], 0.0
    if q != NOTHING and pool.entries[q, COUNT] > 0 and pool.items[pool.entries[q, START], 0] == EPSILON:
        old = work.shares[node, OF_W] * pool.weights[pool.entries[q, START]]
    delta = work.shares[node, OF_A] * final
    new = old + delta
    return new if abs(new) > rules.tolerance * max(abs(old), abs(delta)) else 0.0


@jit
def behind(work, node, child, old, weight):  # type: ignore[no-untyped-def]
    """Return the state and the weight of an arc to a child: of W's weight `old` (0: W has no such arc) and A's."""
    state = work.nodes[child, RESULT]
    of_w = work.shares[child, OF_W]
    scale = work.shares[node, OF_A] * weight if of_w == 0.0 else work.shares[node, OF_W] * old / of_w
    return state, scale * work.shares[child, FACTOR]


@jit
def merged(pool, rules, work, node, start, stop, labels, weights, final, items, values):  # type: ignore[no-untyped-def]
    """Write the items of a node, in the order of their labels; return how many."""
    q, k, first, count = work.nodes[node, STATE], work.shares[node, OF_W], work.nodes[node, FIRST], 0
    at = end = np.int64(0)
    if q != NOTHING:
        at = np.int64(pool.entries[q, START])
        end = at + pool.entries[q, COUNT]
    ending = end_weight(pool, rules, work, node, final)
    if ending != 0.0:
        items[0, 0], items[0, 1], values[0] = EPSILON, NOTHING, ending
        count = 1
    if at < end and pool.items[at, 0] == EPSILON:
        at += 1
    for arc in range(start, stop + 1):
        while at < end and (arc == stop or pool.items[at, 0] < labels[arc]):
            items[count, 0], items[count, 1], values[count] = pool.items[at, 0], pool.items[at, 1], k * pool.weights[at]
            count += 1
            at += 1
        if arc == stop:
            break
        old = 0.0
        if at < end and pool.items[at, 0] == labels[arc]:
            old = pool.weights[at]
            at += 1
        state, weight = behind(work, node, work.children[first + arc - start], old, weights[arc])
        if state != NOTHING:
            items[count, 0], items[count, 1], values[count] = labels[arc], state, weight
            count += 1
    return count


@jit
def revised(pool, rules, work, start, stop, labels, weights, final):  # type: ignore[no-untyped-def]
    """Change the arcs of the initial state where they are, if it gets no new letter and loses none; return whether."""
    at = first = np.int64(pool.entries[ROOT, START])
    end = at + pool.entries[ROOT, COUNT]
    ending = end_weight(pool, rules, work, 0, final)
    ended = at < end and pool.items[at, 0] == EPSILON
    if (ending != 0.0) != ended:
        return False
    places = np.empty(stop - start, np.int64)
    for arc in range(start, stop):
        at = item_from(pool, at, end, labels[arc], True)
        if at == end or pool.items[at, 0] != labels[arc]:
            return False
        if work.nodes[work.children[arc - start], RESULT] == NOTHING:
            return False
        places[arc - start] = at
    if ended:
        pool.weights[first] = ending
    former = np.empty(stop - start, np.int64)
    for k in range(stop - start):
        at = places[k]
        former[k] = pool.items[at, 1]
        state, weight = behind(work, 0, work.children[k], pool.weights[at], weights[start + k])
        pool.items[at, 1], pool.weights[at] = state, weight
        pool.entries[state, REFERENCES] += 1
    release(pool, former)
    return True


@jit
def become(pool, items, values, count):  # type: ignore[no-untyped-def]
    """Give the initial state a new list of items; release what it referred to before."""
    released = 0
    at = np.int64(pool.entries[ROOT, START])
    end = at + pool.entries[ROOT, COUNT]
    for k in range(count):
        if items[k, 1] != NOTHING:
            pool.entries[items[k, 1], REFERENCES] += 1
    everything = np.empty(end - at, np.int64)
    for item in range(at, end):
        if pool.items[item, 1] != NOTHING:
            everything[released] = pool.items[item, 1]
            released += 1
    drop_items(pool, ROOT)
    write_items(pool, ROOT, items, values, 0, count)
    release(pool, everything[:released])


@jit
def release(pool, states):  # type: ignore[no-untyped-def]
    """Take back one reference to each of some states, and free what nothing refers to any more."""
    stack = np.empty(0, np.int64)
    for state in states:
        pool.entries[state, REFERENCES] -= 1
        if pool.entries[state, REFERENCES] > 0:
            continue
        if stack.shape[0] == 0:
            stack = np.empty(pool.entries.shape[0], np.int64)
        stack[0], height = state, 1
        while height > 0:
            height -= 1
            gone = stack[height]
            leave(pool, gone)
            start = pool.entries[gone, START]
            for item in range(start, start + pool.entries[gone, COUNT]):
                behind_it = pool.items[item, 1]
                if behind_it != NOTHING:
                    pool.entries[behind_it, REFERENCES] -= 1
                    if pool.entries[behind_it, REFERENCES] == 0:
                        stack[height] = behind_it
                        height += 1
            free_entry(pool, gone)
