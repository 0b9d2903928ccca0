"""Entropy-smoothed multiple kernel learning (Xu et al. 2010) by accelerated projected gradients.

The maximum over kernels in the dual (p = 1) is replaced by a soft maximum, which keeps complementary kernels:

    min over alpha   f(alpha) = -d(alpha) + (lambda/2) ln (1/m) sum_k exp(q_k(alpha) / lambda)
    over the box of the loss and, for a free intercept, sum alpha = e.

In the end the classifier is the SVM of the weights ``theta_k ~ exp(q_k / lambda)``.  Two schedules lead to the same
optimum: "paper" is Algorithm 2 of Xu et al., with its rule for lambda (`paper`); "adaptive" is FISTA with backtracking
and restart (`adaptive`), for which their rate is not claimed.

This is another problem than the common one, and it certifies its own: weak duality holds between

    -f(alpha)   and   SVM primal of theta  +  (lambda/2) sum_k theta_k ln (m theta_k).

The entropy is taken relative to equal weights, the 1/m and the m above, which adds (lambda/2) ln m to both sides and
changes no solution: what smoothing adds then is never negative, so that a relative gap means the same as elsewhere, and
the smoothed optimum lies above the exact one by at most (lambda/2) ln m.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint
from kernelweave.solvers.choose import choose_svm_solver
from kernelweave.solvers.loop import INNER_ITERATIONS, Limits, Stop, limits_of, run_inside
from kernelweave.solvers.mkl.gradient.smooth.adaptive import FastGradient
from kernelweave.solvers.mkl.gradient.smooth.objective import SmoothedDual
from kernelweave.solvers.mkl.gradient.smooth.paper import Constants, NesterovSteps
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array
from kernelweave.solvers.state import Resumable
from kernelweave.solvers.svm.box import balance

SMOOTHING = 0.1
"""Default lambda, as a share of the energy that equal weights give the largest kernel at the start."""
CHECK_EVERY = 10
"""Gradient steps between two certificates."""
SCHEDULES, CONSTANTS = ("adaptive", "paper"), ("measured", "corollary")
FIRST_TOL = {"adaptive": 0.05, "paper": 1e-3}
"""Gap to which the SVM of equal weights is solved for the start."""
STEPS = 500
"""N of the schedule "paper" by default: the most iterations in the experiments of Xu et al."""


class Smooth(Resumable):
    """Accelerated projected gradients on the entropy-smoothed dual, which keeps complementary kernels.

    Parameters
    ----------
    smoothing : lambda, in units of the energies ``q_k = alpha' K_k alpha``; None for a tenth of the largest one at the
        SVM of equal weights ("adaptive"), or for the rule of the paper ("paper")
    schedule : "adaptive" (FISTA with backtracking and restart) or "paper" (Algorithm 2 of Xu et al.)
    steps : N, the length of a run of the sequences, on which lambda depends ("paper")
    lipschitz : "measured", or "corollary" for the constant of Corollary 3 ("paper")
    """

    keeps = (
        "spent objective.lam way.v way.value way.gradient way.lipschitz way.ahead way.momentum way.ahead_value "
        "way.ahead_gradient way.centre way.alpha way.total way.k"
    )
    limits = Limits(1000, inside=20_000, patience=100)
    problem: MKLProblem

    def __init__(
        self,
        smoothing: float | None = None,
        schedule: str = "adaptive",
        steps: int = STEPS,
        lipschitz: str = "measured",
    ):
        if smoothing is not None and not smoothing > 0:
            raise ValueError(f"smoothing={smoothing!r} must be a positive number, or None for a share of the energies.")
        for name, value, known in (("schedule", schedule, SCHEDULES), ("lipschitz", lipschitz, CONSTANTS)):
            if value not in known:
                raise ValueError(f"{name}={value!r} is unknown; choose {known[0]!r} or {known[1]!r}.")
        if steps < 1:
            raise ValueError(f"steps={steps!r} must be at least 1.")
        self.smoothing, self.schedule, self.steps, self.lipschitz = smoothing, schedule, int(steps), lipschitz

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from the SVM of equal weights, or from a former alpha."""
        box = problem.loss.box(problem.targets[0], problem.cost)
        if box is None:
            raise TypeError(f"solver='smooth' needs a loss with a box-constrained dual, not {problem.loss.name}.")
        self.problem, self.stop, self.spent = problem, stop, 0
        constants = Constants.of(problem, box) if self.schedule == "paper" else None
        ruled = constants is not None and constants.m > 1
        first = self._first_alpha() if start is None or not (self.smoothing or ruled) else None
        lam = self.smoothing or self._smoothing(constants if ruled else None, first)
        alpha = first if start is None else np.asarray(start.alpha, dtype=float).reshape(-1)
        assert alpha is not None
        v = box.split(alpha)
        if problem.intercept == "free":
            balance(v, box, problem.total)
        self.objective = SmoothedDual(problem, box, float(lam))
        if constants is None:
            self.way: FastGradient | NesterovSteps = FastGradient(self.objective, v)
        else:
            self.way = NesterovSteps(self.objective, v, constants, self.steps, self.lipschitz == "measured")

    def _smoothing(self, constants: Constants | None, first: Array | None) -> float:
        """Return lambda by the rule of the paper, or as a share of the energies at equal weights.

        The latter whatever the start: a warm start must not change the problem.
        """
        if constants is not None:
            return constants.smoothing(self.steps)
        assert first is not None
        return float(SMOOTHING * self.problem.energies(first[None, :]).max() or 1.0)

    def _first_alpha(self) -> Array:
        uniform = self.problem.ball.uniform(self.problem.operators.m)
        (svm,) = self.problem.outputs(self.problem.operators.combined(uniform))
        stop = Stop(FIRST_TOL[self.schedule], polish=False)
        result = run_inside(choose_svm_solver("auto", svm).solver, svm, stop)
        return result.primal.alpha if result.dual is None else result.dual.alpha

    def step(self) -> None:
        """Do a few gradient steps."""
        for _ in range(CHECK_EVERY):
            self.way.step()

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer the smoothed dual value, and the SVM of the current weights as a smoothed primal point."""
        alpha, lam = self.way.v.sum(axis=0), self.objective.lam
        ledger.offer(dual=DualPoint(alpha[None, :], -self.way.value))
        theta = self.objective.theta(alpha)
        (svm,) = self.problem.outputs(self.problem.operators.combined(theta))
        solver, stop = choose_svm_solver("auto", svm).solver, Stop(0.2 * self.stop.tol, INNER_ITERATIONS, polish=False)
        result = run_inside(solver, svm, stop, start=alpha)
        self.spent += limits_of(solver).effort * result.n_iter
        point = result.primal
        entropy = 0.5 * lam * float(xlogy(theta, len(theta) * theta).sum())
        ledger.offer(
            primal=PrimalPoint(point.alpha[None, :], np.array([point.intercept]), point.value + entropy, theta)
        )
        return {"smoothing": lam, "lipschitz": self.way.lipschitz}

    def fallback(self) -> PrimalPoint:
        """Return the zero classifier."""
        return self.problem.nothing()
