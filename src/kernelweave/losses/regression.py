"""Losses of the residual ``f - y`` for real targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.losses.base import Array, BoxQP, Loss, inside


@dataclass(frozen=True)
class Squared(Loss):
    """``(f - y)^2``."""

    name = "squared"
    task = "regression"
    smooth = True

    @property
    def bend(self) -> float:
        """The largest second derivative."""
        return 2.0

    def value(self, f: Array, y: Array) -> Array:
        """Return ``(f - y)^2``."""
        return (f - y) ** 2

    def derivative(self, f: Array, y: Array) -> Array:
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
        paid = cost > 0
        bound = np.where(paid, np.inf, 0.0)[None, :]
        ridge = np.where(paid, 0.5 / np.where(paid, cost, 1.0), 0.0)
        return BoxQP(p=y[None, :].astype(float), ridge=ridge, low=-bound, high=bound)


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """``max(0, |f - y| - epsilon)``."""

    epsilon: float = 0.1
    name = "epsilon_insensitive"
    task = "regression"
    smooth = False

    def value(self, f: Array, y: Array) -> Array:
        """Return ``max(0, |f - y| - epsilon)``."""
        return np.maximum(0.0, np.abs(f - y) - self.epsilon)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return the sign of the residual outside the tube, 0 within."""
        r = f - y
        return np.where(np.abs(r) > self.epsilon, np.sign(r), 0.0)

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
