"""Whether a run still moves."""

from __future__ import annotations

import math

PROGRESS = 0.01
"""Share of the gap, or of either objective, that must be gained for a run to count as moving."""


class Stall:
    """Tells whether a run still moves.

    The gap, or one of the objectives, must gain a share of itself within a window of iterations, or of the effort of
    solvers inside.  The window is the patience of the solver, and as long as the way to the last progress where that is
    longer: a run that gets ever slower is let go.
    """

    def __init__(self, patience: int):
        self.patience, self.at = patience, 0
        self.primal, self.dual = math.inf, -math.inf

    def stalled(self, iteration: int, primal: float, dual: float) -> bool:
        """Take note of the best objectives after an iteration; return whether the run has stalled.

        >>> stall = Stall(2)
        >>> [stall.stalled(i + 1, primal, 0.0) for i, primal in enumerate([2.0, 1.0, 1.0, 1.0, 1.0])]
        [False, False, False, False, True]
        """
        if self._moved(primal, dual):
            self.at, self.primal, self.dual = iteration, primal, dual
        return iteration - self.at > max(self.patience, self.at)

    def _moved(self, primal: float, dual: float) -> bool:
        if math.isinf(self.primal) or math.isinf(self.dual):
            return primal < self.primal or dual > self.dual
        down, up = self.primal - primal, dual - self.dual
        gap = self.primal - self.dual
        return down + up > PROGRESS * gap or down > PROGRESS * abs(self.primal) or up > PROGRESS * abs(self.dual)
