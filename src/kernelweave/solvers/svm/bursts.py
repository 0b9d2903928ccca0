"""Sequential minimal optimisation with shrinking, on a Gram matrix in memory.

Solves the box-constrained dual of `problems.Problem`.  One `step` is a burst of pair steps (`pairs.solve_pairs`) on
the active rows.  Rows that sit at a bound and want to stay there leave the active set; the Gram matrix of those that
remain is copied together, so that the inner loops always run over contiguous memory.  When the active rows are
optimal, all outputs are brought up to date, every row returns, and the certificate is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.operators.base import Dense
from kernelweave.solvers.certificate import Ledger, PrimalPoint
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.problems import Array, Problem
from kernelweave.solvers.svm.box import BoxSolver

FIRST_TOLERANCE = 0.05
"""First tolerance of the optimality conditions, as a fraction of their violation at the start."""
FEWEST_STEPS = 1000
BURST = 0.25
"""Steps between two looks at which rows are settled: at least so many, and this fraction of the active variables."""
SHRINK_BELOW = 0.8
"""The active rows are copied together when fewer than this fraction would remain."""
LONGEST_UNSEEN = 20
"""Bursts on few rows after which all outputs are brought up to date for a certificate, so that progress is seen."""
SAFETY = 0.7
"""The next tolerance aims this far below the gap that is asked for."""


class Bursts(BoxSolver):
    """Pairs of variables by second-order choice, with shrinking, on a Gram matrix in memory."""

    known: Array | None = None
    """Outputs of the alpha to start from, where they are known more closely than the matrix gives them."""
    keeps = "tolerance now unseen rows local_v local_gain current optimal"
    limits = Limits(10_000, patience=1000, instead=("newton", "chunking"))

    def init(self, problem: Problem, start: Array | None, stop: Stop) -> None:
        """Start with every row active."""
        if not isinstance(problem.operator, Dense):
            raise TypeError(
                "solver='smo' needs the Gram matrix in memory; raise memory_limit or use solver='chunking'."
            )
        super().init(problem, start, stop)
        self.gram = np.ascontiguousarray(problem.operator.gram)
        self.tolerance = FIRST_TOLERANCE * self.violation(self.gains())
        self.now, self.unseen = self.v.copy(), 0
        self._activate(np.arange(problem.operator.n), self.gains())

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on with the rows that were active."""
        super().resume(state)
        everything = len(self.rows) == self.problem.operator.n
        self.K = self.gram if everything else self.problem.operator.submatrix(self.rows)

    def outputs(self, alpha: Array) -> Array:
        """Return ``K alpha``, or what is known of it."""
        return super().outputs(alpha) if self.known is None else self.known.copy()

    def step(self) -> None:
        """Run a burst; then let settled rows go or, where the active ones are optimal, look at all of them again."""
        burst = max(FEWEST_STEPS, int(BURST * self.local_gain.size))
        violation = self.solve_inner(self.K, self.rows, self.local_v, self.local_gain, self.tolerance, burst)
        self.now[:, self.rows] = self.local_v
        everything = len(self.rows) == self.problem.operator.n
        self.current = violation <= self.tolerance or everything or self.unseen >= LONGEST_UNSEEN
        self.unseen = 0 if self.current else self.unseen + 1
        self.optimal = False
        if self.current:
            self._update_all()
            gains = self.gains()
            self.optimal = self.violation(gains) <= self.tolerance
            self._review(np.arange(self.problem.operator.n), gains)
        else:
            self._review(self.rows, self.local_gain)

    def _update_all(self) -> None:
        """Bring all outputs up to date with the active variables."""
        if len(self.rows) == self.problem.operator.n:
            # All gains are current; outputs follow from any copy of them.
            self.v[:] = self.now
            self.F = self.box.p[0] - self.local_gain[0] - self.box.ridge * self.v[0] - self.problem.shift * self.v.sum()
        else:
            self.move(np.arange(self.problem.operator.n), self.now)

    def _review(self, rows: Array, gains: Array) -> None:
        """Choose the active rows among those given: all but the ones that sit at a bound and want to stay there."""
        v = self.now[:, rows]
        grow, fall = v < self.box.high[:, rows], v > self.box.low[:, rows]
        up = np.max(gains, where=grow, initial=-np.inf) if self.problem.free else 0.0
        down = np.min(gains, where=fall, initial=np.inf) if self.problem.free else 0.0
        settled = (~grow & (gains > up)) | (~fall & (gains < down))
        keep = np.flatnonzero(~settled.all(axis=0))
        few = 0 < len(keep) < SHRINK_BELOW * len(rows)
        if len(rows) > len(self.rows):
            known = np.isin(rows[keep], self.rows, assume_unique=True).all()
            if known and len(keep):
                self.local_gain = np.ascontiguousarray(gains[:, self.rows])
            else:
                self._activate(rows[keep] if few else rows, gains[:, keep] if few else gains)
        elif few and len(rows) < self.problem.operator.n:
            self._set_active(rows[keep], compact(self.K, keep), gains[:, keep])
        elif few:
            self._activate(rows[keep], gains[:, keep])

    def _activate(self, rows: Array, gains: Array) -> None:
        """Copy what belongs to these rows together."""
        everything = len(rows) == self.problem.operator.n
        self._set_active(rows, self.gram if everything else self.problem.operator.submatrix(rows), gains)

    def _set_active(self, rows: Array, K: Array, gains: Array) -> None:
        self.rows, self.K, self.local_v, self.local_gain = rows, K, self.now[:, rows], np.ascontiguousarray(gains)

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Certify while all outputs are current; once optimal, tighten the tolerance in proportion to the gap."""
        if not self.current:
            return {}
        super().certify(ledger)
        if self.optimal and ledger.gap > self.stop.tol:
            self.tolerance *= float(np.clip(SAFETY * self.stop.tol / ledger.gap, 0.1, 0.5))
        if (self.optimal or self.polished) and ledger.gap > self.stop.tol:
            self.now[:] = self.v
            self.local_v, self.local_gain = self.now[:, self.rows], np.ascontiguousarray(self.gains()[:, self.rows])
        return {}

    def fallback(self) -> PrimalPoint:
        """Return the current point, outputs brought up to date."""
        self.bring_up_to_date()
        return super().fallback()

    def bring_up_to_date(self) -> None:
        """Carry what the active rows have reached over to all."""
        self.now[:, self.rows] = self.local_v
        self._update_all()


def compact(K: Array, keep: Array) -> Array:
    """Return ``K[keep][:, keep]`` in the memory of K, which is lost: a copy would touch fresh pages."""
    m = len(keep)
    flat = K.reshape(-1)
    _move_to_front(flat, len(K), keep)
    return flat[: m * m].reshape(m, m)


@jit
def _move_to_front(flat: Array, n: int, keep: Array) -> None:
    """Move the kept entries of an n x n matrix to the front; nothing is overwritten before it was read."""
    m = len(keep)
    for r in range(m):
        source, target = keep[r] * n, r * m
        for c in range(m):
            flat[target + c] = flat[source + keep[c]]
