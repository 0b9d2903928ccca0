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

from kernelweave.solvers.mkl.gradient.blocks.loops import add_curvature, block_bounds, descend
from kernelweave.solvers.problems import SUFFICIENT, TINY, Array

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
        return 0.5 * float(self.rest + (norms**self.r).sum()) ** (2.0 / self.r)

    def _newton(self, u: Array, slope: Array, norms: Array) -> float:
        """Move the blocks that are not zero by a Newton step; return what it was to gain, 0 where it is impossible."""
        blocks = norms > NEGLIGIBLE * norms.max()
        some = np.flatnonzero(blocks[self.owner])
        if not 0 < len(some) <= NEWTON_COLUMNS:
            return 0.0
        part, lengths, total = u[some], norms[blocks], float(self.rest + (norms**self.r).sum())
        M = self.H[np.ix_(some, some)]
        M[np.diag_indices_from(M)] += RIDGE * M.diagonal().max()
        add_curvature(part, np.concatenate([[0], np.cumsum(self.sizes[blocks])]), lengths, self.r, total, M)
        pull = total ** ((2.0 - self.r) / self.r) * lengths ** (self.r - 2.0)
        gradient = slope[some] + np.repeat(pull, self.sizes[blocks]) * part
        _, step, failed = dposv(M, -gradient, overwrite_a=True)
        if failed or not np.isfinite(step).all():
            return 0.0
        self._search(u, slope, norms, some, step, float(gradient @ step))
        return -float(gradient @ step)

    def _search(self, u: Array, slope: Array, norms: Array, some: Array, step: Array, fall: float) -> None:
        """Go along a step as far as the objective falls enough; stay where it does not."""
        turned = step @ self.H[some]
        first, second, now = float(slope[some] @ step), float(turned[some] @ step), self.norm_term(norms)
        share = 1.0
        for _ in range(HALVINGS):
            new = u.copy()
            new[some] += share * step
            lengths = self.norms(new)
            change = self.norm_term(lengths) - now + share * first + 0.5 * share * share * second
            if change <= min(SUFFICIENT * share * fall, -TINY):
                u[:], norms[:] = new, lengths
                slope += share * turned
                return
            share *= 0.5
