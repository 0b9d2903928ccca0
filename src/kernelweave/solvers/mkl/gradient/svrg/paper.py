"""Epochs of `svrg` with the constants of Alioscha-Perez et al., Algorithm 1 and Proposition 1.

In units of the mean loss the objective is ``1/2 sum_k (lambda / d_k) |w_k|^2 + mean loss``, lambda = 1 / sum_i c_i.  A
round has J = ceil(log(1 / epsilon)) epochs.  In epoch j kernel k has lambda_k = min(lambda / d_k, L / 2) and its own

    Delta = (epsilon / prod_{z < j} c_z)^(1 / (J - j + 1)),          kappa = L / lambda_k,
    h = 1 / (4 (L - lambda_k) / Delta + 2 L),
    m = (4 (kappa - 1) / Delta + 2 kappa) log(2 / Delta + (2 kappa - 1) / (kappa - 1)),

and a stopping time T <= m, drawn with probability proportional to ``(1 - lambda_k h)^(m - T)``.  Every iteration draws
a row and moves the blocks whose time has not come.  Then the weights get their closed form (2), and the progress

    c(lambda_k, h, m) = [(1 - lambda_k h)^m / (1 - (1 - lambda_k h)^m) + 2 (L - lambda_k) h] / (1 - 2 L h)

of all past epochs is assessed anew with the new lambda_k.  L is the joint constant of the losses, since all blocks move
together.  With lambda_k clamped, a plain gradient step on the regulariser would diverge as d_k vanishes, since its true
strength is ``lambda / d_k``; so that step is proximal, as in the adaptive schedule.  An epoch makes at most
``F^(1/q) m(Delta, kappa) + F m(Delta, 2)`` updates of blocks, q = p / (p - 1).  The intercept rests within an epoch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.solvers.mkl.gradient.primal import PrimalEvaluation
from kernelweave.solvers.mkl.gradient.svrg.loops import Epoch, Segment
from kernelweave.solvers.problems import TINY, Array

if TYPE_CHECKING:
    from kernelweave.solvers.mkl.gradient.svrg.solver import SVRG

LARGEST = 1.0 - 1e-3
"""Delta stays below one: a block that is done before its last epoch still moves a little."""
MOST_ITERATIONS = 1 << 25
"""Longer epochs are refused: they would take minutes, with nothing to show before they end."""
DRAWN_TOGETHER = 1 << 20
"""Iterations whose rows are drawn together."""


def iterations(delta: Array, kappa: Array) -> Array:
    """Return m(Delta, kappa), rounded up."""
    log = np.log(2.0 / delta + (2.0 * kappa - 1.0) / (kappa - 1.0))
    return np.ceil((4.0 * (kappa - 1.0) / delta + 2.0 * kappa) * log).astype(np.int64)


def step_size(delta: Array, smooth: float, convex: Array) -> Array:
    """Return h(Delta, L, lambda)."""
    return 1.0 / (4.0 * (smooth - convex) / delta + 2.0 * smooth)


def progress(convex: Array, smooth: float, h: Array, m: Array) -> Array:
    """Return c(lambda, h, m), by what the error shrinks in the mean."""
    left = np.exp(m * np.log1p(-convex * h))
    return (left / np.maximum(1.0 - left, TINY) + 2.0 * (smooth - convex) * h) / (1.0 - 2.0 * smooth * h)


class PaperEpochs:
    """Rounds of epochs, each with step sizes and lengths from worst-case constants.

    Parameters
    ----------
    walk : what is optimised
    epsilon : by what a round shrinks the error in the mean
    """

    def __init__(self, solver: SVRG, epsilon: float):
        if len(solver.design.parts) > 1:
            raise MemoryError(
                "schedule='paper' draws rows at random from all of them, but their features exceed the memory_limit; "
                "use schedule='adaptive' or raise the limit."
            )
        self.solver, self.epsilon, self.rounds = solver, epsilon, math.ceil(math.log(1.0 / epsilon))
        self.smooth = max(
            solver.problem.loss.bend * float(solver.weight.max() * solver.design.squares()[:, 1].sum()), TINY
        )
        self.updates, self.bound = 0, 0.0
        self.past: list[tuple[Array, Array]] = []

    def run(self, seen: PrimalEvaluation) -> tuple[Array, float]:
        """Return the normal vector after one epoch that starts at a look."""
        solver, m = self.solver, self.solver.design.m
        if len(self.past) == self.rounds:
            self.past = []
        beta = seen.beta if seen.norms.any() else np.full(m, 1.0 / m)
        convex = np.minimum(1.0 / (solver.scale * np.maximum(beta, TINY)), self.smooth / 2.0)
        delta = self._target(convex)
        h, length = step_size(delta, self.smooth, convex), iterations(delta, self.smooth / convex)
        if length.max() > MOST_ITERATIONS:
            raise ValueError(
                f"schedule='paper' asks for {float(length.max()):.1g} iterations in one epoch, since C K(x, x) "
                "is large; use schedule='adaptive', another solver or a smaller C."
            )
        stops = self._stops(convex * h, length)
        self.past.append((h, length))
        self.updates += int(length.sum())
        self._count_bound(float(delta.min()))
        return self._inner(seen, beta, h, stops), seen.b

    def accepts(self, epoch: Epoch) -> bool:
        """Every epoch counts."""
        return epoch.new is not None

    def report(self) -> dict[str, float]:
        """Return columns for the trace: updates of blocks so far, and what the theory allows."""
        return {"updates": self.updates, "allowed": self.bound}

    def _target(self, convex: Array) -> Array:
        """Return Delta of this epoch, after what the past ones achieved is assessed anew."""
        done = np.zeros(len(convex))
        for h, length in self.past:
            done += np.log(progress(convex, self.smooth, h, length))
        left = self.rounds - len(self.past)
        return np.minimum(np.exp((math.log(self.epsilon) - done) / left), LARGEST)

    def _stops(self, rate: Array, length: Array) -> Array:
        """Draw the stopping time of each block: T = m - s, where s has the probabilities ``(1 - rate)^s``, s < m."""
        log = np.log1p(-rate)
        places = self.solver.rng.random(len(rate))
        back = np.floor(np.log1p(places * np.expm1(length * log)) / log).astype(np.int64)
        return length - np.clip(back, 0, length - 1)

    def _count_bound(self, delta: float) -> None:
        """Add what one epoch may cost: F^(1/q) m(Delta, kappa) + F m(Delta, 2)."""
        p, m = self.solver.problem.ball.p, self.solver.design.m
        kappa = np.array([max(self.smooth * self.solver.scale, 2.0), 2.0])
        most, least = iterations(np.full(2, delta), kappa)
        self.bound += m ** (1.0 - 1.0 / p) * most + m * least

    def _inner(self, seen: PrimalEvaluation, beta: Array, h: Array, stops: Array) -> Array:
        """Draw rows until the last block has stopped."""
        solver, done = self.solver, 0
        rows, part = solver.design.parts[0], solver.design.part(0)
        segment = Segment(solver, part, rows, seen, batch=1)
        for stop in np.unique(stops):
            active = np.where(stops >= stop, h, 0.0)
            while done < stop:
                size = min(int(stop) - done, DRAWN_TOGETHER)
                order = solver.rng.integers(0, solver.design.n, size).astype(np.uint32)
                segment.run(order, active, beta)
                done += size
        solver.passes += done / solver.design.n
        return segment.w
