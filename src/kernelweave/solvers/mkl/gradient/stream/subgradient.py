"""UFO-MKL and OBSCURE on a stream: both meet one row at a time, so a block only has to go on where the last one ended.

Carried over blocks: the sum theta of rows, the state of the rule (rows met, slacks), and means.  The model is the mean
of the vectors w met lately, as is its intercept: two windows are kept, and when the newer one has grown as long as all
that came before it, it becomes the older one.  So the mean is over the last half of the rows, or some more.

OBSCURE goes from its first stage to the second after `online_passes` passes; a stream of unknown length stays in the
first one.  The radius of its ball comes from the objective of the model as the last block of the first stage shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelweave.solvers.loop import Stop
from kernelweave.solvers.mkl.gradient.stream.base import StreamState, check_block
from kernelweave.solvers.mkl.gradient.subgradient import loops
from kernelweave.solvers.mkl.gradient.subgradient.base import Subgradient, refresh
from kernelweave.solvers.mkl.gradient.subgradient.obscure import Obscure
from kernelweave.solvers.mkl.gradient.subgradient.ufo import UFO
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import block_squares, dot


@dataclass
class SubgradientState(StreamState):
    """Where a subgradient method is.

    theta, walk (the state of `subgradient_loops`) and knobs are its own; older and newer sum the vectors of the two
    windows, counts (2,) their numbers, intercepts (2,) the sums of intercept times rows, spans (2,) the rows.
    """

    vectors: ClassVar[tuple[str, ...]] = ("w", "theta", "older", "newer")

    theta: Any = None
    older: Any = None
    newer: Any = None
    walk: Any = None
    knobs: Any = None
    counts: Any = None
    intercepts: Any = None
    spans: Any = None


class SubgradientStream(Subgradient):
    """What both share."""

    State = SubgradientState

    def block(self, problem: MKLProblem, state: SubgradientState | None, total_rows: int | None) -> SubgradientState:
        """Walk over the rows of a block; parameters as for `SVRGStream.block`."""
        self.init(problem, None, Stop())
        n = self.design.n
        check_block(n, total_rows)
        state = state or self._at_zero()
        state.count(self.cost, self.design.squares()[:, 0], total_rows)
        self.rng = np.random.default_rng([self.random_state, state.blocks])
        self.scale, self.weight = state.mean_cost * (total_rows or state.rows + n), self.cost / state.mean_cost
        self._resume(state)
        self._visit(0)
        self._keep(state)
        state.rows, state.blocks = state.rows + n, state.blocks + 1
        self.after(state, total_rows)
        return state

    def after(self, state: SubgradientState, total_rows: int | None) -> None:
        """Do what is due when a block is over."""

    def _at_zero(self) -> SubgradientState:
        none = {name: np.zeros(2) for name in ("counts", "intercepts", "spans")}
        beta = self.problem.ball.uniform(self.design.m)
        return SubgradientState.at_zero(self.design.width, beta, walk=self.counters, knobs=self.knobs, **none)

    def _resume(self, state: SubgradientState) -> None:
        """Take theta and the rule as they were; the regularisation follows the length of the stream."""
        lam = 1.0 / self.scale
        self.theta, self.counters, self.knobs = state.theta.copy(), state.walk.copy(), state.knobs.copy()
        self.knobs[loops.CUT] *= lam / self.knobs[loops.LAMBDA]
        self.knobs[loops.LAMBDA], self.knobs[loops.PULL] = lam, lam if self.problem.intercept == "regularized" else 0.0
        self.total, self.counters[loops.COUNT] = state.newer.copy(), state.counts[1]
        refresh(self.theta, self.design.offsets, self.norms, self.knobs, self.counters)

    def _keep(self, state: SubgradientState) -> None:
        """Keep where the rule is, and read the model off the windows."""
        n, b = self.design.n, float(self.counters[loops.B])
        state.theta, state.walk, state.knobs, state.newer = self.theta, self.counters, self.knobs, self.total
        state.counts = np.array([state.counts[0], self.counters[loops.COUNT]])
        newest = np.array([0.0, n])
        state.intercepts, state.spans = state.intercepts + b * newest, state.spans + newest
        state.w = (state.older + state.newer) / max(1.0, state.counts.sum())
        state.b = float(state.intercepts.sum() / state.spans.sum())
        state.beta = self.weights(np.sqrt(block_squares(state.w, self.design.offsets)))
        if 2 * state.spans[1] >= state.rows + n:
            self._turn(state)

    def _turn(self, state: SubgradientState) -> None:
        """Begin a new window."""
        state.older, state.newer = state.newer, np.zeros(self.design.width)
        for name in ("counts", "intercepts", "spans"):
            setattr(state, name, np.array([getattr(state, name)[1], 0.0]))


class UFOStream(SubgradientStream, UFO):
    """`UFO` on a stream of blocks; parameters as there."""


class ObscureStream(SubgradientStream, Obscure):
    """`Obscure` on a stream of blocks; parameters as there, with one pass in the first stage by default."""

    def __init__(self, online_passes: int = 1, eta: float | None = None, random_state: int = 0):
        super().__init__(online_passes, eta, random_state)

    def after(self, state: SubgradientState, total_rows: int | None) -> None:
        """Begin the second stage when the first is over."""
        online = state.knobs[loops.RULE] == loops.ONLINE
        if not online or total_rows is None or state.rows < self.online_passes * total_rows:
            return
        norms = np.sqrt(block_squares(state.w, self.design.offsets))
        losses = self.problem.loss.value(self.design.outputs(state.w) + state.b, self.y)
        self._begin_batch(
            self.regularizer(norms, self.weights(norms)) + self.scale * dot(self.weight, losses) / self.design.n
        )
        state.walk, state.knobs = self.counters, self.knobs
