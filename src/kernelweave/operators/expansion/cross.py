"""A kernel between new rows and the rows a model keeps: what predictions are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.blocks import spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, Kernel, count, take

NEW_ROWS = 512
KEPT_ROWS = 4096
"""Tiles of the new-by-kept rectangle: small enough for the cache, cut by size so that bits do not depend on threads."""


class CrossKernel:
    """Evaluates a kernel tile by tile; the rectangle is never whole in memory.

    Parameters
    ----------
    kernel : the kernel, all parameters filled in
    new, kept : prepared rows on either side
    """

    def __init__(self, kernel: Kernel, new: Any, kept: Any, engine: Engine):
        self.kernel, self.new, self.kept, self.engine = kernel, new, kept, engine
        self.m = count(new)

    def columns(self, rows: Array) -> Array:
        """Return ``K[:, rows]``, (m, len(rows))."""
        kept = take(self.kept, rows)
        kernel, new = self.kernel, self.new
        tiles = self.engine.map(lambda tile: kernel.block(take(new, tile), kept), spans(self.m, NEW_ROWS))
        return np.concatenate(tiles) if tiles else np.empty((0, len(rows)))

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out`; steps are (k,) or (k, outputs)."""
        kept = [(take(self.kept, rows[span]), steps[span]) for span in spans(len(rows), KEPT_ROWS)]
        kernel, new = self.kernel, self.new

        def fill(tile: slice, target: Array) -> None:
            some = take(new, tile)
            for part, step in kept:
                target += kernel.block(some, part) @ step

        self.engine.map_into(out, fill, spans(self.m, NEW_ROWS))


def double_product(kernel: Kernel, prepared: Any, engine: Engine, alpha: Array) -> Array:
    """Return ``K @ alpha`` on training rows in double precision, from the kernel itself."""
    out = np.zeros(len(alpha))
    rows = np.flatnonzero(alpha)
    CrossKernel(kernel, prepared, prepared, engine).add_to(out, rows, alpha[rows])
    return out
