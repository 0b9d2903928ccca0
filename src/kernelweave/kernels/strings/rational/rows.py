"""Rows of strings as machines, and the sums over pairs of their paths.

    T o T^-1 decomposed     Phi_x = Pi_2(X o T)      K(x, y) = D(Phi_x o Phi_y)
    U as a whole            Psi_x = Pi_2(X o U)      K(x, y) = D(Psi_x o Y)

X is the acceptor of a string or lattice, Pi_2 the projection on outputs.  What a row writes is Phi_x or Psi_x, what it
reads of another is Phi_y or Y.  One sweep sums over the pairs of paths of two acceptors without epsilons.  It follows
the states of what is read; only that has to be acyclic.  Where cycles make even this impossible, the machines are
composed and the sum is the solution of a linear system.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kernelweave.automata.algorithms.compose import compose
from kernelweave.automata.algorithms.determinize import determinize
from kernelweave.automata.algorithms.epsilon import remove_epsilon
from kernelweave.automata.algorithms.rational import connect, project
from kernelweave.automata.base import EPSILON, Array, Transducer
from kernelweave.automata.build import from_lattice
from kernelweave.automata.graph import strong_components
from kernelweave.automata.pack import AcceptorTable, pack
from kernelweave.automata.rows import MachineRows, Side
from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.rows import offsets_of
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences


def machine_rows(X: Sequences | Lattices, transducer: Transducer, decomposed: bool) -> MachineRows:
    """Return what rows write and read under a transducer over their alphabet."""
    rows, machine = np.arange(len(X)), connect(transducer)
    if decomposed:
        features = feature_machines(X, machine)
        return MachineRows(features, features, rows, X.alphabet)
    acceptors = tuple(_acceptors(X))
    written = tuple(project(compose(acceptor, machine), "output") for acceptor in acceptors)
    if _has_cycle(machine, (machine.inputs == EPSILON) & (machine.outputs == EPSILON)):
        return MachineRows(written, acceptors, rows, X.alphabet)
    read = pack([remove_epsilon(acceptor) for acceptor in acceptors])
    return MachineRows(_as_they_are([remove_epsilon(part) for part in written]), read, rows, X.alphabet)


def feature_machines(X: Sequences | Lattices, machine: Transducer) -> Side:
    """Return Phi of every row: packed, acyclic and without epsilons, or as they are where Phi may have cycles."""
    machine = connect(_without_masked(machine, X.alphabet))
    phi = (project(compose(acceptor, machine), "output") for acceptor in _acceptors(X))
    if _has_cycle(machine, machine.inputs == EPSILON):
        return tuple(phi)
    return pack([_deterministic(part) for part in phi])


def _without_masked(m: Transducer, alphabet: Alphabet) -> Transducer:
    """Return the transducer without arcs that write a masked letter, which matches nothing, not even itself."""
    kept = m.outputs != alphabet.size
    if kept.all():
        return m
    arcs = m.source[kept], m.target[kept], m.inputs[kept], m.outputs[kept], m.weights[kept]
    return Transducer(*arcs, m.finals, m.alphabet)


def _acceptors(X: Sequences | Lattices) -> Iterator[Transducer]:
    lattices = Lattices.of(X)
    for row in range(len(X)):
        yield from_lattice(lattices, row)


def _deterministic(machine: Transducer) -> Transducer:
    """Return the deterministic acceptor, or one merely without epsilons where that would be too large."""
    free = remove_epsilon(machine)
    try:
        return determinize(free)
    except (OverflowError, ValueError):  # too many states, or residuals out of range: both serve, this one slower
        return free


def _has_cycle(m: Transducer, arcs: Array) -> bool:
    """Return whether some of the arcs form a cycle."""
    starts = np.searchsorted(m.source[arcs], np.arange(m.n_states + 1)).astype(np.int64)
    _, bounds = strong_components(starts, m.target[arcs])
    return len(bounds) <= m.n_states or bool((m.source == m.target)[arcs].any())


def _as_they_are(machines: Sequence[Transducer]) -> AcceptorTable:
    """Return acceptors without epsilons in one table; `pack` would refuse those with cycles."""
    firsts = offsets_of(np.array([m.n_arcs for m in machines], np.int64))
    return AcceptorTable(
        np.concatenate([np.zeros(1, np.int64), *(m.starts[1:] + first for m, first in zip(machines, firsts))]),
        np.concatenate([np.zeros(0, np.int32), *(m.target for m in machines)]),
        np.concatenate([np.zeros(0, np.int32), *(m.inputs for m in machines)]),
        np.concatenate([np.zeros(0), *(m.weights for m in machines)]),
        np.concatenate([np.zeros(0), *(m.finals for m in machines)]),
        offsets_of(np.array([m.n_states for m in machines], np.int64)),
    )
