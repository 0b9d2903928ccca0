"""The epsilon-insensitive loss: no cost in a tube around the target, the distance from it outside.

``loss = max(0, |f - y| - epsilon)``, ``loss* = u y + epsilon |u|`` for ``|u| <= 1``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.losses.base import Array, BoxQP, Loss, inside, parameter
from kernelweave.losses.registry import register


@register
@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """``max(0, |f - y| - epsilon)``."""

    epsilon: float = parameter(0.1, "half-width of the tube in which errors are free", zero=True)
    name = "epsilon_insensitive"
    task = "regression"
    lipschitz = 1.0

    @property
    def sparse(self) -> bool:
        """Errors within a tube of some width cost nothing."""
        return self.epsilon > 0.0

    def value(self, f: Array, y: Array) -> Array:
        """Return ``max(0, |f - y| - epsilon)``."""
        return np.maximum(0.0, np.abs(f - y) - self.epsilon)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return the sign of the residual outside the tube, 0 within."""
        r = f - y
        return np.where(np.abs(r) > self.epsilon, np.sign(r), 0.0)

    @staticmethod
    def slope(shape: float, f: float, y: float) -> float:
        """Return the sign of the residual outside the tube, 0 within."""
        if f - y > shape:
            return 1.0
        return -1.0 if f - y < -shape else 0.0

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return ``u y + epsilon |u|`` for ``|u| <= 1``."""
        return inside(u, -1.0, 1.0, u * y + self.epsilon * np.abs(u))

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return [-1, 1]."""
        return np.full(len(y), -1.0), np.full(len(y), 1.0)

    def box(self, y: Array, cost: Array) -> BoxQP:
        """Return two copies of opposite sign: ``epsilon |alpha|`` is linear in each."""
        zero = np.zeros(len(y))
        return BoxQP(
            p=np.stack([y - self.epsilon, y + self.epsilon]),
            ridge=zero,
            low=np.stack([zero, -cost]),
            high=np.stack([cost, zero]),
        )
