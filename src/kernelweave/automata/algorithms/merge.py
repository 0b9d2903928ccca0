"""States of a deterministic machine with cycles that accept proportional functions, made one.

Normalise all states, the initial one too (`push`): proportional functions are equal then.  Start from one class for
each final weight, and part states of a class whose arcs differ in label, weight or the class behind, until nothing
changes (Moore).  Weights that agree to the tolerance with a neighbour in their order are taken as equal throughout.
"""

from __future__ import annotations

import numpy as np

from kernelweave.automata.algorithms.push import divided, in_label_order, shortest_potentials
from kernelweave.automata.base import Array, Transducer, sorted_by_source


def merged_states(machine: Transducer, tolerance: float) -> Transducer:
    """Return the smallest deterministic machine of the same weighted strings as a connected deterministic one."""
    m = in_label_order(machine)
    mantissas, exponents = shortest_potentials(m)
    m = divided(m, mantissas, exponents)
    of_state = _classes(m, tolerance)
    first = np.unique(of_state, return_index=True)[1]  # a state of each class
    kept = np.concatenate([np.arange(m.starts[q], m.starts[q + 1]) for q in first])
    scale = np.ones(len(first))
    scale[of_state[0]] = np.ldexp(mantissas[0], int(exponents[0]))  # the initial state gets its weight back
    source, target = of_state[m.source[kept]], of_state[m.target[kept]]
    weights = m.weights[kept] * scale[source] / scale[target]
    order = np.argsort(np.where(first == first[of_state[0]], -1, first), kind="stable")  # the initial class is state 0
    number = np.empty(len(first), np.int64)
    number[order] = np.arange(len(first))
    finals = (m.finals[first] * scale)[order]
    labels = m.inputs[kept]
    return sorted_by_source(number[source], number[target], labels, labels, weights, finals, m.alphabet)


def _classes(m: Transducer, tolerance: float) -> Array:
    """Return the class of each state, numbered from 0."""
    alike = _alike(np.concatenate([m.weights, m.finals]), tolerance)
    weights, of_state = alike[: m.n_arcs], np.unique(alike[m.n_arcs :], return_inverse=True)[1]
    count = int(of_state.max()) + 1
    while True:
        known: dict[tuple[int, bytes], int] = {}
        arcs = np.stack([m.inputs.astype(np.int64), weights, of_state[m.target]], axis=1)
        parted = np.empty(m.n_states, np.int64)
        for q in range(m.n_states):
            key = int(of_state[q]), arcs[m.starts[q] : m.starts[q + 1]].tobytes()
            parted[q] = known.setdefault(key, len(known))
        if len(known) == count:
            return parted
        of_state, count = parted, len(known)


def _alike(values: Array, tolerance: float) -> Array:
    """Return equal numbers for values that agree to the tolerance."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    apart = np.diff(ranked) > tolerance * np.maximum(abs(ranked[1:]), abs(ranked[:-1]))
    out = np.empty(len(values), np.int64)
    out[order] = np.concatenate([[0], np.cumsum(apart)])
    return out
