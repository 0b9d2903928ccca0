"""Accelerated proximal gradient steps over all rows (Beck and Teboulle 2009), on explicit features.

Solves, for losses with a bounded second derivative and every p >= 1,

    min over w, b   1/2 (sum_k |w_k|^r)^(2/r) + sum_i c_i loss(f_i, y_i),     f = X w + b,     r = 2p / (p + 1)

by gradient steps on the losses, v = X' alpha their negative gradient, and proximal steps on the norm:

    w+ = prox(z + v(z) / L),      z+ = w+ + (t - 1) / t+ (w+ - w),      t+ = (1 + sqrt(1 + 4 t^2)) / 2

The proximal step is that of the group norm itself, so kernel weights never appear: they are read off from w.  The
momentum starts anew when it points uphill (O'Donoghue and Candes 2015).  L is the largest eigenvalue of
``bend X' diag(c) X``, found by power steps; it doubles should the objective ever rise without momentum.  This is the
sanity line for stochastic solvers: nothing is random, and a step costs a pass.
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.mkl.gradient.primal import PrimalSolver
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import TINY, Array, block_squares, dot

POWER_STEPS, SAFETY = 20, 1.05


class ProximalGradient(PrimalSolver):
    """Accelerated proximal gradient steps over all rows, with the group norm as the proximal part: a baseline.

    Parameters
    ----------
    momentum : False for plain proximal gradient steps
    """

    keeps = "steep t before z"
    limits = Limits(10_000, inside=1000, patience=500, instead=("svrg", "lp"))

    def __init__(self, momentum: bool = True):
        self.momentum = momentum

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from a former normal vector, or from zero, and measure the largest curvature."""
        super().init(problem, start, stop)
        self.steep = SAFETY * problem.loss.bend * self._largest()
        self.t, self.before = 1.0, np.inf
        self.z = self.w.copy()

    def step(self) -> None:
        """Look from the extrapolated point, step, and extrapolate again."""
        seen = self.evaluate(self.z, self.b)
        if seen.primal > self.before and self.t == 1.0:
            self.steep *= 2.0
        self.before, self.b = seen.primal, seen.b
        new = self._shrink(self.z + seen.v / self.steep)
        if dot(self.z - new, new - self.w) > 0 or not self.momentum:
            self.t = 1.0
        later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.t**2))
        self.z = new + ((self.t - 1.0) / later if self.momentum else 0.0) * (new - self.w)
        self.w, self.t = new, later

    def _shrink(self, w: Array) -> Array:
        """Return the proximal point of w."""
        norms = np.sqrt(block_squares(w, self.design.offsets))
        factors = self.problem.ball.proximal(norms, 1.0 / self.steep) / np.maximum(norms, TINY)
        return w * np.repeat(factors, np.diff(self.design.offsets))

    def _largest(self) -> float:
        """Return the largest eigenvalue of ``X' diag(c) X``; b takes the mean off and can only lower it."""
        w, size = np.random.default_rng(0).standard_normal(self.design.width), 0.0
        for _ in range(POWER_STEPS):
            w /= max(np.sqrt(dot(w, w)), TINY)
            w = self.design.correlate(self.cost * self.design.outputs(w))
            self.passes += 1.0
            size = np.sqrt(dot(w, w))
        return max(float(size), TINY)
