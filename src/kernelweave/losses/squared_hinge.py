"""The squared hinge: ``loss = max(0, 1 - y f)^2``, ``loss* = y u + u^2 / 4`` for ``-y u >= 0``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.losses.base import Array, BoxQP, Loss, half_inverse, inside
from kernelweave.losses.margin import signed_box
from kernelweave.losses.registry import register


@register
@dataclass(frozen=True)
class SquaredHinge(Loss):
    """``max(0, 1 - y f)^2``."""

    name = "squared_hinge"
    task = "classification"
    sparse = True
    bend = 2.0

    def value(self, f: Array, y: Array) -> Array:
        """Return ``max(0, 1 - y f)^2``."""
        return np.maximum(0.0, 1.0 - y * f) ** 2

    def derivative(self, f: Array, y: Array) -> Array:
        """Return ``-2 y max(0, 1 - y f)``."""
        return -2.0 * y * np.maximum(0.0, 1.0 - y * f)

    @staticmethod
    def slope(shape: float, f: float, y: float) -> float:
        """Return ``-2 y max(0, 1 - y f)``."""
        return -2.0 * y * max(0.0, 1.0 - y * f)

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
        return signed_box(y, np.where(cost > 0, np.inf, 0.0), half_inverse(cost))
