"""Coordinate descent with the weight vector kept as an automaton (Allauzen, Cortes and Mohri, Algorithm 2).

    f_i = D(P_i o W),        W <- W + (change of alpha_i) R_i

`rows` says what P and R are, `weights` what W is.  All stores are exact and in double precision; store="indexed" keeps
W as a flat array over numbered strings, which is faster where strings can be numbered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._numba.coordinate import box_step
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.automata.rows import row_machines
from kernelweave.operators.automata.weights import STRING_STORES, Weights
from kernelweave.operators.base import Descent, DescentState


class AutomatonOperator:
    """A kernel of strings bound to training rows, which are automata.

    Parameters
    ----------
    kernel : with strings as features, or a transducer as a whole; `rows.the_leaf` says which
    X : training rows
    store : "trie", "minimal" or "naive": what products go through
    """

    def __init__(self, kernel: Kernel, X: Any, store: str):
        self.rows, self.store, self.n = row_machines(kernel, X), store, len(X)
        self.weights: Weights = STRING_STORES[store](self.rows)

    def diag(self) -> Array:
        """Return the diagonal, (n,)."""
        every = np.arange(self.n)
        return self.rows.pairs(self.rows, every, every)

    def columns(self, rows: Array) -> Array:
        """Return ``K[:, rows]``, (n, len(rows))."""
        return self.rows.block(self.rows[rows], mirrored=False)

    def submatrix(self, rows: Array) -> Array:
        """Return ``K[rows][:, rows]``."""
        some = self.rows[rows]
        return some.block(some, mirrored=some.written is some.read)

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out` through a weight vector of its own."""
        w = self.weights.fresh()
        for row, step in zip(np.asarray(rows).tolist(), np.asarray(steps, np.float64).tolist()):
            w.add(row, step)
        out += [w.look_up(row) for row in range(self.n)]

    def stored(self, store: str) -> Descent:
        """Return a weight vector that is an automaton, for coordinate descent on all rows."""
        return StringDescent(self.weights if store == self.store else STRING_STORES[store](self.rows))


class StringDescent:
    """Steps along rows whose weight vector is an automaton.

    Parameters
    ----------
    weights : W; it becomes that of the last start and of the steps since
    """

    def __init__(self, weights: Weights):
        self.weights, self.n = weights.fresh(), len(weights.rows)

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
        for i in rows.tolist():
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
        """Return ``K @ alpha`` afresh, through another W."""
        w = self.weights.fresh()
        for row in np.flatnonzero(alpha).tolist():
            w.add(row, float(alpha[row]))
        return np.array([w.look_up(row) for row in (range(self.n) if rows is None else rows.tolist())])
