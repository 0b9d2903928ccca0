"""What the judge finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
ROUNDING = 1e-9
"""By how much a judged gap may exceed the reported one and count as rounding; and how far a dual point may lie outside
its constraints, relative to their size."""
SMALLEST = 1e-12
"""Floor of the denominator of a relative gap, as in the definition of `tol`."""


@dataclass(frozen=True)
class Verification:
    """A recomputed certificate.

    Attributes
    ----------
    problem : the problem that both values are about, in words
    primal, dual : (problems,) objectives, one for each problem that was solved; the dual bounds the optimum from below
    gap : the largest relative gap, ``(primal - dual) / max(|primal|, 1e-12)``
    reported : the gap that the fit reported
    infeasibility : how far the dual point lies outside its constraints, relative to their size; 0 if inside
    """

    problem: str
    primal: Array
    dual: Array
    gap: float
    reported: float
    infeasibility: float

    @property
    def excess(self) -> float:
        """By how much the judged gap exceeds the reported one; negative where it is smaller."""
        return self.gap - self.reported

    @property
    def confirmed(self) -> bool:
        """Whether the dual point is feasible and the reported gap is not smaller than the judged one."""
        return self.infeasibility <= ROUNDING and self.excess <= ROUNDING * max(1.0, abs(self.reported))

    def __str__(self) -> str:
        verdict = "confirmed" if self.confirmed else "NOT CONFIRMED"
        return (
            f"{verdict}: primal {self.primal.sum():.10g}, dual {self.dual.sum():.10g}, gap {self.gap:.3g} (reported "
            f"{self.reported:.3g}), infeasibility {self.infeasibility:.1e}; {self.problem}"
        )


def largest_gap(primal: Array, dual: Array, floor: float = SMALLEST) -> float:
    """Return the largest relative gap of several problems; infinite where one is unknown."""
    if not (np.isfinite(primal).all() and np.isfinite(dual).all()):
        return np.inf
    return float(np.max((primal - dual) / np.maximum(np.abs(primal), floor)))
