"""The level method (Lemarechal, Nemirovski and Nesterov 1995; for kernels Xu, Jin, King and Lyu 2009).

Solves `problem` for p = 1.  Like SILP it keeps the cuts of past SVMs, but the next weights are not the minimiser of
the cutting-plane model, which jumps about: they are the projection of the current weights onto the level set
``{beta: max_r d^r - 1/2 beta'q^r <= lower + LEVEL (upper - lower)}``.

The projection is computed in its dual, one variable for each cut: with mu >= 0 on the cuts,
``beta(mu) = P_simplex(beta_t + 1/2 sum_r mu_r q^r)``.
"""

from __future__ import annotations

import numpy as np

from kernelweave.penalties import project_simplex
from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.mkl.weights.wrapper import CutWrapper
from kernelweave.solvers.problems import Array

LEVEL = 0.5
"""How far the level lies above the lower bound, as a share of the gap; 0.9 needs two to five times the steps."""
PROJECTION_STEPS = 500
PROJECTION_ACCURACY = 1e-7
"""Accelerated gradient steps in the dual of the projection, and the excess over the level they leave."""


class LevelMethod(CutWrapper):
    """Cutting planes with projection onto a level set."""

    keeps = "upper"

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start without bounds."""
        super().init(problem, start, stop)
        self.upper = np.inf

    def step(self) -> None:
        """Solve the SVM, add its cut, update both bounds, project onto the level set."""
        self.now = self.evaluate(self.beta)
        self.upper = min(self.upper, self.now.value)
        self.add_cut(self.now)
        self.beta = self.projected()

    def projected(self) -> Array:
        """Return the projection of the current weights onto the level set of the cuts so far."""
        _, _, self.proof = self.lower_bound()
        assert self.master is not None
        d = np.array([cut.d for cut in self.master.cuts])
        Q = np.stack([cut.q for cut in self.master.cuts])
        level = self.lower + LEVEL * (self.upper - self.lower)
        return project_level(self.beta, d, Q, level)


def project_level(beta: Array, d: Array, Q: Array, level: float) -> Array:
    """Return the nearest weights on the simplex with ``d - 1/2 Q beta <= level`` (as far as that can be met)."""
    size = 0.5 * np.linalg.norm(Q, axis=1)
    nonzero = size > 0.0
    if not nonzero.any():
        return beta
    A, c = 0.5 * Q[nonzero] / size[nonzero, None], (d[nonzero] - level) / size[nonzero]
    step = 1.0 / np.linalg.norm(A @ A.T, 2)
    mu = ahead = np.zeros(len(c))
    momentum = 1.0
    for _ in range(PROJECTION_STEPS):
        point = project_simplex(beta + A.T @ ahead)
        excess = c - A @ point
        new = np.maximum(ahead + step * excess, 0.0)
        if np.abs(new - ahead).max() <= PROJECTION_ACCURACY * step:
            break
        if excess @ (new - mu) < 0.0:
            momentum = 1.0
        growth = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = new + (momentum - 1.0) / growth * (new - mu)
        mu, momentum = new, growth
    return project_simplex(beta + A.T @ mu)
