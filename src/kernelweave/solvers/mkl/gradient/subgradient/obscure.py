"""OBSCURE (Orabona, Jie and Caputo, CVPR 2010 and JMLR 2012), on explicit features: online, then batch.

Solves, for losses of bounded slope and p > 1, the common problem in units of the mean loss (`base`),

    min over w, b   lambda / 2 |w|_r^2 + sum_i c_i loss(f_i, y_i) / sum c,     f = X w + b,     q = r / (r - 1)

With ``h(w) = q / 2 |w|_r^2``, which is strongly convex, w is the gradient of its conjugate at theta:

    w_k = (1 / q) (|theta_k| / |theta|_q)^(q - 2) theta_k,     |w|_r = |theta|_q / q

online   theta <- theta - eta z,     z a subgradient of the loss of a random row: the p-norm algorithm; no regulariser
batch    theta <- (1 - lambda eta_t / q) theta - eta_t z,     then into the ball |theta|_q <= q R
         eta_t = q / (lambda t + s_t),      d_t = lambda t + s_{t-1},
         s_t = s_{t-1} + (sqrt(d_t^2 + q (lambda |theta|_q / q + |z|_q)^2 / R^2) - d_t) / 2

The first stage is fast and ends near the optimum.  R is a radius that holds the optimum, since there the regulariser
alone is no more than any objective: ``R^2 = 2 / lambda (lambda / 2 |w|_r^2 + mean loss)`` at the best w certified in
the first stage (the paper takes its last one).  The second stage begins with a projection.  Its steps are short enough
to make use of the start, and of order 1 / t in the end.
The online step by default is one over the squared group norm of a typical row, m^(-2/q) for unit kernels, which is the
default of the authors' program: a row's own output changes by about one.
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.mkl.gradient.primal import PrimalEvaluation
from kernelweave.solvers.mkl.gradient.subgradient import loops
from kernelweave.solvers.mkl.gradient.subgradient.base import Subgradient
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import TINY, dot


class Obscure(Subgradient):
    """OBSCURE: an online p-norm algorithm, then projected stochastic subgradients from there, for norms above 1.

    Parameters
    ----------
    online_passes : passes of the first stage
    eta : step of the first stage; None for one over the squared group norm of a typical row
    random_state : seed of the order of the rows
    """

    keeps = "best"

    def __init__(self, online_passes: int = 5, eta: float | None = None, random_state: int = 0):
        if online_passes < 1 or (eta is not None and not eta > 0):
            raise ValueError("online_passes must be at least 1, and eta positive.")
        super().__init__(random_state)
        self.online_passes, self.eta = int(online_passes), eta

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from zero; a former normal vector takes the place of the first stage."""
        super().init(problem, start, stop)
        self.best = dot(self.cost, problem.loss.value(np.zeros(len(self.y)), self.y))
        typical = loops.group_norm(self.design.squares()[:, 0], self.q)
        self.knobs[loops.RULE] = loops.ONLINE
        self.knobs[loops.ETA] = self.eta or 1.0 / max(typical * typical, TINY)
        if self.w.any():
            self.theta[:] = self.q * self.gradient(self.w)
            self._begin_batch(self.evaluate(self.w, self.b).primal)

    def step(self) -> None:
        """Walk over all rows once; the second stage begins when the first is over."""
        online = self.knobs[loops.RULE] == loops.ONLINE
        if online and self.rounds + 1 == self.online_passes:
            self.due = self.online_passes
        super().step()
        if online and self.rounds == self.online_passes:
            self._begin_batch(self.best)

    def seen(self, evaluation: PrimalEvaluation) -> None:
        """Take note of a certificate."""
        super().seen(evaluation)
        self.best = min(self.best, evaluation.primal)

    def _begin_batch(self, value: float) -> None:
        """Begin the second stage, in the ball that an objective gives."""
        self.knobs[loops.RULE], self.knobs[loops.RADIUS] = loops.BATCH, np.sqrt(2.0 * max(value, TINY))
        self.counters[loops.TIME] = self.counters[loops.SLACK] = 0.0
