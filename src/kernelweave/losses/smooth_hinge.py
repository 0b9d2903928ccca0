"""The smooth hinge: ``loss = log(1 + exp(sigma (1 - y f))) / sigma``, the hinge as sigma grows.

``loss* = -t + (t log t + (1 - t) log(1 - t)) / sigma`` with ``t = -y u`` in [0, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from kernelweave.losses.base import Array, BoxQP, Loss, inside, parameter
from kernelweave.losses.margin import negative_entropy, signed_box, unit_interval
from kernelweave.losses.registry import register


@register
@dataclass(frozen=True)
class SmoothHinge(Loss):
    """``log(1 + exp(sigma (1 - y f))) / sigma``."""

    sigma: float = parameter(1.0, "sharpness; the larger, the closer to the hinge")
    name = "smooth_hinge"
    task = "classification"
    lipschitz = 1.0

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

    @staticmethod
    def slope(shape: float, f: float, y: float) -> float:
        """Return ``-y / (1 + exp(sigma (y f - 1)))``."""
        return -y / (1.0 + math.exp(shape * (y * f - 1.0)))

    def curvature(self, f: Array, y: Array) -> Array:
        """Return ``sigma t (1 - t)`` with t the slope."""
        z = self.sigma * (1.0 - y * f)
        return self.sigma * expit(z) * expit(-z)

    def separable(self, y: Array, cost: Array) -> BoxQP:
        """Return ``0 <= y alpha <= cost`` with linear term y and entropies over sigma."""
        return signed_box(y, cost, entropy=1.0 / self.sigma)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return ``-t + (t log t + (1 - t) log(1 - t)) / sigma``, t = -y u in [0, 1]."""
        t = -y * u
        return inside(t, 0.0, 1.0, -t + negative_entropy(t) / self.sigma)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of ``{u: 0 <= -y u <= 1}``."""
        return unit_interval(y)
