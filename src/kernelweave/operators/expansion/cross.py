"""Products of a kernel between two sets of rows with coefficients, without the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.blocks import spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, Kernel, count, take

NEW_ROWS = 512
KEPT_ROWS = 4096
"""Tiles of the new-by-kept rectangle: small enough for the cache, cut by size so that bits do not depend on threads."""


def add_products(out: Array, kernel: Kernel, new: Any, kept: Any, rows: Array, steps: Array, engine: Engine) -> None:
    """Add ``K[:, rows] @ steps`` to `out`, tile by tile: the rectangle is never whole in memory.

    Parameters
    ----------
    out : (new rows,) or (new rows, outputs)
    kernel : the kernel, all parameters filled in
    new, kept : prepared rows on either side
    rows : numbers of k kept rows
    steps : (k,) or (k, outputs)
    """
    parts = [(take(kept, rows[span]), steps[span]) for span in spans(len(rows), KEPT_ROWS)]

    def fill(tile: slice, target: Array) -> None:
        some = take(new, tile)
        for part, step in parts:
            target += kernel.block(some, part) @ step

    engine.map_into(out, fill, spans(count(new), NEW_ROWS))


def double_product(kernel: Kernel, prepared: Any, engine: Engine, alpha: Array) -> Array:
    """Return ``K @ alpha`` on training rows in double precision, from the kernel itself."""
    out = np.zeros(len(alpha))
    rows = np.flatnonzero(alpha)
    add_products(out, kernel, prepared, prepared, rows, alpha[rows], engine)
    return out
