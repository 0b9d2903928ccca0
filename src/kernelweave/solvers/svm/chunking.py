"""Decomposition with large working sets: for Gram matrices that do not fit, and fast on those that do.

Solves the box-constrained dual of `problems.Problem` (Joachims, 1999; paper Algorithm 3 with a kernel in the place of
the sparse normal vector).  One `step`:

    1. choose Q rows: half of them kept, half new, those that violate the optimality conditions most in each direction;
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

NOT_URGENT = float(np.finfo(float).min)
"""Of a row that cannot move; still above a row that is already chosen, so that none is chosen twice."""


class Chunking(BoxSolver):
    """Working sets of Q rows, solved one after the other.

    Parameters
    ----------
    chunk_size : Q, at least 2
    """

    def __init__(self, chunk_size: int = CHUNK):
        if chunk_size < 2:
            raise ValueError(f"chunk_size={chunk_size!r} must be at least 2: a step moves two rows.")
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
        """Return the rows to work on: with them, always, the variables that violate the conditions most."""
        n = self.problem.operator.n
        q = min(self.chunk_size, n)
        if q == n:
            return np.arange(n)
        room = min(int(KEPT * q), q - 2)
        rows = self.rows[len(self.rows) - min(room, len(self.rows)) :]
        grow = np.max(gains, axis=0, where=self.v < self.box.high, initial=NOT_URGENT)
        fall = np.max(-gains, axis=0, where=self.v > self.box.low, initial=NOT_URGENT)
        if not self.problem.free:
            return _add_best(rows, np.maximum(grow, fall), q)
        # A step moves two variables in opposite directions: both kinds must be there.
        return _add_best(_add_best(rows, grow, (len(rows) + q) // 2), fall, q)


def _add_best(rows: Array, urgency: Array, size: int) -> Array:
    """Return the rows and, up to the given size, the most urgent of the others."""
    urgency[rows] = -np.inf
    first = len(urgency) - (size - len(rows))
    return np.concatenate([rows, np.argpartition(urgency, first)[first:]])
