"""Coordinate descent along the paths of positioned k-mers: see `paths` for how the normal vector is held."""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.coordinate import box_step
from kernelweave.operators.base import DescentState
from kernelweave.operators.kmers.paths import Paths, read, spell, write

Array = np.ndarray


class PathDescent:
    """A normal vector over the paths of some rows, and steps that keep it in line with alpha.

    Parameters
    ----------
    paths : of the rows
    diagonal : (n,) kernel of each row with itself
    dtype : of the normal vector
    """

    def __init__(self, paths: Paths, diagonal: Array, dtype: type):
        self.paths, self.n, self.dtype = paths, paths.n, dtype
        self.own = diagonal - paths.held

    def start(self, alpha: Array) -> None:
        """Set the normal vector to that of alpha."""
        self.vector = self.paths.vector(alpha, self.dtype)

    def sweep(self, rows: Array, state: DescentState) -> float:
        """Step along each of the rows in turn; return by how much the sum of alpha changed."""
        return float(_sweep(*self.paths.arrays(), *self.vector, self.own, rows, *state))

    def outputs(self, alpha: Array) -> Array:
        """Return the outputs of every row as the normal vector has them."""
        return self.paths.outputs(self.vector) + self.own * alpha

    def product(self, alpha: Array, rows: Array | None = None) -> Array:
        """Return ``K @ alpha`` afresh, in double precision."""
        outputs = self.paths.outputs(self.paths.vector(alpha, np.float64)) + self.own * alpha
        return outputs if rows is None else outputs[rows]


@jit
def _sweep(  # type: ignore[no-untyped-def]
    symbols, bits, mask, depth, groups, cells, starts, nodes, values, direct, shared, own, rows,
    p, ridge, entropy, low, high, curvature, fixed, intercept, pull, v, outputs,
):  # fmt: skip
    codes = np.empty(symbols.shape[1], np.int64)
    moved = 0.0
    for i in rows:
        alpha = 0.0
        for c in range(v.shape[0]):
            alpha += v[c, i]
        spell(symbols, i, bits, depth, codes)
        f = read(codes, bits, depth, groups, starts, nodes, direct, shared, i)
        f += own[i] * alpha + fixed[i] + intercept + pull * moved
        outputs[i] = f
        change = box_step(i, f, p, ridge, entropy, low, high, curvature, v)
        if change != 0.0:
            moved += change
            write(symbols, bits, mask, depth, groups, cells, starts, nodes, values, codes, direct, shared, i, change)
    return moved
