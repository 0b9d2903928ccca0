"""Products of a kernel between two sets of rows with coefficients, without the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.blocks import TILE, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, Kernel, count, take

NEW_ROWS = 512
KEPT_ROWS = 512
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


def double_product(
    kernel: Kernel, prepared: Any, engine: Engine, alpha: Array, rows: Array | None = None
) -> Array:  # fmt: skip
    """Return ``K @ alpha`` on training rows in double precision, from the kernel itself.

    Values between two rows that both have a coefficient are made once and used for both.

    Parameters
    ----------
    rows : the rows of the product that are wanted, all that have a coefficient among them; None for all
    """
    rows = np.arange(len(alpha)) if rows is None else rows
    support = np.flatnonzero(alpha[rows])
    others = np.flatnonzero(alpha[rows] == 0.0)
    out, rest = np.empty(len(rows)), np.zeros(len(others))
    out[support] = _inside(kernel, take(prepared, rows[support]), alpha[rows[support]], engine)
    add_products(rest, kernel, take(prepared, rows[others]), prepared, rows[support], alpha[rows[support]], engine)
    out[others] = rest
    return out


def _inside(kernel: Kernel, prepared: Any, steps: Array, engine: Engine) -> Array:
    """Return ``K @ steps``; tiles above the diagonal also serve as their mirror images."""
    cuts = spans(len(steps), TILE)
    parts = [take(prepared, cut) for cut in cuts]

    def both_ways(pair: tuple[int, int]) -> tuple[Array, Array]:
        i, j = pair
        tile = kernel.block(parts[i], parts[j])
        return tile @ steps[cuts[j]], steps[cuts[i]] @ tile

    out = np.zeros(len(steps))
    for i in range(len(cuts)):
        pairs = [(i, j) for j in range(i, len(cuts))]
        for (_, j), (along, down) in zip(pairs, engine.map(both_ways, pairs)):
            out[cuts[i]] += along
            if j != i:
                out[cuts[j]] += down
    return out
