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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelweave._numba.symmetric import mirror
from kernelweave.automata.algorithms.compose import compose
from kernelweave.automata.algorithms.determinize import determinize
from kernelweave.automata.algorithms.epsilon import remove_epsilon
from kernelweave.automata.algorithms.rational import connect, project
from kernelweave.automata.base import EPSILON, Array, Transducer
from kernelweave.automata.build import from_lattice
from kernelweave.automata.graph import strong_components
from kernelweave.automata.intersect import intersection_pairs
from kernelweave.automata.pack import AcceptorTable, pack
from kernelweave.automata.weight import total_weight
from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.rows import offsets_of
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences

PAIRS_AT_A_TIME = 2**16
"""Pairs of rows that are listed before they are compared."""

Side = AcceptorTable | tuple[Transducer, ...]
"""Machines of all rows: packed for the sweep, or as they are where it takes linear systems."""


@dataclass(frozen=True, eq=False)
class MachineRows:
    """What rows write and what they read.

    Attributes
    ----------
    written, read : the machines of all rows that were prepared together; the same object where T is decomposed
    rows : (n,) which of them these are
    alphabet : of the rows
    """

    written: Side
    read: Side
    rows: Array
    alphabet: Alphabet

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> MachineRows:
        return replace(self, rows=self.rows[rows])

    def pairs(self, other: MachineRows, left: Array, right: Array) -> Array:
        """Return the sums over what row left[k] of these writes and row right[k] of the others reads, (pairs,)."""
        i, j = self.rows[left], other.rows[right]
        if isinstance(self.written, AcceptorTable) and isinstance(other.read, AcceptorTable):
            return intersection_pairs(other.read, self.written, j, i)
        assert isinstance(self.written, tuple)  # the transducer decides, not the rows
        assert isinstance(other.read, tuple)
        return np.array([_solved(self.written[a], other.read[b], a, b) for a, b in zip(i.tolist(), j.tolist())])

    def block(self, other: MachineRows, mirrored: bool) -> Array:
        """Return the sums of all pairs, (n, m); mirrored: those above the diagonal are copied from below it."""
        n, m = len(self), len(other)
        out = np.empty((n, m))
        step = max(1, PAIRS_AT_A_TIME // max(m, 1))
        for start in range(0, n, step):
            stop = min(start + step, n)
            left, right = (side.ravel() for side in np.indices((stop - start, m)))
            if mirrored:
                kept = right <= left + start
                left, right = left[kept], right[kept]
            out[left + start, right] = self.pairs(other, left + start, right)
        if mirrored:
            mirror(out)
        return out


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


def _solved(written: Transducer, read: Transducer, row: int, other: int) -> float:
    try:
        return total_weight(compose(written, read))
    except ValueError as reason:
        raise ValueError(f"The kernel of row {row} with row {other} is not finite. {reason}") from None
