"""The weight vector of coordinate descent as an automaton over strings:  W = sum_i alpha_i R_i  (see `rows`).

    store     W is                                        f_i = D(P_i o W) costs     an update costs
    naive     the sum itself: an arc without letters      all R_j with alpha_j != 0  nothing
              into each R_j
    trie      a tree of prefixes, weights on its nodes    the prefixes that P_i      the prefixes of R_i
                                                          shares with the tree       (once: see `TrieWeights`)
    minimal   the minimal deterministic automaton,        the pairs of states that   the pairs of states that
              changed in place (`automata.minimal`)       P_i and W reach together   R_i and W reach together

A row may have 2^(its arcs) strings: "naive" and "minimal" never list them, "trie" has a node for each prefix.  The sum
of rows whose arcs have unlike weights may itself need that many states when it is made deterministic; "naive" does not
make it so.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.hashing import line_of, move_lines
from kernelweave.automata.algorithms.determinize import determinize
from kernelweave.automata.base import Array, Transducer
from kernelweave.automata.minimal.automaton import MinimalStore
from kernelweave.automata.pack import AcceptorTable, pack
from kernelweave.automata.rows import MachineRows, Side

MOST_PREFIXES = 1_000_000
"""A row of which more prefixes would have to be nodes of a tree is refused."""
FIRST_LINES = 1 << 10
FEW_PATHS = 4.0
"""Nodes of a row are remembered where it has at most this many prefixes for each arc; the tree of a string has one."""


class Weights(Protocol):
    """W, as far as descent needs it."""

    rows: MachineRows
    n_arcs: int
    nbytes: int

    def clear(self) -> None:
        """Set W to zero."""

    def fresh(self) -> Weights:
        """Return another W of the same rows, zero."""

    def look_up(self, row: int) -> float:
        """Return D(P_row o W)."""

    def add(self, row: int, step: float) -> None:
        """Add ``step R_row`` to W."""


class NaiveWeights:
    """The sum of the rows' automata, kept as its coefficients."""

    def __init__(self, rows: MachineRows):
        self.rows = rows
        self.clear()

    def clear(self) -> None:
        """Set W to zero."""
        self.coef = np.zeros(len(self.rows))

    def fresh(self) -> NaiveWeights:
        """Return another W of the same rows, zero."""
        return NaiveWeights(self.rows)

    def look_up(self, row: int) -> float:
        """Return the sum over j of ``coef_j D(P_row o R_j)``."""
        support = np.flatnonzero(self.coef)
        each = self.rows.pairs(self.rows, np.full(len(support), row), support)
        return float(np.einsum("i,i->", each, self.coef[support]))

    def add(self, row: int, step: float) -> None:
        """Change the weight of one arc without letters."""
        self.coef[row] += step

    @property
    def n_arcs(self) -> int:
        """Arcs of W: one without letters into each row, and the rows' own."""
        read = self.rows.read
        arcs = len(read.labels) if isinstance(read, AcceptorTable) else sum(machine.n_arcs for machine in read)
        return len(self.rows) + arcs

    @property
    def nbytes(self) -> int:
        """Bytes of the coefficients; the rows are there anyway."""
        return self.coef.nbytes


class TrieWeights:
    """A tree of prefixes; a hash table leads from a node and a letter to the next node.

    Nodes stay where they are.  So a row whose automaton is (nearly) a tree itself follows it down once, when it is
    added for the first time, and from then on knows the nodes at which its strings end.
    """

    def __init__(self, rows: MachineRows):
        self.rows, read, written = rows, _packed(rows.read, "trie"), _packed(rows.written, "trie")
        self.read = [read.machine(row) for row in range(len(read))]
        self.written = self.read if written is read else [written.machine(row) for row in range(len(written))]
        self.prefixes = np.array([_prefixes(machine[0], machine[1]) for machine in self.read])
        if (self.prefixes > MOST_PREFIXES).any():
            row = int(np.argmax(self.prefixes > MOST_PREFIXES))
            raise ValueError(
                f"Row {row} has strings with {self.prefixes[row]:.6g} prefixes, and store='trie' has a node for each, "
                f"up to {MOST_PREFIXES:,} of a row; use store='minimal' or 'naive', which list no strings."
            )
        arcs = np.array([len(machine[1]) for machine in self.read])
        self.knows = (self.prefixes <= FEW_PATHS * (arcs + 1)) & (self.written is self.read)
        self._stack = np.empty((1 + max([0, *(len(machine[1]) for machine in self.read)]), 3))
        self.clear()

    def clear(self) -> None:
        """Set W to zero."""
        self.lines = np.full((FIRST_LINES, 2), -1, np.int64)
        self.weights = np.zeros(FIRST_LINES // 2)
        self.nodes = 1
        self.ends: dict[int, tuple[Array, Array]] = {}

    def fresh(self) -> TrieWeights:
        """Return another W of the same rows, zero."""
        other = object.__new__(TrieWeights)
        other.__dict__.update(self.__dict__)
        other.clear()
        return other

    def look_up(self, row: int) -> float:
        """Follow the row's automaton and the tree together, or sum over the nodes that it knows."""
        if row in self.ends:
            return float(_weigh(*self.ends[row], self.weights))
        while True:
            fits, total = _read(*self.written[row], self.lines, self.weights, self._stack)
            if fits:
                return float(total)
            self._stack = np.empty((2 * len(self._stack), 3))

    def add(self, row: int, step: float) -> None:
        """Follow the row's automaton down the tree, planting what is missing, or go to the nodes that it knows."""
        if row in self.ends:
            _spread(*self.ends[row], step, self.weights)
            return
        while self.nodes + self.prefixes[row] > len(self.weights):
            lines = np.full((2 * len(self.lines), 2), -1, np.int64)
            move_lines(self.lines, lines)
            self.lines, self.weights = lines, np.append(self.weights, np.zeros(len(self.weights)))
        room = int(self.prefixes[row]) if self.knows[row] else 0
        nodes, values = np.empty(room, np.int32), np.empty(room)
        self.nodes, ends = _plant(
            *self.read[row], step, self.lines, self.weights, self.nodes, self._stack, nodes, values
        )
        if self.knows[row]:
            self.ends[row] = nodes[:ends].copy(), values[:ends].copy()

    @property
    def n_arcs(self) -> int:
        """Edges of the tree."""
        return self.nodes - 1

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        known = sum(nodes.nbytes + values.nbytes for nodes, values in self.ends.values())
        return self.lines.nbytes + self.weights.nbytes + known


class MinimalWeights:
    """The minimal deterministic automaton, changed in place."""

    def __init__(self, rows: MachineRows):
        self.rows, self.store = rows, MinimalStore()
        self.written = _packed(rows.written, "minimal")
        self.read = _deterministic(_packed(rows.read, "minimal"))

    def clear(self) -> None:
        """Set W to zero."""
        self.store.clear()

    def fresh(self) -> MinimalWeights:
        """Return another W of the same rows, zero."""
        other = object.__new__(MinimalWeights)
        other.__dict__.update(self.__dict__)
        other.store = MinimalStore()
        return other

    def look_up(self, row: int) -> float:
        """Follow the row's automaton and W together."""
        return self.store.total_row(self.written, row)

    def add(self, row: int, step: float) -> None:
        """Change the residuals at the prefixes of the row."""
        self.store.add_row(self.read, row, step)

    @property
    def n_arcs(self) -> int:
        """Arcs of W."""
        return self.store.n_arcs

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.store.nbytes


STRING_STORES: dict[str, type] = {"naive": NaiveWeights, "trie": TrieWeights, "minimal": MinimalWeights}


def _packed(side: Side, store: str) -> AcceptorTable:
    """Return machines in one table; what a row writes may have cycles, what is read may not."""
    if isinstance(side, AcceptorTable):
        return side
    raise ValueError(
        f"store={store!r} needs rows of finitely many paths, but where this transducer reads nothing it goes on without"
        " end; use store='naive'."
    )


def _deterministic(table: AcceptorTable) -> AcceptorTable:
    """Return acceptors that are all deterministic, themselves where they are."""
    if table.deterministic:
        return table
    made: list[Transducer] = []
    for row, machine in enumerate(table.acceptors()):
        try:
            made.append(determinize(machine))
        except (OverflowError, ValueError) as error:
            raise ValueError(
                f"Row {row} cannot be made deterministic, which store='minimal' needs; use store='naive'. {error}"
            ) from None
    return pack(made)


@jit
def _prefixes(starts, target):  # type: ignore[no-untyped-def]
    """Return how many paths begin at the start of an acyclic machine, the empty one included."""
    ways = np.zeros(starts.shape[0])
    ways[0], total = 1.0, 0.0
    for p in range(starts.shape[0] - 1):
        total += ways[p]
        for arc in range(starts[p], starts[p + 1]):
            ways[target[arc]] += ways[p]
    return total


@jit
def _read(starts, target, labels, weights, finals, lines, tree, stack):  # type: ignore[no-untyped-def]
    """Return whether the stack was large enough, and D(P o W).  stack[k] : state, node, weight of a path."""
    total, height = 0.0, min(1, finals.shape[0])
    stack[0, 0], stack[0, 1], stack[0, 2] = 0.0, 0.0, 1.0
    while height > 0:
        height -= 1
        p, node, v = np.int64(stack[height, 0]), np.int64(stack[height, 1]), stack[height, 2]
        total += v * finals[p] * tree[node]
        if height + starts[p + 1] - starts[p] > stack.shape[0]:
            return False, total
        for arc in range(starts[p], starts[p + 1]):
            at = line_of((node << 32) | np.int64(labels[arc]), lines)
            if lines[at, 0] >= 0:
                stack[height, 0], stack[height, 1], stack[height, 2] = target[arc], lines[at, 1], v * weights[arc]
                height += 1
    return True, total


@jit
def _plant(  # type: ignore[no-untyped-def]
    starts, target, labels, weights, finals, step, lines, tree, nodes, stack, ends, values
):
    """Add a machine times `step` to the tree; return how many nodes it has, and how many of them end a string.

    Those are written into `ends`, with the machine's weights, where there is room.  The stack holds all arcs of a row.
    """
    height, found = min(1, finals.shape[0]), 0
    stack[0, 0], stack[0, 1], stack[0, 2] = 0.0, 0.0, 1.0
    while height > 0:
        height -= 1
        p, node, v = np.int64(stack[height, 0]), np.int64(stack[height, 1]), stack[height, 2]
        if finals[p] != 0.0:
            tree[node] += step * (v * finals[p])
            if ends.shape[0] > 0:
                ends[found], values[found] = node, v * finals[p]
                found += 1
        for arc in range(starts[p], starts[p + 1]):
            key = (node << 32) | np.int64(labels[arc])
            at = line_of(key, lines)
            if lines[at, 0] < 0:
                lines[at, 0], lines[at, 1] = key, nodes
                nodes += 1
            stack[height, 0], stack[height, 1], stack[height, 2] = target[arc], lines[at, 1], v * weights[arc]
            height += 1
    return nodes, found


@jit
def _weigh(nodes, values, tree):  # type: ignore[no-untyped-def]
    """Return the sum of values times the weights of nodes."""
    total = 0.0
    for k in range(nodes.shape[0]):
        total += values[k] * tree[nodes[k]]
    return total


@jit
def _spread(nodes, values, step, tree):  # type: ignore[no-untyped-def]
    """Add values times `step` to the weights of nodes."""
    for k in range(nodes.shape[0]):
        tree[nodes[k]] += step * values[k]
