"""The squared epsilon-insensitive loss: no cost in a tube around the target, the squared distance from it outside.

``loss = max(0, |f - y| - epsilon)^2``, ``loss* = u y + epsilon |u| + u^2 / 4``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.losses.base import Array, BoxQP, Loss, half_inverse, parameter
from kernelweave.losses.registry import register


@register
@dataclass(frozen=True)
class SquaredEpsilonInsensitive(Loss):
    """``max(0, |f - y| - epsilon)^2``."""

    epsilon: float = parameter(0.1, "half-width of the tube in which errors are free", zero=True)
    name = "squared_epsilon_insensitive"
    task = "regression"
    bend = 2.0

    @property
    def sparse(self) -> bool:
        """Errors within a tube of some width cost nothing."""
        return self.epsilon > 0.0

    def value(self, f: Array, y: Array) -> Array:
        """Return ``max(0, |f - y| - epsilon)^2``."""
        return np.maximum(0.0, np.abs(f - y) - self.epsilon) ** 2

    def derivative(self, f: Array, y: Array) -> Array:
        """Return twice the distance from the tube, with the sign of the residual."""
        r = f - y
        return 2.0 * (r - np.clip(r, -self.epsilon, self.epsilon))

    @staticmethod
    def slope(shape: float, f: float, y: float) -> float:
        """Return twice the distance from the tube, with the sign of the residual."""
        return 2.0 * (f - y - min(max(f - y, -shape), shape))

    def curvature(self, f: Array, y: Array) -> Array:
        """Return 2 outside the tube, 0 within."""
        return np.where(np.abs(f - y) > self.epsilon, 2.0, 0.0)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return ``u y + epsilon |u| + u^2 / 4``."""
        return u * y + self.epsilon * np.abs(u) + u * u / 4.0

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return the whole line."""
        return np.full(len(y), -np.inf), np.full(len(y), np.inf)

    def box(self, y: Array, cost: Array) -> BoxQP:
        """Return two copies of opposite sign without outer bounds, ridge ``1 / (2 cost)``."""
        zero, bound = np.zeros(len(y)), np.where(cost > 0, np.inf, 0.0)
        return BoxQP(
            p=np.stack([y - self.epsilon, y + self.epsilon]),
            ridge=half_inverse(cost),
            low=np.stack([zero, -bound]),
            high=np.stack([bound, zero]),
        )
