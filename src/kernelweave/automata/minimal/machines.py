"""Whole automata and the pool of a `MinimalStore`: what `add_machine` and `total` run, with the arrays they work in."""

from __future__ import annotations

import numpy as np

from kernelweave.automata.base import Array
from kernelweave.automata.minimal.pool import FINE, OUT_OF_RANGE, Pool, roomy
from kernelweave.automata.minimal.reads import machine_total
from kernelweave.automata.minimal.register import Rules
from kernelweave.automata.minimal.settle import settle
from kernelweave.automata.minimal.union import (
    ENTRIES,
    FULL_CHILDREN,
    FULL_NODES,
    ITEMS_NEEDED,
    NODES,
    Nodes,
    new_nodes,
    plan,
)

FIRST = 256
MOST_NODES = 1_000_000
"""Residuals that the addition of one automaton may change."""


class Machines:
    """Arrays that additions and sums share, as long as the longest of them needed.

    Attributes
    ----------
    touched, touched_arcs : states rebuilt by the last addition, and arcs (and ends) of these
    """

    def __init__(self) -> None:
        self.nodes: Nodes = new_nodes(FIRST, FIRST)
        self.heads, self.met = np.zeros((2, 0), np.int32), np.zeros(0, np.int32)
        self.links, self.values = np.empty((FIRST, 2), np.int32), np.empty(FIRST)
        self.touched = self.touched_arcs = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in (*self.nodes, self.heads, self.met, self.links, self.values))

    def add(self, pool: Pool, rules: Rules, machine: tuple[Array, ...], step: float) -> tuple[Pool, bool]:
        """Add a machine; return the pool, which may have grown, and whether all numbers stayed in range."""
        heads = np.empty(len(machine[4]), np.int64)
        while (status := plan(pool, rules, machine, step, self.nodes, heads)) in (FULL_NODES, FULL_CHILDREN):
            nodes, children = len(self.nodes.nodes), len(self.nodes.children)
            if nodes > MOST_NODES:
                raise ValueError(
                    f"The minimal automaton of the sum changes in more than {MOST_NODES:,} states for a single row; "
                    "keep the sum as it is, with store='naive'."
                )
            self.nodes = new_nodes(*((2 * nodes, children) if status == FULL_NODES else (nodes, 2 * children)))
        if status == FINE:
            needed = self.nodes.sizes
            pool = roomy(pool, int(needed[ENTRIES]), int(needed[ITEMS_NEEDED]))
            status, written = settle(pool, rules, machine, self.nodes, heads)
            self.touched, self.touched_arcs = int(needed[NODES]), int(written)
        return pool, status != OUT_OF_RANGE

    def total(self, pool: Pool, machine: tuple[Array, ...], cyclic: bool = False) -> float:
        """Return D(A o W) of a machine A, whose states come in topological order unless it has cycles."""
        n = len(machine[4])
        if self.heads.shape[1] < n:
            self.heads = np.full((2, 2 * n), -1, np.int32)
        if len(self.met) < len(pool.entries):
            self.met = np.full(len(pool.entries), -1, np.int32)
        heads = self.heads[: 1 + cyclic, :n]
        while True:
            fits, total = machine_total(pool, machine, heads, self.met, self.links, self.values)
            if fits:
                return float(total)
            size = 2 * len(self.values)
            self.links, self.values = np.empty((size, 2), np.int32), np.empty(size)
