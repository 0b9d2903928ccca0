"""Epochs of `svrg` with measured constants.

- The step of kernel k follows its weight, ``h_k = eta batch beta_k / (bend sum_j beta_j s_j)`` with s_j the mean
  squared length of a row in block j: all blocks together move as one well-scaled problem.
- The regulariser is a proximal step, which no small weight can upset.  So the weights may follow w several times
  within an epoch; for p near 1 the alternation between epochs alone would be slow.
- Rows come in random order without repetition, in small batches.
- eta shrinks when an epoch fails to lower the objective (it then is taken back), and grows slowly otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelweave.solvers.mkl.svrg_loops import Segment
from kernelweave.solvers.mkl.walk import Look, block_squares
from kernelweave.solvers.problems import Array

if TYPE_CHECKING:
    from kernelweave.solvers.mkl.svrg import SVRG

FIRST_STEP, LARGEST_STEP, GROWTH, SHRINK = 0.3, 0.5, 1.15, 0.4
"""eta at the start, at most, and its change after an epoch that helped or did not."""
SMALLEST_SHARE = 1e-3
"""Steps follow weights down to this share of the largest: a kernel that nearly left can come back."""
TABLE = 1 << 21
"""Entries of the table of powers at most."""
FLUSH_SHARE = 4.0
"""The weights follow w only so often that bringing sparse columns in line costs a quarter of the walk."""
TINY = 1e-300


class AdaptiveEpochs:
    """Walks of `walk.epoch_passes` passes, as long as needed.

    Parameters
    ----------
    walk : what is optimised
    batch, passes, refreshes : see `SVRG`
    """

    def __init__(self, walk: SVRG, batch: int, passes: float, refreshes: int):
        self.walk, self.design, self.refreshes = walk, walk.design, refreshes
        self.batch = min(batch, self.design.n)
        self.total = max(self.batch, int(passes * self.design.n))
        self.eta = FIRST_STEP
        self.lengths = self.design.squares()[:, 0]
        self.bend = walk.problem.loss.bend

    def run(self, seen: Look) -> tuple[Array, float]:
        """Return the normal vector and the intercept after a walk that starts at a look."""
        walk, parts, done = self.walk, self.design.parts, 0
        self.beta = seen.beta if seen.norms.any() else walk.weights(seen.beta * np.sqrt(seen.q))
        here = seen.w, seen.b
        while done < self.total:
            for number in walk.rng.permutation(len(parts)):
                rows = parts[number]
                size = min(rows.stop - rows.start, self.total - done)
                order = walk.rng.permutation(rows.stop - rows.start)[:size].astype(np.uint32)
                here = self._visit(Segment(walk, self.design.part(number), rows, seen, self.batch, here), seen, order)
                done += size
                if done >= self.total:
                    break
        walk.passes += done / self.design.n
        return here

    def accepts(self, old: Look, new: Look | None, extrapolated: bool = False) -> bool:
        """Tell whether an epoch helped, and set the next step size; where it was extrapolated, that is to blame."""
        helped = new is not None and new.primal <= old.primal
        if helped:
            self.eta = min(LARGEST_STEP, GROWTH * self.eta)
        elif not extrapolated:
            self.eta *= SHRINK
        return helped

    def report(self) -> dict[str, float]:
        """Return columns for the trace."""
        return {"eta": self.eta}

    def _visit(self, segment: Segment, seen: Look, order: Array) -> tuple[Array, float]:
        """Walk over some rows of a part; the weights follow w now and then."""
        segments = max(1, round(self.refreshes * len(order) / self.total))
        if not self.design.dense:
            entries = segment.entries * len(order) / max(1, segment.size)
            segments = min(segments, max(1, int(entries / (FLUSH_SHARE * self.design.width))))
            segments = max(segments, -(-len(order) * self.design.m // (self.batch * TABLE)))
        size = self.batch * max(1, round(len(order) / (segments * self.batch)))
        for start in range(0, len(order), size):
            share = np.maximum(self.beta, SMALLEST_SHARE * self.beta.max())
            h = self.eta * self.batch * share / (self.bend * max(float(share @ self.lengths), TINY))
            segment.walk(order[start : start + size], h, self.beta, self._intercept(seen))
            self.beta = self.walk.weights(np.sqrt(block_squares(segment.w, self.design.offsets)))
        return segment.w, segment.b

    def _intercept(self, seen: Look) -> tuple[float, float, float]:
        """Return the gradient of the intercept at the snapshot, its step and its shrinking."""
        kind, h = self.walk.problem.intercept, self.eta / self.bend / 4.0
        if kind == "none":
            return 0.0, 0.0, 1.0
        if kind == "free":
            return 0.0, h, 1.0
        return -float(seen.alpha.sum()) / self.walk.scale, h, 1.0 / (1.0 + h / self.walk.scale)
