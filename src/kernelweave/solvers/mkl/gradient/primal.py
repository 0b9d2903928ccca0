"""What solvers share that walk through normal vectors: one look over all rows gives objective, gradient and gap.

On explicit features X = (X_1 ... X_m) the common objective is, with r = 2p / (p + 1),

    min over w, b   1/2 (sum_k |w_k|^r)^(2/r) + sum_i c_i loss(f_i, y_i),     f = X w + b

A look at (w, b) computes f, then the best intercept, then the slopes ``alpha_i = -c_i loss'(f_i, y_i)`` and
``v = X' alpha``.  The gradient of the losses is -v; and alpha is a feasible dual point whose energies are
``q_k = |v_k|^2``, because the best intercept is where the slopes add up to zero.  So the certificate is free.
A multiple of alpha may be a better dual point: along s alpha the dual objective has at s = 1 the slope
``sum alpha f - |q|_{p*}`` and the curvature ``-sum alpha^2 / (c loss'') - |q|_{p*}``; one Newton step is tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kernelweave.losses.base import every
from kernelweave.operators.base import HasDesign
from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint, relative_gap
from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import TINY, Array, block_squares, dot
from kernelweave.solvers.state import Resumable, record

NEWTON_STEPS = 100
CLOSE = 1e-15
"""Newton's method for the intercept ends when a step is shorter than this, relative to where it stands."""


NOTHING = DualPoint(np.empty(0), -np.inf)
"""A dual point that proves nothing."""


SHORT = 0.01
"""Changes of a dual point by so little are better where Newton's method says so."""


@record
@dataclass(frozen=True)
class PrimalEvaluation:
    """The objective, seen from one normal vector.

    w (width,), b; f (n,) outputs with b; alpha (n,); v = X' alpha (width,); norms (m,) of the blocks of w;
    q (m,) squared norms of the blocks of v; primal objective and the weights that belong to w; the best dual point.
    """

    w: Array
    b: float
    f: Array
    alpha: Array
    v: Array
    norms: Array
    q: Array
    beta: Array
    primal: float
    dual: DualPoint = NOTHING


class PrimalSolver(Resumable):
    """A normal vector on its way; subclasses say in `step` how it moves."""

    keeps = "w b passes pending"
    limits = Limits(1000, patience=100, instead=("lp", "hessian"))
    problem: MKLProblem
    stop: Stop

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from a former normal vector, or from zero."""
        if not isinstance(problem.operators, HasDesign):
            raise TypeError(f"{type(self).__name__} needs kernels bound to their explicit features.")
        self.problem, self.stop, self.design = problem, stop, problem.operators.design
        self.y, self.cost = problem.targets[0], problem.cost
        self.passes = 0.0
        former = None if start is None else start.vector
        self.w = np.zeros(self.design.width) if former is None else np.array(former[0], dtype=float)
        self.b = 0.0 if start is None else float(np.atleast_1d(start.intercept)[0])
        self.pending: list[PrimalEvaluation] = []

    def step(self) -> None:
        """Move the normal vector."""
        raise TypeError(f"{type(self).__name__} does not say how to move.")

    @property
    def spent(self) -> int:
        """Passes that made features afresh, each of which takes many times as long as one over features in memory."""
        return int(self.passes) if self.design.streamed else 0

    @cached_property
    def owner(self) -> Array:
        """The kernel of each column, (width,)."""
        return np.repeat(np.arange(self.design.m, dtype=np.uint32), np.diff(self.design.offsets))

    def evaluate(self, w: Array, b: float) -> PrimalEvaluation:
        """Look at the objective from w, with the best intercept near b; costs one pass over the rows."""
        f = self.outputs(w)
        b = intercept_at(self.problem, f, b)
        return self.look(w, b, f + b)

    def look(self, w: Array, b: float, f: Array) -> PrimalEvaluation:
        """Look at the objective from w, whose outputs with the intercept b are f."""
        alpha = self.slopes(f)
        v = self.design.correlate(alpha)
        self.passes += 1.0
        norms = np.sqrt(block_squares(w, self.design.offsets))
        beta, q = self.weights(norms), block_squares(v, self.design.offsets)
        seen = PrimalEvaluation(w.copy(), b, f, alpha, v, norms, q, beta, self.primal(norms, beta, f, b))
        seen = replace(seen, dual=self.dual(seen))
        self.pending.append(seen)
        return seen

    def outputs(self, w: Array) -> Array:
        """Return ``X w``."""
        return self.design.outputs(w)

    def slopes(self, f: Array) -> Array:
        """Return the dual point that belongs to outputs."""
        return -self.cost * self.problem.loss.derivative(f, self.y)

    def weights(self, norms: Array) -> Array:
        """Return the kernel weights that belong to block norms."""
        return self.problem.ball.minimizer(norms)

    def regularizer(self, norms: Array, beta: Array) -> float:
        """Return ``1/2 sum_k |w_k|^2 / beta_k``, where 0 / 0 is 0."""
        used = norms > 0
        return 0.5 * float((norms[used] ** 2 / beta[used]).sum())

    def support(self, q: Array) -> float:
        """Return the dual norm of the energies."""
        return self.problem.ball.support(q)

    def primal(self, norms: Array, beta: Array, f: Array, b: float) -> float:
        """Return the primal objective at block norms, weights, outputs with the intercept, and the intercept."""
        value = self.regularizer(norms, beta) + dot(self.cost, self.problem.loss.value(f, self.y))
        return value + (0.5 * b * b if self.problem.intercept == "regularized" else 0.0)

    def dual(self, seen: PrimalEvaluation) -> DualPoint:
        """Return the better of two dual points: the slopes of a look, and their best multiple by one Newton step.

        A short step needs no comparison: along a line the dual is nearly a parabola.
        """
        best, newton = DualPoint(seen.alpha[None, :], -np.inf), self._multiple(seen)
        for s in (newton,) if abs(newton - 1.0) <= SHORT else (1.0, newton):
            alpha = s * seen.alpha[None, :]
            value = self.problem.linear(alpha) - 0.5 * s * s * self.support(seen.q)
            if value > best.value:
                best = DualPoint(alpha, value)
        return best

    def gap(self, seen: PrimalEvaluation) -> float:
        """Return the relative gap between the two points of one look."""
        return relative_gap(seen.primal, seen.dual.value)

    def _multiple(self, seen: PrimalEvaluation) -> float:
        alpha, paid = seen.alpha, every((seen.alpha != 0) & (self.cost > 0))
        if not len(alpha[paid]):
            return 0.0
        size = self.support(seen.q) + (alpha.sum() ** 2 if self.problem.intercept == "regularized" else 0.0)
        bend = (self.cost * self.problem.loss.curvature(seen.f, self.y))[paid]
        bend = np.where(bend > 0, bend, self.cost[paid] * self.problem.loss.bend)  # from inside, at the end of a range
        curvature = float((alpha[paid] ** 2 / np.maximum(bend, TINY)).sum()) + size
        s = max(0.0, 1.0 + (dot(alpha, seen.f) - size) / curvature)
        low, high = self.problem.loss.dual_range(self.y[paid], self.cost[paid])
        ends = np.where(alpha[paid] > 0, high, low) / alpha[paid]
        return float(min(s, ends.min()))

    def certify(self, ledger: Ledger) -> dict[str, float]:
        """Offer what was seen since the last certificate."""
        for seen in self.pending:
            point = PrimalPoint(seen.alpha[None, :], np.array([seen.b]), seen.primal, seen.beta, seen.w[None, :])
            ledger.offer(primal=point, dual=seen.dual)
        self.pending = []
        return {"passes": self.passes}

    def fallback(self) -> PrimalPoint:
        """Return the zero classifier."""
        nothing = self.problem.nothing()
        return PrimalPoint(
            nothing.alpha, nothing.intercept, nothing.value, nothing.beta, np.zeros((1, self.design.width))
        )


def intercept_at(problem: MKLProblem, outputs: Array, guess: float) -> float:
    """Return the intercept that minimises the objective for fixed outputs.

    Newton's method inside a bracket; where the loss has kinks, no step stays inside and the bracket is halved.
    """
    if problem.intercept == "none":
        return 0.0
    y, cost, loss = problem.targets[0], problem.cost, problem.loss
    pull = 1.0 if problem.intercept == "regularized" else 0.0
    low, high, b = -np.inf, np.inf, guess
    for _ in range(NEWTON_STEPS):
        each = cost * loss.derivative(outputs + b, y)
        slope = pull * b + float(each.sum())
        if abs(slope) <= CLOSE * (pull * abs(b) + float(np.abs(each).sum())):
            break
        low, high = (low, b) if slope > 0 else (b, high)
        bend = pull + (dot(cost, loss.curvature(outputs + b, y)) if loss.smooth else 0.0)
        new = b - slope / bend if bend > 0 else np.nan
        if not low <= new <= high or not np.isfinite(new):
            new = 0.5 * (low + high) if np.isfinite(low + high) else b - np.sign(slope) * (1.0 + 2.0 * abs(b))
        done = abs(new - b) <= CLOSE * (1.0 + abs(b))
        b = float(new)
        if done or slope == 0.0:
            break
    return b
