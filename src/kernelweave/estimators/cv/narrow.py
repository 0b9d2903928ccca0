"""Fits of folds on the few rows that count, where rows have explicit features and most of them lie beyond the margin.

The problem of all rows is solved first, for each value of C in turn.  Its solution says which rows can count in a fold:
the support vectors and those next to the margin.  A fold is then

    1. asked whether its solution for the C before is one for this C, as it is where no variable is at its bound: the
       product that made its outputs says so;
    2. else begun at that solution, moved as the solution of all rows has moved, and solved by a descent along these
       rows alone, which looks at all rows for its certificates, and calls back those that were left out wrongly.

The certificate is that of the fold's own problem, as if it had been solved on all rows.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from kernelweave.operators.base import Linadd, PrimalOperator
from kernelweave.solvers.certificate import Ledger, PrimalPoint, certify
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.problems import Array, Problem, dot
from kernelweave.solvers.svm import DualCoordinate
from kernelweave.solvers.svm.dual_coordinate import Warm

FEWEST = 5000
"""Rows below which a fit takes too little time to be worth this."""
SHARE = 0.8
"""More than this share of the rows is no saving."""
NEARBY = 0.2
"""Share of all rows, those next to the margin, that are taken along with the support vectors."""


class Base(NamedTuple):
    """The solution of all rows: a dual point, its product with the kernel, where its fit goes on, and if it converged.

    The rows of `warm` are those that can count in a fold.
    """

    alpha: Array
    product: Array
    warm: Warm
    interrupted: bool


class Point(NamedTuple):
    """The solution of a fold for one C: a dual point, its product with the kernel, and the solution of all rows."""

    alpha: Array
    product: Array
    base: Array


class Found(NamedTuple):
    """What a fold has found: outputs of all rows with the intercept, whether the gap was closed, and its point."""

    outputs: Array
    converged: bool
    interrupted: bool
    point: Point


class Narrow:
    """Solves problems on one operator on few rows each.

    Parameters
    ----------
    operator : of a kernel whose products go through normal vectors
    solver : one that was never started; every run has a copy
    """

    def __init__(self, operator: PrimalOperator, solver: DualCoordinate):
        self.operator, self.solver = operator, solver

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

    def base(self, problem: Problem, stop: Stop, monitor: Any, former: Base | None) -> Base:
        """Solve the problem of all rows from the solution for a smaller C."""
        if former is not None and _at(problem, former.alpha, former.product).gap <= stop.tol:
            return former
        solver = copy.copy(self.solver)
        found = run(solver, problem, stop, monitor, None if former is None else former.warm)
        (alpha, product), b = solver.offered, float(found.primal.intercept)
        margins, support = problem.y * (product + b), alpha != 0
        many = min(int(np.count_nonzero(support) + NEARBY * len(alpha)), len(alpha) - 1)
        rows = np.flatnonzero((margins <= np.partition(margins, many)[many]) | support)
        if len(rows) > SHARE * len(alpha):
            return Base(alpha, product, Warm(alpha, b), found.interrupted)
        operator: Any = self.operator.narrowed(rows)  # type: ignore[attr-defined]
        operator.descent(None, np.float64)  # what all its descents share is made once
        return Base(alpha, product, Warm(alpha, b, rows, operator), found.interrupted)

    def solve(self, problem: Problem, base: Base, stop: Stop, monitor: Any, former: Point | None) -> Found:
        """Solve the problem of a fold, whose held-out rows cost nothing, from its solution for a smaller C."""
        start = base.alpha
        if former is not None:
            known = _at(problem, former.alpha, former.product)
            if known.gap <= stop.tol:
                assert known.primal is not None
                outputs = _outputs(known.primal, former.alpha, former.product)
                return Found(outputs, True, False, former._replace(base=base.alpha))
            start = former.alpha + (base.alpha - former.base)
        counts = problem.cost > 0
        if base.warm.rows is not None:  # others would rest where they are
            counts &= np.isin(np.arange(len(counts)), base.warm.rows)
        solver, start = copy.copy(self.solver), np.where(counts, start, 0.0)
        found = run(solver, problem, stop, monitor, base.warm._replace(alpha=start))
        outputs = _outputs(found.primal, *solver.offered)
        return Found(outputs, found.converged, found.interrupted, Point(*solver.offered, base.alpha))


def _at(problem: Problem, alpha: Array, product: Array) -> Ledger:
    """Return what a dual point, given its product with the kernel, proves of a problem."""
    ledger = Ledger()
    certify(problem, alpha, product, ledger, rescale=True)
    return ledger


def _outputs(point: PrimalPoint, alpha: Array, product: Array) -> Array:
    """Return the outputs of all rows at a multiple of alpha, intercept included."""
    energy = dot(alpha, alpha)
    return (dot(point.alpha, alpha) / energy if energy > 0 else 1.0) * product + float(point.intercept)
