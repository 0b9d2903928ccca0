"""lp-norm multiple kernel learning by closed-form weights (Kloft et al. 2011), for every p >= 1.

    min over beta   J(beta),     beta >= 0, |beta|_p <= 1,     J the optimum of the SVM of sum_k beta_k K_k (`problem`)

Alternates between the SVM of the current weights, solved only as well as the gap can use, and the weights that are
optimal for its classifier,

    |w_k| = beta_k sqrt(q_k),      beta_k = |w_k|^(2/(p+1)) / (sum_j |w_j|^(2p/(p+1)))^(1/p).

The primal objective falls with every alternation.  In x = ln beta an alternation is a step ``x + r(x)`` of a fixed
point iteration, which shrinks r by a factor of about 2 / (p + 1) only.  For finite p > 1 the steps are therefore taken
twice as long and extrapolated from those before (Anderson 1965, with the weights beta^p in its least squares); where
the objective rises all the same, the next step is a plain alternation from the best weights.
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.mkl.weights.nested import nested
from kernelweave.solvers.mkl.weights.wrapper import Evaluation, Wrapper
from kernelweave.solvers.problems import TINY, Array

MEMORY = 4
"""Former steps that the next one is extrapolated from."""
LONGER = 2.0
"""Length of a step, as a multiple of the plain alternation; three times as long it may swing to and fro."""
FARTHEST = 6.0
"""Most by which the logarithm of a weight changes in one step."""
INDEPENDENT = 1e-8
"""Share of the largest singular value below which changes of r count as a combination of the others."""
LEAST = 1e-3
"""Share of equal weights that each kernel keeps at the start from fewer rows: from zero no alternation comes back."""
RISEN = 1e-12
"""Relative rise of the objective that counts as rounding."""


class LpNorm(Wrapper):
    """Closed-form weights between support vector machines (block coordinate descent), extrapolated."""

    keeps = "base daring points residuals"

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start without former steps, from the solution of some of the rows where there is no other start."""
        known = start if start is not None else nested(LpNorm, problem, stop)
        super().init(problem, known, stop)
        if known is not start:
            least = LEAST * problem.ball.uniform(problem.operators.m)
            self.beta = problem.ball.scaled(np.maximum(self.beta, least))
        self.base: Evaluation | None = None
        self.daring = False
        self.points: list[Array] = []
        self.residuals: list[Array] = []

    def step(self) -> None:
        """Solve the SVM, then set the weights."""
        self.now = self.evaluate(self.beta)
        # After a plain alternation a rise is the SVM's inaccuracy: go on from there.
        risen = self.daring and self.base is not None and self.now.value > self.base.value * (1.0 + RISEN)
        base = self.now if self.base is None or not risen else self.base
        norms = base.beta * np.sqrt(np.maximum(base.q, 0.0))
        plain, p = self.problem.ball.minimizer(norms), self.problem.ball.p
        self.base, self.daring = base, not (risen or p == 1.0 or np.isinf(p))
        if self.daring:
            self.beta = self.problem.ball.scaled(self._extrapolated(base.beta, plain))
        else:
            self.points, self.residuals, self.beta = [], [], plain

    def _extrapolated(self, beta: Array, plain: Array) -> Array:
        """Return the weights, up to scale, that the steps so far point to."""
        weight = np.sqrt(beta**self.problem.ball.p)
        x, r = np.log(np.maximum(beta, TINY)), np.log(np.maximum(plain, TINY)) - np.log(np.maximum(beta, TINY))
        self.points, self.residuals = [*self.points[-MEMORY:], x], [*self.residuals[-MEMORY:], r]
        new = x + LONGER * r
        if len(self.points) > 1:
            moved, changed = np.diff(self.points, axis=0).T, np.diff(self.residuals, axis=0).T
            share = np.linalg.lstsq(changed * weight[:, None], r * weight, rcond=INDEPENDENT)[0]
            new -= (moved + LONGER * changed) @ share
        new = np.clip(new, x - FARTHEST, x + FARTHEST)
        return np.where(plain > 0.0, np.exp(new - new.max()), 0.0)
