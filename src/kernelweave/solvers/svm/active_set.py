"""Solves the problem of one kernel on rows of any number, by the rounds over parts of `solvers.active.rounds`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelweave.operators.base import product
from kernelweave.solvers.active.rounds import Rounds, Solved
from kernelweave.solvers.certificate import PrimalPoint, afresh
from kernelweave.solvers.choose import choose_svm_solver
from kernelweave.solvers.loop import INNER_ITERATIONS, Stop, run_inside
from kernelweave.solvers.problems import Array, Problem, dot

SAME = 1e-12
"""By how much a multiple of the proof may differ from the classifier, for its energy to be that multiple."""


class ActiveSet(Rounds):
    """Rounds of a master on a working set as large as the support, and of parts that score all rows.

    Parameters
    ----------
    solver : of the master, one of the other solvers; "auto" for the fastest
    first : rows of the first sample; None for what a pilot says
    most : most rows of the working set; None for what fits the memory
    random_state : seed of the samples
    """

    problem: Problem

    def _facts(self, problem: Problem) -> tuple[object, Array]:
        return problem.operator, problem.y

    def _solve(self, rows: Array, tol: float) -> Solved:
        whole = self.problem
        y, cost = whole.y[rows], whole.cost[rows]
        problem = Problem(self.operator.subset(rows), whole.loss, y, cost, whole.intercept, whole.total)
        solver = choose_svm_solver(self.solver, problem).solver
        start = self.proof[rows] if self.round or self.proof.any() else None
        result = run_inside(solver, problem, Stop(tol, INNER_ITERATIONS, polish=False), start=start)
        alpha = result.primal.alpha
        proof = alpha if result.dual is None else result.dual.alpha
        b = float(alpha.sum()) if whole.intercept == "regularized" else float(result.primal.intercept)
        return Solved(alpha, proof, b, np.ones(1), self._bound(problem, alpha, proof))

    def _bound(self, problem: Problem, alpha: Array, proof: Array) -> Callable[[float], float]:
        """Return the dual objective of the proof as a function of the energy of alpha."""
        largest = int(np.argmax(np.abs(proof))) if len(proof) else 0
        times = alpha[largest] / proof[largest] if len(proof) and proof[largest] else 1.0
        if np.allclose(alpha, times * proof, rtol=SAME, atol=0.0) and times:
            return lambda energy: problem.dual(proof, energy / times**2)
        exact = afresh(problem, proof)
        own = dot(proof, product(problem.operator, proof) if exact is None else exact)
        return lambda energy: problem.dual(proof, own)

    def fallback(self) -> PrimalPoint:
        """Return the zero classifier: a run that ends in its first round has nothing better for all rows."""
        zero = np.zeros(self.n)
        return PrimalPoint(zero, 0.0, self.problem.primal(0.0, zero, 0.0))
