"""What users compare with: weights that are not learned from the objective.

    min over w, b   1/2 sum_k |w_k|^2 / beta_k + sum_i c_i loss(f_i, y_i)     for given beta

Each solves, and certifies, this problem of its fixed weights: that of the single kernel ``sum_k beta_k K_k``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint
from kernelweave.solvers.choose import choose_svm_solver
from kernelweave.solvers.loop import Limits, Stop, run_inside
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import TINY, Array


class FixedWeights:
    """The SVM of weights that are chosen beforehand."""

    limits = Limits(1, patience=1)
    problem: MKLProblem

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Choose the weights."""
        self.problem, self.stop = problem, replace(stop, max_iter=-1)  # of the SVM inside: its own
        self.beta = self.weights()

    def weights(self) -> Array:
        """Return equal weights."""
        return self.problem.ball.uniform(self.problem.operators.m)

    def step(self) -> None:
        """Solve the SVM of each output."""
        self.points = self.solve(self.beta)

    def solve(self, beta: Array) -> tuple[PrimalPoint, DualPoint]:
        """Return classifier and dual point of the fixed-weight problem."""
        operator = self.problem.operators.combined(beta)
        problems = self.problem.outputs(operator)
        results = [run_inside(choose_svm_solver("auto", p).solver, p, self.stop) for p in problems]
        primal = PrimalPoint(
            np.stack([r.primal.alpha for r in results]),
            np.array([r.primal.intercept for r in results]),
            sum(r.primal.value for r in results),
            beta,
        )
        duals = [r.dual for r in results if r.dual is not None]
        return primal, DualPoint(np.stack([p.alpha for p in duals]), sum(p.value for p in duals))

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer both points of the fixed-weight problem."""
        ledger.offer(*self.points)
        return {}

    def fallback(self) -> PrimalPoint:
        """Return the zero classifier."""
        return self.problem.nothing()


class Uniform(FixedWeights):
    """Equal weights: the plain sum of the (normalised) kernels."""


class BestSingle(FixedWeights):
    """All weight on the kernel whose own SVM has the lowest objective."""

    def weights(self) -> Array:
        """Solve the SVM of every kernel and choose one."""
        each = np.eye(self.problem.operators.m)
        values = [self.solve(one)[0].value for one in each]
        return each[int(np.argmin(values))]


class Alignment(FixedWeights):
    """Weights proportional to the centred kernel-target alignment (Cortes, Mohri and Rostamizadeh 2012)."""

    def weights(self) -> Array:
        """Return ``<K_k, Y Y'> / |K_k|`` with K_k centred, negative ones cut off, scaled onto the border."""
        operators = self.problem.operators
        Y = self.problem.targets - self.problem.targets.mean(axis=1, keepdims=True)
        scores = np.sum([operators.energies(y) for y in Y], axis=0) / centred_norms(operators)
        positive = np.maximum(scores, 0.0)
        return self.problem.ball.scaled(positive) if positive.any() else self.problem.ball.uniform(operators.m)


def centred_norms(operators) -> Array:  # type: ignore[no-untyped-def]
    """Return the Frobenius norm of every centred kernel matrix, (m,), in blocks of columns.

    With r the row means and t the grand mean, ``|K_c|^2 = |K|^2 - 2 n |r|^2 + n^2 t^2``.
    """
    n, m = operators.n, operators.m
    squares, means, one = np.zeros(m), np.zeros((m, n)), np.ones(1)
    column = np.empty((m, n))
    for i in range(n):
        column[:] = 0.0
        operators.each_add_to(column, np.array([i]), one)
        squares += (column * column).sum(axis=1)
        means += column
    means /= n
    grand = means.mean(axis=1)
    return np.sqrt(np.maximum(squares - 2.0 * n * (means * means).sum(axis=1) + (n * grand) ** 2, TINY))
