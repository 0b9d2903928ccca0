"""The problem that every multiple kernel solver solves.

    min over beta, w, b   1/2 sum_k |w_k|^2 / beta_k + sum_i c_i loss(f_i, y_i),     f = sum_k <w_k, Phi_k(x)> + b
    subject to            beta >= 0, |beta|_p <= 1
    max over alpha        - sum_i c_i loss*(-alpha_i / c_i, y_i) - 1/2 |q|_{p*},     q_k = alpha' K_k alpha

For fixed beta it is the single-kernel problem of ``K = sum_k beta_k K_k``; its optimum J(beta) is convex in beta.
Any feasible alpha gives the lower bound ``J(beta) >= d(alpha) - 1/2 sum_k beta_k q_k(alpha)``, a *cut*.
Several outputs (one-vs-rest with shared weights) add up: d and q are sums over the outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.losses import Loss
from kernelweave.operators.base import Operator, OperatorSet
from kernelweave.penalties import LpBall
from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint
from kernelweave.solvers.problems import SMALLEST_SCALE, Array, Problem


@dataclass(frozen=True)
class MKLProblem:
    """Many kernels on the same rows, one weight each.

    Parameters
    ----------
    operators : m kernels on n training rows
    targets : (outputs, n)
    cost : (n,)
    ball : the set of weights
    """

    operators: OperatorSet
    loss: Loss
    targets: Array
    cost: Array
    ball: LpBall
    intercept: str = "free"
    total: float = 0.0
    smallest_scale = SMALLEST_SCALE

    def outputs(self, operator: Operator) -> list[Problem]:
        """Return the single-kernel problem of each output on an operator."""
        return [Problem(operator, self.loss, y, self.cost, self.intercept, self.total) for y in self.targets]

    def linear(self, alpha: Array) -> float:
        """Return d(alpha), the part of the dual objective that no kernel enters, for alpha (outputs, n)."""
        value = sum(self.loss.dual_term(a, y, self.cost) for a, y in zip(alpha, self.targets))
        if self.intercept == "regularized":
            value -= 0.5 * float((alpha.sum(axis=1) ** 2).sum())
        return float(value)

    def energies(self, alpha: Array) -> Array:
        """Return q, (m,), added over the outputs."""
        return np.sum([self.operators.energies(a) for a in alpha], axis=0)

    def dual(self, alpha: Array, q: Array) -> float:
        """Return the dual objective of a feasible alpha."""
        return self.linear(alpha) - 0.5 * self.ball.support(q)

    def offer_dual(self, ledger: Ledger, alpha: Array, q: Array | None = None) -> None:
        """Offer a feasible alpha as a dual point."""
        q = self.energies(alpha) if q is None else q
        ledger.offer(dual=DualPoint(alpha.copy(), self.dual(alpha, q)))

    def nothing(self) -> PrimalPoint:
        """Return the zero classifier with equal weights: a valid point for a run stopped at once."""
        outputs, n = self.targets.shape
        value = sum(float(self.cost @ self.loss.value(np.zeros(n), y)) for y in self.targets)
        return PrimalPoint(np.zeros((outputs, n)), np.zeros(outputs), value, self.ball.uniform(self.operators.m))

    def restart(self, primal: PrimalPoint, dual: DualPoint | None) -> PrimalPoint:
        """Return what a solver starts from, of the best points of a former run."""
        return primal
