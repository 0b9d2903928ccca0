"""The first half of adding an automaton in place:  W <- W + step A,  A acyclic, deterministic, without epsilons.

A prefix u leads W to a residual R_q (a state times a factor) and A to a residual S_p, and W + step A to the residual
k R_q + l S_p.  Prefixes with the same q and p and the same ratio of k to l have proportional residuals.  So a *node* is
(q, p, k, l) up to a factor, and the strings of A, of which there may be 2^(arcs), are never listed:

    plan     from the start of A to its ends, find all nodes: one for each (q, p, l / k) that some prefix reaches.
             Where W ends (no q), the residual is S_p alone, one node for each p
    settle   from the ends of A back, write the list of arcs of each node, normalise it, and find it in the register
             or enter it; the arcs of q that A does not follow lead where they led
    release  what the initial state referred to before, and all that only this referred to

Ratios are taken as equal within the tolerance of the register; with `exact` k and l are divided by their greatest
common divisor and compared as they are.  The cost is the sum, over nodes, of one plus the arcs of q and p; arcs of the
initial state count only where A follows them, unless it gets or loses a letter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.borrow import borrowed
from kernelweave.automata.minimal.pool import (
    COUNT,
    FINE,
    NOTHING,
    OUT_OF_RANGE,
    START,
    size_class,
)
from kernelweave.automata.minimal.reads import LONG, ROOT, item_from
from kernelweave.automata.minimal.register import LARGEST_WHOLE, mixed

Array = np.ndarray

STATE, PLACE, NEXT_HERE, FIRST, LINE, RESULT = range(6)
OF_W, OF_A, FACTOR = range(3)
NODES, CHILDREN, ENTRIES, ITEMS_NEEDED = range(4)
FULL_NODES, FULL_CHILDREN = OUT_OF_RANGE + 1, OUT_OF_RANGE + 2


class Nodes(NamedTuple):
    """The nodes of one addition.

    Attributes
    ----------
    nodes : (capacity, 6) int64: STATE q or NOTHING, PLACE p, the NEXT node at the same p, its FIRST child, its LINE of
        the table, and its RESULT, the state that it becomes
    shares : (capacity, 3) float64: k (OF_W), l (OF_A) and the FACTOR of the result
    children : (capacity,) int64, for each node the node behind each arc of p
    table : (power of two,) int64 nodes by their hash, NOTHING for none
    sizes : (4,) int64: NODES and CHILDREN in use, ENTRIES and items that the pool needs room for
    """

    nodes: Array
    shares: Array
    children: Array
    table: Array
    sizes: Array


def new_nodes(capacity: int, children: int) -> Nodes:
    """Return room for so many nodes and children."""
    table = np.full(1 << (2 * capacity).bit_length(), NOTHING, np.int64)
    return Nodes(
        np.empty((capacity, 6), np.int64), np.empty((capacity, 3)), np.empty(children, np.int64), table,
        np.zeros(4, np.int64),
    )  # fmt: skip


@jit
def plan(owned_pool, rules, machine, step, owned_work, heads):  # type: ignore[no-untyped-def]
    """Find all nodes; return FINE, or what is full: make room and call again.  heads[p] : the first node at p."""
    pool, work = borrowed(owned_pool), borrowed(owned_work)
    starts, target, labels, weights, _ = machine
    work.sizes[:] = 0
    heads[:] = NOTHING
    status = FINE
    put_node(work, rules, heads, ROOT, 0, 1.0, step)
    for p in range(heads.shape[0]):
        node = heads[p]
        while node != NOTHING and status == FINE:
            status = follow(pool, rules, work, heads, node, starts[p], starts[p + 1], target, labels, weights)
            node = work.nodes[node, NEXT_HERE]
    for node in range(work.sizes[NODES]):
        work.table[work.nodes[node, LINE]] = NOTHING
    return status


@jit
def follow(pool, rules, work, heads, node, start, stop, target, labels, weights):  # type: ignore[no-untyped-def]
    """Find the nodes behind the arcs start..stop of A at a node."""
    q, k, l = work.nodes[node, STATE], work.shares[node, OF_W], work.shares[node, OF_A]
    first = work.sizes[CHILDREN]
    if first + stop - start > work.children.shape[0]:
        return FULL_CHILDREN
    if work.sizes[NODES] + stop - start > work.nodes.shape[0]:
        return FULL_NODES
    work.nodes[node, FIRST] = first
    work.sizes[CHILDREN] = first + stop - start
    at = end = np.int64(0)
    if q != NOTHING:
        at = np.int64(pool.entries[q, START])
        end = at + pool.entries[q, COUNT]
    work.sizes[ENTRIES] += 1
    work.sizes[ITEMS_NEEDED] += 1 << size_class(end - at + stop - start + 1)
    long = end - at > LONG * (stop - start)
    for arc in range(start, stop):
        at = item_from(pool, at, end, labels[arc], long)
        if at < end and pool.items[at, 0] == labels[arc]:
            behind, of_w, of_a = np.int64(pool.items[at, 1]), k * pool.weights[at], l * weights[arc]
            divisor = greatest_divisor(of_w, of_a) if rules.exact else of_w
            of_w, of_a = of_w / divisor, of_a / divisor
            if of_a == 0.0 or not np.isfinite(of_a) or (rules.exact and max(abs(of_w), abs(of_a)) > LARGEST_WHOLE):
                return OUT_OF_RANGE
        else:
            behind, of_w, of_a = np.int64(NOTHING), 0.0, 1.0
        work.children[first + arc - start] = put_node(work, rules, heads, behind, target[arc], of_w, of_a)
    return FINE


@jit
def put_node(work, rules, heads, state, place, of_w, of_a):  # type: ignore[no-untyped-def]
    """Return the node of a pair of residuals, a new one where there is none."""
    bits = np.float64(of_a).view(np.int64)
    bucket = bits if rules.exact else bits >> rules.shift
    low = np.int64(0) if rules.exact else bits - (bucket << rules.shift)
    stem = mixed(np.uint64(state + 1) ^ (np.uint64(place + 1) << np.uint64(32)))
    if rules.exact:
        stem = mixed(stem ^ np.uint64(np.float64(of_w).view(np.int64)))
    line = line_of_node(work, rules, stem, bucket, state, place, of_w, of_a)
    if not rules.exact and work.table[line] == NOTHING:
        other = line
        if low < rules.margin:
            other = line_of_node(work, rules, stem, bucket - 1, state, place, of_w, of_a)
        elif low >= (1 << rules.shift) - rules.margin:
            other = line_of_node(work, rules, stem, bucket + 1, state, place, of_w, of_a)
        line = other if work.table[other] != NOTHING else line
    if work.table[line] == NOTHING:
        node = work.sizes[NODES]
        work.sizes[NODES] += 1
        work.table[line] = node
        work.nodes[node, STATE], work.nodes[node, PLACE], work.nodes[node, LINE] = state, place, line
        work.nodes[node, NEXT_HERE] = heads[place]
        heads[place] = node
        work.shares[node, OF_W], work.shares[node, OF_A] = of_w, of_a
    return work.table[line]


@jit
def line_of_node(work, rules, stem, bucket, state, place, of_w, of_a):  # type: ignore[no-untyped-def]
    """Return the line of a node: its own, or the empty one where it belongs."""
    last = np.uint64(work.table.shape[0] - 1)
    line = np.int64(mixed(stem ^ mixed(np.uint64(bucket))) & last)
    while work.table[line] != NOTHING:
        node = work.table[line]
        if work.nodes[node, STATE] == state and work.nodes[node, PLACE] == place:
            other = work.shares[node, OF_A]
            near = abs(other - of_a) <= rules.tolerance * max(abs(other), abs(of_a))
            if near and work.shares[node, OF_W] == of_w:
                break
        line = (line + 1) & np.int64(last)
    return line


@jit
def greatest_divisor(a, b):  # type: ignore[no-untyped-def]
    """Return the greatest common divisor of two whole numbers, positive."""
    divisor, other = np.int64(abs(a)), np.int64(abs(b))
    while other != 0:
        divisor, other = other, divisor % other
    return np.float64(divisor)
