"""Working sets over rows of any number, for one kernel; see `rounds`."""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.active.rounds import Rounds, Solved, points
from kernelweave.solvers.certificate import Ledger, PrimalPoint
from kernelweave.solvers.choose import choose_svm_solver
from kernelweave.solvers.loop import INNER_ITERATIONS, Stop, run_inside
from kernelweave.solvers.problems import Array, Problem


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
        start = self.alpha[rows] if self.round else None
        result = run_inside(solver, problem, Stop(tol, INNER_ITERATIONS, polish=False), start=start)
        alpha = (result.dual or result.primal).alpha
        linear = whole.loss.dual_term(alpha, y, cost)
        if whole.intercept == "regularized":
            linear -= 0.5 * float(alpha.sum()) ** 2
        return Solved(alpha, float(result.primal.intercept), np.ones(1), linear)

    def _dual(self, solved: Solved, energy: float) -> float:
        return solved.linear - 0.5 * energy

    def _offer(self, ledger: Ledger, primal: float, dual: float) -> None:
        better, proof = points(self.alpha, self.solved.intercept, primal, dual, None)
        ledger.offer(primal=better, dual=proof)

    def fallback(self) -> PrimalPoint:
        """Return the zero classifier: a run that ends in its first round has nothing better for all rows."""
        zero = np.zeros(self.n)
        return PrimalPoint(zero, 0.0, self.problem.primal(0.0, zero, 0.0))
