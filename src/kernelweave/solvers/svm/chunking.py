"""Decomposition with large working sets: for Gram matrices that do not fit, and fast on those that do.

Solves the box-constrained dual of `problems.Problem` (Joachims, 1999; paper Algorithm 3 with a kernel in the place of
the sparse normal vector).  One `step`:

    1. choose Q rows: half of them new (the variables that violate the optimality conditions most), half kept;
    2. solve the quadratic programme of those rows, all others fixed, by pair steps on their Q x Q matrix in cache;
    3. carry the change over to all outputs: F += K[:, W] delta   (`Operator.add_to`).
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.loop import Stop
from kernelweave.solvers.problems import Array, Problem
from kernelweave.solvers.svm.box import BoxSolver

CHUNK = 512
"""Default Q: a matrix of this size in single precision fits the second-level cache."""
INNER_ACCURACY = 0.1
"""The inner problem is solved to this fraction of the outer violation."""
INNER_STEPS = 100
"""Most inner steps per row of the working set."""
KEPT = 0.5
"""Share of the former working set that stays for another round."""


class Chunking(BoxSolver):
    """Working sets of Q rows, solved one after the other.

    Parameters
    ----------
    chunk_size : Q
    """

    def __init__(self, chunk_size: int = CHUNK):
        self.chunk_size = chunk_size

    def init(self, problem: Problem, start: Array | None, stop: Stop) -> None:
        """Start without a former working set."""
        super().init(problem, start, stop)
        self.rows = np.empty(0, dtype=np.int64)

    def step(self) -> None:
        """Choose rows, solve their programme, update all outputs."""
        gains = self.gains()
        violation = self.violation(gains)
        self.rows = self._choose(gains)
        K = self.problem.operator.submatrix(self.rows)
        v = np.ascontiguousarray(self.v[:, self.rows])
        local = np.ascontiguousarray(gains[:, self.rows])
        self.solve_inner(K, self.rows, v, local, INNER_ACCURACY * violation, INNER_STEPS * len(self.rows))
        self.move(self.rows, v)

    def _choose(self, gains: Array) -> Array:
        n = self.problem.operator.n
        q = min(self.chunk_size, n)
        if q == n:
            return np.arange(n)
        kept = self.rows[-int(KEPT * q) :] if len(self.rows) == q else self.rows
        wanted = q - len(kept)
        urgency = self._urgency(gains)
        urgency[kept] = -np.inf
        new = np.argpartition(urgency, n - wanted)[n - wanted :]
        return np.concatenate([kept, new])

    def _urgency(self, gains: Array) -> Array:
        """Return for each row how strongly one of its variables wants to move."""
        centre = self.middle(gains) if self.problem.free else 0.0
        grow = np.where(self.v < self.box.high, gains - centre, -np.inf)
        fall = np.where(self.v > self.box.low, centre - gains, -np.inf)
        return np.maximum(grow, fall).max(axis=0)
