"""What the judge finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
ROUNDING = 1e-9
"""By how much a judged gap may exceed the reported one and count as rounding; and how far a dual point may lie outside
its constraints, relative to their size."""
UNITS = 64.0
"""Units of double precision that the sums of an objective may be off, relative to the size of their terms: where large
terms cancel, this is more than a share of what is left."""
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
    rounding : by how much a gap may be off because its numbers are in double precision
    claims : the two objectives that the fit reported, added over the problems
    floor : below which the denominator of a relative gap does not fall, for problems whose optimum may be zero
    tol : the gap that the fit was asked for; a rounding beyond it, and beyond the gap reported, cannot excuse an excess
    verdict : "confirmed", "not confirmed", or "cannot tell" where only such a rounding explains what was found
    """

    problem: str
    primal: Array
    dual: Array
    gap: float
    reported: float
    infeasibility: float
    rounding: float = ROUNDING
    claims: tuple[float, float] = (np.inf, -np.inf)
    floor: float = SMALLEST
    tol: float = np.inf

    @property
    def excess(self) -> float:
        """By how much the judged gap exceeds the reported one; negative where it is smaller."""
        return self.gap - self.reported

    @property
    def confirmed(self) -> bool:
        """Whether the dual point is feasible, and neither the gap nor an objective is worse than the fit reported."""
        return self._within(min(self.rounding, max(self.tol, abs(self.reported), ROUNDING)))

    @property
    def verdict(self) -> str:
        """What can be said of the certificate."""
        if self.confirmed:
            return "confirmed"
        return "cannot tell" if self._within(self.rounding) else "not confirmed"

    def _within(self, rounding: float) -> bool:
        """Return whether what was found is what the fit reported, but for a share of the objective."""
        allowed = max(rounding, ROUNDING * abs(self.reported))
        primal, dual = float(self.primal.sum()), float(self.dual.sum())
        slack = rounding * max(float(np.abs(self.primal).sum()), self.floor)
        kept = primal <= self.claims[0] + slack and dual >= self.claims[1] - slack
        return self.infeasibility <= ROUNDING and self.excess <= allowed and self.gap >= -rounding and kept

    def words(self) -> str:
        """Return the verdict with its reason."""
        if self.verdict == "cannot tell":
            return f"cannot tell: rounding alone may move the gap by {self.rounding:.2g}"
        return "confirmed" if self.confirmed else "NOT CONFIRMED"

    def __str__(self) -> str:
        return (
            f"{self.words()}: primal {self.primal.sum():.10g}, dual {self.dual.sum():.10g}, gap {self.gap:.3g} "
            f"(reported {self.reported:.3g}), infeasibility {self.infeasibility:.1e}; {self.problem}"
        )


def largest_gap(primal: Array, dual: Array, floor: float = SMALLEST) -> float:
    """Return the largest relative gap of several problems; infinite where one is unknown."""
    if not (np.isfinite(primal).all() and np.isfinite(dual).all()):
        return np.inf
    return float(np.max((primal - dual) / np.maximum(np.abs(primal), floor)))


def rounding(primal: Array, terms: Array, floor: float = SMALLEST) -> float:
    """Return by how much relative gaps may be off, given the size of the terms that both objectives add up."""
    if not (np.isfinite(primal).all() and np.isfinite(terms).all()):
        return ROUNDING
    return ROUNDING + UNITS * float(np.finfo(float).eps) * float(np.max(terms / np.maximum(np.abs(primal), floor)))
