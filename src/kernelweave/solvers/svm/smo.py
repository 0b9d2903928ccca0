"""Sequential minimal optimisation with shrinking, on a Gram matrix in memory.

Solves the box-constrained dual of `problems.Problem`.  One `step` is a burst of pair steps (`pairs.solve_pairs`) on
the active rows.  Rows that sit at a bound and want to stay there leave the active set; the Gram matrix of those that
remain is copied together, so that the inner loops always run over contiguous memory.  When the active rows are
optimal, all outputs are brought up to date, every row returns, and the certificate is computed.
"""

from __future__ import annotations

import numpy as np

from kernelweave.operators.base import Dense
from kernelweave.solvers.certificate import Ledger, PrimalPoint
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.problems import Array, Problem
from kernelweave.solvers.svm.box import BoxSolver

FIRST_TOLERANCE = 0.05
"""First tolerance of the optimality conditions, as a fraction of their violation at the start."""
SHRINK_BELOW = 0.7
"""The active rows are copied together when fewer than this fraction would remain."""
SAFETY = 0.7
"""The next tolerance aims this far below the gap that is asked for."""


class SMO(BoxSolver):
    """Pair steps over the active rows of a dense Gram matrix."""

    def init(self, problem: Problem, start: Array | None, stop: Stop) -> None:
        """Start with every row active."""
        if not isinstance(problem.operator, Dense):
            raise TypeError(
                "solver='smo' needs the Gram matrix in memory; raise memory_limit or use solver='chunking'."
            )
        super().init(problem, start, stop)
        self.gram = np.ascontiguousarray(problem.operator.gram)
        self.tolerance = FIRST_TOLERANCE * self.violation(self.gains())
        self._activate_all()

    def _activate_all(self) -> None:
        self.rows: Array | None = None
        self.K, self.local_v, self.local_gain = self.gram, self.v, self.gains()

    def step(self) -> None:
        """Run a burst; then shrink, or finish the active rows and return to all of them."""
        rows: Array | slice = slice(None) if self.rows is None else self.rows
        burst = max(1000, 4 * self.local_gain.size)
        violation = self.solve_inner(self.K, rows, self.local_v, self.local_gain, self.tolerance, burst)
        self.optimal = violation <= self.tolerance
        if self.optimal:
            self._gather()
        else:
            self._shrink()

    def _gather(self) -> None:
        """Bring all outputs up to date with the active variables, and make every row active."""
        if self.rows is None:
            # All gains are current; outputs follow from any copy of them.
            self.F = self.box.p[0] - self.local_gain[0] - self.box.ridge * self.v[0] - self.problem.shift * self.v.sum()
        else:
            self.move(self.rows, self.local_v)
            self._activate_all()

    def _shrink(self) -> None:
        rows = np.arange(self.problem.operator.n) if self.rows is None else self.rows
        v, gains = self.local_v, self.local_gain
        grow, fall = v < self.box.high[:, rows], v > self.box.low[:, rows]
        up = np.max(gains, where=grow, initial=-np.inf) if self.problem.free else 0.0
        down = np.min(gains, where=fall, initial=np.inf) if self.problem.free else 0.0
        settled = (~grow & (gains > up)) | (~fall & (gains < down))
        keep = np.flatnonzero(~settled.all(axis=0))
        if not 0 < len(keep) < SHRINK_BELOW * len(rows):
            return
        self._gather()
        self.rows = rows[keep]
        self.K = self.problem.operator.submatrix(self.rows)
        self.local_v, self.local_gain = self.v[:, self.rows], np.ascontiguousarray(self.gains()[:, self.rows])

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Certify while every row is active; once they are optimal, tighten the tolerance in proportion to the gap."""
        if self.rows is not None:
            return {}
        self._gather()
        super().certify(ledger)
        if self.optimal and ledger.gap > self.stop.tol:
            self.tolerance *= float(np.clip(SAFETY * self.stop.tol / ledger.gap, 0.1, 0.5))
        return {}

    def fallback(self) -> PrimalPoint:
        """Return the current point, outputs brought up to date."""
        self._gather()
        return super().fallback()
