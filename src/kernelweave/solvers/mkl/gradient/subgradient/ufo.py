"""UFO-MKL (Orabona and Jie, ICML 2011), on explicit features.

Solves, for losses of bounded slope and p > 1, the common problem in units of the mean loss (`base`),

    min over w, b   lambda / 2 |w|_r^2 + sum_i c_i loss(f_i, y_i) / sum c,     f = X w + b,     q = r / (r - 1)

by

    theta <- theta - (subgradient of the loss of a random row),     w = gradient of the conjugate of t h at theta,
    h(w) = lambda / 2 |w|_r^2 + a sum_k |w_k|

after t rows: the regulariser enters with its conjugate only, which is why r close to 1 costs nothing.  The conjugate
cuts ``t a`` off the norms of the blocks and takes the dual norm of what is left:

    w_k = 1 / (lambda t) (kept_k / |kept|_q)^(q - 2) (kept_k / |theta_k|) theta_k,     kept_k = max(|theta_k| - t a, 0)

With a = 0 this is the common objective.  With a > 0 it is a problem of its own, and that is what is certified: the dual
objective then has ``-1/2 |max(|v_k| - elastic, 0)|_q^2``, v = X' alpha, where elastic = a / lambda.
The paper takes r = 2 ln m / (2 ln m - 1) where it would like r = 1; here r is given by the norm of the weights, and
that of the paper is ``norm = ln m / (ln m - 1)`` (`own_norm`).
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.mkl.gradient.subgradient import loops
from kernelweave.solvers.mkl.gradient.subgradient.base import Subgradient
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array, block_squares

WARM = 10
"""A former normal vector counts as if it came from so many passes."""


class UFO(Subgradient):
    """UFO-MKL: dual averaging of stochastic subgradients in the group norm, for norms above 1.

    Parameters
    ----------
    elastic : factor of ``sum_k |w_k|`` in the common objective (the paper's alpha, times the sum of the costs)
    random_state : seed of the order of the rows
    """

    def __init__(self, elastic: float = 0.0, random_state: int = 0):
        if not 0 <= elastic < np.inf:
            raise ValueError(f"elastic={elastic!r} must be a non-negative number.")
        super().__init__(random_state)
        self.elastic = float(elastic)

    @property
    def certifies(self) -> str:
        """The problem that the certificate is for."""
        return "elastic net" if self.elastic > 0 else "mkl"

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from a former normal vector, or from zero."""
        super().init(problem, start, stop)
        self.knobs[loops.RULE], self.knobs[loops.CUT] = loops.UFO, self.elastic * self.knobs[loops.LAMBDA]
        if self.w.any():
            self.evaluate(self.w, self.b)
            self.counters[loops.TIME] = self.counters[loops.CLOCK] = WARM * self.design.n
            pull = self.gradient(self.w) + self.elastic * self._directions(self.w)
            self.theta[:] = self.knobs[loops.LAMBDA] * self.counters[loops.TIME] * pull

    def regularizer(self, norms: Array, beta: Array) -> float:
        """Return ``1/2 sum_k |w_k|^2 / beta_k + elastic sum_k |w_k|``."""
        return super().regularizer(norms, beta) + self.elastic * float(norms.sum())

    def support(self, q: Array) -> float:
        """Return the dual norm of the energies, of norms that are cut."""
        return super().support(np.maximum(np.sqrt(q) - self.elastic, 0.0) ** 2 if self.elastic else q)

    def _directions(self, w: Array) -> Array:
        """Return the blocks of w at length one."""
        widths = np.diff(self.design.offsets)
        norms = np.sqrt(block_squares(w, self.design.offsets))
        return w * np.repeat(np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0), widths)
