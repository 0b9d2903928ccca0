"""Block coordinate descent over working sets of kernels, with second-order models of the losses.

Solves, for losses with a bounded second derivative and every p >= 1,

    min over w, b   1/2 (sum_k |w_k|^r)^(2/r) + sum_i c_i loss(f_i, y_i),     f = X w + b,     r = 2p / (p + 1)

and gives back w, b, the kernel weights that belong to w, and the dual point of the last evaluation (`primal`).  An
iteration is a proximal Newton step on a working set of blocks:

    evaluate    alpha_i = -c_i loss'(f_i), v = X' alpha, both objectives: one pass over all columns
    enlarge     by the blocks that are farthest from their optimality condition: |v_k| <= N where w_k = 0 (p = 1),
                v_k = N^(2-r) |w_k|^(r-2) w_k elsewhere;   N the group norm of w
    screen      for p = 1: blocks that the gap proves to be zero at the optimum never enter again (`screening`)
    model       H = X_W' diag(c loss'') X_W of the working set W, the intercept taken out;  minimise it (`model`)
    search      go along the step to the minimum of the model as far as the objective falls enough

The squared norm is part of every step as it is, so there is no strength of a penalty to be searched for.  The columns
of a working set are few, so H is small and all coordinate steps happen in it, whatever the number of rows.  For p = 1
working sets follow the support (Massias, Gramfort and Salmon 2018); for p > 1 every block is in it where they fit.
Losses with pieces of no curvature get a share of their largest curvature while steps have to be shortened.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.mkl.gradient.blocks.model import Model
from kernelweave.solvers.mkl.gradient.blocks.screening import SLACK, screened
from kernelweave.solvers.mkl.gradient.primal import PrimalEvaluation, PrimalSolver, intercept_at
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import SUFFICIENT, TINY, Array, block_squares, dot

FIRST_COLUMNS, FIRST_OF_ALL = 64, 256
"""Columns of a first working set: so few that their Gram matrix costs next to nothing; for p > 1, where all are in use
at the optimum, what costs little."""
MOST_COLUMNS = 4000
"""Columns of a working set at the most; their matrix takes 128 MB."""
PASS_COLUMNS = 1.0
"""A Gram matrix of sqrt(this times d) columns takes as long as a pass over d columns."""
INNER = 0.3
"""The model is solved to the square of this times the tolerance: the dual point follows residuals, not objectives."""
LOOSE = 0.1
"""Share of the gap to which the model is solved while blocks enter the working set."""
ROUNDING = 1e-15
"""Relative to the objective, a change that is rounding."""
NEAR = 0.9
"""Blocks of zeros stay in a working set of p = 1 while they reach so much of the level at which they would enter."""
HALVINGS = 40
LEAST_DAMPING, DAMPING = 0.01, 0.1
"""Shares of the largest curvature below which none is added, and that are added after a first shortened step."""


class BlockCoordinate(PrimalSolver):
    """Proximal Newton steps on working sets of kernels, each solved by block coordinate descent on a small matrix.

    Parameters
    ----------
    first : columns of the first working set; None for a number that suits the design
    """

    same_bits = False  # the matrix of a working set is larger than what it is good for

    def __init__(self, first: int | None = None):
        if first is not None and first < 1:
            raise ValueError(f"first={first!r} must be at least 1, or None.")
        self.first = first

    def init(self, problem: MKLProblem, start: PrimalPoint | None, stop: Stop) -> None:
        """Start from a former normal vector, or from zero."""
        super().init(problem, start, stop)
        self.seen: PrimalEvaluation | None = None
        self.r, self.sizes = problem.ball.exponent, np.diff(self.design.offsets)
        suits = max(FIRST_COLUMNS if self.r == 1.0 else FIRST_OF_ALL, int(np.sqrt(PASS_COLUMNS * self.design.width)))
        affordable = self.design.affordable()
        if self.design.widest > affordable:
            raise MemoryError(
                f"solver='block_coordinate' needs a matrix of the {self.design.widest} columns of a kernel, more than "
                "the memory_limit leaves beside the features; raise the limit, or try solver='svrg'."
            )
        self.most = min(MOST_COLUMNS, affordable)
        self.room = min(self.first or suits, self.most)
        self.working: Array = np.zeros(self.design.m, bool)
        self.alive: Array = np.ones(self.design.m, bool)
        scale = float(self.cost.max(initial=0.0)) * self.design.n
        self.frobenius = np.sqrt(scale * self.design.squares()[:, 0]) if self.r == 1.0 else np.empty(0)
        self.chosen: Array = np.empty(0, np.int64)
        self.damping, self.bend, self.entered = 0.0, np.empty(0), True
        self.gram = self.H = np.empty((0, 0))

    def state(self) -> dict[str, Any]:
        """Return the point and how many columns a working set may have; the set itself is chosen again."""
        return {"room": self.room, "damping": self.damping, "passes": self.passes}

    def step(self) -> None:
        """Evaluate the start; then enlarge the working set, minimise the model on it, and evaluate where that led."""
        if self.seen is None:
            self.seen = self.evaluate(self.w, self.b)
            if self.gap(self.seen) <= self.stop.tol:
                return
        seen = self.seen
        self._enlarge(seen)
        self._bend(seen)
        norms, inside = seen.norms, self.working
        rest = float((norms[~inside] ** self.r).sum())
        model = Model(self.H, np.concatenate([[0], np.cumsum(self.sizes[inside])]), self.r, rest)
        limit = max((INNER * self._aim(seen)) ** 2, ROUNDING) * abs(seen.primal)
        w, g = seen.w[self.chosen], -seen.v[self.chosen]
        step = model.minimize(w, g, limit) - w
        new = model.norm_term(model.norms(w + step)) - model.norm_term(model.norms(w))
        fall = new + dot(g, step) + 0.5 * dot(step, self.H @ step)
        self.seen = self._search(seen, step, min(fall, 0.0))

    def _aim(self, seen: PrimalEvaluation) -> float:
        """Return the gap that the next point is to reach: a larger one while more blocks are to enter."""
        return max(self.stop.tol, LOOSE * min(1.0, self.gap(seen))) if self.entered else self.stop.tol

    def _enlarge(self, seen: PrimalEvaluation) -> None:
        """Take the worst blocks into the working set; let go of zero blocks that are far from entering."""
        self.entered = not self.working.all()
        if not self.entered:
            return
        if self.design.width <= self.room:
            self.entered = False
            self._work_on(np.ones(self.design.m, bool))
            return
        self._screen(seen)
        far = np.where(self.alive, self._violations(seen), 0.0)
        used = self._stay(seen)
        order = np.argsort(-np.where(used, -1.0, far), kind="stable")
        order = order[~used[order] & (far[order] > 0)]
        width = np.cumsum(self.sizes[order])
        room = min(self.room, self.most - int(self.sizes[used].sum()))
        fits = max(1, int(np.searchsorted(width, room, side="right")))
        used[order[:fits]] = True
        self.entered = len(order) > fits
        if self.entered:
            self.room = min(self.most, 2 * self.room)
        if not np.array_equal(used, self.working):
            self._work_on(used)

    def _work_on(self, used: Array) -> None:
        """Take other blocks for the working set, (m,) bool; what is known of columns that stay is kept."""
        self.working, before = used, self.chosen
        self.chosen = np.flatnonzero(np.repeat(used, self.sizes))
        self.H = np.empty((0, 0))
        if not len(before):
            self.columns, self.fresh = self.design.columns(self.chosen), np.arange(len(self.chosen))
            self.gram = np.zeros((len(self.chosen), len(self.chosen)))
            return
        stay = np.flatnonzero(np.isin(self.chosen, before))
        old, self.fresh = np.searchsorted(before, self.chosen[stay]), np.delete(np.arange(len(self.chosen)), stay)
        gram = np.zeros((len(self.chosen), len(self.chosen)))
        gram[np.ix_(stay, stay)], self.gram = self.gram[np.ix_(old, old)], gram
        self.columns = self.design.columns(self.chosen, (before, self.columns))

    def _screen(self, seen: PrimalEvaluation) -> None:
        """Leave out the blocks that are zero at the optimum of p = 1."""
        if self.r > 1.0:
            return
        dual = seen.dual
        multiple = dot(dual.alpha[0], seen.alpha) / max(dot(seen.alpha, seen.alpha), TINY)
        gap = seen.primal - dual.value + SLACK * abs(seen.primal)
        self.alive &= ~screened(multiple * np.sqrt(seen.q), self.frobenius, gap, self.problem.loss.bend)

    def _stay(self, seen: PrimalEvaluation) -> Array:
        """Return which blocks stay in the working set: those in use, and others of it that are near to being so."""
        used = seen.norms > 0
        size = float((seen.norms**self.r).sum() ** (1.0 / self.r))
        for stay in (used | (self.working & self.alive & (np.sqrt(seen.q) > NEAR * size)), used):
            if self.sizes[stay].sum() <= self.most // 2 or self.design.width <= self.most:
                return stay
        return np.zeros(len(used), bool)

    def outputs(self, w: Array) -> Array:
        """Return ``X w``; the columns of a working set that has all blocks in use are enough."""
        if not w.any():
            return np.zeros(self.design.n)
        part = w[self.chosen]
        if np.count_nonzero(part) < np.count_nonzero(w) or not len(part):
            return super().outputs(w)
        out = np.zeros(self.design.n)
        self.columns.outputs(part, slice(0, self.design.n), out)
        return out

    def _violations(self, seen: PrimalEvaluation) -> Array:
        """Return how far each block is from its optimality condition, (m,)."""
        norms, size = seen.norms, float((seen.norms**self.r).sum() ** (1.0 / self.r))
        pull = np.zeros(len(norms))
        used = norms > 0
        pull[used] = size ** (2.0 - self.r) * norms[used] ** (self.r - 2.0)
        left = np.sqrt(block_squares(seen.v - np.repeat(pull, self.sizes) * seen.w, self.design.offsets))
        return left if self.r > 1.0 else np.where(used, left, np.maximum(left - size, 0.0))

    def _bend(self, seen: PrimalEvaluation) -> None:
        """Compute H, or the rows and columns of it that are new where the curvature has not changed."""
        loss, width = self.problem.loss, len(self.chosen)
        curvature = loss.curvature(seen.f, self.y)
        bend = self.cost * (curvature + self.damping * (loss.bend - curvature))
        fresh = self.fresh if np.array_equal(bend, self.bend) else np.arange(width)
        if len(fresh):
            lines = self.columns.column_gram(bend, width, fresh)
            self.gram[fresh], self.gram[:, fresh] = lines, lines.T
        elif len(self.H) == width:
            return
        self.H, self.bend, self.fresh = self.gram, bend, np.empty(0, np.int64)
        if self.problem.intercept != "none":
            self.columns.correlate(bend, slice(0, self.columns.n), mean := np.zeros(width))
            whole = float(bend.sum()) + (1.0 if self.problem.intercept == "regularized" else 0.0)
            self.H = self.gram - np.outer(mean, mean / max(whole, TINY))

    def _search(self, seen: PrimalEvaluation, step: Array, fall: float) -> PrimalEvaluation:
        """Go along a step as far as the objective falls enough, and evaluate there."""
        share, w, plain, along = 1.0, seen.w.copy(), seen.f - seen.b, np.empty(0)
        for _ in range(HALVINGS):
            w[self.chosen] = seen.w[self.chosen] + share * step
            f = plain + share * along if len(along) else self.outputs(w)
            b = intercept_at(self.problem, f, seen.b)
            value = self._objective(w, f + b, b)
            if value <= seen.primal + SUFFICIENT * share * fall + ROUNDING * abs(seen.primal):
                break
            along = along if len(along) else f - plain
            share *= 0.5
        shortened = max(DAMPING, 2.0 * self.damping)
        self.damping = min(1.0, shortened) if share < 1.0 else 0.25 * self.damping
        self.damping = self.damping if self.damping >= LEAST_DAMPING else 0.0
        return self.evaluate(w, b) if len(along) else self.look(w, b, f + b)

    def _objective(self, w: Array, f: Array, b: float) -> float:
        norms = np.sqrt(block_squares(w, self.design.offsets))
        value = 0.5 * float((norms**self.r).sum() ** (2.0 / self.r)) + dot(
            self.cost, self.problem.loss.value(f, self.y)
        )
        return value + (0.5 * b * b if self.problem.intercept == "regularized" else 0.0)
