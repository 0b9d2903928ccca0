"""The hinge: ``loss = max(0, 1 - y f)``, ``loss* = y u`` for ``0 <= -y u <= 1``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.losses.base import Array, BoxQP, Loss, inside
from kernelweave.losses.margin import signed_box, unit_interval
from kernelweave.losses.registry import register


@register
@dataclass(frozen=True)
class Hinge(Loss):
    """``max(0, 1 - y f)``."""

    name = "hinge"
    task = "classification"
    sparse = True
    lipschitz = 1.0

    def value(self, f: Array, y: Array) -> Array:
        """Return ``max(0, 1 - y f)``."""
        return np.maximum(0.0, 1.0 - y * f)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return -y below the margin, 0 from it on."""
        return np.where(y * f < 1.0, -y, 0.0)

    @staticmethod
    def slope(shape: float, f: float, y: float) -> float:
        """Return -y below the margin, 0 from it on."""
        return -y if y * f < 1.0 else 0.0

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return ``y u`` for ``0 <= -y u <= 1``."""
        return inside(-y * u, 0.0, 1.0, y * u)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of ``{u: 0 <= -y u <= 1}``."""
        return unit_interval(y)

    def box(self, y: Array, cost: Array) -> BoxQP:
        """Return ``0 <= y alpha <= cost``, linear term y."""
        return signed_box(y, cost)
