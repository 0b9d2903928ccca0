"""What `ufo` and `obscure` share: passes over the rows in random order, and certificates for losses with kinks.

In units of the mean loss the common objective is ``lambda / 2 |w|_r^2 + sum_i c_i loss_i / sum c``, lambda = 1 / sum c;
the papers' norm of w is r = 2p / (p + 1), its dual exponent q = r / (r - 1) = 2p / (p - 1).

A pass meets every row once, so the slopes met since the last certificate, averaged over passes, are a feasible dual
point ``alpha_i = -c_i (mean slope)_i``; with a free intercept the slopes of the heavier class are scaled down until
they add up to zero.  For a loss with a kink this is the dual point to take: many margins end at the kink, where the
slopes at any one w say little.  For smooth losses the slopes at w are the better ones.  Likewise the mean of the
vectors w met since the last certificate is far nearer to the optimum than the last one, except after the first pass.
A certificate costs a pass over the rows, which is counted; so it is made ever more rarely, when the passes have grown
by a quarter.

The papers have no intercept.  Here it takes subgradient steps beside w: of length 1 / (3 lambda t) after t rows, like
those of w but a little shorter, at most 1 and at least 1 / sqrt(t).  Shorter ones alone would be the bottleneck: where
some kernel can nearly make a constant, the intercept moves along a valley as flat as the regulariser.
"""

from __future__ import annotations

import math

import numpy as np

from kernelweave.solvers.certificate import DualPoint, PrimalPoint
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.mkl.gradient.primal import PrimalEvaluation, PrimalSolver
from kernelweave.solvers.mkl.gradient.subgradient import loops
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array, block_squares

PASS_GROWTH = 1.25
"""By how much the passes grow between two certificates."""
FEWEST_ROWS, SHARE = 16, 4
"""Rows between two vectors that enter the mean: at least so many, and entries at least so many times the columns."""
LEAST_LOG = 2.0
"""Below this ln m, the norm that UFO-MKL takes for m kernels would be larger than 2."""
TRIED = (0.8, 0.9, 1.0)
"""Multiples of a dual point through which a parabola is laid."""


class Subgradient(PrimalSolver):
    """A sum of rows on its way; subclasses say by which rule it grows."""

    keeps = "rng theta norms lengths knobs counters rounds due met total tail"
    limits = Limits(2000, patience=200, instead=("svrg", "lp", "hessian"))

    def __init__(self, random_state: int = 0):
        self.random_state = random_state

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from a former normal vector, or from zero."""
        super().init(problem, start, stop)
        name, m = type(self).__name__, self.design.m
        if problem.ball.simplex:
            raise ValueError(
                f"{name} needs a strongly convex norm: norm=1 is not; use norm={own_norm(m):.3g}, which UFO-MKL takes "
                f"for {m} kernels in its place, or another solver."
            )
        self.q, self.scale = problem.ball.dual_exponent, float(self.cost.sum())
        self.rng, self.slope = np.random.default_rng(self.random_state), problem.loss.compiled_slope()
        self.weight = self.cost * (len(self.cost) / max(self.scale, np.finfo(float).tiny))
        self.theta, self.norms, self.lengths = np.zeros(self.design.width), np.zeros((3, m)), np.full(len(self.y), -1.0)
        self.knobs, self.counters = np.zeros(loops.KNOBS), np.zeros(loops.STATE)
        self.knobs[loops.Q], self.knobs[loops.LAMBDA] = self.q, 1.0 / max(self.scale, np.finfo(float).tiny)
        self.knobs[loops.MOVING] = float(problem.intercept != "none")
        self.knobs[loops.PULL] = self.knobs[loops.LAMBDA] if problem.intercept == "regularized" else 0.0
        self.counters[loops.B], self.counters[loops.GAIN] = self.b, 1.0
        self.rounds, self.due = 0, 1
        self._forget()

    def step(self) -> None:
        """Walk over all rows once; make a certificate when one is due."""
        refresh(self.theta, self.design.offsets, self.norms, self.knobs, self.counters)
        for number in self.rng.permutation(len(self.design.parts)):
            self._visit(number)
        self.passes += 1.0
        self.rounds += 1
        self.tail += 1
        if self.rounds >= self.due:
            self.due = max(self.rounds + 1, math.ceil(PASS_GROWTH * self.rounds))
            self.seen(
                self.evaluate(self.last() if self.rounds == 1 else self.total / self.counters[loops.COUNT], self.b)
            )
            self._forget()

    def seen(self, evaluation: PrimalEvaluation) -> None:
        """Take note of a certificate."""
        self.b = evaluation.b

    def gradient(self, w: Array) -> Array:
        """Return the gradient of ``1/2 |w|_r^2``: the theta whose normal vector is w, up to factors."""
        norms = np.sqrt(block_squares(w, self.design.offsets))
        beta = self.problem.ball.minimizer(norms)
        each = np.divide(1.0, beta, out=np.zeros_like(beta), where=norms > 0)
        return w * np.repeat(each, np.diff(self.design.offsets))

    def _visit(self, number: int) -> None:
        """Walk over the rows of a part."""
        rows, part, width = self.design.parts[number], self.design.part(number), self.design.width
        size = rows.stop - rows.start
        order = self.rng.permutation(size).astype(np.uint32)
        if self.design.dense:
            entries = part.values.reshape(-1), np.empty(0, np.uint32), np.arange(size + 1, dtype=np.int64) * width
        else:
            entries = part.values, part.columns, part.starts
        stride = max(FEWEST_ROWS, SHARE * width * size // max(1, entries[0].size))
        known = self.design.offsets, self.y[rows], self.weight[rows], order, *self.slope, self.knobs
        moving = self.theta, self.norms, self.counters, self.met[rows], self.lengths[rows], stride, self.total
        loops.iterate(*entries, *known, *moving)

    def _forget(self) -> None:
        """Begin new means."""
        self.met, self.total, self.tail = np.zeros(len(self.y)), np.zeros(self.design.width), 0
        self.counters[loops.COUNT] = 0.0

    def last(self) -> Array:
        """Return the normal vector that theta stands for now."""
        w = np.zeros(self.design.width)
        loops.add_normal(self.design.offsets, self.theta, self.norms[2], self.counters[loops.FACTOR], w)
        return w

    def slopes(self, f: Array) -> Array:
        """Return the slopes at outputs, or for a loss with kinks those met on the way, as a feasible dual point."""
        loss = self.problem.loss
        here = loss.smooth or not self.tail
        return self._balanced(-self.cost * (loss.derivative(f, self.y) if here else self.met / self.tail))

    def _balanced(self, alpha: Array) -> Array:
        """Scale the heavier class down, so that alpha adds up to zero, where the intercept is free."""
        if self.problem.intercept != "free":
            return alpha
        more, less = np.maximum(alpha, 0.0).sum(), -np.minimum(alpha, 0.0).sum()
        return np.where(alpha > 0, alpha * _share(less, more), alpha * _share(more, less))

    def dual(self, seen: PrimalEvaluation) -> DualPoint:
        """Return the best multiple of the slopes of a look."""
        return self.best_multiple(seen.alpha, seen.q)

    def best_multiple(self, alpha: Array, q: Array) -> DualPoint:
        """Return the best of three multiples of alpha and the top of the parabola through their dual objectives.

        For the hinge the dual objective is a parabola along a line; for the others, it is nearly one.
        """
        paid = alpha != 0
        low, high = self.problem.loss.dual_range(self.y[paid], self.cost[paid])
        end = float(np.min(np.where(alpha[paid] > 0, high, low) / alpha[paid], initial=np.inf))

        def value(s: float) -> float:
            return self.problem.linear(s * alpha[None, :]) - 0.5 * self.support(s * s * q)

        values = {s: value(s) for s in TRIED}
        bend, rise, _ = np.polyfit(TRIED, list(values.values()), 2)
        if bend < 0:
            s = float(np.clip(-0.5 * rise / bend, 0.0, end))
            values[s] = value(s)
        best = max(values, key=values.__getitem__)
        return DualPoint(best * alpha[None, :], values[best])


def own_norm(m: int) -> float:
    """Return the p that UFO-MKL takes for m kernels where it would like 1: that of ``r = 2 ln m / (2 ln m - 1)``.

    With ``r = 2p / (p + 1)`` it is ``p = ln m / (ln m - 1)``, and at most 2.

    >>> [round(own_norm(m), 3) for m in (2, 10, 100, 1000)]
    [2.0, 1.768, 1.277, 1.169]
    """
    log = math.log(m) if m > 0 else 0.0
    return log / (log - 1.0) if log > LEAST_LOG else 2.0


def refresh(theta: Array, offsets: Array, norms: Array, knobs: Array, state: Array) -> None:
    """Compute the norms of the blocks of theta afresh, so that rounding does not pile up, and w's factors with them."""
    norms[0] = block_squares(theta, offsets)
    cut = knobs[loops.CUT] * state[loops.TIME]
    loops.renew(knobs[loops.Q], cut, norms, state)
    loops.finish(knobs, theta, norms, state)


def _share(wanted: float, there: float) -> float:
    """Return the factor that brings a sum down to what is wanted."""
    return wanted / there if there > wanted else 1.0
