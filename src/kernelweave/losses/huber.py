"""Huber's loss: the square of small errors, in proportion to large ones, so that outliers pull with a bounded force.

With r = f - y, ``loss = r^2`` for ``|r| <= delta`` and ``2 delta |r| - delta^2`` beyond: twice Huber's own, so that it
equals the squared loss for small errors.  ``loss* = u y + u^2 / 4`` for ``|u| <= 2 delta``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.losses.base import Array, BoxQP, Loss, half_inverse, inside, parameter
from kernelweave.losses.registry import register


@register
@dataclass(frozen=True)
class Huber(Loss):
    """``r^2`` for ``|r| <= delta``, ``2 delta |r| - delta^2`` beyond, r = f - y."""

    delta: float = parameter(1.0, "size of an error from which on its cost grows in proportion")
    name = "huber"
    task = "regression"
    bend = 2.0

    @property
    def lipschitz(self) -> float:
        """The largest slope."""
        return 2.0 * self.delta

    def value(self, f: Array, y: Array) -> Array:
        """Return ``r^2`` or ``2 delta |r| - delta^2``."""
        r = np.abs(f - y)
        near = np.minimum(r, self.delta)
        return near * (2.0 * r - near)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return ``2 r``, at most ``2 delta`` in size."""
        return 2.0 * np.clip(f - y, -self.delta, self.delta)

    @staticmethod
    def slope(shape: float, f: float, y: float) -> float:
        """Return ``2 r``, at most ``2 delta`` in size."""
        return 2.0 * min(max(f - y, -shape), shape)

    def curvature(self, f: Array, y: Array) -> Array:
        """Return 2 for small errors, 0 for large ones."""
        return np.where(np.abs(f - y) <= self.delta, 2.0, 0.0)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return ``u y + u^2 / 4`` for ``|u| <= 2 delta``."""
        return inside(u, -self.lipschitz, self.lipschitz, u * y + u * u / 4.0)

    def domain(self, y: Array) -> tuple[Array, Array]:
        """Return ``[-2 delta, 2 delta]``."""
        return np.full(len(y), -self.lipschitz), np.full(len(y), self.lipschitz)

    def box(self, y: Array, cost: Array) -> BoxQP:
        """Return ``|alpha| <= 2 delta cost`` with linear term y and ridge ``1 / (2 cost)``."""
        bound = (self.lipschitz * cost)[None, :]
        return BoxQP(p=y[None, :].astype(float), ridge=half_inverse(cost), low=-bound, high=bound)
