"""The logistic loss: ``loss = log(1 + exp(-y f))``, ``loss* = t log t + (1 - t) log(1 - t)``, t = -y u in [0, 1]."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from kernelweave.losses.base import Array, BoxQP, Loss, inside
from kernelweave.losses.margin import negative_entropy, signed_box, unit_interval
from kernelweave.losses.registry import register


@register
@dataclass(frozen=True)
class Logistic(Loss):
    """``log(1 + exp(-y f))``."""

    name = "logistic"
    task = "classification"
    bend = 0.25
    lipschitz = 1.0

    def value(self, f: Array, y: Array) -> Array:
        """Return ``log(1 + exp(-y f))``."""
        return np.logaddexp(0.0, -y * f)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return ``-y / (1 + exp(y f))``."""
        return -y * expit(-y * f)

    @staticmethod
    def slope(shape: float, f: float, y: float) -> float:
        """Return ``-y / (1 + exp(y f))``."""
        return -y / (1.0 + math.exp(y * f))

    def curvature(self, f: Array, y: Array) -> Array:
        """Return ``t (1 - t)`` with t the slope."""
        return expit(f) * expit(-f)

    def separable(self, y: Array, cost: Array) -> BoxQP:
        """Return ``0 <= y alpha <= cost`` without linear term, with entropies."""
        return replace(signed_box(y, cost, entropy=1.0), p=np.zeros((1, len(y))))

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return ``t log t + (1 - t) log(1 - t)``, t = -y u in [0, 1]."""
        t = -y * u
        return inside(t, 0.0, 1.0, negative_entropy(t))

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of ``{u: 0 <= -y u <= 1}``."""
        return unit_interval(y)
