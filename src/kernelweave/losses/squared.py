"""The squared loss: ``loss = (f - y)^2``, ``loss* = u y + u^2 / 4``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.losses.base import Array, BoxQP, Loss, half_inverse
from kernelweave.losses.registry import register


@register
@dataclass(frozen=True)
class Squared(Loss):
    """``(f - y)^2``."""

    name = "squared"
    task = "regression"
    bend = 2.0

    def value(self, f: Array, y: Array) -> Array:
        """Return ``(f - y)^2``."""
        return (f - y) ** 2

    def derivative(self, f: Array, y: Array) -> Array:
        """Return ``2 (f - y)``."""
        return 2.0 * (f - y)

    @staticmethod
    def slope(shape: float, f: float, y: float) -> float:
        """Return ``2 (f - y)``."""
        return 2.0 * (f - y)

    def curvature(self, f: Array, y: Array) -> Array:
        """Return 2."""
        return np.full(len(f), 2.0)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return ``u y + u^2 / 4``."""
        return u * y + u * u / 4.0

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return the whole line."""
        return np.full(len(y), -np.inf), np.full(len(y), np.inf)

    def box(self, y: Array, cost: Array) -> BoxQP:
        """Return no bounds, ridge ``1 / (2 cost)``; a row without cost stays at zero."""
        bound = np.where(cost > 0, np.inf, 0.0)[None, :]
        return BoxQP(p=y[None, :].astype(float), ridge=half_inverse(cost), low=-bound, high=bound)
