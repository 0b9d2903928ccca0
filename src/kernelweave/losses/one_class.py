"""The loss of novelty detection: with ``b = -rho``, rows below the level cost their distance from it.

``loss = max(0, -f)``, ``loss* = 0`` for ``-1 <= u <= 0``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.losses.base import Array, BoxQP, Loss, inside
from kernelweave.losses.registry import register


@register
@dataclass(frozen=True)
class OneClass(Loss):
    """``max(0, -f)`` where f includes the intercept ``-rho``."""

    name = "one_class"
    task = "novelty"
    lipschitz = 1.0

    def value(self, f: Array, y: Array) -> Array:
        """Return ``max(0, -f)``."""
        return np.maximum(0.0, -f)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return -1 below zero, 0 from it on."""
        return np.where(f < 0.0, -1.0, 0.0)

    @staticmethod
    def slope(shape: float, f: float, y: float) -> float:
        """Return -1 below zero, 0 from it on."""
        return -1.0 if f < 0.0 else 0.0

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return 0 for ``-1 <= u <= 0``."""
        return inside(u, -1.0, 0.0, np.zeros(len(u)))

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return [-1, 0]."""
        return np.full(len(y), -1.0), np.zeros(len(y))

    def box(self, y: Array, cost: Array) -> BoxQP:
        """Return ``0 <= alpha <= cost`` without a linear term."""
        zero = np.zeros((1, len(y)))
        return BoxQP(p=zero, ridge=zero[0], low=zero, high=cost[None, :].astype(float))
