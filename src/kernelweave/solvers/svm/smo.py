"""Sequential minimal optimisation: by bursts on a Gram matrix in memory, by stages where all of it costs too much.

Solves the box-constrained dual of `problems.Problem`.  Where rows are few, or many of them are support vectors, every
`step` is a burst of pair steps on all of them (`bursts`).  Elsewhere kernel values are made on demand (`OnDemand`), and
a step is a stage:

    1. S = the rows with alpha_i other than 0, and those whose gain says that they may not stay at 0;
    2. make the Gram matrix of S; solve the problem of these rows by bursts, from the alpha and the outputs at hand;
    3. F = K alpha on all rows, in double precision, without keeping values; certify.

The first S comes from the solution of every fifth row (and that from a fifth of those): few rows that are no support
vectors in the end are ever looked at, and the memory is that of the support vectors' matrix.  Where not even that fits,
the rows that violate the optimality conditions most are worked on, all others fixed, as in `chunking`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kernelweave.operators.base import OnDemand
from kernelweave.solvers.certificate import Ledger, PrimalPoint, best_intercept
from kernelweave.solvers.loop import Stop, run_inside
from kernelweave.solvers.problems import Array, Problem
from kernelweave.solvers.svm.box import BoxSolver
from kernelweave.solvers.svm.bursts import Bursts

STAGED_FROM, FEW = 15_000, 0.3
"""Rows from which on stages take less time than the Gram matrix of all rows where at most this share of them are
support vectors: a stage makes the values between support vectors and all rows."""
PILOT = 17
"""Every so many rows are solved to tell that share; an odd number, for rows whose classes alternate."""
FEWER, SMALLEST = 5, 2000
"""The first stage starts from every fifth row, if these are so many."""
COARSER, COARSEST = 10.0, 0.01
"""How much less closely a part of the rows is solved, but no more coarsely than this."""
SHARE = 0.5
"""A stage whose rows are all that may count is solved to this share of the gap that is asked for."""
SLACK = 0.02
"""Rows within this share of the present violation of where they would move are taken along."""
CLOSER, MOST_BURSTS = 0.1, 200
"""Rows that are not all that count are solved to this share of their violation, in at most so many bursts."""


class SMO(Bursts):
    """Pairs of variables by second-order choice, on all rows or, where these are many, on those that count."""

    keeps = "staged stages spent"
    staged = False

    def init(self, problem: Problem, start: Array | None, stop: Stop) -> None:
        """Start with every row active, or from the solution of every fifth row."""
        self.spent, self.stages = 0, 0
        self.staged = self._pays(problem, start, stop)
        if not self.staged:
            super().init(problem, start, stop)
            return
        if start is None and problem.total == 0.0 and problem.operator.n >= FEWER * SMALLEST:
            start = self._solved(problem, FEWER, stop)
        BoxSolver.init(self, problem, start, stop)

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on as before: by stages, or by bursts on all rows."""
        if self.staged != state["staged"]:
            self.staged = state["staged"]
            (BoxSolver if self.staged else Bursts).init(self, self.problem, state["v"].sum(axis=0), self.stop)
        (BoxSolver if self.staged else Bursts).resume(self, state)

    def _pays(self, problem: Problem, start: Array | None, stop: Stop) -> bool:
        """Tell whether stages are needed, or few enough rows are support vectors for them to be quicker."""
        operator = problem.operator
        if not isinstance(operator, OnDemand) or operator.most_rows < operator.n:
            return isinstance(operator, OnDemand)
        if operator.n < STAGED_FROM or problem.total != 0.0:
            return False
        alpha = self._solved(problem, PILOT, stop)[::PILOT] if start is None else start
        return bool(np.count_nonzero(alpha) <= FEW * len(alpha))

    def _solved(self, problem: Problem, fewer: int, stop: Stop) -> Array:
        """Return the alpha of every so many rows, solved on their own, as a point of the whole problem."""
        rows = np.arange(0, problem.operator.n, fewer)
        coarse = Stop(max(stop.tol, min(COARSER * stop.tol, COARSEST)), polish=False)
        found = run_inside(SMO(), _part(problem, rows), coarse)
        self.spent += found.n_iter
        alpha = np.zeros(problem.operator.n)
        alpha[rows] = found.primal.alpha if found.dual is None else found.dual.alpha
        return alpha

    def outputs(self, alpha: Array) -> Array:
        """Return ``K alpha``, without keeping kernel values where rows are many."""
        operator = self.problem.operator
        if self.staged and isinstance(operator, OnDemand):
            return operator.fresh_product(alpha)
        return super().outputs(alpha)

    def move(self, rows: Array, v: Array) -> None:
        """Set the variables of some rows and carry the change over to all outputs."""
        if not self.staged:
            super().move(rows, v)
            return
        former = self.alpha
        self.v[:, rows] = v
        change = self.alpha - former
        if np.count_nonzero(change) < np.count_nonzero(self.alpha):
            self.F = self.F + self.outputs(change)
        else:
            self.F = self.outputs(self.alpha)

    def step(self) -> None:
        """Run a burst on all rows, or a stage."""
        if not self.staged:
            super().step()
            return
        rows, all_that_count = self._rows()
        inner, others = Bursts(), float(np.delete(self.alpha, rows).sum())
        inner.known = self.F[rows] + self.problem.shift * others
        part = _part(self.problem, rows, self.problem.total - others)
        if all_that_count:
            share = SHARE if self.stages else min(COARSER, COARSEST / self.stop.tol)
            found = run_inside(inner, part, Stop(max(share, SHARE) * self.stop.tol, polish=False), self.alpha[rows])
            self.spent += found.n_iter
        else:
            self._relax(inner, part, self.alpha[rows])
        self.stages += 1
        self.move(rows, inner.v)

    def _relax(self, inner: Bursts, part: Problem, start: Array) -> None:
        """Improve some rows, all others fixed: there is no gap of these alone, so their violation is what counts."""
        inner.init(part, start, Stop(self.stop.tol, polish=False))
        inner.tolerance = CLOSER * inner.violation(inner.gains())
        for _ in range(MOST_BURSTS):
            inner.step()
            self.spent += 1
            if inner.optimal:
                return
        inner.bring_up_to_date()

    def _rows(self) -> tuple[Array, bool]:
        """Return the rows to work on, and whether they are all that have a share in the solution, as far as known."""
        gains = self.gains()
        push = gains - (best_intercept(self.problem, self.F, self.alpha) if self.problem.free else 0.0)
        slack = SLACK * self.violation(gains)
        v, low, high = self.v, self.box.low, self.box.high
        resting = ((v <= low) & (push < -slack)) | ((v >= high) & (push > slack))
        rows = np.flatnonzero(~np.all(resting & (v == 0.0), axis=0))
        assert isinstance(self.problem.operator, OnDemand)
        most = max(2, self.problem.operator.most_rows)
        if len(rows) <= most:
            return (rows, True) if len(rows) else (np.arange(min(most, self.problem.operator.n)), False)
        grow = np.max(push, axis=0, where=v < high, initial=-np.inf)
        fall = np.max(-push, axis=0, where=v > low, initial=-np.inf)
        # A pair step needs variables of both kinds.
        order = np.concatenate([np.argsort(-grow, kind="stable")[: most // 2], np.argsort(-fall, kind="stable")])
        first = np.unique(order, return_index=True)[1]
        return np.sort(order[np.sort(first)[:most]]), False

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Certify while all outputs are current; those of a stage always are, and in double precision."""
        return BoxSolver.certify(self, ledger) if self.staged else super().certify(ledger)

    def prove(self, ledger: Ledger) -> None:
        """Certify in double precision, which stages do anyway."""
        if not self.staged:
            super().prove(ledger)

    def fallback(self) -> PrimalPoint:
        """Return the current point, outputs brought up to date."""
        return BoxSolver.fallback(self) if self.staged else super().fallback()


def _part(problem: Problem, rows: Array, total: float | None = None) -> Problem:
    """Return the problem of some rows."""
    assert isinstance(problem.operator, OnDemand)
    return replace(
        problem, operator=problem.operator.restricted(rows), y=problem.y[rows], cost=problem.cost[rows],
        total=problem.total if total is None else total,
    )  # fmt: skip
