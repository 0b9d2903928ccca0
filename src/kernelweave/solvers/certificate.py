"""The duality gap, computed by one piece of code for all solvers.

A solver offers candidates; `Ledger` keeps the best feasible primal and the best feasible dual point seen.
Their relative gap bounds how far either objective is from the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.operators.base import Rounded
from kernelweave.solvers.problems import SMALLEST_SCALE, Array, Problem, dot
from kernelweave.solvers.state import record

FLAT = 1e-12
"""Slope, relative to the total cost, below which the objective counts as flat in the intercept."""
HALVINGS = 200
"""More halvings than double precision can tell apart."""
ROUNDED = 2.0**-20
"""What single precision may lose of a kernel value, relative to the largest: sixteen roundings."""
SHIFT = 0.05
"""By how much the best intercept may differ from the one at hand when outputs are computed in double precision."""
MULTIPLES, MULTIPLE_HALVINGS = (0.5, 2.0), 30
"""Where the best multiple of a classifier is looked for, and how closely."""


def relative_gap(primal: float, dual: float, smallest_scale: float = SMALLEST_SCALE) -> float:
    """Return ``(primal - dual) / max(|primal|, smallest_scale)``; infinite while either is unknown.

    A problem whose optimum may be the rounding of zero says below which scale that is so.
    """
    if not (np.isfinite(primal) and np.isfinite(dual)):
        return np.inf
    return (primal - dual) / max(abs(primal), smallest_scale)


@record
@dataclass(frozen=True)
class PrimalPoint:
    """A classifier: ``w = sum_i alpha_i Phi(x_i)`` (for many kernels: ``w_k`` has weight beta_k) and its intercept.

    A solver that walks through normal vectors gives w itself in `vector`, (outputs, width); alpha then is the dual
    point that belongs to it, and makes w up to the gap only.
    """

    alpha: Array
    intercept: float | Array
    value: float
    beta: Array | None = None
    vector: Array | None = None


@record
@dataclass(frozen=True)
class DualPoint:
    """A feasible alpha and its dual objective."""

    alpha: Array
    value: float


class Ledger:
    """Keeps the best primal and the best dual point that were offered.

    Parameters
    ----------
    smallest_scale : floor of the denominator of the gap
    """

    primal: PrimalPoint | None
    proven: DualPoint | None
    provisional: DualPoint | None

    def __init__(self, smallest_scale: float = SMALLEST_SCALE) -> None:
        self.smallest_scale = smallest_scale
        self.clear()

    def offer(
        self, primal: PrimalPoint | None = None, dual: DualPoint | None = None, provisional: DualPoint | None = None
    ) -> None:
        """Take candidates; the better of old and new is kept on each side.

        A `provisional` dual point bounds a part of the problem (some of its columns): it counts until `expire`.
        """
        if primal is not None and (self.primal is None or primal.value < self.primal.value):
            self.primal = primal
        self.proven = _better(self.proven, dual)
        self.provisional = _better(self.provisional, provisional)

    def expire(self) -> None:
        """Forget the provisional dual point: the next one is about another part of the problem."""
        self.provisional = None

    def clear(self) -> None:
        """Forget all points: better numbers are coming."""
        self.primal = self.proven = self.provisional = None

    @property
    def dual(self) -> DualPoint | None:
        """The best dual point that counts."""
        return _better(self.proven, self.provisional)

    @property
    def gap(self) -> float:
        """Relative gap between the two points kept."""
        if self.primal is None or self.dual is None:
            return np.inf
        return relative_gap(self.primal.value, self.dual.value, self.smallest_scale)


def _better(old: DualPoint | None, new: DualPoint | None) -> DualPoint | None:
    """Return the point of the larger value, the old one where they are equal."""
    return old if new is None or (old is not None and not new.value > old.value) else new


def certify(
    problem: Problem,
    alpha: Array,
    K_alpha: Array,
    ledger: Ledger,
    feasible: bool = True,
    guess: float | None = None,
    rescale: bool = False,
) -> None:
    """Offer alpha as a primal point (with its best intercept) and, if feasible, as a dual point.

    `guess` is an intercept to use instead of the best one: the point is valid, only a little worse, and the search
    for the best intercept is saved while the gap is far from closed.  `rescale` also offers the best multiple of the
    classifier: where many margins lie a hair below their goal, a hair more of w costs less than all those losses.
    """
    energy = dot(alpha, K_alpha)
    if feasible:
        ledger.offer(dual=DualPoint(alpha.copy(), problem.dual(alpha, energy)))
    b = best_intercept(problem, K_alpha, alpha) if guess is None else guess
    ledger.offer(primal=PrimalPoint(alpha.copy(), b, problem.primal(energy, K_alpha + b, b)))
    if rescale and problem.intercept != "regularized":
        s = best_multiple(problem, energy, K_alpha + b, b)
        b = best_intercept(problem, s * K_alpha, s * alpha)
        ledger.offer(primal=PrimalPoint(s * alpha, b, problem.primal(s * s * energy, s * K_alpha + b, b)))


def afresh(problem: Problem, alpha: Array, K_alpha: Array | None = None, b: float = 0.0) -> Array | None:
    """Return ``K alpha`` in double precision where the operator rounds, else None.

    Rounded kernel values are good enough to find the optimum, not to prove it: with a large C their errors move both
    objectives by more than a small gap.  Where `K_alpha`, the rounded product, and an intercept b near the best one are
    known, rows whose loss is zero whatever the rounding keep what they have: they count for neither objective.
    """
    if not isinstance(problem.operator, Rounded):
        return None
    if K_alpha is None:
        return problem.operator.exact_product(alpha)
    rows = np.flatnonzero((alpha != 0.0) | ~_lossless(problem, alpha, K_alpha + b))
    exact = problem.operator.exact_product(alpha, rows)
    if exact is None:
        return None
    outputs = K_alpha.copy()
    outputs[rows] = exact
    return outputs


def _lossless(problem: Problem, alpha: Array, f: Array) -> Array:
    """Tell which rows have no loss, by more than the rounding of ``K alpha`` and a move of the intercept could change.

    No kernel value exceeds the largest of the diagonal, which bounds what single precision loses of each.
    """
    lost = ROUNDED * float(problem.operator.diag().max(initial=0.0)) * float(np.abs(alpha).sum())
    least = problem.loss.value(f - lost - SHIFT, problem.y), problem.loss.value(f + lost + SHIFT, problem.y)
    return np.maximum(*least) == 0.0


def best_intercept(problem: Problem, outputs: Array, alpha: Array) -> float:
    """Return the intercept that minimises the primal objective for fixed outputs ``K alpha``.

    Where a whole interval of intercepts is optimal, its middle is returned.
    """
    if problem.intercept == "none":
        return 0.0
    if problem.intercept == "regularized":
        return float(alpha.sum())
    slack = FLAT * float(problem.cost.sum())

    def slope(b: float) -> float:
        return problem.total + dot(problem.cost, problem.loss.derivative(outputs + b, problem.y))

    low, high = _bracket(slope, float(np.ptp(outputs)) + 1.0)
    left = _halve(problem, outputs, lambda found: found >= -slack, low, high)
    right = _halve(problem, outputs, lambda found: found > slack, left, high)
    return 0.5 * (left + right)


def best_multiple(problem: Problem, energy: float, f: Array, b: float) -> float:
    """Return the factor s that minimises the primal objective of ``s w`` with the intercept ``s b``."""

    def slope(s: float) -> float:
        losses = dot(problem.cost * f, problem.loss.derivative(s * f, problem.y))
        return s * energy + losses + (problem.total * b if problem.free else 0.0)

    low, high = MULTIPLES
    for _ in range(MULTIPLE_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return 0.5 * (low + high)


def _bracket(slope, width: float) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    """Return two intercepts between which the slope changes its sign."""
    low = high = width
    while slope(-low) > 0 and np.isfinite(low):
        low *= 4.0
    while slope(high) < 0 and np.isfinite(high):
        high *= 4.0
    return -low, high


def _halve(problem, outputs, reached, low: float, high: float) -> float:  # type: ignore[no-untyped-def]
    """Return the smallest intercept of [low, high] from which on the slope has `reached` its goal.

    A row whose loss has the same derivative at both ends has it everywhere between them: such rows are added up once,
    and of a piecewise linear loss soon hardly any others are left.
    """
    loss, rest, f, y, cost = problem.loss, problem.total, outputs, problem.y, problem.cost
    below, above = loss.derivative(f + low, y), loss.derivative(f + high, y)
    if reached(rest + dot(cost, below)):
        return low
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        between = loss.derivative(f + middle, y)
        if reached(rest + dot(cost, between)):
            high, above = middle, between
        else:
            low, below = middle, between
        varies = below != above
        if 2 * np.count_nonzero(varies) < len(varies):
            rest += dot(cost[~varies], below[~varies])
            f, y, cost, below, above = (part[varies] for part in (f, y, cost, below, above))
    return high
