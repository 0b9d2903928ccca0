"""Losses of the margin ``m = y f`` for labels y in {-1, 1}.

Conjugates are written in ``t = -y u``, the slope that the dual puts on a row: t in [0, 1] or t >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, xlogy

from kernelweave.losses.base import Array, BoxQP, Loss, inside


def _unit_interval(y: Array) -> tuple[Array, Array]:
    """Return the ends of ``{u: 0 <= -y u <= 1}``."""
    return np.where(y > 0, -1.0, 0.0), np.where(y > 0, 0.0, 1.0)


def _signed_box(y: Array, cost: Array, ridge: Array) -> BoxQP:
    """Return the box ``0 <= y alpha <= cost`` with linear term y."""
    return BoxQP(
        p=y[None, :].astype(float),
        ridge=ridge,
        low=np.where(y > 0, 0.0, -cost)[None, :],
        high=np.where(y > 0, cost, 0.0)[None, :],
    )


@dataclass(frozen=True)
class Hinge(Loss):
    """``max(0, 1 - y f)``."""

    name = "hinge"
    task = "classification"
    smooth = False

    def value(self, f: Array, y: Array) -> Array:
        """Return ``max(0, 1 - y f)``."""
        return np.maximum(0.0, 1.0 - y * f)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return -y below the margin, 0 from it on."""
        return np.where(y * f < 1.0, -y, 0.0)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return ``y u`` for ``0 <= -y u <= 1``."""
        return inside(-y * u, 0.0, 1.0, y * u)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of ``{u: 0 <= -y u <= 1}``."""
        return _unit_interval(y)

    def box(self, y: Array, cost: Array) -> BoxQP:
        """Return ``0 <= y alpha <= cost``, linear term y."""
        return _signed_box(y, cost, np.zeros(len(y)))


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """``max(0, 1 - y f)^2``."""

    name = "squared_hinge"
    task = "classification"
    smooth = True

    @property
    def bend(self) -> float:
        """The largest second derivative."""
        return 2.0

    def value(self, f: Array, y: Array) -> Array:
        """Return ``max(0, 1 - y f)^2``."""
        return np.maximum(0.0, 1.0 - y * f) ** 2

    def derivative(self, f: Array, y: Array) -> Array:
        """Return ``-2 y max(0, 1 - y f)``."""
        return -2.0 * y * np.maximum(0.0, 1.0 - y * f)

    def curvature(self, f: Array, y: Array) -> Array:
        """Return 2 below the margin, 0 from it on."""
        return np.where(y * f < 1.0, 2.0, 0.0)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return ``y u + u^2 / 4`` for ``-y u >= 0``."""
        return inside(-y * u, 0.0, np.inf, y * u + u * u / 4.0)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of ``{u: -y u >= 0}``."""
        return np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)

    def box(self, y: Array, cost: Array) -> BoxQP:
        """Return ``y alpha >= 0`` with ridge ``1 / (2 cost)``; a row without cost stays at zero."""
        paid = cost > 0
        ridge = np.where(paid, 0.5 / np.where(paid, cost, 1.0), 0.0)
        return _signed_box(y, np.where(paid, np.inf, 0.0), ridge)


@dataclass(frozen=True)
class SmoothHinge(Loss):
    """``log(1 + exp(sigma (1 - y f))) / sigma``: the hinge as sigma grows."""

    sigma: float = 1.0
    name = "smooth_hinge"
    task = "classification"
    smooth = True

    @property
    def bend(self) -> float:
        """The largest second derivative."""
        return self.sigma / 4.0

    def value(self, f: Array, y: Array) -> Array:
        """Return ``log(1 + exp(sigma (1 - y f))) / sigma``."""
        return np.logaddexp(0.0, self.sigma * (1.0 - y * f)) / self.sigma

    def derivative(self, f: Array, y: Array) -> Array:
        """Return ``-y / (1 + exp(sigma (y f - 1)))``."""
        return -y * expit(self.sigma * (1.0 - y * f))

    def curvature(self, f: Array, y: Array) -> Array:
        """Return ``sigma t (1 - t)`` with t the slope."""
        z = self.sigma * (1.0 - y * f)
        return self.sigma * expit(z) * expit(-z)

    def separable(self, y: Array, cost: Array) -> BoxQP:
        """Return ``0 <= y alpha <= cost`` with linear term y and entropies over sigma."""
        return replace(_signed_box(y, cost, np.zeros(len(y))), entropy=1.0 / self.sigma)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return ``-t + (t log t + (1 - t) log(1 - t)) / sigma``, t = -y u in [0, 1]."""
        t = -y * u
        return inside(t, 0.0, 1.0, -t + _negative_entropy(t) / self.sigma)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of ``{u: 0 <= -y u <= 1}``."""
        return _unit_interval(y)


@dataclass(frozen=True)
class Logistic(Loss):
    """``log(1 + exp(-y f))``."""

    name = "logistic"
    task = "classification"
    smooth = True

    @property
    def bend(self) -> float:
        """The largest second derivative."""
        return 0.25

    def value(self, f: Array, y: Array) -> Array:
        """Return ``log(1 + exp(-y f))``."""
        return np.logaddexp(0.0, -y * f)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return ``-y / (1 + exp(y f))``."""
        return -y * expit(-y * f)

    def curvature(self, f: Array, y: Array) -> Array:
        """Return ``t (1 - t)`` with t the slope."""
        return expit(f) * expit(-f)

    def separable(self, y: Array, cost: Array) -> BoxQP:
        """Return ``0 <= y alpha <= cost`` without linear term, with entropies."""
        box = _signed_box(y, cost, np.zeros(len(y)))
        return replace(box, p=np.zeros_like(box.p), entropy=1.0)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return ``t log t + (1 - t) log(1 - t)``, t = -y u in [0, 1]."""
        t = -y * u
        return inside(t, 0.0, 1.0, _negative_entropy(t))

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of ``{u: 0 <= -y u <= 1}``."""
        return _unit_interval(y)


def _negative_entropy(t: Array) -> Array:
    t = np.clip(t, 0.0, 1.0)
    return xlogy(t, t) + xlogy(1.0 - t, 1.0 - t)
