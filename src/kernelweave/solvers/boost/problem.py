"""The problems of CG-Boost, their duals, and what proves a solution (Bi, Zhang and Bennett, 2004).

The model is ``f_i = sum_j a_j K_ij + b`` over columns j (a kernel and a training row each).  With costs c_i = C s_i and
``R(a) = sum |a_j|`` (l1) or ``1/2 sum a_j^2`` (l2), and ``E = nu sum c``:

    hinge                min R + sum c_i max(0, 1 - y_i f_i)
    epsilon_insensitive  min R + sum c_i max(0, |f_i - y_i| - epsilon)
    nu_regression        min R + sum c_i max(0, |f_i - y_i| - e) + E e                          over e >= 0, too
    nu_classification    min R + sum c_i max(0, rho - y_i f_i) - E rho                          over rho >= 0, too
    one_class            the same with y = 1 and no b, its costs taken as c_i = s_i / (nu sum s), so that E = 1

`positive` asks for a >= 0.  A "regularized" intercept is one more column of ones, in R but free in sign; a "free" one
is not in R.  The last two problems are homogeneous: with R = sum |a_j| they would be 0 or unbounded.  There the l1 form
bounds the norm instead: ``R <= 1`` takes the place of ``+ R`` (LPBoost), and C has no influence.

Duals.  One signed price u_i per row (the label inside), score_j = sum_i u_i K_ij; a loss asks for

    hinge                0 <= y_i u_i <= c_i                    linear term  L = sum y_i u_i
    epsilon_insensitive  |u_i| <= c_i                                        L = sum y_i u_i - epsilon sum |u_i|
    nu_regression        |u_i| <= c_i, sum |u_i| <= E                        L = sum y_i u_i
    nu_classification    0 <= y_i u_i <= c_i, sum |u_i| = E                  L = 0

and for ``sum u = 0`` under a free intercept; a regularised one adds the score ``sum u``.  (rho >= 0 is no restriction:
with nu <= 1 a negative one costs more than the model that is zero.  So its constraint can be written as an equation.)

    l2                   max L - 1/2 sum_j score_j^2                      a_j = score_j
    l1                   max L   with |score_j| <= 1 for all j
    l1, homogeneous      max - max_j |score_j|

where `positive` puts max(0, score_j) in the place of |score_j|.  A column outside the restricted problem has a_j = 0,
so the restricted objective is an upper bound; the lower bound needs u and the scores of all columns, of which only
their *measure* matters: the largest (l1) or the sum of squares (l2).  Where the feasible u are a star around 0 (all but
the homogeneous problems: bounds, budget and equality survive scaling), any multiple in [0, 1] of u may be offered; the
best is ``1 / max(1, measure)`` for l1 and ``min(1, L / measure)`` for l2.  The homogeneous duals need no repair: their
prices are feasible whatever the columns.  A column wants to enter where its score passes a threshold: 1 (l1), the
largest score inside (l1, homogeneous) or 0 (l2).

The `level` of a model is its rho or e; a one-class model has b = -rho, so that f includes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.losses import BoxQP
from kernelweave.solvers.problems import SMALLEST_SCALE, dot

if TYPE_CHECKING:
    from kernelweave.solvers.certificate import DualPoint, PrimalPoint

Array = np.ndarray
KINDS = ("hinge", "epsilon_insensitive", "one_class", "nu_classification", "nu_regression")
PENALTIES = ("l1", "l2")
INTERCEPTS = ("free", "regularized", "none")
REGRESSIONS = ("epsilon_insensitive", "nu_regression")
HOMOGENEOUS = ("one_class", "nu_classification")
SMALLEST_MARGIN = 1e-9
"""Share of the budget below which, where the norm is bounded, an objective is the rounding of zero."""
ROUNDING = 1e-9
"""How far a share nu may lie above its limit and count as rounding."""


@dataclass(frozen=True)
class BoostProblem:
    """What to minimise over the coefficients of kernel columns.

    Parameters
    ----------
    kind : one of `KINDS`
    y : (n,) targets; labels in {-1, 1} for classification, ignored for one_class
    cost : (n,) C times sample weight; for one_class any multiple of the sample weights
    penalty : "l1" or "l2"
    positive : whether coefficients must not be negative
    intercept : "free", "regularized" or "none"; without effect for one_class, whose rho is free
    epsilon : half-width of the tube of epsilon_insensitive
    nu : share of the nu-forms, in (0, 1]

    Examples
    --------
    >>> import numpy as np
    >>> problem = BoostProblem("hinge", np.array([1.0, -1.0]), np.ones(2), penalty="l1")
    >>> problem.objective(np.array([2.0]), np.array([0.5, -3.0]), 0.0)
    2.5
    >>> u = np.array([1.0, -1.0])
    >>> problem.bound(u, problem.measure(np.array([4.0, -0.5])))
    0.5
    """

    kind: str
    y: Array
    cost: Array
    penalty: str = "l1"
    positive: bool = False
    intercept: str = "free"
    epsilon: float = 0.1
    nu: float = 0.5

    def __post_init__(self) -> None:
        _one_of("kind", self.kind, KINDS)
        _one_of("penalty", self.penalty, PENALTIES)
        _one_of("intercept", self.intercept, INTERCEPTS)
        object.__setattr__(self, "y", np.asarray(self.y, dtype=float))
        object.__setattr__(self, "cost", np.asarray(self.cost, dtype=float))
        if self.has_level and not 0 < self.nu <= 1:
            raise ValueError(f"nu must lie in (0, 1], not {self.nu}.")
        if self.kind == "one_class":
            object.__setattr__(self, "y", np.ones_like(self.cost))
            object.__setattr__(self, "cost", self.cost / (self.nu * self.cost.sum()))
            object.__setattr__(self, "intercept", "none")
        if self.kind == "nu_classification" and self.free:
            smaller = min(float(self.cost[self.y > 0].sum()), float(self.cost[self.y < 0].sum()))
            largest = 2.0 * smaller / float(self.cost.sum())
            if self.nu > largest * (1.0 + ROUNDING):
                raise ValueError(
                    f"nu = {self.nu} is too large for classes of these weights; it may be at most {largest:.6g}."
                )

    @property
    def n(self) -> int:
        """Number of training rows."""
        return len(self.cost)

    @property
    def free(self) -> bool:
        """Whether prices must add up to zero."""
        return self.intercept == "free"

    @property
    def regression(self) -> bool:
        """Whether errors count on both sides."""
        return self.kind in REGRESSIONS

    @property
    def has_level(self) -> bool:
        """Whether a rho or e is learned."""
        return self.kind in HOMOGENEOUS or self.kind == "nu_regression"

    @property
    def homogeneous(self) -> bool:
        """Whether the objective without R grows in proportion to the model."""
        return self.kind in HOMOGENEOUS

    @property
    def bounded_norm(self) -> bool:
        """Whether ``R <= 1`` takes the place of ``+ R``."""
        return self.homogeneous and self.penalty == "l1"

    @property
    def budget(self) -> float:
        """E, what the absolute prices of a nu-form add up to."""
        return self.nu * float(self.cost.sum()) if self.has_level else 0.0

    def box(self) -> BoxQP:
        """Return bounds and linear term of the signed prices; regression has two per row, one of each sign."""
        c, zero = self.cost, np.zeros(self.n)
        if self.regression:
            tube = self.epsilon if self.kind == "epsilon_insensitive" else 0.0
            return BoxQP(np.stack([self.y - tube, self.y + tube]), zero, np.stack([zero, -c]), np.stack([c, zero]))
        p = zero if self.homogeneous else self.y
        return BoxQP(p[None], zero, np.minimum(0.0, c * self.y)[None], np.maximum(0.0, c * self.y)[None])

    # The primal side.

    def losses(self, outputs: Array, level: float = 0.0) -> Array:
        """Return the error of each row, (n,): positive where a row lies on the wrong side of its margin or tube."""
        if self.regression:
            tube = self.epsilon if self.kind == "epsilon_insensitive" else level
            return np.maximum(0.0, np.abs(outputs - self.y) - tube)
        if self.kind == "one_class":
            return np.maximum(0.0, -outputs)
        goal = level if self.homogeneous else 1.0
        return np.maximum(0.0, goal - self.y * outputs)

    def sides(self, outputs: Array, level: float = 0.0) -> tuple[Array, Array]:
        """Return on which side of the kink of its loss each row lies, and how far from it, (n,) each.

        A side is 0 where there is no loss; else 1, or -1 above the tube of a regression.
        """
        if self.regression:
            residual, tube = self.y - outputs, self.epsilon if self.kind == "epsilon_insensitive" else level
            side = np.where(np.abs(residual) > tube, np.sign(residual), 0.0)
            return side.astype(np.int8), np.abs(np.abs(residual) - tube)
        goal = 0.0 if self.kind == "one_class" else level if self.homogeneous else 1.0
        short = goal - self.y * outputs
        return (short > 0).astype(np.int8), np.abs(short)

    def best_level(self, outputs: Array) -> float:
        """Return the best rho or e for given decision values (for one_class: values without the -rho)."""
        if not self.has_level:
            return 0.0
        if self.kind == "nu_regression":
            return max(0.0, _quantile(np.abs(outputs - self.y), self.cost, 1.0 - self.nu))
        return max(0.0, _quantile(self.y * outputs, self.cost, self.nu))

    def penalty_of(self, coef: Array, intercept: float) -> float:
        """Return R, with the intercept's part where it is regularised."""
        b = intercept if self.intercept == "regularized" else 0.0
        if self.penalty == "l1":
            return float(np.abs(coef).sum()) + abs(b)
        return 0.5 * (dot(coef, coef) + b * b)

    def objective(self, coef: Array, outputs: Array, intercept: float) -> float:
        """Return the primal objective of a model, `outputs` with its intercept; rho or e are chosen best.

        Where the norm is bounded, a model outside the ball counts as the multiple of it on the sphere.
        """
        level = -intercept if self.kind == "one_class" else self.best_level(outputs)
        value = dot(self.cost, self.losses(outputs, level))
        R = self.penalty_of(coef, intercept)
        if self.kind == "nu_regression":
            return value + R + self.budget * level
        if not self.homogeneous:
            return value + R
        value -= self.budget * level
        return value / max(1.0, R) if self.bounded_norm else value + R

    # The dual side.

    def measure(self, scores: Array) -> float:
        """Return what a bound needs of some columns' scores: the largest (l1) or the sum of squares (l2)."""
        scores = np.maximum(scores, 0.0) if self.positive else scores
        if self.penalty == "l1":
            return float(np.max(np.abs(scores), initial=0.0))
        return dot(scores.ravel(), scores.ravel())

    def merge(self, first: float, second: float) -> float:
        """Return the measure of two sets of columns together."""
        return max(first, second) if self.penalty == "l1" else first + second

    def linear(self, u: Array) -> float:
        """Return L, the linear term of the dual."""
        if self.homogeneous:
            return 0.0
        value = dot(self.y, u)
        return value - self.epsilon * float(np.abs(u).sum()) if self.kind == "epsilon_insensitive" else value

    def bound(self, u: Array, measure: float) -> float:
        """Return the best lower bound that prices u prove, given the measure of the scores of all columns.

        It holds for all columns whose scores went into the measure; u must be feasible for the rest.
        """
        if self.intercept == "regularized":
            own = float(u.sum())
            measure = self.merge(measure, abs(own) if self.penalty == "l1" else own * own)
        if self.homogeneous:
            return -measure if self.penalty == "l1" else -0.5 * measure
        L = self.linear(u)
        if L <= 0.0:
            return 0.0
        if self.penalty == "l1":
            return L / max(1.0, measure)
        factor = min(1.0, L / measure) if measure > 0.0 else 1.0
        return factor * L - 0.5 * factor * factor * measure

    def threshold(self, objective: float) -> float:
        """Return the score beyond which a column wants to enter, given the objective of the restricted problem."""
        if self.bounded_norm:
            return max(0.0, -objective)
        return 1.0 if self.penalty == "l1" else 0.0

    def violation(self, scores: Array, threshold: float) -> Array:
        """Return by how much each column's score passes the threshold; those at values <= 0 may stay outside."""
        return (scores if self.positive else np.abs(scores)) - threshold

    @property
    def smallest_scale(self) -> float:
        """Floor of the denominator of a relative gap: what rounding leaves of an objective of zero."""
        return SMALLEST_MARGIN * self.budget if self.bounded_norm else SMALLEST_SCALE * float(self.cost.sum())

    def restart(self, primal: PrimalPoint, dual: DualPoint | None) -> None:
        """Return what a run starts from, of the best points of a former one: nothing, columns are generated again."""
        return

    def repair(self, u: Array) -> Array:
        """Return feasible prices close to u: within bounds, balanced under a free intercept, of the right total."""
        size = np.clip(u if self.regression else self.y * u, -self.cost if self.regression else 0.0, self.cost)
        u = size if self.regression else self.y * size
        plus, minus = np.maximum(u, 0.0), np.maximum(-u, 0.0)
        if self.homogeneous and self.free:
            half, positive = 0.5 * self.budget, self.y > 0
            return _with_sum(plus, self.cost * positive, half) - _with_sum(minus, self.cost * ~positive, half)
        if self.homogeneous:
            return self.y * _with_sum(plus + minus, self.cost, self.budget)
        if self.free:
            total = min(float(plus.sum()), float(minus.sum()))
            plus, minus = _with_sum(plus, plus, total), _with_sum(minus, minus, total)
        if self.kind == "nu_regression":
            used = float(plus.sum() + minus.sum())
            return (plus - minus) * min(1.0, self.budget / max(used, SMALLEST_SCALE))
        return plus - minus

    def start(self) -> Array:
        """Return feasible prices (n,) that treat all rows of a side alike: a place to begin."""
        return np.zeros(self.n) if self.regression else self.repair(self.y * self.cost)


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}.")


def _with_sum(values: Array, high: Array, total: float) -> Array:
    """Return values in [0, high] of the given sum, all drawn towards zero or towards `high` by the same share."""
    now, most = float(values.sum()), float(high.sum())
    if now >= total:
        return values * (total / max(now, SMALLEST_SCALE))
    return values + (high - values) * min(1.0, (total - now) / max(most - now, SMALLEST_SCALE))


def _quantile(values: Array, weights: Array, share: float) -> float:
    """Return the smallest value up to which at least this share of the weight lies: there the slope changes sign."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, share * reached[-1] * (1.0 - ROUNDING)))
    return float(values[order[min(place, len(order) - 1)]])
