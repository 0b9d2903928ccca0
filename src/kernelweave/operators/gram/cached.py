"""Kernel columns computed on demand, the most recently used ones kept."""

from __future__ import annotations

from functools import partial
from math import isqrt
from typing import Any

import numpy as np

from kernelweave.data.blocks import COLUMNS_TOGETHER, PART_ROWS, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, Kernel, count, take
from kernelweave.operators.expansion.cross import double_product
from kernelweave.operators.gram.dense import DenseGram, add_rows, gather

COLUMN_ROWS = 2048
"""Training rows per tile while columns are computed."""
WITHOUT_COPY = 0.6
"""Share of the memory for one Gram matrix in the place of columns: pair steps copy up to 0.64 of its values together.
"""


class CachedColumns:
    """A kernel bound to training rows; columns live in a buffer of fixed size (least recently used leaves).

    Parameters
    ----------
    kernel : the kernel, all parameters filled in
    prepared : prepared training rows
    capacity : how many columns the buffer holds
    dtype : of the stored columns
    """

    def __init__(self, kernel: Kernel, prepared: Any, engine: Engine, capacity: int, dtype: type = np.float32):
        self.kernel, self.prepared, self.engine = kernel, prepared, engine
        self.n = count(prepared)
        self.capacity = min(capacity, self.n)
        self.most_rows = min(self.n, isqrt(int(WITHOUT_COPY * self.capacity * self.n)))
        self.computed = 0
        self._buffer: Array = np.empty((self.capacity, self.n), dtype)
        self._slot = np.full(self.n, -1)
        self._row = np.full(self.capacity, -1)
        self._used = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0
        self._diagonal = kernel.diagonal(prepared)

    def diag(self) -> Array:
        """Return the diagonal, (n,) float64."""
        return self._diagonal

    def columns(self, rows: Array) -> Array:
        """Return ``K[:, rows]``, (n, len(rows))."""
        out = np.empty((len(rows), self.n), self._buffer.dtype)
        for batch in self._batches(rows):
            out[batch] = self._buffer[self._fetch(rows[batch])]
        return out.T

    def submatrix(self, rows: Array) -> Array:
        """Return ``K[rows][:, rows]``."""
        out = np.empty((len(rows), len(rows)), self._buffer.dtype)
        for batch in self._batches(rows):
            gather(self._buffer, self._fetch(rows[batch]), rows, out[batch])
        return out

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out`, accumulated in float64."""
        for batch in self._batches(rows):
            slots, part = self._fetch(rows[batch]), steps[batch]
            self.engine.map_into(out, partial(_add_shard, self._buffer, slots, part), spans(self.n, PART_ROWS))

    def restricted(self, rows: Array) -> DenseGram:
        """Return the kernel on some of the rows."""
        return DenseGram(self.kernel, take(self.prepared, rows), self.engine, self._buffer.dtype.type)

    def fresh_product(self, alpha: Array, rows: Array | None = None) -> Array:
        """Return ``K @ alpha`` in double precision, from the kernel itself; only some rows of it where named."""
        return double_product(self.kernel, self.prepared, self.engine, alpha, rows)

    def exact_product(self, alpha: Array, rows: Array | None = None) -> Array | None:
        """Return ``K @ alpha`` in double precision, or None where columns are stored so."""
        return None if self._buffer.dtype == np.float64 else self.fresh_product(alpha, rows)

    def _batches(self, rows: Array) -> list[slice]:
        return spans(len(rows), self.capacity if len(rows) <= self.capacity else min(COLUMNS_TOGETHER, self.capacity))

    def _fetch(self, rows: Array) -> Array:
        """Return the slots of these columns (at most `capacity`), computing those that are missing."""
        self._clock += 1
        held = self._slot[rows]
        self._used[held[held >= 0]] = self._clock
        missing = np.unique(rows[held < 0])
        if len(missing):
            slots = np.argpartition(self._used, len(missing) - 1)[: len(missing)]
            gone = self._row[slots]
            self._slot[gone[gone >= 0]] = -1
            self._slot[missing], self._row[slots], self._used[slots] = slots, missing, self._clock
            self._compute(missing, slots)
        return self._slot[rows]

    def _compute(self, rows: Array, slots: Array) -> None:
        self.computed += len(rows)
        kernel, prepared, dtype = self.kernel, self.prepared, self._buffer.dtype.type
        wanted, tiles = take(prepared, rows), spans(self.n, COLUMN_ROWS)

        def fill(tile: slice, target: Array) -> None:
            target[slots] = kernel.block(wanted, take(prepared, tile), dtype)

        self.engine.map_into([self._buffer[:, tile] for tile in tiles], fill, tiles)


def _add_shard(buffer: Array, slots: Array, steps: Array, shard: slice, out: Array) -> None:
    add_rows(buffer, slots, steps, shard.start, out)
