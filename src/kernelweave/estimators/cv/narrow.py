"""Fits of folds on the few rows that count, where rows have explicit features and most of them lie beyond the margin.

The problem of all rows is solved first, for each value of C in turn.  Its solution says which rows can count in a fold:
the support vectors and those next to the margin.  A fold is then

    1. solved on these rows, from the solution of all rows, without what the fold holds out;
    2. certified on all rows: one product gives the gap, and the outputs of the rows held out;
    3. where the gap is open, solved again with the rows that violate it.

The certificate is that of the fold's own problem, as if it had been solved on all rows.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kernelweave.operators.base import Descent, Linadd, PrimalOperator
from kernelweave.solvers.certificate import Ledger, certify
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.problems import Array, Problem, dot
from kernelweave.solvers.svm import DualCoordinate

FEWEST = 5000
"""Rows below which a fit takes too little time to be worth this."""
SHARE = 0.6
"""More than this share of the rows is no saving."""
TIMES = 2.5
"""Rows that are taken along, relative to the support vectors."""
CLOSER = 0.5
"""Share of the tolerance to which the rows that count are solved: the others are certified with them."""
NEXT = 0.1
"""Rows that violate a certificate by less than this are taken along too."""
ROUNDS = 12


class Base(NamedTuple):
    """The solution of all rows: its dual point, the rows that can count, and the kernel on these."""

    alpha: Array
    rows: Array
    operator: Any


class Found(NamedTuple):
    """The solution of a fold: outputs of all rows with the intercept, and whether the gap was closed."""

    outputs: Array
    converged: bool
    interrupted: bool


class Narrow:
    """Solves problems on one operator on few rows each.

    Parameters
    ----------
    operator : of a kernel whose products go through normal vectors
    solver : one that was never started; every run has a copy
    """

    def __init__(self, operator: PrimalOperator, solver: DualCoordinate):
        self.operator, self.solver = operator, solver
        self.full: Descent = operator.descent(None, np.float64)

    @classmethod
    def of(cls, problem: Problem, solver: Any) -> Narrow | None:
        """Return what solves the folds of a problem; None where this is not the way."""
        operator, loss = problem.operator, problem.loss
        suits = loss.sparse and loss.task == "classification" and operator.n >= FEWEST
        if not (suits and isinstance(solver, DualCoordinate) and solver.store == "indexed"):
            return None
        if not (isinstance(operator, Linadd) and isinstance(operator, PrimalOperator)):
            return None
        return cls(operator, solver)

    def base(self, problem: Problem, stop: Stop, monitor: Any, start: Array | None) -> tuple[Base, bool]:
        """Solve the problem of all rows from the solution for a smaller C; return it, and whether it was stopped."""
        found = run(copy.copy(self.solver), problem, stop, monitor, start)
        alpha = problem.restart(found.primal, found.dual)
        f = self.full.product(alpha) + float(found.primal.intercept)
        margins, support = problem.y * f, alpha != 0
        many = min(int(TIMES * np.count_nonzero(support)), len(alpha) - 1)
        rows = np.flatnonzero((margins <= np.partition(margins, many)[many]) | support)
        operator = None
        if len(rows) <= SHARE * len(alpha):
            operator = self.operator.narrowed(rows)  # type: ignore[attr-defined]
            operator.descent(None, np.float64)  # what all its descents share is made once
        return Base(alpha, rows, operator), found.interrupted

    def solve(self, problem: Problem, base: Base, stop: Stop, monitor: Any) -> Found:
        """Solve the problem of a fold, whose held-out rows cost nothing."""
        start = np.where(problem.cost > 0, base.alpha, 0.0)
        if base.operator is None:
            return self._whole(problem, stop, monitor, start)
        rows, operator = base.rows, base.operator
        inner = replace(stop, tol=CLOSER * stop.tol)
        for _ in range(ROUNDS):
            part = replace(problem, operator=operator, y=problem.y[rows], cost=problem.cost[rows])
            found = run(copy.copy(self.solver), part, inner, monitor, start[rows])
            alpha = np.zeros(len(start))
            alpha[rows] = part.restart(found.primal, found.dual)
            product, ledger = self.full.product(alpha), Ledger()
            certify(problem, alpha, product, ledger, rescale=True)
            assert ledger.primal is not None
            b, energy = float(ledger.primal.intercept), dot(alpha, alpha)
            outputs = (dot(ledger.primal.alpha, alpha) / energy if energy > 0 else 1.0) * product + b
            if ledger.gap <= stop.tol or found.interrupted:
                return Found(outputs, ledger.gap <= stop.tol, found.interrupted)
            nearby = [problem.loss.value(product + b + step, problem.y) for step in (-NEXT, NEXT)]
            missing = (np.maximum(*nearby) > 0) & (problem.cost > 0)
            missing[rows] = False
            if not missing.any():
                inner = replace(inner, tol=CLOSER * inner.tol)
            else:
                rows = np.sort(np.concatenate([rows, np.flatnonzero(missing)]))
                operator = self.operator.narrowed(rows)  # type: ignore[attr-defined]
            start = alpha
        return self._whole(problem, stop, monitor, start)

    def _whole(self, problem: Problem, stop: Stop, monitor: Any, start: Array) -> Found:
        found = run(copy.copy(self.solver), problem, stop, monitor, start)
        outputs = self.full.product(found.primal.alpha) + float(found.primal.intercept)
        return Found(outputs, found.converged, found.interrupted)
