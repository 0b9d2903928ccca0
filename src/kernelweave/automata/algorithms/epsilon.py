"""Removal of arcs that read and write nothing.

With epsilon arcs p -w-> r, what leaves a state p in the result is

    out(p) = own arcs of p  +  sum over epsilon arcs of  w out(r),        final'(p) = final(p) + sum of  w final'(r),

arcs with the same labels and target summed.  States are done in an order in which r comes before p.  The list out(r)
is written down only where it is wanted more than once or in the result: at the initial state, at states that arcs with
labels lead to, and at states with several epsilon arcs into them.  Any other state has one epsilon arc into it,
and is walked through from there.  So each arc is seen once, and each list as often as epsilon arcs lead to it.

Cycles of epsilon arcs come first.  With A the weights of the epsilon arcs among mutually reachable states, paths
inside sum up to  A* = 1 + A + A A + .. = (1 - A)^-1,  which must converge absolutely (see `weight`).  Each state r of
the cycle gets a twin r' with its other arcs and its final weight, and itself keeps epsilon arcs  p -A*[p, r]-> r'.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave.automata.algorithms.rational import connect
from kernelweave.automata.base import EPSILON, Array, Transducer, sorted_by_source
from kernelweave.automata.graph import strong_components
from kernelweave.automata.weight import component_star


def remove_epsilon(machine: Transducer) -> Transducer:
    """Return the machine without arcs that neither read nor write.

    Parameters
    ----------
    machine : Transducer; it may have cycles, also of epsilon arcs where the sum over their paths converges

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 1, None, 0.5), (0, 2, "a", 1.0), (1, 2, "a", 4.0)], finals=[2], alphabet="a")
    >>> S = remove_epsilon(T)
    >>> S, S.weights.tolist()
    (<acceptor, 2 states, 1 arcs>, [3.0])
    """
    empty = (machine.inputs == EPSILON) & (machine.outputs == EPSILON)
    if not empty.any():
        return machine
    m = _without_epsilon_cycles(connect(machine))
    empty = (m.inputs == EPSILON) & (m.outputs == EPSILON)
    order, _ = _epsilon_components(m, empty)
    kinds, kind_of = _kinds(m, empty)
    labelled = np.zeros(m.n_states, np.bool_)
    labelled[m.target[~empty]] = True
    labelled[0] = True
    listed = labelled | (np.bincount(m.target[empty], minlength=m.n_states) > 1)
    finals = m.finals.copy()
    bounds, which, weights = _lists(m, order, kind_of, len(kinds), listed, finals)
    source = np.repeat(order, (bounds[:, 1] - bounds[:, 0])[order])  # the lists stand in this order
    places = np.flatnonzero(labelled[source])
    target, inputs, outputs = kinds[which[places]].T
    labels = (inputs, inputs if m.is_acceptor else outputs)
    return connect(sorted_by_source(source[places], target, *labels, weights[places], finals, m.alphabet))


def _epsilon_components(m: Transducer, empty: Array) -> tuple[Array, Array]:
    """Return all states in components of epsilon arcs, each after those that it leads to, and where these start."""
    starts = np.searchsorted(m.source[empty], np.arange(m.n_states + 1)).astype(np.int64)
    return strong_components(starts, m.target[empty])


def _without_epsilon_cycles(m: Transducer) -> Transducer:
    """Return the same machine with the sums over paths of epsilon cycles in their place."""
    empty = (m.inputs == EPSILON) & (m.outputs == EPSILON)
    members, bounds = _epsilon_components(m, empty)
    group = np.empty(m.n_states, np.int64)
    group[members] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    inside = empty & (group[m.source] == group[m.target])  # arcs of cycles, loops among them
    if not inside.any():
        return m
    cyclic = np.unique(group[m.source[inside]])
    twin, count = np.arange(m.n_states), m.n_states
    sources, targets, weights = [], [], []
    for one in cyclic:
        states = members[bounds[one] : bounds[one + 1]]
        twin[states] = count + np.arange(len(states))
        count += len(states)
        place = np.full(m.n_states, -1)
        place[states] = np.arange(len(states))
        arcs = np.flatnonzero(inside & (group[m.source] == one))
        star = component_star(
            place[m.source[arcs]], place[m.target[arcs]], m.weights[arcs], len(states), int(states[0])
        )
        p, r = np.nonzero(star)
        sources.append(states[p])
        targets.append(twin[states[r]])
        weights.append(star[p, r])
    finals = np.zeros(count)
    finals[twin] = m.finals
    kept = ~inside
    added = np.full(sum(map(len, sources)), EPSILON)
    inputs = np.concatenate([m.inputs[kept], added])
    outputs = inputs if m.is_acceptor else np.concatenate([m.outputs[kept], added])
    return sorted_by_source(
        np.concatenate([twin[m.source[kept]], *sources]), np.concatenate([m.target[kept], *targets]), inputs, outputs,
        np.concatenate([m.weights[kept], *weights]), finals, m.alphabet,
    )  # fmt: skip


def _kinds(m: Transducer, empty: Array) -> tuple[Array, Array]:
    """Return the distinct (target, input, output) of labelled arcs, and which one each arc has (NOTHING: epsilon)."""
    kind_of = np.full(m.n_arcs, EPSILON, np.int64)
    triples = np.stack([m.target, m.inputs, m.outputs], axis=1)[~empty]
    if len(triples) == 0:
        return triples, kind_of
    order = np.lexsort(triples.T)
    new = np.concatenate([[True], (np.diff(triples[order], axis=0) != 0).any(axis=1)])
    ranks = np.empty(len(triples), np.int64)
    ranks[order] = np.cumsum(new) - 1
    kind_of[~empty] = ranks
    return triples[order][new], kind_of


def _lists(
    m: Transducer, order: Array, kind_of: Array, n_kinds: int, listed: Array, finals: Array
) -> tuple[Array, Array, Array]:
    """Return where the list of each state is, and the kinds and weights in the lists; sum up the finals in place."""
    bounds = np.zeros((m.n_states, 2), np.int64)
    which, weights = np.empty(2 * m.n_arcs, np.int64), np.empty(2 * m.n_arcs)
    slots, place = np.full(n_kinds, EPSILON, np.int64), np.zeros(2, np.int64)
    for_arcs = (m.starts, m.target, m.weights, kind_of)
    while not _gather(for_arcs, order, listed, finals, bounds, which, weights, slots, place):
        more = len(which) + n_kinds
        which, weights = np.resize(which, len(which) + more), np.resize(weights, len(weights) + more)
    return bounds, which, weights


@jit
def _gather(arcs, order, listed, finals, bounds, which, weights, slots, place):  # type: ignore[no-untyped-def]
    """Write the lists of states from place[0] of the order on; return whether all are done or room is short."""
    starts, target, old_weights, kind_of = arcs
    n = order.shape[0]
    stack, factors = np.empty(n, np.int64), np.empty(n)
    while place[0] < n:
        p = order[place[0]]
        if listed[p] and which.shape[0] - place[1] < slots.shape[0]:
            return False
        place[0] += 1
        for arc in range(starts[p], starts[p + 1]):
            if kind_of[arc] == EPSILON:
                finals[p] += old_weights[arc] * finals[target[arc]]
        if not listed[p]:
            continue
        start = top = place[1]
        stack[0], factors[0], height = p, 1.0, 1
        while height > 0:
            height -= 1
            q, factor = stack[height], factors[height]
            for arc in range(starts[q], starts[q + 1]):
                r, weight = target[arc], factor * old_weights[arc]
                if kind_of[arc] != EPSILON:
                    top = _put(kind_of[arc], weight, start, top, which, weights, slots)
                elif listed[r]:
                    for k in range(bounds[r, 0], bounds[r, 1]):
                        top = _put(which[k], weight * weights[k], start, top, which, weights, slots)
                else:
                    stack[height], factors[height] = r, weight
                    height += 1
        for k in range(start, top):
            slots[which[k]] = EPSILON
        bounds[p, 0], bounds[p, 1], place[1] = start, top, top
    return True


@jit
def _put(kind, weight, start, top, which, weights, slots):  # type: ignore[no-untyped-def]
    """Add a weight to an arc of the list that is being written; return where the list ends."""
    if slots[kind] != EPSILON:
        weights[slots[kind]] += weight
        return top
    which[top], weights[top], slots[kind] = kind, weight, top
    return top + 1
