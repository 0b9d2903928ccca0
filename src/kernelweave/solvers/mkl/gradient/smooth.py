"""Entropy-smoothed multiple kernel learning by accelerated projected gradients.

The problem is that of Xu et al. (2010); the algorithm is not their Algorithm 2.  It is FISTA with backtracking and
restart: momentum ``(t_i - 1) / t_{i+1}``, a Lipschitz constant that is estimated on the way in place of that of their
Corollary 3, and a fixed lambda in place of their rule for it.  Their rate of convergence is not claimed for it.

The maximum over kernels in the dual (p = 1) is replaced by a soft maximum, which keeps complementary kernels:

    min over alpha   f(alpha) = -d(alpha) + (lambda/2) ln (1/m) sum_k exp(q_k(alpha) / lambda)
    over the box of the loss and, for a free intercept, sum alpha = e.

Its gradient is ``-d'(alpha) + sum_k theta_k K_k alpha`` with the weights ``theta_k ~ exp(q_k / lambda)``.  Each
iteration makes a projected gradient step from a point ahead of the last one, with the step found by backtracking, and
drops the momentum when f rises.  In the end the classifier is the SVM of the weights theta.

This is another problem than the common one, and it certifies its own: weak duality holds between

    -f(alpha)   and   SVM primal of theta  +  (lambda/2) sum_k theta_k ln (m theta_k).

The entropy is taken relative to equal weights, the 1/m and the m above, which adds (lambda/2) ln m to both sides and
changes no solution: what smoothing adds then is never negative, so that a relative gap means the same as elsewhere, and
the smoothed optimum lies above the exact one by at most (lambda/2) ln m.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, softmax, xlogy

from kernelweave.losses import BoxQP
from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint
from kernelweave.solvers.choose import choose_svm_solver
from kernelweave.solvers.loop import INNER_ITERATIONS, Limits, Stop, limits_of, run_inside
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array
from kernelweave.solvers.state import Resumable
from kernelweave.solvers.svm.box import balance

SMOOTHING = 0.1
"""Default lambda, as a share of the energy that equal weights give the largest kernel at the start."""
CHECK_EVERY = 10
"""Gradient steps between two certificates."""
GROW, SHRINK = 2.0, 0.9
"""Factors on the Lipschitz estimate when a step fails, and after each step that held."""


class Smooth(Resumable):
    """Accelerated projected gradients with backtracking and restart on the entropy-smoothed dual.

    Parameters
    ----------
    smoothing : lambda, in units of the energies q; None for a share of their size at the start
    """

    keeps = "v value gradient lipschitz spent ahead momentum ahead_value ahead_gradient lam"
    limits = Limits(1000, inside=20_000, patience=100)
    problem: MKLProblem

    def __init__(self, smoothing: float | None = None):
        if smoothing is not None and not smoothing > 0:
            raise ValueError(f"smoothing={smoothing!r} must be a positive number, or None for a share of the energies.")
        self.smoothing = smoothing

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from the SVM of equal weights, or from a former alpha."""
        box = problem.loss.box(problem.targets[0], problem.cost)
        if box is None:
            raise TypeError(f"solver='smooth' needs a loss with a box-constrained dual, not {problem.loss.name}.")
        self.problem, self.box, self.stop = problem, box, stop
        if start is None or self.smoothing is None:
            alpha = self._first_alpha()
        # The default comes from equal weights whatever the start: a warm start must not change the problem.
        self.lam = float(self.smoothing or SMOOTHING * problem.energies(alpha[None, :]).max() or 1.0)
        self.v = box.split(alpha if start is None else np.asarray(start.alpha, dtype=float).reshape(-1))
        if problem.intercept == "free":
            balance(self.v, box, problem.total)
        self.value, self.gradient, _ = self._evaluate(self.v)
        self.lipschitz, self.spent = 1.0, 0
        self._restart()

    def _first_alpha(self) -> Array:
        uniform = self.problem.ball.uniform(self.problem.operators.m)
        (svm,) = self.problem.outputs(self.problem.operators.combined(uniform))
        result = run_inside(choose_svm_solver("auto", svm).solver, svm, Stop(0.05, polish=False))
        return result.primal.alpha if result.dual is None else result.dual.alpha

    def _restart(self) -> None:
        self.ahead, self.momentum = self.v.copy(), 1.0
        self.ahead_value, self.ahead_gradient = self.value, self.gradient

    def _evaluate(self, v: Array) -> tuple[float, Array, Array]:
        """Return f, its gradient (copies, n) and the energies q."""
        alpha = v.sum(axis=0)
        rows, G = np.flatnonzero(alpha), np.zeros((self.problem.operators.m, self.problem.operators.n))
        self.problem.operators.each_add_to(G, rows, alpha[rows])
        q = G @ alpha
        outputs = softmax(q / self.lam) @ G
        shift = float(alpha.sum()) if self.problem.intercept == "regularized" else 0.0
        linear = float((self.box.p * v).sum() - 0.5 * (self.box.ridge * v * v).sum()) - 0.5 * shift**2
        value = -linear + 0.5 * self.lam * float(logsumexp(q / self.lam) - np.log(len(q)))
        return value, outputs + shift + self.box.ridge * v - self.box.p, q

    def step(self) -> None:
        """Do a few gradient steps with backtracking and restart."""
        for _ in range(CHECK_EVERY):
            new, value, gradient = self._descend()
            if value > self.value:
                self._restart()
                new, value, gradient = self._descend()
            growth = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.momentum**2))
            ahead = new + (self.momentum - 1.0) / growth * (new - self.v)
            if value <= self.value:
                self.v, self.value, self.gradient = new, value, gradient
            self.ahead, self.momentum = self._feasible(ahead), growth
            self.ahead_value, self.ahead_gradient, _ = self._evaluate(self.ahead)

    def _descend(self) -> tuple[Array, float, Array]:
        """Take the gradient step whose length the quadratic upper bound allows."""
        while True:
            new = self._feasible(self.ahead - self.ahead_gradient / self.lipschitz)
            value, gradient, _ = self._evaluate(new)
            move = new - self.ahead
            bound = self.ahead_value + float((self.ahead_gradient * move).sum())
            bound += 0.5 * self.lipschitz * float((move * move).sum())
            if value <= bound + 1e-12 * abs(bound):
                self.lipschitz *= SHRINK
                return new, value, gradient
            self.lipschitz *= GROW

    def _feasible(self, v: Array) -> Array:
        """Project onto the box and, for a free intercept, onto the plane ``sum v = e``."""
        if self.problem.intercept != "free":
            return np.clip(v, self.box.low, self.box.high)
        return project_box_plane(v, self.box, self.problem.total)

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer the smoothed dual value, and the SVM of the current weights as a smoothed primal point."""
        alpha = self.v.sum(axis=0)
        ledger.offer(dual=DualPoint(alpha[None, :], -self.value))
        theta = softmax(self.problem.operators.energies(alpha) / self.lam)
        (svm,) = self.problem.outputs(self.problem.operators.combined(theta))
        solver, stop = choose_svm_solver("auto", svm).solver, Stop(0.2 * self.stop.tol, INNER_ITERATIONS, polish=False)
        result = run_inside(solver, svm, stop, start=alpha)
        self.spent += limits_of(solver).effort * result.n_iter
        point = result.primal
        entropy = 0.5 * self.lam * float(xlogy(theta, len(theta) * theta).sum())
        ledger.offer(
            primal=PrimalPoint(point.alpha[None, :], np.array([point.intercept]), point.value + entropy, theta)
        )
        return {"smoothing": self.lam}

    def fallback(self) -> PrimalPoint:
        """Return the zero classifier."""
        return self.problem.nothing()


def project_box_plane(v: Array, box: BoxQP, total: float) -> Array:
    """Return the nearest point of the box whose entries add up to `total`: a shift, found by halving, and a clip."""
    spread = float(np.abs(v).max(initial=1.0) + np.abs(np.where(np.isfinite(box.high), box.high, 0.0)).max(initial=1.0))
    spread += float(np.abs(np.where(np.isfinite(box.low), box.low, 0.0)).max(initial=1.0)) + abs(total)
    low, high = -spread, spread
    for _ in range(100):
        middle = 0.5 * (low + high)
        if np.clip(v - middle, box.low, box.high).sum() > total:
            low = middle
        else:
            high = middle
        if high - low <= 1e-15 * spread:
            break
    out = np.clip(v - 0.5 * (low + high), box.low, box.high)
    inside = (out > box.low) & (out < box.high)
    if inside.any():
        out[inside] += (total - out.sum()) / inside.sum()
        out = np.clip(out, box.low, box.high)
    return out
