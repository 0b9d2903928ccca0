"""Weighted determinisation of acceptors over the real numbers.

A state of the result is a set of old states with residual weights, {(q, r_q)}: what a path has gathered so far and not
yet given to an arc.  Reading a letter a leads to

    v_q' = sum over q and arcs q -a-> q' of  r_q w,        arc weight f,  new residuals v_q' / f,

and a string may end with weight sum_q r_q final(q).  The common factor f is the first v (states in order), or, for
whole numbers (`exact`), the greatest common divisor with the sign of the first: sets with proportional residuals become
the same state, a single state keeps the residual 1, and nothing is divided beyond that.  Residuals that cancel to zero,
or to within the tolerance of the largest summand, leave.

An acyclic acceptor has finitely many such sets.  One with cycles may have infinitely many, and then no deterministic
acceptor of the same strings is found: two paths around a cycle whose weights grow apart never come to a set again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.borrow import borrowed
from kernelweave.automata.algorithms.epsilon import remove_epsilon
from kernelweave.automata.algorithms.push import in_label_order
from kernelweave.automata.algorithms.rational import connect, is_acyclic, topological_sort
from kernelweave.automata.base import EPSILON, Array, Transducer
from kernelweave.automata.minimal.pool import (
    COUNT,
    ENTRY_TOP,
    FINE,
    FULL_ENTRIES,
    FULL_HEADS,
    FULL_ITEMS,
    ITEM_TOP,
    LIVE,
    NOTHING,
    OUT_OF_RANGE,
    START,
    WANTED,
    grown,
    new_entry,
    new_pool,
    write_items,
)
from kernelweave.automata.minimal.register import (
    LARGEST_WHOLE,
    TOLERANCE,
    Rules,
    check_whole,
    enter,
    find,
    normalise,
    rules_for,
)

MOST_STATES = 1_000_000
FULL_ARCS = OUT_OF_RANGE + 1
TOO_MANY = OUT_OF_RANGE + 2
DONE, ARCS = range(2)


def is_deterministic(machine: Transducer) -> bool:
    """Return whether no state has two arcs with the same input, nor one without input.

    Examples
    --------
    >>> is_deterministic(Transducer.from_arcs([(0, 1, "a", 1.0), (0, 2, "a", 1.0)], finals=[1], alphabet="a"))
    False
    """
    if machine.n_arcs and int(machine.inputs.min()) == EPSILON:
        return False
    pairs = (machine.source.astype(np.int64) << 32) | machine.inputs
    return len(np.unique(pairs)) == len(pairs)


def determinize(
    machine: Transducer, *, max_states: int = MOST_STATES, exact: bool = False, tolerance: float = TOLERANCE
) -> Transducer:
    """Return a deterministic acceptor of the same weighted strings.

    Parameters
    ----------
    machine : acceptor; epsilons are removed first.  One with cycles need not have a deterministic equivalent
    max_states : the result can be exponentially larger than the machine; it is given up when it has more states
    exact : whether all weights are whole numbers, to be treated without any rounding
    tolerance : relative distance up to which residuals count as equal (not used with `exact`)

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 1, "a", 2.0), (0, 2, "a", 1.0), (1, 3, "b", 1.0), (2, 3, "b", 4.0)], [3], "ab")
    >>> D = determinize(T)
    >>> D, D.weights.tolist()
    (<acceptor, 3 states, 2 arcs>, [2.0, 3.0])
    """
    rules = rules_for(exact, tolerance)
    if not machine.is_acceptor:
        raise ValueError("Determinisation needs an acceptor, but this machine is a transducer; project it first.")
    free = connect(remove_epsilon(machine))
    m = in_label_order(topological_sort(free) if is_acyclic(free) else free)
    if exact:
        check_whole(m.weights, m.finals)
    return connect(_subsets(m, rules, max_states))


class _Subsets(NamedTuple):
    """Arcs (source, target, label) and weights of the result so far, and room to follow the arcs of one set."""

    arcs: Array
    weights: Array
    keys: Array
    values: Array
    items: Array
    residuals: Array
    place: Array


def _subsets(m: Transducer, rules: Rules, max_states: int) -> Transducer:
    """Return the machine of all sets that can be reached."""
    pool = new_pool(m.n_states + 1, 2 * (m.n_states + 1))
    write_items(pool, new_entry(pool), np.zeros((1, 2), np.int32), np.ones(1), 0, 1)
    made = _grown(_Subsets(*(np.empty(0),) * 6, np.zeros(2, np.int64)), m.n_arcs + 1)
    given = (m.starts, m.target, m.inputs, m.weights, m.finals)
    while (status := _expand(pool, given, rules, max_states, made)) != FINE:
        if status == TOO_MANY:
            raise ValueError(
                f"The deterministic machine has more than max_states={max_states} states ({m!r} was given"
                + ("); raise " if is_acyclic(m) else ", whose cycles may have no deterministic equivalent); raise ")
                + "max_states, or use the machine as it is."
            )
        if status == OUT_OF_RANGE:
            raise OverflowError(
                "Weights reach 2^53, where doubles stop being exact; use exact=False."
                if rules.exact
                else "Residual weights leave the range of double precision; scale the weights of the machine."
            )
        if status == FULL_ARCS:
            made = _grown(made, len(made.arcs) + int(pool.tops[WANTED]))
        else:
            pool = grown(pool, status)
    finals, count = np.zeros(int(pool.tops[ENTRY_TOP])), made.place[ARCS]
    _end(pool, m.finals, rules.tolerance, finals)
    source, target, labels = np.ascontiguousarray(made.arcs[:count].T)
    return Transducer(source, target, labels, labels, made.weights[:count], finals, m.alphabet)


def _grown(made: _Subsets, more: int) -> _Subsets:
    """Return the arrays with room for so many more arcs."""
    size, count = len(made.arcs) + more, made.place[ARCS]
    arcs, weights = np.empty((size, 3), np.int32), np.empty(size)
    if count:
        arcs[:count], weights[:count] = made.arcs[:count], made.weights[:count]
    scratch = (np.empty(size, np.int64), np.empty(size), np.empty((size, 2), np.int32), np.empty(size))
    return _Subsets(arcs, weights, *scratch, made.place)


@jit
def _expand(owned_pool, given, rules, max_states, owned_made):  # type: ignore[no-untyped-def]
    """Follow the arcs of all sets that are not done; return FINE, or what is full: make room and call again."""
    pool, made = borrowed(owned_pool), borrowed(owned_made)
    starts, target, labels, old_weights, finals = given
    tops, place, n = pool.tops, made.place, finals.shape[0]
    while place[DONE] < tops[ENTRY_TOP]:
        first = np.int64(pool.entries[place[DONE], START])
        last = first + pool.entries[place[DONE], COUNT]
        count = 0
        for k in range(first, last):
            count += starts[pool.items[k, 0] + 1] - starts[pool.items[k, 0]]
        status = _fits(pool, count, made.arcs.shape[0] - place[ARCS], max_states)
        if status != FINE:
            return status
        count = 0
        for k in range(first, last):
            q = pool.items[k, 0]
            for arc in range(starts[q], starts[q + 1]):
                made.keys[count] = labels[arc] * n + target[arc]
                made.values[count] = pool.weights[k] * old_weights[arc]
                if made.values[count] == 0.0 and old_weights[arc] != 0.0:
                    return OUT_OF_RANGE
                count += 1
        count = _sorted_sums(made.keys, made.values, count, last - first > 1, rules.tolerance)
        if not _split(pool, rules, made, count, n):
            return OUT_OF_RANGE
        place[DONE] += 1
    return TOO_MANY if tops[ENTRY_TOP] > max_states else FINE


@jit
def _split(pool, rules, made, count, n):  # type: ignore[no-untyped-def]
    """Cut what a set leads to into one set for each letter, with an arc to it; return whether numbers stay in range."""
    keys, values, items, residuals, place = made.keys, made.values, made.items, made.residuals, made.place
    k = 0
    while k < count:
        label, stop = keys[k] // n, k
        while stop < count and keys[stop] // n == label:
            items[stop, 0], items[stop, 1], residuals[stop] = keys[stop] - label * n, 0, values[stop]
            if rules.exact and abs(values[stop]) > LARGEST_WHOLE:
                return False
            stop += 1
        factor = normalise(residuals, k, stop, rules.exact)
        if factor == 0.0:
            return False
        found, key = find(pool, rules, items, residuals, k, stop)
        if found == NOTHING:
            found = new_entry(pool)
            write_items(pool, found, items, residuals, k, stop)
            enter(pool, found, key)
        arc = place[ARCS]
        made.arcs[arc, 0], made.arcs[arc, 1], made.arcs[arc, 2] = place[DONE], found, label
        made.weights[arc] = factor
        place[ARCS] += 1
        k = stop
    return True


@jit
def _fits(pool, count, arcs, max_states):  # type: ignore[no-untyped-def]
    """Return FINE if sets made of so many items fit, however they are cut, or what is full."""
    tops = pool.tops
    tops[WANTED] = 2 * count
    if tops[ENTRY_TOP] > max_states:
        return TOO_MANY
    if tops[ENTRY_TOP] + count > pool.entries.shape[0]:
        return FULL_ENTRIES
    if tops[ITEM_TOP] + 2 * count > pool.weights.shape[0]:
        return FULL_ITEMS
    if tops[LIVE] > pool.heads.shape[0]:
        return FULL_HEADS
    return FULL_ARCS if count > arcs else FINE


@jit
def _sorted_sums(keys, values, count, several, tolerance):  # type: ignore[no-untyped-def]
    """Sort by key and sum the values of equal keys; return how many sums have not cancelled."""
    if several:
        order = np.argsort(keys[:count], kind="mergesort")
        keys[:count], values[:count] = keys[:count][order], values[:count][order]
    kept, k = 0, 0
    while k < count:
        key, total, largest = keys[k], 0.0, 0.0
        while k < count and keys[k] == key:
            total += values[k]
            largest = max(largest, abs(values[k]))
            k += 1
        if abs(total) > tolerance * largest:
            keys[kept], values[kept] = key, total
            kept += 1
    return kept


@jit
def _end(pool, finals, tolerance, out):  # type: ignore[no-untyped-def]
    for state in range(out.shape[0]):
        start, largest = pool.entries[state, START], 0.0
        for k in range(start, start + pool.entries[state, COUNT]):
            weight = pool.weights[k] * finals[pool.items[k, 0]]
            out[state] += weight
            largest = max(largest, abs(weight))
        if abs(out[state]) <= tolerance * largest:
            out[state] = 0.0
