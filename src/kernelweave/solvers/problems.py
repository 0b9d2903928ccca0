"""The problem that every single-kernel solver solves.

    min over w, b    1/2 |w|^2 + sum_i c_i loss(f_i, y_i) + e b,      f_i = <w, Phi(x_i)> + b
    max over alpha   - sum_i c_i loss*(-alpha_i / c_i, y_i) - 1/2 alpha'K alpha,      sum_i alpha_i = e

Given: an operator (the kernel on the training rows), a loss, targets y, costs c = C s.
The term ``e b`` is there for novelty detection (b = -rho, e = 1); elsewhere e = 0.
The intercept is "free" (as above), "regularized" (``+ b^2 / 2``, no constraint on alpha, b = sum alpha) or "none".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelweave._numba import jit
from kernelweave.losses import Loss
from kernelweave.operators.base import Operator

if TYPE_CHECKING:
    from kernelweave.solvers.certificate import DualPoint, PrimalPoint

Array = np.ndarray
SMALLEST_SCALE = 1e-12
"""Floor of the denominator of a relative gap."""
TINY = 1e-300
"""Floor of what divides and may vanish; its inverse is still finite."""
SUFFICIENT = 1e-4
"""Share of the predicted decrease that a step of a line search must reach (Armijo)."""


def dot(a: Array, b: Array) -> float:
    """Return the inner product without BLAS: waking its threads costs more than the sum, and changes its bits."""
    return float(np.einsum("i,i->", a, b))


def block_squares(w: Array, offsets: Array) -> Array:
    """Return the squared norm of each block of w, (m,); a block may be empty."""
    out = np.empty(len(offsets) - 1)
    _block_squares(w, offsets, out)
    return out


@jit
def _block_squares(w, offsets, out):  # type: ignore[no-untyped-def]
    # Summed in a register: a sum in memory is vectorised only where arrays lie far apart, and its bits would follow.
    for k in range(len(out)):
        total = 0.0
        for j in range(offsets[k], offsets[k + 1]):
            total += w[j] * w[j]
        out[k] = total


@dataclass(frozen=True)
class Problem:
    """One learning problem on bound data.

    Parameters
    ----------
    operator : kernel on the n training rows
    loss : what an error costs
    y : (n,) targets; labels in {-1, 1} for classification
    cost : (n,) C times sample weight
    intercept : "free", "regularized" or "none"
    total : e, the sum that alpha must have under a free intercept
    """

    operator: Operator
    loss: Loss
    y: Array
    cost: Array
    intercept: str = "free"
    total: float = 0.0
    smallest_scale = SMALLEST_SCALE

    @property
    def free(self) -> bool:
        """Whether alpha must add up to `total`."""
        return self.intercept == "free"

    @property
    def shift(self) -> float:
        """What a regularised intercept adds to every kernel value."""
        return 1.0 if self.intercept == "regularized" else 0.0

    def primal(self, energy: float, f: Array, b: float) -> float:
        """Return the primal objective of ``w = sum_i alpha_i Phi(x_i)``, given ``energy = |w|^2`` and f with b."""
        value = 0.5 * energy + dot(self.cost, self.loss.value(f, self.y))
        if self.intercept == "regularized":
            value += 0.5 * b * b
        return value + (self.total * b if self.free else 0.0)

    def dual(self, alpha: Array, energy: float) -> float:
        """Return the dual objective of a feasible alpha, given ``energy = alpha'K alpha``."""
        value = self.loss.dual_term(alpha, self.y, self.cost) - 0.5 * energy
        if self.intercept == "regularized":
            value -= 0.5 * float(np.square(alpha.sum()))
        return value

    def restart(self, primal: PrimalPoint, dual: DualPoint | None) -> Array:
        """Return what a solver starts from, of the best points of a former run: a feasible alpha where there is one."""
        return primal.alpha if dual is None else dual.alpha
