"""The coefficients' part of the optimality conditions that `interior` solves, one class per penalty.

With score = K'u, and mu the goal of all products of a variable and its multiplier:

    Squares    a - score - z = 0,        a z = mu                      z only where a >= 0 is asked for ("held")
    Split      a = p - q,   zp = 1 - score,   zq = 1 + score,          q only where a may be negative
               p zp = q zq = mu

The variables of all columns are rows of one array: (a, z) or (p, q, zp, zq), primal ones in the first half.  A Newton
step, after eliminating all but the change of a, reads ``H da - K'du = r``.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

Array = np.ndarray


class Block(Protocol):
    """What a penalty adds to the conditions; `now` and `step` are (variables, k), `goals` (pairs, k), `held` (k,)."""

    coupled: bool
    """Whether primal and dual variables share a condition, so that their steps must have the same length."""

    def start(self, score: Array, held: Array, mu: float) -> Array:
        """Return variables whose products are mu."""

    def value(self, now: Array) -> Array:
        """Return the coefficients."""

    def linear(self, now: Array, held: Array, score: Array, goals: Array) -> tuple[Array, Array]:
        """Return H and r of the step that takes the products to their goals."""

    def step(self, now: Array, held: Array, score: Array, goals: Array, da: Array, pull: Array) -> Array:
        """Return the change of all variables, given that of the coefficients and of the scores."""

    def bounded(self, now: Array, held: Array) -> Array:
        """Return which variables must stay positive, (variables, k)."""

    def resting(self, now: Array, held: Array, size: Array, share: float) -> Array:
        """Return which coefficients are zero at the optimum, (k,); `size` is the largest value of each column.

        Of a variable and its multiplier only one stays away from zero: the variable rests if it is less than some
        share of the multiplier.
        """


class Squares:
    """``1/2 sum a^2``."""

    coupled = True

    def start(self, score: Array, held: Array, mu: float) -> Array:
        """Return held coefficients a little inside, others at zero."""
        return np.where(held, np.sqrt(mu), np.zeros((2, 1)))

    def value(self, now: Array) -> Array:
        """Return a."""
        return now[0]

    def linear(self, now: Array, held: Array, score: Array, goals: Array) -> tuple[Array, Array]:
        """Return ``H = 1 + z / a`` and r."""
        a = np.where(held, now[0], 1.0)
        return 1.0 + now[1] / a, score - now[0] + np.where(held, goals[0] / a, 0.0)

    def step(self, now: Array, held: Array, score: Array, goals: Array, da: Array, pull: Array) -> Array:
        """Return the change of a and z."""
        a = np.where(held, now[0], 1.0)
        return np.stack([da, np.where(held, (goals[0] - now[1] * da) / a - now[1], 0.0)])

    def bounded(self, now: Array, held: Array) -> Array:
        """Return the held ones."""
        return np.broadcast_to(held, now.shape)

    def resting(self, now: Array, held: Array, size: Array, share: float) -> Array:
        """Return which are small; both are in units of the scores."""
        return held & (now[0] < share * now[1])


class Split:
    """``sum |a|``."""

    coupled = False

    def start(self, score: Array, held: Array, mu: float) -> Array:
        """Return multipliers that allow for the scores, variables to match."""
        zp, zq = np.maximum(1.0 - score, 1.0), np.where(held, 1.0, np.maximum(1.0 + score, 1.0))
        return np.stack([mu / zp, np.where(held, 0.0, mu / zq), zp, zq])

    def value(self, now: Array) -> Array:
        """Return ``p - q``."""
        return now[0] - now[1]

    def linear(self, now: Array, held: Array, score: Array, goals: Array) -> tuple[Array, Array]:
        """Return ``1 / H = p / zp + q / zq`` and r."""
        p, q, zp, zq = now
        dp = (goals[0] - p * (1.0 - score)) / zp
        dq = np.where(held, 0.0, (goals[1] - q * (1.0 + score)) / zq)
        H = 1.0 / (p / zp + q / zq)
        return H, H * (dp - dq)

    def step(self, now: Array, held: Array, score: Array, goals: Array, da: Array, pull: Array) -> Array:
        """Return the change of p, q, zp, zq."""
        p, q, zp, zq = now
        dzp, dzq = 1.0 - score - zp - pull, np.where(held, 0.0, 1.0 + score - zq + pull)
        dp = (goals[0] - p * dzp) / zp - p
        return np.stack([dp, np.where(held, 0.0, (goals[1] - q * dzq) / zq - q), dzp, dzq])

    def bounded(self, now: Array, held: Array) -> Array:
        """Return all but the q of held columns."""
        bounded = np.ones(now.shape, dtype=bool)
        bounded[1::2, held] = False
        return bounded

    def resting(self, now: Array, held: Array, size: Array, share: float) -> Array:
        """Return which move the outputs by little; multipliers are 1 far from the threshold."""
        p, q, zp, zq = now
        return (p * size < share * zp) & (q * size < share * zq)


def products(now: Array) -> Array:
    """Return the product of each variable with its multiplier, (pairs, k)."""
    half = len(now) // 2
    return now[:half] * now[half:]


def mean_parts(now: Array, bounded: Array) -> tuple[float, int]:
    """Return the sum of the products of all bounded variables, and their number."""
    within = bounded[: len(now) // 2]
    return float(np.sum(products(now), where=within)), int(within.sum())
