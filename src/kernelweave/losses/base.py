"""What a loss knows of itself: value, derivatives, conjugate, and what solvers ask of it.

With costs ``c_i = C s_i`` the learning problem is ``min 1/2 |w|^2 + sum_i c_i loss(f_i, y_i)``; its dual
point is ``alpha_i = -c_i loss'(f_i, y_i)`` and its dual term ``-c_i loss*(-alpha_i / c_i, y_i)``.

A loss is a frozen dataclass in a file of its own.  It declares

    name, task      how it is called, and what it is for
    parameters      fields made by `parameter`: a default, whether zero is allowed, a meaning
    bend            the largest second derivative, finite for a loss that is differentiable everywhere
    lipschitz       the largest slope
    box             its dual as a quadratic programme over a box, where it is one
    slope           its derivative on plain numbers, which compiled loops call

and solvers ask for these properties, never for names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from functools import cache
from numbers import Real
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class BoxQP:
    """The dual of a piecewise-linear or quadratic loss.

    ``min 1/2 a'K a + 1/2 sum ridge v^2 - sum p v`` over ``low <= v <= high``, where ``a = v.sum(axis=0)``.
    Most losses need one copy of the variables; an absolute value splits into two, one of each sign, of which one is
    zero at the optimum, so that the ridge of both is the ridge of a.
    Logistic losses add ``entropy sum (high - low) (u log u + (1 - u) log(1 - u))``, u the place of v in its box.

    Parameters
    ----------
    p, low, high : (copies, n)
    ridge : (n,)
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


@dataclass(frozen=True)
class Parameter:
    """A number that a loss depends on; it is positive, or at least zero where `zero` says so."""

    name: str
    default: float
    zero: bool
    meaning: str

    def check(self, value: Any) -> float:
        """Return a value as a float, or raise one sentence."""
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or not np.isfinite(value) or value < 0 or (value == 0 and not self.zero):
            kind = "non-negative" if self.zero else "positive"
            raise ValueError(f"{self.name}={value!r} must be a {kind} number.")
        return float(value)


def parameter(default: float, meaning: str, zero: bool = False) -> Any:
    """Declare a parameter: a field of a loss with a default, a meaning, and whether zero is allowed."""
    return field(default=default, metadata={"meaning": meaning, "zero": zero})


class Loss(ABC):
    """A convex loss ``loss(f, y)``, element by element over arrays (n,)."""

    name: str
    task: str
    """ "classification" (y in {-1, 1}), "regression" or "novelty" (y is ignored)."""

    def __post_init__(self) -> None:
        for one in self.parameters():
            one.check(getattr(self, one.name))

    @classmethod
    @cache
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return what the loss depends on, in the order in which its spelling gives them."""
        return tuple(Parameter(one.name, one.default, **one.metadata) for one in fields(cls))  # type: ignore[arg-type]

    @classmethod
    def spelling(cls) -> str:
        """Return how the loss is written with its parameters, such as "huber:DELTA"."""
        return ":".join([cls.name, *(one.name.upper() for one in cls.parameters())])

    @property
    def bend(self) -> float:
        """The largest second derivative in f; infinite at a kink."""
        return np.inf

    @property
    def lipschitz(self) -> float:
        """The largest slope in f; infinite where a loss grows faster than any line."""
        return np.inf

    @property
    def smooth(self) -> bool:
        """Has a derivative everywhere, so that Newton's method applies."""
        return bool(np.isfinite(self.bend))

    @property
    def sparse(self) -> bool:
        """Costs nothing over a whole range of outputs, so that rows there have no part in the solution."""
        return False

    @property
    def boxed(self) -> bool:
        """Has a dual that is a quadratic programme over a box."""
        return type(self).box is not Loss.box

    @abstractmethod
    def value(self, f: Array, y: Array) -> Array:
        """Return ``loss(f, y)``."""

    @abstractmethod
    def derivative(self, f: Array, y: Array) -> Array:
        """Return the derivative in f (at a kink: one of the subgradients)."""

    @staticmethod
    @abstractmethod
    def slope(shape: float, f: float, y: float) -> float:
        """Return the derivative for one row, in arithmetic that numba compiles; `shape` is the parameter, if any."""

    def compiled_slope(self) -> tuple[int, float]:
        """Return the address of the compiled `slope`, for `_numba.callback.call`, and the `shape` to hand to it."""
        from kernelweave._numba.callback import compiled  # numba takes long to import, and few solvers need it here

        shape = next((getattr(self, one.name) for one in self.parameters()), 0.0)
        return compiled(type(self).slope).address, float(shape)

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
        paid = every(cost > 0)
        if not isinstance(paid, slice) and np.any(alpha[~paid] != 0):
            return -np.inf
        c = cost[paid]
        return -float(np.einsum("i,i->", c, self.conjugate(-alpha[paid] / c, y[paid])))

    def dual_range(self, y: Array, cost: Array) -> tuple[Array, Array]:
        """Return the interval of feasible alpha for each row."""
        low, high = self.domain(y)
        closed = cost > 0
        if closed.all():
            return -high * cost, -low * cost
        scale = np.where(closed, cost, 1.0)
        return np.where(closed, -high * scale, 0.0), np.where(closed, -low * scale, 0.0)


def every(some: Array) -> Array | slice:
    """Return a mask, or where it holds all rows the slice of them: that copies nothing.

    Examples
    --------
    >>> every(np.array([True, True])), every(np.array([True, False]))
    (slice(None, None, None), array([ True, False]))
    """
    return slice(None) if some.all() else some


def inside(u: Array, low: Array | float, high: Array | float, value: Array) -> Array:
    """Return `value` where low <= u <= high (up to rounding) and infinity elsewhere."""
    return np.where((u >= low - ROUNDING) & (u <= high + ROUNDING), value, np.inf)


def half_inverse(cost: Array) -> Array:
    """Return ``1 / (2 cost)``, the ridge that a square in the loss leaves in the dual; 0 for a row without cost."""
    paid = cost > 0
    return np.where(paid, 0.5 / np.where(paid, cost, 1.0), 0.0)


ROUNDING = 1e-9
"""How far outside its domain an argument may lie and count as rounding: alpha / (C s) is a quotient."""
