"""Weight pushing: move weights along an acyclic machine so that every state but the initial one is normalised.

With a potential F(q) != 0 of each state, F(0) = 1, the weights

    w'(p -> q) = w(p -> q) F(q) / F(p),        final'(p) = final(p) / F(p)

give the same machine: factors cancel along a path.  Usually F(q) is the sum over paths from q to the end, but over the
real numbers such sums can vanish.  Here F(q) is the weight of the *first* path: end if the state is final, else
take the first arc in the order of (input, output, target).  Then the first non-zero weight of each state is 1.  In a
deterministic machine F(q) is the weight of the smallest string from q, so that states with proportional functions
get equal weights.  Potentials are kept as (mantissa, exponent), since long products leave the range of doubles.
"""

from __future__ import annotations

import math

import numpy as np

from kernelweave._numba import jit
from kernelweave.automata.algorithms.rational import topological_sort
from kernelweave.automata.base import Transducer, sorted_by_source


def push(machine: Transducer) -> Transducer:
    """Return an acyclic machine in which the first non-zero weight of each state but the initial one is 1.

    States come in topological order, arcs in the order of their labels; states on no accepting path are gone.

    Parameters
    ----------
    machine : Transducer without cycles

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 1, "a", 3.0), (1, 2, "a", 2.0), (1, 2, "b", -4.0)], finals=[2], alphabet="ab")
    >>> push(T).weights.tolist()
    [6.0, 1.0, -2.0]
    """
    m = in_label_order(topological_sort(machine))
    weights, finals = np.empty(m.n_arcs), np.empty(m.n_states)
    _push(m.starts, m.target, m.weights, m.finals, weights, finals)
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
