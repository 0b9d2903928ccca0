"""The level method (Lemarechal, Nemirovski and Nesterov 1995; for kernels Xu, Jin, King and Lyu 2009).

Solves `problem` for p = 1.  Like SILP it keeps the cuts of past SVMs, but the next weights are not the minimiser of
the cutting-plane model, which jumps about: they are the projection of the current weights onto the level set
``{beta: max_r d^r - 1/2 beta'q^r <= lower + LEVEL (upper - lower)}``.
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.lp.master import Master
from kernelweave.solvers.mkl.cutting.projection import project_level
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.mkl.weights.wrapper import CutWrapper
from kernelweave.solvers.problems import Array

LEVEL = 0.5
"""How far the level lies above the lower bound, as a share of the gap; 0.9 needs two to five times the steps."""


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
        return on_level(self.beta, self.master, self.lower, self.upper)


def on_level(beta: Array, master: Master, lower: float, upper: float) -> Array:
    """Return the nearest weights whose value, as the cuts know it, lies on the level between two bounds."""
    d, Q = np.array([cut.d for cut in master.cuts]), np.stack([cut.q for cut in master.cuts])
    return project_level(beta, d, Q, lower + LEVEL * max(upper - lower, 0.0))
