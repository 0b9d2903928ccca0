"""Rational operations and the ordering of machines.

inverse      U^-1(x, y) = U(y, x)                 projection  A(y) = sum over x of U(x, y)
union        (U + V)(x, y) = U(x, y) + V(x, y)    scaling     (g U)(x, y) = g U(x, y)
concatenation  (U V)(x, y) = sum over x = x1 x2, y = y1 y2 of U(x1, y1) V(x2, y2)
closure        U* = 1 + U + U U + ...
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kernelweave._numba import jit
from kernelweave.automata.base import EPSILON, Array, Transducer, sorted_by_source
from kernelweave.automata.graph import topological_places, useful_states
from kernelweave.data.strings.alphabet import Alphabet


def shared_alphabet(machines: Iterable[Transducer]) -> Alphabet | None:
    """Return the alphabet of machines that are to be combined; a machine of plain numbers goes with any."""
    chosen = None
    for machine in machines:
        if chosen is not None and machine.alphabet is not None and machine.alphabet != chosen:
            raise ValueError(
                f"Machines over different alphabets cannot be combined: one is over {chosen!r}, another over "
                f"{machine.alphabet!r}."
            )
        chosen = chosen or machine.alphabet
    return chosen


def inverse(machine: Transducer) -> Transducer:
    """Return the machine with inputs and outputs exchanged.

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 1, "a", "b", 3.0)], finals=[1], alphabet="ab")
    >>> inverse(T).inputs.tolist(), inverse(T).outputs.tolist()
    ([1], [0])
    """
    m = machine
    if m.is_acceptor:
        return m
    return sorted_by_source(m.source, m.target, m.outputs, m.inputs, m.weights, m.finals, m.alphabet)


def project(machine: Transducer, side: str) -> Transducer:
    """Return the acceptor of one side: a string's weight is summed over all that stands on the other side.

    Parameters
    ----------
    machine : Transducer
    side : "input" or "output"

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 1, "a", "b", 3.0), (0, 1, "b", "b", 4.0)], finals=[1], alphabet="ab")
    >>> A = project(T, "output")
    >>> A.is_acceptor, A.inputs.tolist(), A.weights.tolist()
    (True, [1, 1], [3.0, 4.0])
    """
    if side not in ("input", "output"):
        raise ValueError(f"side={side!r} is unknown; use 'input' or 'output'.")
    m = machine
    labels = m.inputs if side == "input" else m.outputs
    return sorted_by_source(m.source, m.target, labels, labels, m.weights, m.finals, m.alphabet)


def scale(machine: Transducer, factor: float) -> Transducer:
    """Return the machine with all weights U(x, y) multiplied by a number.

    Examples
    --------
    >>> scale(Transducer.from_arcs([(0, 1, "a", 3.0)], finals={1: 2.0}, alphabet="a"), 0.5).finals.tolist()
    [0.0, 1.0]
    """
    if not np.isfinite(factor):
        raise ValueError(f"factor={factor!r} must be a finite number.")
    m = machine
    return Transducer(m.source, m.target, m.inputs, m.outputs, m.weights, m.finals * float(factor), m.alphabet)


def union(*machines: Transducer) -> Transducer:
    """Return the sum of machines; no epsilons are added.

    A new initial state has the arcs of all the old ones, which stay only where arcs lead back to them.

    Examples
    --------
    >>> from kernelweave.automata import acceptor, total_weight
    >>> total_weight(union(acceptor("ab", "ab"), acceptor("b", "ab"), acceptor("", "ab")))
    3.0
    """
    if not machines:
        raise ValueError("A union needs at least one machine.")
    alphabet = shared_alphabet(machines)
    shifts = np.cumsum([1, *(m.n_states for m in machines)])
    parts: list[tuple[Array, ...]] = []
    for shift, m in zip(shifts, machines):
        head = slice(0, m.starts[1])
        parts.append((np.zeros(m.starts[1], np.int64), *(column[head] for column in _moved(m, shift)[1:])))
        parts.append(_moved(m, shift))
    finals = np.concatenate([[sum(m.finals[0] for m in machines)], *(m.finals for m in machines)])
    return connect(_joined(parts, finals, alphabet, all(m.is_acceptor for m in machines)))


def concatenate(first: Transducer, second: Transducer) -> Transducer:
    """Return the product: a string of the first machine followed by one of the second.

    An epsilon arc leads from each final state of the first machine to the initial state of the second.

    Examples
    --------
    >>> from kernelweave.automata import acceptor, total_weight
    >>> concatenate(acceptor("ab", "ab"), acceptor("b", "ab"))
    <acceptor, 5 states, 4 arcs>
    """
    ends = np.flatnonzero(first.finals)
    bridge = _epsilon_arcs(ends, np.full(len(ends), first.n_states), first.finals[ends])
    finals = np.concatenate([np.zeros(first.n_states), second.finals])
    parts = [_moved(first, 0), bridge, _moved(second, first.n_states)]
    same = first.is_acceptor and second.is_acceptor
    return connect(_joined(parts, finals, shared_alphabet((first, second)), same))


def closure(machine: Transducer) -> Transducer:
    """Return the sum of all powers, the empty string's power 0 included.

    A new initial state, final with weight 1, has an epsilon arc to the old one and gets one from each final state.

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 1, "a", 0.5)], finals=[1], alphabet="a")
    >>> from kernelweave.automata import total_weight
    >>> total_weight(closure(T))
    2.0
    """
    ends = np.flatnonzero(machine.finals)
    out = _epsilon_arcs(np.zeros(1, np.int64), np.ones(1, np.int64), np.ones(1))
    back = _epsilon_arcs(ends + 1, np.zeros(len(ends), np.int64), machine.finals[ends])
    finals = np.zeros(machine.n_states + 1)
    finals[0] = 1.0
    return connect(_joined([out, _moved(machine, 1), back], finals, machine.alphabet, machine.is_acceptor))


def connect(machine: Transducer) -> Transducer:
    """Return the machine without states that are on no path from the initial to a final one.

    Arcs of weight zero, which change no sum, go too.  A machine that accepts nothing becomes one state without arcs.

    Examples
    --------
    >>> connect(Transducer.from_arcs([(0, 1, "a", 1.0), (0, 2, "a", 1.0)], finals=[1], alphabet="a"))
    <acceptor, 2 states, 1 arcs>
    """
    m = machine
    if m.n_arcs and not m.weights.all():
        kept = m.weights != 0
        m = Transducer(*_columns(m, kept), m.finals, m.alphabet)
    useful = useful_states(m.starts, m.target, m.finals)
    if useful.all():
        return m
    if not useful[0]:
        return Transducer(*_columns(m, np.zeros(0, np.int64)), np.zeros(1), m.alphabet)
    return _renumbered(m, np.flatnonzero(useful))


def is_acyclic(machine: Transducer) -> bool:
    """Return whether no path from the initial state comes to a state twice.

    Examples
    --------
    >>> is_acyclic(Transducer.from_arcs([(0, 1, "a", 1.0), (1, 0, "a", 1.0)], finals=[1], alphabet="a"))
    False
    """
    return (
        bool((machine.target > machine.source).all()) or topological_places(machine.starts, machine.target) is not None
    )


def topological_sort(machine: Transducer) -> Transducer:
    """Return the connected machine with states numbered so that every arc leads to a higher number.

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 2, "a", 1.0), (2, 1, "b", 1.0)], finals=[1], alphabet="ab")
    >>> topological_sort(T).target.tolist()
    [1, 2]
    """
    m = connect(machine)
    if (m.target > m.source).all():
        return m
    order = topological_places(m.starts, m.target)
    if order is None:
        raise ValueError("A machine with a cycle has no topological order; this operation needs an acyclic machine.")
    m = _renumbered(m, order)
    return sorted_by_source(m.source, m.target, m.inputs, m.outputs, m.weights, m.finals, m.alphabet)


def _moved(m: Transducer, shift: int) -> tuple[Array, ...]:
    return m.source.astype(np.int64) + shift, m.target.astype(np.int64) + shift, m.inputs, m.outputs, m.weights


def _epsilon_arcs(source: Array, target: Array, weights: Array) -> tuple[Array, ...]:
    labels = np.full(len(source), EPSILON, np.int32)
    return source, target, labels, labels, weights


def _joined(parts: list[tuple[Array, ...]], finals: Array, alphabet: Alphabet | None, same: bool) -> Transducer:
    source, target, inputs, outputs, weights = (np.concatenate(column) for column in zip(*parts))
    return sorted_by_source(source, target, inputs, inputs if same else outputs, weights, finals, alphabet)


def _columns(m: Transducer, kept: Array) -> tuple[Array, Array, Array, Array, Array]:
    inputs = m.inputs[kept]
    outputs = inputs if m.inputs is m.outputs else m.outputs[kept]
    return m.source[kept], m.target[kept], inputs, outputs, m.weights[kept]


def _renumbered(m: Transducer, order: Array) -> Transducer:
    """Return the machine of the listed states, in that order, with the arcs between them as they are sorted."""
    place = np.full(m.n_states, -1, np.int64)
    place[order] = np.arange(len(order))
    kept = np.empty(m.n_arcs, np.int64)
    count = _arcs_between(m.starts, m.target, order, place, kept)
    source, target, inputs, outputs, weights = _columns(m, kept[:count])
    made = place[source].astype(np.int32), place[target].astype(np.int32)
    return Transducer(*made, inputs, outputs, weights, m.finals[order], m.alphabet)


@jit
def _arcs_between(starts, target, order, place, kept):  # type: ignore[no-untyped-def]
    count = 0
    for state in order:
        for arc in range(starts[state], starts[state + 1]):
            if place[target[arc]] >= 0:
                kept[count] = arc
                count += 1
    return count
