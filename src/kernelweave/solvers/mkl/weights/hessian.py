"""Second-order descent on the weights (Chapelle and Rakotomamonjy 2008, HessianMKL).

Solves `problem` for p = 1.  At the SVM's optimum, J has the derivatives

    dJ/dbeta_k = -1/2 q_k,       d2J/dbeta_k dbeta_l = g_k' P g_l,      g_k = K_k alpha on the free rows

with ``P`` the inverse of ``K + R`` on the free rows (R: one over the curvature of the loss, zero for the hinge), minus
its projection on the intercept.  The next weights minimise the quadratic model over the simplex, itself a quadratic
programme with one equality: the pair solver of the SVM solves it.  A backtracking search makes it descend.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kernelweave.operators.base import Restrictable
from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.loop import Stop, run_inside
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.mkl.weights.wrapper import Evaluation, Wrapper
from kernelweave.solvers.problems import SUFFICIENT, Array
from kernelweave.solvers.svm.pairs import solve_pairs

HALVINGS = 8
ROUNDING = 1e-14
"""Relative rise of J that counts as rounding."""
JITTER = 1e-8
"""Added to matrices that may be singular, relative to their mean diagonal."""
NEGLIGIBLE = 1e-8
"""Weights below this are put to zero."""
NESTED, FEWER, COARSER = 4000, 4, 5.0
"""Rows from which on the search starts on every fourth row, solved less closely by this factor."""
SAMPLED = 2000
"""Free rows that the model looks at where there are more: factoring all would cost more than it saves in steps."""
BENDS = 0.1, 2.0
"""Least and greatest correction of the curvature of a sample after one step."""
STALLED, SOFTEST = 1e-3, 1e-6
"""Share of the gap that a step must gain for its model to be trusted, and the least that is left of the curvature."""
MODEL_STEPS = 200_000
MODEL_ACCURACY = 1e-3
"""The quadratic programme is solved to this share of the spread of its gradient at the start."""


class HessianMKL(Wrapper):
    """Newton steps on the simplex of weights.

    Where kernels can be bound to fewer rows cheaply, the search starts from the solution of a quarter of the rows (and
    that from a quarter of those): the weights hardly depend on the number of rows, so few steps are left for all.
    """

    keep_outputs = True
    coarsest = 0.005  # rows that have not met their bound yet would bend the model
    bend: float
    sampled: bool

    def step(self) -> None:
        """Minimise the quadratic model, then search along the way to its minimiser."""
        if self.solves == 0:
            self.now = self.evaluate(self.beta)
            return
        gradient, H = -0.5 * self.now.q, self._curvature(self.now)
        direction = simplex_newton(self.now.beta, gradient, H) - self.now.beta
        slope, t, best, former = float(gradient @ direction), 1.0, self.now, self.now
        for _ in range(HALVINGS):
            made = self.evaluate(_clean(self.now.beta + t * direction))
            best = min(best, made, key=lambda e: e.value)
            if made.value <= self.now.value + SUFFICIENT * t * slope + ROUNDING * abs(self.now.value):
                break
            t *= 0.5
        # An inexact SVM can hide a small decrease: solve again at the best weights, more closely.
        self.now = best if best is not self.now else self.evaluate(self.now.beta)
        self._learn(former, H, shortened=t < 1.0)

    def _learn(self, former: Evaluation, H: Array, shortened: bool) -> None:
        """Compare the curvature of the last step with the model's: a sample of rows tells its shape, not its size.

        Rows that a kernel does not see make the model far too stiff where the other kernels have no weight: steps then
        stop short of everything.  So where a whole step gains next to nothing of the gap, the model is made softer;
        where the step had to be shortened, the model was too soft.
        """
        if former.value - self.now.value < STALLED * self.gap * abs(former.value):
            self.bend = 1.0 if shortened else max(self.bend * BENDS[0], SOFTEST)
            return
        if not self.sampled:
            self.bend = 1.0
            return
        moved = self.now.beta - former.beta
        expected, found = float(moved @ H @ moved), -0.5 * float((self.now.q - former.q) @ moved)
        if expected > 0 and found > 0:
            self.bend *= float(np.clip(found / expected, *BENDS))

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from former weights, from the solution of some of the rows, or from equal weights."""
        if start is None and problem.operators.n > NESTED and isinstance(problem.operators, Restrictable):
            start = self._nested(problem, stop)
        super().init(problem, start, stop)
        self.bend, self.sampled = 1.0, False

    def _nested(self, problem: MKLProblem, stop: Stop) -> PrimalPoint:
        """Return the solution of every fourth row, as a point of the whole problem."""
        assert isinstance(problem.operators, Restrictable)
        rows = np.arange(0, problem.operators.n, FEWER)
        part = replace(
            problem, operators=problem.operators.restricted(rows), targets=problem.targets[:, rows],
            cost=problem.cost[rows],
        )  # fmt: skip
        found = run_inside(HessianMKL(), part, Stop(COARSER * stop.tol, stop.max_iter, polish=False)).primal
        alpha = np.zeros(problem.targets.shape)
        alpha[:, rows] = found.alpha
        return replace(found, alpha=alpha)

    def _curvature(self, made: Evaluation) -> Array:
        """Return the Hessian of J, (m, m)."""
        assert made.outputs is not None
        operators = self.problem.operators
        most = operators.curvature_rows if isinstance(operators, Restrictable) else SAMPLED
        total = np.zeros((operators.m, operators.m))
        for alpha, y, G, b in zip(made.alpha, self.problem.targets, made.outputs, np.atleast_1d(made.primal.intercept)):
            rows, ridge = free_rows(self.problem, alpha, y, made.beta @ G + b)
            share = self.bend
            if len(rows) > most:
                chosen = np.linspace(0, len(rows) - 1, most).astype(np.int64)
                rows, ridge, share = rows[chosen], ridge[chosen], self.bend * len(rows) / most
                self.sampled = True
            if len(rows):
                K = operators.combined_submatrix(made.beta, rows)
                K[np.diag_indices_from(K)] += ridge + JITTER * max(K.diagonal().mean(), JITTER)
                if self.problem.intercept == "regularized":
                    K += 1.0
                total += share * _projected(K, G[:, rows], self.problem.intercept == "free")
        return total


def free_rows(problem: MKLProblem, alpha: Array, y: Array, f: Array) -> tuple[Array, Array]:
    """Return the rows whose alpha follows a change of the kernel, and one over the curvature of their loss."""
    if problem.loss.smooth:
        curve = problem.cost * problem.loss.curvature(f, y)
        rows = np.flatnonzero(curve > JITTER * curve.max())
        return rows, 1.0 / curve[rows]
    low, high = problem.loss.dual_range(y, problem.cost)
    inside = (alpha > low) & (alpha < high) & (alpha != 0.0)
    rows = np.flatnonzero(inside)
    return rows, np.zeros(len(rows))


def _projected(K: Array, G: Array, free: bool) -> Array:
    """Return ``G P G'`` with P the inverse of K, projected off the ones for a free intercept."""
    factor = cho_factor(K, lower=True, check_finite=False)
    solved = cho_solve(factor, G.T, check_finite=False)
    H = G @ solved
    if free:
        ones = cho_solve(factor, np.ones(len(K)), check_finite=False)
        share = G @ ones
        H -= np.outer(share, share) / ones.sum()
    return H


def simplex_newton(beta: Array, gradient: Array, H: Array) -> Array:
    """Return the minimiser over the simplex of ``gradient'(x - beta) + 1/2 (x - beta)'H(x - beta)``."""
    m = len(beta)
    H = 0.5 * (H + H.T)
    H[np.diag_indices(m)] += JITTER * max(float(H.diagonal().mean()), JITTER)
    x, zeros = beta[None, :].copy(), np.zeros((1, m))
    gain = -gradient[None, :].copy()
    accuracy = MODEL_ACCURACY * (gain.max() - float(gain[0] @ beta))
    solve_pairs(H, H.diagonal().copy(), zeros[0], zeros, np.ones((1, m)), accuracy, MODEL_STEPS, x, gain)
    return x[0]


def _clean(beta: Array) -> Array:
    beta = np.where(beta < NEGLIGIBLE, 0.0, beta)
    return beta / beta.sum()
