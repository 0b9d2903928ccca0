"""Epochs of `svrg` whose steps and lengths follow measurements: variance reduction as in Algorithm 1 of the paper, the
rest not.

- The step of kernel k follows its weight, ``h_k = eta batch beta_k / (curvature sum_j beta_j s_j)`` with s_j the mean
  squared length of a row in block j and the mean curvature of the losses at the snapshot: all blocks together move as
  one well-scaled problem.
- A batch acts like the full gradient in the steepest direction, where steps must not be too long.  How steep it is, is
  measured by power steps on a sample of the rows, and bounds eta.
- The regulariser is a proximal step, which no small weight can upset.  So the weights may follow w several times
  within an epoch; for p near 1 the alternation between epochs alone would be slow.
- Rows come in random order without repetition, in small batches.
- Steps shrink towards the end of an epoch.  Long ones travel far, but leave w shaking in the steep directions, which
  hardly changes the objective and very much the gap.
- eta shrinks when an epoch fails to lower the objective (it then is taken back) or hardly does, and grows slowly
  otherwise.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.solvers.mkl.gradient.primal import PrimalEvaluation
from kernelweave.solvers.mkl.gradient.svrg.loops import Epoch, Segment
from kernelweave.solvers.problems import TINY, Array, block_squares, dot

if TYPE_CHECKING:
    from kernelweave.solvers.mkl.gradient.svrg.solver import SVRG

FIRST_STEP, LARGEST_STEP, STEP_GROWTH, STEP_SHRINK = 0.35, 0.4, 1.15, 0.6
"""eta at the start, at most, and its change after an epoch that helped or did not."""
BELOW_FAILURE = 0.75
"""Share of an eta that failed up to which it may grow again."""
STUCK, SHAKING = 0.7, 0.02
"""An epoch that leaves more than this share of the gap, and lowers the objective by less than this share of it, has
steps that are too long."""
CALM = 0.15
"""eta at which nothing shakes: what is slow still is badly conditioned."""
COOLING = ((0.85, 1.0), (0.93, 0.3), (0.98, 0.1), (1.0, 0.03))
"""Up to which share of an epoch steps have which share of their length."""
FLATTEST = 0.25
"""The curvature that sets the steps is at least this share of the largest one: rows may become steeper."""
SMALLEST_SHARE = 1e-3
"""Steps follow weights down to this share of the largest: a kernel that nearly left can come back."""
STEEPEST_ROWS, POWER_STEPS = 256, 3
"""Rows on which the steepest direction is looked for, and steps towards it in each epoch."""
STEEP = 1.5
"""A step along the steepest direction is at most this share of the way to the lowest point (2 would be unstable)."""
TABLE = 1 << 21
"""Entries of the table of powers at most."""
FLUSH_SHARE = 4.0
"""The weights follow w only so often that bringing sparse columns in line costs a quarter of the walk."""


class AdaptiveEpochs:
    """Walks of `walk.epoch_passes` passes, as long as needed.

    Parameters
    ----------
    walk : what is optimised
    batch, passes, refreshes : see `SVRG`
    """

    def __init__(self, solver: SVRG, batch: int, passes: float, refreshes: int):
        self.solver, self.design, self.refreshes = solver, solver.design, refreshes
        self.batch = min(batch, self.design.n)
        self.total = max(self.batch, int(passes * self.design.n))
        self.eta, self.most, self.updates = FIRST_STEP, LARGEST_STEP, 0
        self.lengths = self.design.squares()[:, 0]
        self.bend = solver.problem.loss.bend
        self.some = np.sort(solver.rng.permutation(self.design.n)[:STEEPEST_ROWS])
        self.sample, self.steepest = self.design.taken(self.some), solver.rng.standard_normal(self.design.width)

    def run(self, seen: PrimalEvaluation) -> tuple[Array, float]:
        """Return the normal vector and the intercept after a walk that starts at a look."""
        solver, parts, done = self.solver, self.design.parts, 0
        self.beta = seen.beta if seen.norms.any() else solver.weights(seen.beta * np.sqrt(seen.q))
        bends = solver.problem.loss.curvature(seen.f, solver.y)
        self.curvature = max(dot(solver.cost, bends) / solver.scale, FLATTEST * self.bend)
        eta = min(self.eta, STEEP / (self.batch * self._steepness(solver.weight * bends)))
        here = seen.w, seen.b
        while done < self.total:
            for number in solver.rng.permutation(len(parts)):
                rows = parts[number]
                size = min(rows.stop - rows.start, self.total - done)
                order = solver.rng.permutation(rows.stop - rows.start)[:size].astype(np.uint32)
                segment = Segment(solver, self.design.part(number), rows, seen, self.batch, here)
                here = self._visit(segment, seen, order, done, eta)
                done += size
                if done >= self.total:
                    break
        solver.passes += done / self.design.n
        return here

    def accepts(self, epoch: Epoch) -> bool:
        """Tell whether an epoch helped, and set the next step size.

        Where it did not and was extrapolated, that is to blame.  Where it hardly lowered the objective, though much of
        the gap is left, the gap is in steep directions, in which w shakes: steps are too long.
        """
        old, new = epoch.old, epoch.new
        if new is None or new.primal > old.primal:
            if not epoch.extrapolated:
                self._shorten()
            return False
        if epoch.new_gap > STUCK * epoch.old_gap and old.primal - new.primal < SHAKING * epoch.new_gap * new.primal:
            self._shorten(CALM)
        else:
            self.eta = min(self.most, STEP_GROWTH * self.eta)
        return True

    def _shorten(self, least: float = 0.0) -> None:
        """Take shorter steps from now on, unless they are short enough."""
        if self.eta > least:
            self.eta, self.most = max(least, STEP_SHRINK * self.eta), max(least, BELOW_FAILURE * self.eta)

    def report(self) -> dict[str, float]:
        """Return columns for the trace: the step size, and updates of blocks so far, each step being one of all."""
        return {"eta": self.eta, "updates": self.updates}

    def _steepness(self, bends: Array) -> float:
        """Return the largest curvature of the losses, in the metric of the steps, over the curvature they assume."""
        followed = self._followed()
        root = np.sqrt(np.repeat(followed, np.diff(self.design.offsets)))
        size, rows = 0.0, len(self.some)
        for _ in range(POWER_STEPS):
            z = self.steepest / max(np.sqrt(dot(self.steepest, self.steepest)), TINY)
            self.steepest = root * self.sample.correlate(bends[self.some] * self.sample.outputs(root * z)) / rows
            size = np.sqrt(dot(self.steepest, self.steepest))
        self.solver.passes += POWER_STEPS * rows / self.design.n
        return max(size / (self.curvature * max(float(followed @ self.lengths), TINY)), TINY)

    def _followed(self) -> Array:
        """Return the weights that the steps follow."""
        return np.maximum(self.beta, SMALLEST_SHARE * self.beta.max())

    def _visit(
        self, segment: Segment, seen: PrimalEvaluation, order: Array, done: int, eta: float
    ) -> tuple[Array, float]:
        """Walk over some rows of a part, after `done` rows of the epoch; the weights follow w now and then."""
        cuts = self._cuts(segment, len(order), done)
        for first, last in pairwise(cuts):
            cool = eta * next(share for end, share in COOLING if done + first < end * self.total or end == 1.0)
            followed = self._followed()
            h = cool * self.batch * followed / (self.curvature * max(float(followed @ self.lengths), TINY))
            segment.run(order[first:last], h, self.beta, self._intercept(seen, cool))
            self.updates += self.design.m * ((last - first) // min(self.batch, last - first))
            self.beta = self.solver.weights(np.sqrt(block_squares(segment.w, self.design.offsets)))
        return segment.w, segment.b

    def _cuts(self, segment: Segment, rows: int, done: int) -> list[int]:
        """Return where a walk over some rows is cut, at whole batches, for new weights or shorter steps."""
        pieces = max(1, round(self.refreshes * rows / self.total))
        if not self.design.dense:
            entries = segment.entries * rows / max(1, segment.size)
            pieces = min(pieces, max(1, int(entries / (FLUSH_SHARE * self.design.width))))
            pieces = max(pieces, -(-rows * self.design.m // (self.batch * TABLE)))
        wished = [*np.linspace(0, rows, pieces + 1), *(end * self.total - done for end, _ in COOLING)]
        cuts = {self.batch * round(cut / self.batch) for cut in wished if 0 <= cut < rows}
        return [*sorted(cut for cut in cuts if cut < rows), rows]

    def _intercept(self, seen: PrimalEvaluation, eta: float) -> tuple[float, float, float]:
        """Return the gradient of the intercept at the snapshot, its step and its shrinking."""
        kind, h = self.solver.problem.intercept, eta / self.bend / 2.0
        if kind == "none":
            return 0.0, 0.0, 1.0
        if kind == "free":
            return 0.0, h, 1.0
        return -float(seen.alpha.sum()) / self.solver.scale, h, 1.0 / (1.0 + h / self.solver.scale)
