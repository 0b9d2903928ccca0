"""The quadratic model of the losses around a point, and its minimum together with the group norm.

    min over u   1/2 (rest + sum_k |u_k|^r)^(2/r) + g'(u - w) + 1/2 (u - w)' H (u - w)

Given: H, g over the columns of a working set; w where the model was made; ``rest = sum |w_k|^r`` over all other blocks.
Passes of block coordinate descent (`loops`) find which blocks are not zero.  Where these alone move, the objective is
smooth: a Newton step finds their best values, whatever the correlations between columns, and one more pass tells
whether any block wants to leave or enter.

    u (width,)     slope = g + H (u - w)     norms_k = |u_k|     total = rest + sum_k norms_k^r
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from kernelweave.solvers.mkl.gradient.blocks.loops import block_bounds, descend, go_along, newton_system
from kernelweave.solvers.problems import Array

PASSES, PASSES_PER_COLUMN = 5, 0.05
"""Passes of coordinate descent between Newton steps: so many that they cost about as much as the step."""
ROUNDS = 200
"""Newton steps at the most."""
HALVINGS = 30
NEGLIGIBLE = 1e-10
"""Blocks so much shorter than the longest have no part in a Newton step."""
RIDGE = 1e-13
"""Added to the Hessian of a Newton step, relative to its largest entry: columns may be copies of each other."""
NEWTON_COLUMNS = 4000
"""Columns up to which a Newton step costs less than the passes that it saves."""


class Model:
    """The quadratic model over the columns of a working set.

    Parameters
    ----------
    H : (width, width)
    offsets : (m + 1,) the first column of each block
    r, rest : exponent of the group norm, and what the blocks outside add to its power
    """

    def __init__(self, H: Array, offsets: Array, r: float, rest: float):
        self.H, self.offsets, self.r, self.rest = H, offsets, r, rest
        self.sizes = np.diff(offsets)
        self.owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.bounds = np.empty(len(self.sizes))
        block_bounds(H, offsets, self.bounds)

    def minimize(self, w: Array, g: Array, limit: float) -> Array:
        """Return the minimum, from w on, to about `limit` in the objective."""
        u, slope, norms, room = w.copy(), g.copy(), self.norms(w), np.empty(len(w))
        for _ in range(ROUNDS):
            passes = PASSES + int(PASSES_PER_COLUMN * self.sizes[norms > 0].sum())
            gain = descend(self.H, self.offsets, self.bounds, self.r, self.rest, limit, passes, u, slope, norms, room)
            if self._newton(u, slope, norms) <= limit and gain <= limit:
                break
        return u

    def norms(self, u: Array) -> Array:
        """Return the length of each block, (m,)."""
        return np.sqrt(np.bincount(self.owner, u * u, len(self.sizes)))

    def norm_term(self, norms: Array) -> float:
        """Return half the square of the group norm."""
        return 0.5 * float((self.rest + (norms**self.r).sum()) ** (2.0 / self.r))

    def _newton(self, u: Array, slope: Array, norms: Array) -> float:
        """Move the blocks that are not zero by a Newton step; return what it was to gain, 0 where it is impossible."""
        least = NEGLIGIBLE * norms.max(initial=0.0)
        if not 0 < self.sizes[norms > least].sum() <= NEWTON_COLUMNS:
            return 0.0
        given = self.H, self.offsets
        some, M, gradient = newton_system(*given, norms, least, RIDGE, self.r, self.rest, u, slope)
        _, step, failed = dposv(M.T, -gradient, overwrite_a=True)
        fall = float(gradient @ step)
        if failed or not np.isfinite(fall):
            return 0.0
        go_along(*given, self.r, self.rest, some, step, fall, HALVINGS, u, slope, norms)
        return -fall
