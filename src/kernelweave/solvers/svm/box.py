"""What the solvers of box-constrained duals share: variables, outputs, start, gains, working-set solves.

    min over v   1/2 a'(K + shift) a + 1/2 sum ridge v^2 - sum p v,     low <= v <= high,     a = v.sum(axis=0),
                 sum v = total for a free intercept

Letters: v (copies, n) dual variables, alpha = v.sum(axis=0), F = K alpha, gain = p - F - shift sum(alpha) - ridge v.
"""

from __future__ import annotations

import numpy as np

from kernelweave.losses import BoxQP
from kernelweave.operators.base import product
from kernelweave.solvers.certificate import SHIFT, Ledger, PrimalPoint, afresh, certify
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.problems import Array, Problem
from kernelweave.solvers.state import Resumable
from kernelweave.solvers.svm.pairs import solve_pairs, solve_single
from kernelweave.solvers.svm.polish import polish

NEARLY = 4.0
"""Within so many tolerances of the goal, the best intercept is searched for each certificate."""
FINE, FINER = 1e-5, 0.1
"""Gap from which on a goal below it is reached sooner by an exact solution of the free variables than by further steps,
and the share of the gap that must be left before it is tried again."""


class BoxSolver(Resumable):
    """State of a box-constrained dual problem; subclasses choose what to work on in `step`."""

    keeps = "v F exact_from polished"

    problem: Problem
    box: BoxQP
    v: Array
    F: Array

    def init(self, problem: Problem, start: Array | None, stop: Stop) -> None:
        """Start from `start` (alpha, clipped into the box) or from the simplest feasible point."""
        box = problem.loss.box(problem.y, problem.cost)
        if box is None:
            raise TypeError(f"{problem.loss.name} loss has no box-constrained dual; use solver='newton'.")
        self.problem, self.box, self.stop = problem, box, stop
        self.diag = problem.operator.diag()
        self.v = box.split(np.zeros(problem.operator.n) if start is None else np.asarray(start, dtype=float))
        if problem.free:
            balance(self.v, box, problem.total)
        self.F = self.outputs(self.alpha)
        self.exact_from, self.polished = FINE, False

    @property
    def alpha(self) -> Array:
        """Signed dual variables, one a row."""
        return self.v.sum(axis=0)

    def outputs(self, alpha: Array) -> Array:
        """Return ``K alpha``."""
        return product(self.problem.operator, alpha)

    def gains(self) -> Array:
        """Return the derivative of the dual objective in each variable, (copies, n)."""
        outputs = self.F + self.problem.shift * self.v.sum()
        return self.box.p - outputs - self.box.ridge * self.v

    def violation(self, gains: Array) -> float:
        """Return how far the optimality conditions are from holding, in units of the outputs."""
        growing = np.max(gains, where=self.v < self.box.high, initial=-np.inf)
        falling = np.min(gains, where=self.v > self.box.low, initial=np.inf)
        return float(growing - falling) if self.problem.free else float(max(growing, -falling, 0.0))

    def middle(self, gains: Array) -> float:
        """Return the gain that divides variables that should grow from those that should fall: an intercept."""
        if not self.problem.free:
            return float(self.problem.shift * self.v.sum())
        growing = float(np.max(gains, where=self.v < self.box.high, initial=-np.inf))
        falling = float(np.min(gains, where=self.v > self.box.low, initial=np.inf))
        ends = [end for end in (growing, falling) if np.isfinite(end)]
        return sum(ends) / max(1, len(ends))

    def solve_inner(self, K: Array, rows: Array | slice, v: Array, gain: Array, tolerance: float, steps: int) -> float:
        """Improve local copies of some variables and their gains; return the violation among them."""
        low, high = np.ascontiguousarray(self.box.low[:, rows]), np.ascontiguousarray(self.box.high[:, rows])
        diag, ridge = self.diag[rows], self.box.ridge[rows]
        if self.problem.free:
            return float(solve_pairs(K, diag, ridge, low, high, tolerance, steps, v, gain)[1])
        return float(solve_single(K, diag, ridge, low, high, self.problem.shift, tolerance, steps, v, gain)[1])

    def move(self, rows: Array, v: Array) -> None:
        """Set the variables of some rows and carry the change over to all outputs."""
        change = v.sum(axis=0) - self.v[:, rows].sum(axis=0)
        moved = np.flatnonzero(change)
        self.problem.operator.add_to(self.F, rows[moved], change[moved])
        self.v[:, rows] = v

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer alpha on both sides; on the way to a fine goal, solve for the free variables where they are few."""
        certify(self.problem, self.alpha, self.F, ledger, guess=self.middle(self.gains()))
        if ledger.gap <= NEARLY * self.stop.tol:
            certify(self.problem, self.alpha, self.F, ledger, rescale=self.stop.polish and ledger.gap > self.stop.tol)
        self.polished = self.stop.tol < ledger.gap <= self.exact_from and polish(self)
        if self.polished:
            certify(self.problem, self.alpha, self.F, ledger)
            self.exact_from = FINER * ledger.gap
        if ledger.gap <= self.stop.tol and self.stop.polish:
            self.prove(ledger)
        return {}

    def prove(self, ledger: Ledger) -> None:
        """Where kernel values were rounded, certify once more in double precision; if the gap opens, work goes on."""
        guess = self.middle(self.gains())
        outputs = afresh(self.problem, self.alpha, self.F, guess)
        while outputs is not None:
            self.F, outputs = outputs, None
            ledger.clear()
            certify(self.problem, self.alpha, self.F, ledger)
            assert ledger.primal is not None
            if abs(float(ledger.primal.intercept) - guess) > SHIFT:  # rows that were passed over may count after all
                guess, outputs = float(ledger.primal.intercept), afresh(self.problem, self.alpha)

    def fallback(self) -> PrimalPoint:
        """Return the current point."""
        ledger = Ledger()
        certify(self.problem, self.alpha, self.F, ledger)
        assert ledger.primal is not None
        return ledger.primal


def balance(v: Array, box: BoxQP, total: float) -> None:
    """Change v, inside its box, until it adds up to `total`."""
    excess = v.sum() - total
    if excess > 0:
        _shrink(v, v > 0, excess)
    elif total == 0:
        _shrink(v, v < 0, -excess)
    else:
        _fill(v, box.high, -excess)


def _shrink(v: Array, side: Array, amount: float) -> None:
    """Draw the variables of one sign towards zero until their sum has changed by `amount`."""
    size = np.abs(v[side]).sum()
    if size > 0:
        v[side] *= max(0.0, 1.0 - amount / size)


def _fill(v: Array, high: Array, amount: float) -> None:
    """Raise variables to their upper bounds, first ones first, until their sum has grown by `amount`."""
    room = (high - v).ravel()
    before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
    v += np.clip(amount - before, 0.0, room).reshape(v.shape)
