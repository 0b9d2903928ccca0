"""Products with kernel matrices in double precision, tile by tile: no matrix is ever whole in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelweave.data import GramRows
from kernelweave.engines import Serial
from kernelweave.kernels.base import Kernel, take
from kernelweave.kernels.reference import takes_gram
from kernelweave.operators.memory import memory_budget
from kernelweave.operators.planner.task import Task

Array = np.ndarray
TILE_VALUES = 1 << 21
"""Most kernel values of a tile, 16 MB."""
TILE_SHARE, ROWS_SHARE = 0.125, 0.5
"""What a tile may take of the memory limit, and what prepared rows may: beyond, they are prepared part by part."""


class Products:
    """Kernels on training rows.

    Parameters
    ----------
    kernels : with every learned parameter filled in
    limit : memory for prepared rows and for tiles of kernel values: bytes, a text such as "4GB", or "auto"

    Examples
    --------
    >>> from kernelweave.kernels import Linear
    >>> Products([Linear()], np.array([[1.0], [2.0]])).of(0, np.array([[1.0], [1.0]]))
    array([[3.],
           [6.]])
    """

    def __init__(self, kernels: Sequence[Kernel], X: Any, limit: float | str | None = "auto"):
        self.kernels = list(kernels)
        self.X = GramRows.of(X) if takes_gram(self.kernels) else X  # rows of a matrix that know their columns
        self.limit = memory_budget(limit)
        values = int(np.clip(TILE_SHARE * self.limit / 8, 1.0, TILE_VALUES))
        self.rows = max(1, int(np.sqrt(values / 2)))
        self.columns = max(1, values // self.rows)

    def of(self, k: int, V: Array) -> Array:
        """Return ``K_k V`` for V (n, columns), in double precision; rows where V is zero cost nothing."""
        kernel, n = self.kernels[k], len(V)
        used, out = np.flatnonzero(V.any(axis=1)), np.zeros(V.shape)
        whole = kernel.prepare(self.X) if self._fits(kernel) else None

        def prepared(rows: Any) -> Any:
            return kernel.prepare(self.X[rows]) if whole is None else take(whole, rows)

        for start in range(0, len(used), self.columns):
            columns = used[start : start + self.columns]
            kept = prepared(columns)
            for first in range(0, n, self.rows):
                rows = slice(first, min(first + self.rows, n))
                out[rows] += kernel.block(prepared(rows), kept, np.float64) @ V[columns]
        return out

    def diagonal(self, k: int) -> Array:
        """Return the kernel of each row with itself, (n,)."""
        kernel, n = self.kernels[k], self.X.shape[0]
        parts = [slice(first, min(first + self.rows, n)) for first in range(0, n, self.rows)]
        return np.concatenate([kernel.diagonal(kernel.prepare(self.X[rows])) for rows in parts])

    def _fits(self, kernel: Kernel) -> bool:
        """Tell whether all rows can be prepared at once, judged by some of them."""
        return Task([kernel], self.X, Serial(), self.limit).prepared_bytes <= ROWS_SHARE * self.limit
