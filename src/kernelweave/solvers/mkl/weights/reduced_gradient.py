"""SimpleMKL: descent on the simplex along the reduced gradient (Rakotomamonjy et al. 2008, Algorithm 1).

Solves `problem` for p = 1.  J is differentiable with ``dJ/dbeta_k = -1/2 q_k``.  With u the largest weight, the
direction is

    D_k = 0                          if beta_k = 0 and dJ/dbeta_k > dJ/dbeta_u
    D_k = dJ/dbeta_u - dJ/dbeta_k    otherwise, k != u
    D_u = - sum of the others

The step first goes to the border, weight after weight, as long as J falls; then J is searched along the rest by
golden sections.  Every SVM on the way leaves a cut, and the cuts certify.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelweave.solvers.loop import Limits, Stop
from kernelweave.solvers.mkl.weights.wrapper import CutWrapper, Evaluation
from kernelweave.solvers.problems import Array

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
NEGLIGIBLE = 1e-9
"""Weights below this are put to zero."""
SECTIONS, MOST_SECTIONS = 12, 40
"""Most golden sections in one search, and in one that has found nothing lower yet."""
SHARPER, SHARPEST = 0.1, 1e-9
"""Factor on the tolerance of the SVMs after a search that found nothing lower, and the smallest tolerance."""


class ReducedGradient(CutWrapper):
    """Descent on the simplex of weights with a line search over support vector machines (SimpleMKL)."""

    keeps = "sharpness"
    limits = Limits(200, inside=20_000, patience=15, instead=("level", "hessian", "lp"))
    sharpness = 1.0

    def step(self) -> None:
        """Evaluate at the start, then follow one direction to its lowest point."""
        if self.solves == 0:
            self.now = self._seen(self.beta)
        before = self.now
        direction = reduced_gradient(self.now.beta, -0.5 * self.now.q)
        if np.any(direction):
            here, direction = self._to_border(self.now, direction)
            self.now = self._search(here, direction)
        if self.now is before:
            # An inexact SVM can hide a small decrease: solve again at these weights, more closely.
            self.sharpness *= SHARPER
            self.now = self._seen(before.beta)
        _, _, self.proof = self.lower_bound()

    def inner_stop(self) -> Stop:
        """Return how well the SVM inside is to be solved."""
        stop = super().inner_stop()
        return replace(stop, tol=max(self.sharpness * stop.tol, min(stop.tol, SHARPEST)))

    def _seen(self, beta: Array) -> Evaluation:
        made = self.evaluate(beta)
        self.add_cut(made)
        return made

    def _to_border(self, here: Evaluation, direction: Array) -> tuple[Evaluation, Array]:
        """Go to the border as long as J falls there; the direction loses the weights that reached zero."""
        while True:
            reach, _ = longest_step(here.beta, direction)
            if reach <= 0.0:
                return here, direction
            there = self._seen(clean(here.beta + reach * direction))
            if there.value >= here.value:
                return here, direction
            here, direction = there, without(direction, there.beta)
            if not np.any(direction):
                return here, direction

    def _search(self, here: Evaluation, direction: Array) -> Evaluation:
        """Shrink the bracket [0, reach] around the lowest point by golden sections."""
        low, high = 0.0, longest_step(here.beta, direction)[0]
        if high <= 0.0:
            return here
        best = here
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_left, at_right = self._at(here, direction, left), self._at(here, direction, right)
        for section in range(MOST_SECTIONS):
            best = min(best, at_left, at_right, key=lambda made: made.value)
            near = (high - low) * np.abs(direction).sum() < max(self.gap, self.stop.tol)
            if best is not here and (near or section >= SECTIONS):
                break
            if at_left.value < at_right.value:
                high, right, at_right = right, left, at_left
                left = high - GOLDEN * (high - low)
                at_left = self._at(here, direction, left)
            else:
                low, left, at_left = left, right, at_right
                right = low + GOLDEN * (high - low)
                at_right = self._at(here, direction, right)
        return best

    def _at(self, here: Evaluation, direction: Array, step: float) -> Evaluation:
        return self._seen(clean(here.beta + step * direction))


def reduced_gradient(beta: Array, gradient: Array) -> Array:
    """Return the descent direction on the simplex."""
    u = int(beta.argmax())
    direction = gradient[u] - gradient
    direction[(beta <= 0.0) & (direction < 0.0)] = 0.0
    direction[u] = 0.0
    direction[u] = -direction.sum()
    return direction


def longest_step(beta: Array, direction: Array) -> tuple[float, int]:
    """Return how far the direction stays on the simplex, and which weight then is zero."""
    falling = np.flatnonzero(direction < 0.0)
    if len(falling) == 0:
        return 0.0, -1
    reach = -beta[falling] / direction[falling]
    first = int(reach.argmin())
    return float(reach[first]), int(falling[first])


def without(direction: Array, beta: Array) -> Array:
    """Drop the weights that are zero and would fall; the largest weight takes what they would have given."""
    direction = np.where((beta <= 0.0) & (direction < 0.0), 0.0, direction)
    u = int(beta.argmax())
    direction[u] -= direction.sum()
    return direction


def clean(beta: Array) -> Array:
    """Put negligible weights to zero and the sum to one."""
    beta = np.where(beta < NEGLIGIBLE, 0.0, beta)
    return beta / beta.sum()
