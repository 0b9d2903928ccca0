"""Coordinate descent along the paths of positioned k-mers: see `paths` for how the normal vector is held."""

from __future__ import annotations

import numpy as np

from kernelweave.operators.base import DescentState
from kernelweave.operators.kmers.paths import Paths
from kernelweave.operators.kmers.together import sweep

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
        return sweep(self.paths, self.vector, self.own, rows, state, self.paths.engine)

    def outputs(self, alpha: Array) -> Array:
        """Return the outputs of every row as the normal vector has them."""
        return self.paths.outputs(self.vector) + self.own * alpha

    def product(self, alpha: Array, rows: Array | None = None) -> Array:
        """Return ``K @ alpha`` afresh, in double precision."""
        outputs = self.paths.outputs(self.paths.vector(alpha, np.float64)) + self.own * alpha
        return outputs if rows is None else outputs[rows]
