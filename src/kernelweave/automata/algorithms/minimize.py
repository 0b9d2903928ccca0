"""The minimal deterministic automaton of an acceptor.

Two states of a deterministic automaton can be one if the functions they accept are proportional.  So: make the acceptor
deterministic, normalise all states (by pushing, or, for whole numbers, by the greatest common divisor of the arcs of
each state), then go from the ends to the beginning and join states with the same list of arcs, ends included; the
states behind these arcs have been joined before.  Proportional functions end up in one state: no automaton is
smaller.  With cycles there are no states to begin with; there all are taken as one and parted (`merge`).
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave.automata.algorithms.determinize import determinize, is_deterministic
from kernelweave.automata.algorithms.merge import merged_states
from kernelweave.automata.algorithms.push import in_label_order, push
from kernelweave.automata.algorithms.rational import connect, is_acyclic, topological_sort
from kernelweave.automata.base import EPSILON, Transducer
from kernelweave.automata.minimal.pool import (
    COUNT,
    ENDS,
    ENTRY_TOP,
    ITEMS,
    NOTHING,
    START,
    Pool,
    new_entry,
    new_pool,
    write_items,
)
from kernelweave.automata.minimal.register import (
    LARGEST_WHOLE,
    TOLERANCE,
    check_whole,
    enter,
    find,
    normalise,
    rules_for,
)


def minimize(machine: Transducer, *, exact: bool = False, tolerance: float = TOLERANCE) -> Transducer:
    """Return the smallest deterministic acceptor of the same weighted strings; it is unique.

    The first non-zero weight of each state but the initial one is 1; with `exact`, its weights have no common divisor
    and the first is positive.  States come in topological order.  With cycles there is no such order, and each state
    but the initial one is normalised as by `push`.

    Parameters
    ----------
    machine : acceptor, deterministic or not, with epsilons or not; one with cycles need not have a deterministic
        equivalent (see `determinize`), and `exact` is for acyclic ones
    exact : whether all weights are whole numbers, to be treated without any rounding
    tolerance : relative distance up to which normalised weights count as equal (not used with `exact`)

    Examples
    --------
    >>> arcs = [(0, 1, "a", 1.0), (0, 2, "b", 1.0), (1, 3, "a", 1.0), (1, 4, "b", 2.0)]
    >>> more = [(2, 3, "a", 3.0), (2, 4, "b", 6.0)]
    >>> minimize(Transducer.from_arcs(arcs + more, finals=[3, 4], alphabet="ab"))
    <acceptor, 3 states, 4 arcs>
    """
    rules = rules_for(exact, tolerance)
    if not machine.is_acceptor:
        raise ValueError("Minimisation needs an acceptor, but this machine is a transducer; project it first.")
    m = connect(machine)
    if not is_deterministic(m):
        m = determinize(m, exact=exact, tolerance=tolerance)
    if not is_acyclic(m):
        if exact:
            raise ValueError("Minimisation with exact=True is for machines without cycles; use exact=False.")
        return merged_states(m, tolerance)
    if exact:
        check_whole(m.weights, m.finals)
    m = in_label_order(topological_sort(m)) if exact else push(m)
    pool = new_pool(m.n_states, 2 * (m.n_arcs + m.n_states))
    if not _join(m.starts, m.target, m.inputs, m.weights, m.finals, rules, pool):
        raise OverflowError("Weights reach 2^53, where doubles stop being exact; use exact=False.")
    return _machine_of(pool, m)


def _machine_of(pool: Pool, m: Transducer) -> Transducer:
    """Return what the pool holds; its entries stand from the ends to the beginning."""
    n, arcs = int(pool.tops[ENTRY_TOP]), int(pool.tops[ITEMS] - pool.tops[ENDS])
    source, target, labels = (np.empty(arcs, np.int32) for _ in range(3))
    weights, finals = np.empty(arcs), np.zeros(n)
    _write(pool, source, target, labels, weights, finals)
    return Transducer(source, target, labels, labels, weights, finals, m.alphabet)


@jit
def _join(starts, target, labels, weights, finals, rules, pool):  # type: ignore[no-untyped-def]
    """Enter each state from the last to the first, once; return whether whole numbers stayed exact."""
    n, widest = finals.shape[0], 0
    for p in range(n):
        widest = max(widest, starts[p + 1] - starts[p])
    items, values = np.empty((widest + 1, 2), np.int32), np.empty(widest + 1)
    entries, factors = np.empty(n, np.int64), np.ones(n)
    for p in range(n - 1, -1, -1):
        count = 0
        if finals[p] != 0.0:
            items[0, 0], items[0, 1], values[0] = EPSILON, NOTHING, finals[p]
            count = 1
        for arc in range(starts[p], starts[p + 1]):
            items[count, 0], items[count, 1] = labels[arc], entries[target[arc]]
            values[count] = weights[arc] * factors[target[arc]]
            count += 1
        if rules.exact:
            for k in range(count):
                if abs(values[k]) > LARGEST_WHOLE:
                    return False
        if p == 0:
            write_items(pool, new_entry(pool), items, values, 0, count)
            return True
        factors[p] = normalise(values, 0, count, rules.exact)
        found, key = find(pool, rules, items, values, 0, count)
        if found == NOTHING:
            found = new_entry(pool)
            write_items(pool, found, items, values, 0, count)
            enter(pool, found, key)
        entries[p] = found
    return True


@jit
def _write(pool, source, target, labels, weights, finals):  # type: ignore[no-untyped-def]
    n, arc = finals.shape[0], 0
    for p in range(n):
        entry = n - 1 - p
        start = pool.entries[entry, START]
        for item in range(start, start + pool.entries[entry, COUNT]):
            if pool.items[item, 0] == EPSILON:
                finals[p] = pool.weights[item]
                continue
            source[arc], target[arc] = p, n - 1 - pool.items[item, 1]
            labels[arc], weights[arc] = pool.items[item, 0], pool.weights[item]
            arc += 1
