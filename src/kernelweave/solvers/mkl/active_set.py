"""Solves the problem of many kernels on rows of any number, by the rounds over parts of `solvers.active.rounds`.

The master learns alpha and beta on its rows.  The energies ``q_k = alpha'K_k alpha`` need the support rows only, so the
master knows them; parts score with the weighted sum of the kernels, as they do with one.
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.active.rounds import Rounds, Solved
from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.choose import choose_mkl_solver
from kernelweave.solvers.loop import INNER_ITERATIONS, Stop, run_inside
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array


class ActiveSetMKL(Rounds):
    """Rounds of a master that learns weights on a working set as large as the support, and of parts that score all.

    Parameters
    ----------
    solver : of the master, another solver for many kernels, such as "hessian" or "silp_chunking"; "auto" for the
        fastest
    first : rows of the first sample; None for what a pilot says
    most : most rows of the working set; None for what fits the memory
    random_state : seed of the samples
    """

    problem: MKLProblem
    coarsest = 0.1  # each step on the weights solves an SVM: before the set holds the support they need not be close

    def _facts(self, problem: MKLProblem) -> tuple[object, Array]:
        return problem.operators, problem.targets[0]

    def _solve(self, rows: Array, tol: float) -> Solved:
        whole = self.problem
        operators = self.operator.subset(rows)
        problem = MKLProblem(
            operators, whole.loss, whole.targets[:, rows], whole.cost[rows], whole.ball, whole.intercept, whole.total
        )
        solver = choose_mkl_solver(self.solver, problem).solver
        start = None
        if self.beta is not None:
            start = PrimalPoint(self.proof[rows][None], np.zeros(1), np.inf, self.beta)
        result = run_inside(solver, problem, Stop(tol, INNER_ITERATIONS, polish=False), start=start)
        alpha = np.atleast_2d(result.primal.alpha)
        proof = alpha if result.dual is None else np.atleast_2d(result.dual.alpha)
        beta, b = np.asarray(result.primal.beta), float(np.atleast_1d(result.primal.intercept)[0])
        self.beta, bound = beta, problem.dual(proof, problem.energies(proof))
        b = float(alpha.sum()) if whole.intercept == "regularized" else b
        return Solved(alpha[0], proof[0], b, beta, lambda energy: bound)

    def fallback(self) -> PrimalPoint:
        """Return the zero classifier with equal weights."""
        return self.problem.nothing()
