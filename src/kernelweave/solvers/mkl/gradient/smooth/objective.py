"""The smoothed dual of `solver`, its gradient, and its feasible points.

    f(v) = -d(v) + (lambda/2) ln (1/m) sum_k exp(q_k(alpha) / lambda),      q_k = alpha' K_k alpha,   alpha = sum of v

over the box of the loss and, for a free intercept, sum alpha = e.  v has one copy of alpha, or two where the loss has
an absolute value.  The gradient is ``-d'(v) + sum_k theta_k K_k alpha`` with ``theta_k ~ exp(q_k / lambda)``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, softmax

from kernelweave.losses import BoxQP
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array


class SmoothedDual:
    """The function to be minimised.

    Parameters
    ----------
    lam : lambda, in units of the energies q
    """

    def __init__(self, problem: MKLProblem, box: BoxQP, lam: float):
        self.problem, self.box, self.lam = problem, box, lam

    def evaluate(self, v: Array) -> tuple[float, Array, Array]:
        """Return f, its gradient (copies, n) and the energies q."""
        alpha, problem, box = v.sum(axis=0), self.problem, self.box
        rows, G = np.flatnonzero(alpha), np.zeros((problem.operators.m, problem.operators.n))
        problem.operators.each_add_to(G, rows, alpha[rows])
        q = G @ alpha
        outputs = softmax(q / self.lam) @ G
        shift = float(alpha.sum()) if problem.intercept == "regularized" else 0.0
        linear = float((box.p * v).sum() - 0.5 * (box.ridge * v * v).sum()) - 0.5 * shift * shift
        value = -linear + 0.5 * self.lam * float(logsumexp(q / self.lam) - np.log(len(q)))
        return value, outputs + shift + box.ridge * v - box.p, q

    def theta(self, alpha: Array) -> Array:
        """Return the kernel weights that belong to alpha, (m,)."""
        return softmax(self.problem.operators.energies(alpha) / self.lam)

    def feasible(self, v: Array) -> Array:
        """Project onto the box and, for a free intercept, onto the plane ``sum v = e``."""
        if self.problem.intercept != "free":
            return np.clip(v, self.box.low, self.box.high)
        return project_box_plane(v, self.box, self.problem.total)


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
