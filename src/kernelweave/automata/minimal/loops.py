"""The loops of `MinimalStore`: one walk over sorted strings that opens, changes and closes each state once.

A *node* is a state that is being rebuilt: the residual of a prefix of the added strings.  Nodes of the current prefix
stand in a `Path`; the items of a node are collected there, in the order of their labels, while the old list is read.
The residual of the node at depth d is `scale` times the list that is collected, in doubles; whole numbers (`exact`) are
collected in full instead (the frame is one) and divided by their greatest common divisor when the node is closed.

    open    the old state is taken over if no one else refers to it, and copied, item by item, otherwise
    end     the weight of the string that ends here changes
    close   normalise; find the list in the register or enter it; hand (state, factor) to the node above
"""

from __future__ import annotations

from typing import NamedTuple

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
    reserve,
    write_items,
)
from kernelweave.automata.minimal.reads import ROOT, common
from kernelweave.automata.minimal.register import (
    enter,
    find,
    leave,
    normalise,
)

Array = np.ndarray

STATE, READ, STOP, BASE, TOP, OWNED, LABEL = range(7)
SCALE, ARC = range(2)
ROW, DEPTH, TOUCHED, TOUCHED_ITEMS = range(4)


class Path(NamedTuple):
    """The nodes from the root to the current prefix.

    Attributes
    ----------
    nodes : (depth, 7) int64: old STATE or NOTHING, items still to READ up to STOP, collected items BASE..TOP, whether
        the state is OWNED (taken over), LABEL on the way in
    scales : (depth, 2) float64: SCALE of the node, weight of the ARC on the way in, in the frame of the node above
    items, weights : what the nodes have collected, one behind the other
    place : (4,) int64: ROW and DEPTH of the walk, states and items TOUCHED
    """

    nodes: Array
    scales: Array
    items: Array
    weights: Array
    place: Array


@jit
def advance(owned_pool, owned_path, rules, strings, deltas):  # type: ignore[no-untyped-def]
    """Add strings from the ROW on; return FINE, or what is full: make room and call again."""
    pool, path = borrowed(owned_pool), borrowed(owned_path)
    place, m = path.place, strings.shape[0]
    if place[ROW] == 0 and place[DEPTH] < 0:
        open_node(pool, path, 0, ROOT, True, EPSILON, 1.0, 1.0)
    while True:
        row = place[ROW]
        kept = common(strings, row - 1, row) if 0 < row < m else 0 if row == 0 else -1
        while place[DEPTH] > kept:
            status = close_node(pool, path, rules)
            if status != FINE:
                return status
        if row == m:
            return FINE
        for j in range(kept, strings.shape[1]):
            if strings[row, j] == EPSILON:
                break
            descend(pool, path, rules, strings[row, j])
        end_string(pool, path, rules, deltas[row])
        place[ROW] += 1


@jit
def open_node(pool, path, depth, state, owned, label, scale, arc):  # type: ignore[no-untyped-def]
    """Begin to rebuild a state, or a new one (NOTHING)."""
    node = path.nodes[depth]
    node[STATE], node[OWNED], node[LABEL] = state, owned, label
    node[BASE] = node[TOP] = path.nodes[depth - 1, TOP] if depth > 0 else 0
    node[READ] = node[STOP] = 0
    path.scales[depth, SCALE], path.scales[depth, ARC] = scale, arc
    path.place[DEPTH] = depth
    path.place[TOUCHED] += 1
    if state != NOTHING:
        node[READ] = pool.entries[state, START]
        node[STOP] = node[READ] + pool.entries[state, COUNT]
        if owned and state != ROOT:
            leave(pool, state)


@jit
def collect(path, node, label, target, weight):  # type: ignore[no-untyped-def]
    """Append an item to what a node has collected."""
    top = node[TOP]
    path.items[top, 0], path.items[top, 1], path.weights[top] = label, target, weight
    node[TOP] = top + 1


@jit
def read_below(pool, path, exact, depth, label):  # type: ignore[no-untyped-def]
    """Collect the old items of a node whose labels are smaller."""
    frame = path.scales[depth, SCALE] if exact else 1.0
    nodes, items, weights, entries = path.nodes, pool.items, pool.weights, pool.entries
    kept, kept_weights = path.items, path.weights
    at, stop, top, owned = nodes[depth, READ], nodes[depth, STOP], nodes[depth, TOP], nodes[depth, OWNED] != 0
    while at < stop and items[at, 0] < label:
        target = items[at, 1]
        if not owned and target != NOTHING:
            entries[target, REFERENCES] += 1
        kept[top, 0], kept[top, 1], kept_weights[top] = items[at, 0], target, weights[at] * frame
        at += 1
        top += 1
    nodes[depth, READ], nodes[depth, TOP] = at, top


@jit
def descend(pool, path, rules, letter):  # type: ignore[no-untyped-def]
    """Open the node behind a letter."""
    depth = path.place[DEPTH]
    node = path.nodes[depth]
    read_below(pool, path, rules.exact, depth, letter)
    scale, arc = path.scales[depth, SCALE], 1.0
    target, owned = np.int64(NOTHING), False
    if node[READ] < node[STOP] and pool.items[node[READ], 0] == letter:
        target, weight = np.int64(pool.items[node[READ], 1]), pool.weights[node[READ]]
        scale *= weight
        arc = 1.0 if rules.exact else weight
        node[READ] += 1
        if node[OWNED]:
            pool.entries[target, REFERENCES] -= 1
            owned = pool.entries[target, REFERENCES] == 0
    open_node(pool, path, depth + 1, target, owned, letter, scale, arc)


@jit
def end_string(pool, path, rules, delta):  # type: ignore[no-untyped-def]
    """Change the weight of the string that ends at the deepest node; a weight that cancels vanishes."""
    depth = path.place[DEPTH]
    node = path.nodes[depth]
    old = 0.0
    if node[TOP] > node[BASE]:  # the same string came just before
        node[TOP] -= 1
        old = path.weights[node[TOP]]
    elif node[READ] < node[STOP] and pool.items[node[READ], 0] == EPSILON:
        old = pool.weights[node[READ]] * (path.scales[depth, SCALE] if rules.exact else 1.0)
        node[READ] += 1
    if not rules.exact:
        delta /= path.scales[depth, SCALE]
    new = old + delta
    if abs(new) > rules.tolerance * max(abs(old), abs(delta)):
        collect(path, node, EPSILON, NOTHING, new)


@jit
def close_node(pool, path, rules):  # type: ignore[no-untyped-def]
    """Finish the deepest node and hand it to the one above; return FINE, or what is full and nothing done."""
    depth = path.place[DEPTH]
    node = path.nodes[depth]
    read_below(pool, path, rules.exact, depth, np.iinfo(np.int64).max)
    state, start, stop = node[STATE], node[BASE], node[TOP]
    status = reserve(pool, stop - start)
    if status != FINE:
        return status
    path.place[TOUCHED_ITEMS] += stop - start
    path.place[DEPTH] -= 1
    if depth == 0:
        drop_items(pool, ROOT)
        write_items(pool, ROOT, path.items, path.weights, start, stop)
        return FINE
    if stop == start:
        if node[OWNED]:
            free_entry(pool, state)
        return FINE
    factor = normalise(path.weights, start, stop, rules.exact)
    weight = path.scales[depth, ARC] * factor
    if weight == 0.0 or not np.isfinite(weight):
        return OUT_OF_RANGE
    found = settle(pool, path, rules, state if node[OWNED] else NOTHING, start, stop)
    collect(path, path.nodes[depth - 1], node[LABEL], found, weight)
    return FINE


@jit
def settle(pool, path, rules, owned, start, stop):  # type: ignore[no-untyped-def]
    """Return the state of a collected list: one of the register, or a new one (that of the owned entry, if any)."""
    found, key = find(pool, rules, path.items, path.weights, start, stop)
    if found != NOTHING:
        for k in range(start, stop):
            if path.items[k, 1] != NOTHING:
                pool.entries[path.items[k, 1], REFERENCES] -= 1
        pool.entries[found, REFERENCES] += 1
        if owned != NOTHING:
            free_entry(pool, owned)
        return found
    if owned == NOTHING:
        owned = new_entry(pool)
    else:
        drop_items(pool, owned)
        pool.entries[owned, REFERENCES] = 1
    write_items(pool, owned, path.items, path.weights, start, stop)
    enter(pool, owned, key)
    return owned
