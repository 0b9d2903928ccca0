"""What a loss knows of itself: value, derivatives, conjugate and the dual problem it leads to.

With costs ``c_i = C s_i`` the learning problem is ``min 1/2 |w|^2 + sum_i c_i loss(f_i, y_i)``; its dual
point is ``alpha_i = -c_i loss'(f_i, y_i)`` and its dual term ``-c_i loss*(-alpha_i / c_i, y_i)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class BoxQP:
    """The dual of a piecewise-linear or quadratic loss.

    ``min 1/2 a'K a + 1/2 sum ridge a^2 - sum p v`` over ``low <= v <= high``, where ``a = v.sum(axis=0)``.
    Most losses need one copy of the variables; an absolute value splits into two, one of each sign.
    Logistic losses add ``entropy sum (high - low) (u log u + (1 - u) log(1 - u))``, u the place of v in its box.

    Parameters
    ----------
    p, low, high : (copies, n)
    ridge : (n,); other than zero only with one copy
    entropy : other than zero only with one copy and a bounded box
    """

    p: Array
    ridge: Array
    low: Array
    high: Array
    entropy: float = 0.0

    def split(self, alpha: Array) -> Array:
        """Return variables (copies, n) that add up to `alpha` as far as the box allows."""
        if len(self.p) == 1:
            return np.clip(alpha[None, :], self.low, self.high)
        return np.clip(np.stack([np.maximum(alpha, 0), np.minimum(alpha, 0)]), self.low, self.high)

    def gains(self, outputs: Array, v: Array, rows: Array | slice = slice(None)) -> Array:
        """Return the derivative of the dual objective in the variables of some rows, (copies, rows)."""
        gains = self.p[:, rows] - outputs - self.ridge[rows] * v
        if self.entropy:
            low, high = self.low[:, rows], self.high[:, rows]
            with np.errstate(divide="ignore", invalid="ignore"):
                pull = np.log(v - low) - np.log(high - v)
            gains -= self.entropy * np.nan_to_num(pull, nan=0.0)
        return gains


class Loss(ABC):
    """A convex loss ``loss(f, y)``, element by element over arrays (n,)."""

    name: str
    task: str
    """ "classification" (y in {-1, 1}), "regression" or "novelty" (y is ignored)."""
    smooth: bool
    """Has a derivative everywhere, so that Newton's method applies."""

    @property
    def bend(self) -> float:
        """The largest second derivative in f; infinite at a kink."""
        return np.inf

    @abstractmethod
    def value(self, f: Array, y: Array) -> Array:
        """Return ``loss(f, y)``."""

    @abstractmethod
    def derivative(self, f: Array, y: Array) -> Array:
        """Return the derivative in f (at a kink: one of the subgradients)."""

    @abstractmethod
    def conjugate(self, u: Array, y: Array) -> Array:
        """Return ``max_f u f - loss(f, y)``; infinite outside the domain."""

    @abstractmethod
    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of the interval of u where the conjugate is finite, each (n,)."""

    def curvature(self, f: Array, y: Array) -> Array:
        """Return the second derivative in f (of a smooth loss; at a jump: one of its sides)."""
        raise TypeError(f"{self.name} loss has no second derivative.")

    def box(self, y: Array, cost: Array) -> BoxQP | None:
        """Return the dual as a quadratic programme over a box, or None where it is not one."""
        return None

    def separable(self, y: Array, cost: Array) -> BoxQP | None:
        """Return the dual over a box, with entropies where the loss is logistic; None where it is neither."""
        return self.box(y, cost)

    def dual_term(self, alpha: Array, y: Array, cost: Array) -> float:
        """Return ``-sum_i c_i loss*(-alpha_i / c_i, y_i)``; rows without cost must have alpha = 0."""
        paid = cost > 0
        if np.any(alpha[~paid] != 0):
            return -np.inf
        c = cost[paid]
        return -float(np.einsum("i,i->", c, self.conjugate(-alpha[paid] / c, y[paid])))

    def dual_range(self, y: Array, cost: Array) -> tuple[Array, Array]:
        """Return the interval of feasible alpha for each row."""
        low, high = self.domain(y)
        scale = np.where(cost > 0, cost, 1.0)
        closed = cost > 0
        return np.where(closed, -high * scale, 0.0), np.where(closed, -low * scale, 0.0)


def inside(u: Array, low: Array | float, high: Array | float, value: Array) -> Array:
    """Return `value` where low <= u <= high (up to rounding) and infinity elsewhere."""
    return np.where((u >= low - ROUNDING) & (u <= high + ROUNDING), value, np.inf)


ROUNDING = 1e-9
"""How far outside its domain an argument may lie and count as rounding: alpha / (C s) is a quotient."""
