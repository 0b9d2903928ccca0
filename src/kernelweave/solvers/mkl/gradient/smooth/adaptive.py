"""The schedule "adaptive" of `smooth`: FISTA (Beck and Teboulle 2009) with backtracking and restart.

A projected gradient step from a point ahead of the last one, at momentum ``(t_i - 1) / t_{i+1}``, with a Lipschitz
constant that is estimated on the way and may fall again.  The momentum is dropped when f rises.
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.mkl.gradient.smooth.objective import SmoothedDual
from kernelweave.solvers.problems import Array

GROW, SHRINK = 2.0, 0.9
"""Factors on the Lipschitz estimate when a step fails, and after each step that held."""
ROUNDING = 1e-12
"""By so much of its size a bound may be missed."""


class FastGradient:
    """Points on their way; v (copies, n) is the best one, with its value.

    Parameters
    ----------
    objective : what is minimised
    v : a feasible point to start from
    """

    def __init__(self, objective: SmoothedDual, v: Array):
        self.objective, self.v, self.lipschitz = objective, v, 1.0
        self.value, self.gradient, _ = objective.evaluate(v)
        self._restart()

    def _restart(self) -> None:
        self.ahead, self.momentum = self.v.copy(), 1.0
        self.ahead_value, self.ahead_gradient = self.value, self.gradient

    def step(self) -> None:
        """Do one gradient step."""
        new, value, gradient = self._descend()
        if value > self.value:
            self._restart()
            new, value, gradient = self._descend()
        growth = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.momentum**2))
        ahead = new + (self.momentum - 1.0) / growth * (new - self.v)
        if value <= self.value:
            self.v, self.value, self.gradient = new, value, gradient
        self.ahead, self.momentum = self.objective.feasible(ahead), growth
        self.ahead_value, self.ahead_gradient, _ = self.objective.evaluate(self.ahead)

    def _descend(self) -> tuple[Array, float, Array]:
        """Take the gradient step whose length the quadratic upper bound allows."""
        while True:
            new = self.objective.feasible(self.ahead - self.ahead_gradient / self.lipschitz)
            value, gradient, _ = self.objective.evaluate(new)
            if holds(self.ahead_value, self.ahead_gradient, new - self.ahead, self.lipschitz, value):
                self.lipschitz *= SHRINK
                return new, value, gradient
            self.lipschitz *= GROW


def holds(value: float, gradient: Array, move: Array, lipschitz: float, new: float) -> bool:
    """Tell whether a value after a move keeps the quadratic upper bound of a Lipschitz constant."""
    bound = value + float((gradient * move).sum()) + 0.5 * lipschitz * float((move * move).sum())
    return new <= bound + ROUNDING * abs(bound)
