"""SVRG on a stream.

A block is an epoch of `svrg_adaptive` on its rows, with an estimate g of the mean gradient of the losses of all rows
in place of that of the block.  Let the model be u at the begin of the last block and w at the begin of this one; let F
be the mean over the rows of this block of the gradients at w, and D what it is more than at u.  Then

    first pass    g <- (1 - a) (g + D) + a F,     a the share of this block in all rows seen: a running mean, in which
                  D brings what earlier blocks said at u over to w
    later passes  g <- g + D;  at the end of a pass  g <- (mean gradient at the start) + (sum of D since the start),
                  exact but for the D, where the start is where the model was when the pass began

The error of g is what D misses: the curvature of a block against that of all rows, along the way that w went.  As the
way gets shorter it vanishes, so from the second pass on the stream converges to the optimum as SVRG does.
Steps are shorter than in `svrg` and sweeps over a block more, which noise likes better; but many sweeps would go where
only this block wants to go.  A walk that does harm on its own rows is tried again with shorter steps; one that the next
block finds to be much worse is taken back.  A pass also gives the objective at its start: when it rises, steps get
shorter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelweave.solvers.loop import Stop
from kernelweave.solvers.mkl.gradient.primal import PrimalEvaluation, PrimalSolver, intercept_at
from kernelweave.solvers.mkl.gradient.stream.base import StreamState, check_block
from kernelweave.solvers.mkl.gradient.svrg.adaptive import FLUSH_SHARE, SMALLEST_SHARE, TABLE
from kernelweave.solvers.mkl.gradient.svrg.loops import Segment
from kernelweave.solvers.mkl.gradient.svrg.solver import SVRG
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import TINY, Array, block_squares, dot

LARGEST_STEP, STEP_GROWTH, STEP_SHRINK, SWEEPS = 0.15, 1.05, 0.4, 4.0
"""eta at the start and at most, its change after a walk that helped or did not, and sweeps over a block."""
CAUTION = 4.0
"""The step of the intercept is so many times shorter than one over the curvature."""
WORSE, HARMLESS = 0.1, 1e-3
"""Relative rise of the objective from which on a walk is taken back: on fresh rows, and on those it went over..."""
TRIES = 3
"""...where it is tried again with shorter steps."""


@dataclass
class SVRGState(StreamState):
    """Where `SVRGStream` is; a name that ends in _b is of the intercept.

    former is u and slope is g above; total sums the gradients at the start over the rows of the pass, with `spent`
    their costs and `losses` the losses there; drift sums the D of the pass; objective is that of the last pass.
    """

    vectors: ClassVar[tuple[str, ...]] = ("w", "former", "slope", "start", "total", "drift")

    former: Any = None
    slope: Any = None
    start: Any = None
    total: Any = None
    drift: Any = None
    former_b: float = 0.0
    slope_b: float = 0.0
    start_b: float = 0.0
    total_b: float = 0.0
    drift_b: float = 0.0
    spent: float = 0.0
    losses: float = 0.0
    objective: float = float("inf")
    eta: float = LARGEST_STEP


class SVRGStream(SVRG):
    """`SVRG` on a stream of blocks.

    Parameters
    ----------
    epoch_passes : sweeps over the rows of a block
    schedule, batch, refreshes, weights, random_state : as for `SVRG`; a stream has the schedule "adaptive"
    """

    State = SVRGState

    def __init__(
        self,
        schedule: str = "adaptive",
        batch: int = 8,
        epoch_passes: float = SWEEPS,
        refreshes: int = 10,
        weights: str = "learned",
        random_state: int = 0,
    ):
        super().__init__(schedule, batch, epoch_passes, refreshes, weights=weights, random_state=random_state)
        if schedule != "adaptive":
            raise ValueError(f"schedule={schedule!r} needs all rows at once; partial_fit has schedule='adaptive'.")

    def block(self, problem: MKLProblem, state: SVRGState | None, total_rows: int | None) -> SVRGState:
        """Walk over the rows of a block.

        Parameters
        ----------
        problem : the block, in memory: kernels bound to its rows, targets (1, n), costs
        state : where the stream was, on the columns of this block; None at its begin
        total_rows : N, or None for the rows seen so far
        """
        PrimalSolver.init(self, problem, None, Stop())
        n, (self.slope, self.shape) = self.design.n, problem.loss.compiled_slope()
        check_block(n, total_rows)
        if state is None:
            state = SVRGState.at_zero(self.design.width, problem.ball.uniform(self.design.m))
            state.b = state.former_b = state.start_b = intercept_at(problem, np.zeros(n), 0.0)
        self.rng = np.random.default_rng([self.random_state, state.blocks])
        share = state.count(self.cost, self.design.squares()[:, 0], total_rows)
        self.scale, self.weight = state.mean_cost * (total_rows or state.rows + n), self.cost / state.mean_cost
        f = self._follow(state, share)
        if total_rows and state.rows + n > total_rows:
            self._add_to_pass(state, f, total_rows)
        self._inner(state, f)
        state.rows, state.blocks = state.rows + n, state.blocks + 1
        return state

    def _follow(self, state: SVRGState, share: float) -> Array:
        """Bring the gradient from u to w, and add what this block says of it; return the outputs at w."""
        f, before = self.design.outputs(state.w) + state.b, self.design.outputs(state.former) + state.former_b
        known = self._value(state.former, state.former_b, before)
        if not self._value(state.w, state.b, f) <= (1.0 + WORSE) * known:
            state.w, state.b, state.eta, f = state.former, state.former_b, STEP_SHRINK * state.eta, before
        slopes, cost = self._slopes(f), float(self.cost.sum())
        change = slopes - (1.0 - share) * self._slopes(before)
        D, D_b = self.design.correlate(change) / cost, float(change.sum()) / cost
        state.slope, state.slope_b = (1.0 - share) * state.slope + D, (1.0 - share) * state.slope_b + D_b
        state.drift, state.drift_b = state.drift + D, state.drift_b + D_b
        return f

    def _add_to_pass(self, state: SVRGState, f: Array, total_rows: int) -> None:
        """Add the rows to the sums of their passes: a block may end one and begin the next."""
        left = total_rows - state.rows % total_rows
        if state.rows % total_rows == 0:
            self._begin_pass(state)
        if state.rows >= total_rows:
            self._add(state, self.design.outputs(state.start) + state.start_b, slice(0, left))
            if left <= self.design.n:
                self._end_pass(state, total_rows)
        if left < self.design.n:
            self._begin_pass(state)
            self._add(state, f, slice(left, self.design.n))

    def _begin_pass(self, state: SVRGState) -> None:
        state.start, state.start_b = state.w, state.b
        state.total = state.drift = np.zeros(self.design.width)
        state.total_b = state.drift_b = state.spent = state.losses = 0.0

    def _add(self, state: SVRGState, f: Array, rows: slice) -> None:
        """Add the gradients and losses of some rows at the start of the pass, where they have outputs f."""
        slopes = np.zeros(self.design.n)
        slopes[rows] = self._slopes(f)[rows]
        state.total, state.total_b = state.total + self.design.correlate(slopes), state.total_b + float(slopes.sum())
        state.losses += dot(self.cost[rows], self.problem.loss.value(f[rows], self.y[rows]))
        state.spent += float(self.cost[rows].sum())

    def _end_pass(self, state: SVRGState, total_rows: int) -> None:
        """Take the exact gradient, and see whether the objective has fallen since the pass before."""
        state.slope, state.slope_b = (
            state.total / state.spent + state.drift,
            state.total_b / state.spent + state.drift_b,
        )
        state.mean_cost = state.spent / total_rows
        value = self._regularizer(state.start, state.start_b) + state.losses
        if value > state.objective:
            state.eta *= STEP_SHRINK
        state.objective = value

    def _inner(self, state: SVRGState, f: Array) -> None:
        """Run an epoch over the block, whose rows have outputs f; one that does harm is tried again."""
        none, offsets, v = np.empty(0), self.design.offsets, -self.scale * state.slope
        norms = np.sqrt(block_squares(state.w, offsets))
        seen = PrimalEvaluation(
            state.w, state.b, f, none, v, norms, block_squares(v, offsets), self.weights(norms), np.nan
        )
        state.former, state.former_b = state.w, state.b
        for _ in range(TRIES):
            w, b = StreamEpoch(self, state).run(seen)
            if self._helps(state, f, w, b):
                state.w, state.b = w, float(b)
                state.beta = self.weights(np.sqrt(block_squares(w, offsets)))
                state.eta = min(LARGEST_STEP, STEP_GROWTH * state.eta)
                break
            state.eta *= STEP_SHRINK

    def _helps(self, state: SVRGState, f: Array, w: Array, b: float) -> bool:
        """Tell whether a walk lowered what it follows: the losses of the block with the gradient of all rows."""
        if not (np.isfinite(w).all() and np.isfinite(b)):
            return False
        after, value = self.design.outputs(w) + b, self.problem.loss.value
        bent = value(after, self.y) - value(f, self.y) - self.problem.loss.derivative(f, self.y) * (after - f)
        change = dot(self.cost, bent) / float(self.cost.sum()) + dot(state.slope, w - state.w)
        rise = self.scale * (change + state.slope_b * (b - state.b)) + self._regularizer(w, b)
        before = self._regularizer(state.w, state.b)
        return bool(rise - before <= HARMLESS * (before + self.scale * dot(self.weight, value(f, self.y)) / len(f)))

    def _slopes(self, f: Array) -> Array:
        return self.cost * self.problem.loss.derivative(f, self.y)

    def _value(self, w: Array, b: float, f: Array) -> float:
        """Return the objective, as far as the rows of the block tell."""
        losses = dot(self.weight, self.problem.loss.value(f, self.y)) / self.design.n
        return self._regularizer(w, b) + self.scale * losses

    def _regularizer(self, w: Array, b: float) -> float:
        norms = np.sqrt(block_squares(w, self.design.offsets))
        pull = 0.5 * b * b if self.problem.intercept == "regularized" else 0.0
        return self.regularizer(norms, self.weights(norms)) + pull


class StreamEpoch:
    """A walk of several sweeps over a block, with the constants of the stream; steps are those of `svrg_adaptive`.

    Parameters
    ----------
    walk : the solver, on its block
    state : where the stream is
    """

    def __init__(self, solver: SVRGStream, state: SVRGState):
        self.solver, self.state, self.design = solver, state, solver.design
        self.batch, self.bend = min(solver.batch, self.design.n), solver.problem.loss.bend

    def run(self, seen: PrimalEvaluation) -> tuple[Array, float]:
        """Return the normal vector and the intercept after a walk that starts at a look."""
        solver, n = self.solver, self.design.n
        beta = seen.beta if seen.norms.any() else solver.weights(seen.beta * np.sqrt(seen.q))
        segment, total = (
            Segment(solver, self.design.part(0), slice(0, n), seen, self.batch),
            int(solver.epoch_passes * n),
        )
        order = np.concatenate([solver.rng.permutation(n) for _ in range(-(-total // n))])[:total].astype(np.uint32)
        for rows in self._pieces(order, segment.entries):
            followed = np.maximum(beta, SMALLEST_SHARE * beta.max())
            size = self.bend * max(float(followed @ self.state.squares), TINY)
            segment.run(rows, self.state.eta * self.batch * followed / size, beta, self._intercept())
            beta = solver.weights(np.sqrt(block_squares(segment.w, self.design.offsets)))
        return segment.w, segment.b

    def _pieces(self, order: Array, entries: int) -> list[Array]:
        """Cut the walk at whole batches, where the weights follow w: not too often on sparse rows, which have to be
        brought in line, and often enough for their table of powers.
        """  # fmt: skip
        pieces, batches = self.solver.refreshes, max(1, len(order) // self.batch)
        if not self.design.dense:
            visited = entries * len(order) / self.design.n
            pieces = min(pieces, max(1, int(visited / (FLUSH_SHARE * self.design.width))))
            pieces = max(pieces, -(-batches * self.design.m // TABLE))
        cuts = self.batch * np.unique(np.linspace(0, batches, pieces + 1).astype(int))[1:-1]
        return [some for some in np.split(order, cuts) if len(some)]

    def _intercept(self) -> tuple[float, float, float]:
        """Return the gradient of the intercept, which is not at its best in a stream, its step and its shrinking."""
        kind, h = self.solver.problem.intercept, self.state.eta / self.bend / CAUTION
        if kind == "none":
            return 0.0, 0.0, 1.0
        return self.state.slope_b, h, 1.0 / (1.0 + h / self.solver.scale) if kind == "regularized" else 1.0
