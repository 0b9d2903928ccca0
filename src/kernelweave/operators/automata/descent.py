"""Coordinate descent with the weight vector kept as an automaton (Allauzen, Cortes and Mohri, section 5).

Features are strings.  A row is the automaton Phi_i of its strings with their values, the weight vector the automaton

    W = sum_i alpha_i Phi_i,        f_i = D(Phi_i o W),        W <- W + (change of alpha_i) Phi_i

    store      W is                                                  f_i costs                       an update costs
    naive      the sum itself: an epsilon arc into each Phi_j        all Phi_j with alpha_j != 0     nothing
    trie       a tree of prefixes with weights on its nodes          the strings of the row          the same
    minimal    the minimal deterministic automaton, changed in       the strings of the row          the prefixes of the
               place (`automata.incremental`)                                                        row and their arcs

All are exact and in double precision; `features` keeps W as a flat array over numbered strings, which is faster.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.coordinate import box_step
from kernelweave._numba.hashing import line_of, move_lines
from kernelweave.automata.intersect import intersection_pairs
from kernelweave.automata.minimal.automaton import MinimalStore
from kernelweave.automata.pack import pack
from kernelweave.automata.trie import trie
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array
from kernelweave.operators.base import Descent, DescentState
from kernelweave.operators.features.vocabulary import Vocabulary

FIRST_LINES = 1 << 10


class StringRows:
    """The strings of every row, sorted, with their values.

    Parameters
    ----------
    kernel : with `Features` that are strings
    X : training rows

    Attributes
    ----------
    strings : (distinct, longest) int32 letters, -1 behind the end
    number : (total,) which string; values : (total,); bounds : (n + 1,)
    """

    def __init__(self, kernel: Features, X: Any):
        found = kernel.counts(X)
        known = Vocabulary(found.codes.shape[1])
        number = known.number(found.codes)
        self.strings = np.ascontiguousarray(kernel.letters(known.codes(), kernel.alphabets(X)), np.int32)
        place = np.empty(known.size, np.int64)
        place[np.lexsort(self.strings.T[::-1])] = np.arange(known.size)
        self.starts = np.asarray(found.starts, np.int64)
        self.n = len(self.starts) - 1
        rows = np.repeat(np.arange(self.n), np.diff(self.starts))
        order = np.lexsort((place[number], rows))
        self.number, self.values = number[order], np.asarray(found.values, np.float64)[order]

    def __getitem__(self, row: int) -> tuple[Array, Array]:
        part = slice(self.starts[row], self.starts[row + 1])
        return self.strings[self.number[part]], self.values[part]


class Weights(Protocol):
    """W, as far as descent needs it."""

    n_arcs: int
    nbytes: int

    def clear(self) -> None:
        """Set W to zero."""

    def look_up(self, row: int) -> float:
        """Return D(Phi_row o W)."""

    def add(self, row: int, step: float) -> None:
        """Add ``step Phi_row`` to W."""


class NaiveWeights:
    """The sum of the rows' automata, kept as its coefficients."""

    def __init__(self, rows: StringRows):
        self.table = pack([trie(*rows[row]) for row in range(rows.n)])
        self.clear()

    def clear(self) -> None:
        """Set W to zero."""
        self.coef = np.zeros(len(self.table))

    def look_up(self, row: int) -> float:
        """Return the sum over j of ``coef_j D(Phi_row o Phi_j)``."""
        support = np.flatnonzero(self.coef)
        each = intersection_pairs(self.table, self.table, np.full(len(support), row), support)
        return float(np.einsum("i,i->", each, self.coef[support]))

    def add(self, row: int, step: float) -> None:
        """Change the weight of one epsilon arc."""
        self.coef[row] += step

    @property
    def n_arcs(self) -> int:
        """Arcs of W: an epsilon arc for each row, and the rows' own."""
        return len(self.table) + len(self.table.labels)

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.coef.nbytes + sum(part.nbytes for part in self.table.arrays)


class TrieWeights:
    """A tree of prefixes; a hash table leads from a node and a letter to the next node."""

    def __init__(self, rows: StringRows):
        self.rows = rows
        self.clear()

    def clear(self) -> None:
        """Set W to zero."""
        self.lines = np.full((FIRST_LINES, 2), -1, np.int64)
        self.weights = np.zeros(FIRST_LINES // 2)
        self.nodes = 1

    def look_up(self, row: int) -> float:
        """Walk down along each string of the row."""
        return float(_read(*self.rows[row], self.lines, self.weights))

    def add(self, row: int, step: float) -> None:
        """Walk down along each string of the row, planting what is missing."""
        strings, values = self.rows[row]
        while self.nodes + strings.size > len(self.weights):
            lines = np.full((2 * len(self.lines), 2), -1, np.int64)
            move_lines(self.lines, lines)
            self.lines, self.weights = lines, np.append(self.weights, np.zeros(len(self.weights)))
        self.nodes = int(_plant(strings, values, step, self.lines, self.weights, self.nodes))

    @property
    def n_arcs(self) -> int:
        """Edges of the tree."""
        return self.nodes - 1

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.lines.nbytes + self.weights.nbytes


class MinimalWeights:
    """The minimal deterministic automaton, changed in place."""

    def __init__(self, rows: StringRows):
        self.rows, self.store = rows, MinimalStore()

    def clear(self) -> None:
        """Set W to zero."""
        self.store.clear()

    def look_up(self, row: int) -> float:
        """Walk down along each string of the row."""
        return self.store.look_up(*self.rows[row])

    def add(self, row: int, step: float) -> None:
        """Change the residuals at the prefixes of the row."""
        self.store.add(*self.rows[row], step)

    @property
    def n_arcs(self) -> int:
        """Arcs of W."""
        return self.store.n_arcs

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.store.nbytes


STRING_STORES: dict[str, type] = {"naive": NaiveWeights, "trie": TrieWeights, "minimal": MinimalWeights}


class StringDescent:
    """Steps along rows whose weight vector is an automaton.

    Parameters
    ----------
    weights : W
    indexed : the same rows over numbered features, for products that do not concern W
    """

    def __init__(self, weights: Weights, indexed: Descent):
        self.weights, self.indexed, self.n = weights, indexed, indexed.n

    @property
    def n_arcs(self) -> int:
        """Size of W."""
        return self.weights.n_arcs

    def start(self, alpha: Array) -> None:
        """Set W to that of alpha."""
        self.weights.clear()
        for row in np.flatnonzero(alpha):
            self.weights.add(int(row), float(alpha[row]))

    def sweep(self, rows: Array, state: DescentState) -> float:
        """Step along each of the rows in turn; return by how much the sum of alpha changed."""
        moved = 0.0
        steps = state.p, state.ridge, state.entropy, state.low, state.high, state.curvature, state.v
        for i in rows:
            f = self.weights.look_up(i) + state.fixed[i] + state.intercept + state.pull * moved
            state.outputs[i] = f
            change = box_step(i, f, *steps)
            if change != 0.0:
                moved += change
                self.weights.add(i, change)
        return float(moved)

    def outputs(self, alpha: Array) -> Array:
        """Return the outputs of every row as W has them."""
        return np.array([self.weights.look_up(row) for row in range(self.n)])

    def product(self, alpha: Array, rows: Array | None = None) -> Array:
        """Return ``K @ alpha`` afresh."""
        return self.indexed.product(alpha, rows)


@jit
def _shared(strings, row):  # type: ignore[no-untyped-def]
    # Letters that a string has in common with the one before it.
    common = 0
    while row > 0 and common < strings.shape[1] and strings[row, common] == strings[row - 1, common] >= 0:
        common += 1
    return common


@jit
def _read(strings, values, lines, weights):  # type: ignore[no-untyped-def]
    longest, total = strings.shape[1], 0.0
    path = np.zeros(longest + 1, np.int64)  # nodes of the last string, -1 below where the tree ended
    for row in range(len(values)):
        depth = _shared(strings, row)
        node = path[depth]
        while depth < longest and strings[row, depth] >= 0:
            if node >= 0:
                node = lines[line_of((node << 32) | np.int64(strings[row, depth]), lines), 1]
            depth += 1
            path[depth] = node
        if node >= 0:
            total += values[row] * weights[node]
    return total


@jit
def _plant(strings, values, step, lines, weights, nodes):  # type: ignore[no-untyped-def]
    longest = strings.shape[1]
    path = np.zeros(longest + 1, np.int64)
    for row in range(len(values)):
        depth = _shared(strings, row)
        node = path[depth]
        while depth < longest and strings[row, depth] >= 0:
            key = (node << 32) | np.int64(strings[row, depth])
            at = line_of(key, lines)
            if lines[at, 0] < 0:
                lines[at, 0], lines[at, 1] = key, nodes
                nodes += 1
            node = lines[at, 1]
            depth += 1
            path[depth] = node
        weights[node] += step * values[row]
    return nodes
