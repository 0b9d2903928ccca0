"""Weight pushing: move weights along a machine so that every state but the initial one is normalised.

With a potential F(q) != 0 of each state, F(0) = 1, the weights

    w'(p -> q) = w(p -> q) F(q) / F(p),        final'(p) = final(p) / F(p)

give the same machine: factors cancel along a path.  Usually F(q) is the sum over paths from q to the end, but over the
real numbers such sums can vanish.  Here F(q) is the weight of the *first* path: end if the state is final, else
take the first arc in the order of (input, output, target).  Then the first non-zero weight of each state is 1.  In a
deterministic machine F(q) is the weight of the smallest string from q, so that states with proportional functions
get equal weights.  Potentials are kept as (mantissa, exponent), since long products leave the range of doubles.

Where there are cycles the first path need not end.  There F(q) is the weight of a shortest path, of the first one in
the order of labels: a final state ends, others take the first arc to a state that is one arc closer to an end.
"""

from __future__ import annotations

import math

import numpy as np

from kernelweave._numba import jit
from kernelweave.automata.algorithms.rational import connect, is_acyclic, topological_sort
from kernelweave.automata.base import Array, Transducer, sorted_by_source

OUT = 4096
"""Exponents beyond this leave the range of doubles, whatever the mantissa."""


def push(machine: Transducer) -> Transducer:
    """Return a machine in which the first path from each state but the initial one has the weight 1.

    Without cycles that is the first non-zero weight of the state, and states come in topological order; with cycles a
    shortest path counts (see above).  Arcs come in the order of their labels; states on no accepting path are gone.

    Parameters
    ----------
    machine : Transducer

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 1, "a", 3.0), (1, 2, "a", 2.0), (1, 2, "b", -4.0)], finals=[2], alphabet="ab")
    >>> push(T).weights.tolist()
    [6.0, 1.0, -2.0]
    """
    useful = connect(machine)
    if not is_acyclic(useful):
        m = in_label_order(useful)
        mantissas, exponents = shortest_potentials(m)
        mantissas[0], exponents[0] = 1.0, 0
        return divided(m, mantissas, exponents)
    m = in_label_order(topological_sort(useful))
    weights, finals = np.empty(m.n_arcs), np.empty(m.n_states)
    _push(m.starts, m.target, m.weights, m.finals, weights, finals)
    if not (np.isfinite(weights).all() and weights.all() and np.isfinite(finals).all()):
        raise OverflowError("Pushed weights leave the range of double precision; scale the weights of the machine.")
    return Transducer(m.source, m.target, m.inputs, m.outputs, weights, finals, m.alphabet)


def shortest_potentials(m: Transducer) -> tuple[Array, Array]:
    """Return the weight of the first shortest path from each state, as mantissas and exponents of two."""
    distance = np.where(m.finals != 0.0, 0, m.n_states)
    while True:
        closer = distance.copy()
        np.minimum.at(closer, m.source, distance[m.target] + 1)
        if np.array_equal(closer, distance):
            break
        distance = closer
    mantissas, exponents = np.frexp(m.finals)
    exponents = exponents.astype(np.int64)
    for q in np.argsort(distance, kind="stable").tolist():
        if distance[q] > 0 and m.n_arcs:
            arcs = np.arange(m.starts[q], m.starts[q + 1])
            arc = arcs[np.argmax(distance[m.target[arcs]] == distance[q] - 1)]
            mantissas[q], more = np.frexp(m.weights[arc] * mantissas[m.target[arc]])
            exponents[q] = exponents[m.target[arc]] + more
    return mantissas, exponents


def divided(m: Transducer, mantissas: Array, exponents: Array) -> Transducer:
    """Return a machine with other potentials; a weight that leaves the range of doubles is an error."""
    shifts = np.clip(exponents[m.target] - exponents[m.source], -OUT, OUT)
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        weights = np.ldexp(m.weights * mantissas[m.target] / mantissas[m.source], shifts)
        finals = np.where(m.finals != 0.0, np.ldexp(m.finals / mantissas, np.clip(-exponents, -OUT, OUT)), 0.0)
    if not (np.isfinite(weights).all() and weights.all() and np.isfinite(finals).all()):
        raise OverflowError("Pushed weights leave the range of double precision; scale the weights of the machine.")
    return Transducer(m.source, m.target, m.inputs, m.outputs, weights, finals, m.alphabet)


def in_label_order(m: Transducer) -> Transducer:
    """Return the machine with the arcs of each state sorted by input, output and target; itself if they are."""
    columns = [np.diff(column.astype(np.int64)) for column in (m.source, m.inputs, m.outputs, m.target)]
    rising = columns[-1] >= 0
    for column in columns[-2::-1]:
        rising = (column > 0) | ((column == 0) & rising)
    if rising.all():
        return m
    return sorted_by_source(m.source, m.target, m.inputs, m.outputs, m.weights, m.finals, m.alphabet)


@jit
def _push(starts, target, weights, finals, new_weights, new_finals):  # type: ignore[no-untyped-def]
    n = finals.shape[0]
    mantissas, exponents = np.ones(n), np.zeros(n, np.int64)
    for p in range(n - 1, -1, -1):
        mantissa, exponent = 1.0, 0
        if p > 0 and finals[p] != 0.0:
            mantissa, exponent = math.frexp(finals[p])
        elif p > 0:  # a useful state that is not final has an arc
            first = starts[p]
            mantissa, exponent = math.frexp(weights[first])
            mantissa, more = math.frexp(mantissa * mantissas[target[first]])
            exponent += more + exponents[target[first]]
        mantissas[p], exponents[p] = mantissa, exponent
        new_finals[p] = math.ldexp(finals[p] / mantissa, int(-exponent))
        for arc in range(starts[p], starts[p + 1]):
            part, shift = math.frexp(weights[arc])
            shift += exponents[target[arc]] - exponent
            new_weights[arc] = math.ldexp(part * mantissas[target[arc]] / mantissa, int(shift))
