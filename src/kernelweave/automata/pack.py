"""Many acceptors in one table of arcs, laid out for the loops over all their pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from kernelweave.automata.algorithms.rational import shared_alphabet, topological_sort
from kernelweave.automata.base import EPSILON, Array, Transducer
from kernelweave.data.kinds import alphabet_of
from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.rows import offsets_of
from kernelweave.data.strings.alphabet import Alphabet


@dataclass(frozen=True, eq=False)
class AcceptorTable:
    """Many acyclic acceptors without epsilons; `pack` builds one, checked and sorted.

    Attributes
    ----------
    starts : (states + 1,) int64, where the arcs of each state begin; states of one acceptor follow those of another
    target : (arcs,) int32, numbered within the acceptor, higher than the source
    labels : (arcs,) int32, rising within a state
    weights : (arcs,) float64
    finals : (states,) float64
    state_offsets : (n + 1,) int64, where the states of each acceptor begin
    alphabet : what the labels spell, or None
    """

    starts: Array
    target: Array
    labels: Array
    weights: Array
    finals: Array
    state_offsets: Array
    alphabet: Alphabet | None = None

    def __len__(self) -> int:
        return len(self.state_offsets) - 1

    @property
    def arrays(self) -> tuple[Array, ...]:
        """What the loops read."""
        return self.starts, self.target, self.labels, self.weights, self.finals, self.state_offsets

    @cached_property
    def deterministic(self) -> bool:
        """Whether no state of any acceptor has two arcs with the same label."""
        same = self.labels[1:] == self.labels[:-1]
        same[self.starts[1:-1][(self.starts[1:-1] > 0) & (self.starts[1:-1] < len(self.labels))] - 1] = False
        return not same.any()

    @cached_property
    def rises(self) -> bool:
        """Whether every arc leads to a state of a higher number; only machines that `pack` has not seen may not."""
        first = np.repeat(self.state_offsets[:-1], np.diff(self.state_offsets))
        source = np.repeat(np.arange(len(self.finals)) - first, np.diff(self.starts))
        return bool((self.target > source).all())

    def acceptors(self) -> list[Transducer]:
        """Return the acceptors one by one."""
        made = []
        for row in range(len(self)):
            starts, target, labels, weights, finals = self.machine(row)
            source = np.repeat(np.arange(len(finals), dtype=np.int32), np.diff(starts))
            made.append(Transducer(source, target, labels, labels, weights, finals, self.alphabet))
        return made

    def machine(self, row: int) -> tuple[Array, ...]:
        """Return starts, target, labels, weights and finals of one acceptor; views, with starts counted from 0."""
        first, last = self.state_offsets[row], self.state_offsets[row + 1]
        starts = self.starts[first : last + 1]
        arcs = slice(starts[0], starts[-1])
        rows = self.target[arcs], self.labels[arcs], self.weights[arcs], self.finals[first:last]
        return starts - starts[0], *rows


def pack(acceptors: Sequence[Transducer] | Lattices) -> AcceptorTable:
    """Return acyclic acceptors without epsilons (or such lattices) in one table.

    Examples
    --------
    >>> from kernelweave.automata import acceptor
    >>> len(pack([acceptor("ab", "ab"), acceptor("ba", "ab")]))
    2
    """
    if alphabet_of(acceptors) is not None:
        return _packed_lattices(cast(Lattices, acceptors))
    parts = [_checked(number, machine) for number, machine in enumerate(cast(Sequence[Transducer], acceptors))]
    firsts = offsets_of(np.array([m.n_arcs for m in parts], np.int64))
    return AcceptorTable(
        np.concatenate([np.zeros(1, np.int64), *(m.starts[1:] + first for m, first in zip(parts, firsts))]),
        np.concatenate([np.zeros(0, np.int32), *(m.target for m in parts)]),
        np.concatenate([np.zeros(0, np.int32), *(m.inputs for m in parts)]),
        np.concatenate([np.zeros(0), *(m.weights for m in parts)]),
        np.concatenate([np.zeros(0), *(m.finals for m in parts)]),
        offsets_of(np.array([m.n_states for m in parts], np.int64)),
        shared_alphabet(parts),
    )


def _packed_lattices(X: Lattices) -> AcceptorTable:
    if (empty := X.labels == EPSILON).any():
        raise ValueError(_no_epsilons(int(np.searchsorted(X.arc_offsets, np.argmax(empty), "right")) - 1))
    states = X.source + np.repeat(X.state_offsets[:-1], X.arc_counts)
    starts = np.searchsorted(states, np.arange(len(X.finals) + 1)).astype(np.int64)
    # copies: the loops are compiled for arrays that may be written, those of lattices may not
    target, labels, weights = X.target.copy(), X.labels.copy(), X.weights.copy()
    return AcceptorTable(starts, target, labels, weights, X.finals.copy(), X.state_offsets.copy(), X.alphabet)


def _checked(number: int, machine: Transducer) -> Transducer:
    if not machine.is_acceptor:
        raise ValueError(f"Machine {number} is not an acceptor: its outputs differ from its inputs; project it first.")
    if (machine.inputs == EPSILON).any():
        raise ValueError(_no_epsilons(number))
    try:
        return topological_sort(machine)
    except ValueError:
        raise ValueError(
            f"Machine {number} has a cycle, but intersections need acyclic machines; compose and use total_weight."
        ) from None


def _no_epsilons(number: int) -> str:
    return f"Machine {number} has epsilon arcs, which match nothing; remove them with remove_epsilon first."
