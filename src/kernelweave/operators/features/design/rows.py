"""Rows of explicit features in memory, dense or sparse, and products with them.

    outputs    out_i  = <x_i, w>                    correlate   out   = sum_i coef_i x_i
    each       out_ki = <x_i, w> over block k       squares     out_ki = |x_i|^2 over block k

Block k of a row holds the features of kernel k, in the columns from ``offsets[k]`` to ``offsets[k + 1]``; in a sparse
row the entries of a block stand together.  Values may be single, sums are double.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.csr import CSR
from kernelweave._numba.rows import dense_add, dense_dot
from kernelweave.data.blocks import spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import sparse_table
from kernelweave.kernels.base import Array

DESIGN_ROWS = 1024
"""Rows of one part of a product; cut by size, so that bits do not depend on threads."""
LEAST_ENTRIES = 1 << 18
"""Features whose products take less time than handing them to a worker: no part of a product has fewer."""
GRAM_ROWS = 4096
"""Rows whose part of a Gram matrix of columns is computed together."""
FEWEST_SUMS, MOST_SUMS = 4, 16
"""Vectors over all columns that rows are added up in, before these are added..."""
ENTRIES_PER_SUM = 8
"""...each worth it where it gets so many entries a column."""
MERGED = 1 << 16
"""Columns that are added up together."""


class DenseRows(NamedTuple):
    """A table of features, (n, width) in rows of float32 or float64."""

    values: Array

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def entries(self) -> int:
        """Number of stored values."""
        return int(self.values.size)

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.values.nbytes

    def taken(self, rows: Array) -> DenseRows:
        """Return some of the rows."""
        return DenseRows(self.values[rows])

    def only(self, columns: Array, width: int) -> DenseRows:
        """Return some of the columns, in double precision."""
        return DenseRows(self.values.take(columns, axis=1).astype(np.float64, copy=False))

    def column_gram(self, weights: Array, width: int, some: Array) -> Array:
        """Return some rows of ``X' diag(weights) X``, (len(some), width), of weights that are not negative."""
        scale, out = np.sqrt(weights), np.zeros((len(some), width))
        for cut in spans(self.n, GRAM_ROWS):
            part = self.values[cut] * scale[cut, None]
            out += (part if len(some) == width else part.take(some, axis=1)).T @ part
        return out

    def outputs(self, w: Array, span: slice, out: Array) -> None:
        """Add the outputs of the rows of a span to `out`, (rows,)."""
        _dense_outputs(self.values[span], w, out)

    def some_outputs(self, columns: Array, w: Array, span: slice, out: Array) -> None:
        """Add the outputs of the rows of a span that some columns make, of weights (columns,), to `out`, (rows,)."""
        _some_outputs(self.values[span], columns, w, out)

    def correlate(self, coef: Array, span: slice, out: Array) -> None:
        """Add the features of the rows of a span, times coefficients (all rows)."""
        _dense_correlate(self.values, coef, span.start, span.stop, out)

    def each(self, offsets: Array, w: Array, span: slice, out: Array) -> None:
        """Add the outputs of the rows of a span in every block to `out`, (m, rows)."""
        _dense_each(self.values[span], offsets, w, out)

    def squares(self, offsets: Array, span: slice, out: Array) -> None:
        """Write the squared lengths of the rows of a span in every block, (m, rows)."""
        _dense_squares(self.values[span], offsets, out)

    def extent(self, offsets: Array, span: slice, out: Array) -> None:
        """Write the sum and the largest of the squared lengths of a span of rows in every block, (m, 2)."""
        if len(out) == self.values.shape[1] and (np.diff(offsets) == 1).all():
            _column_extent(self.values[span], total := np.zeros(len(out)), largest := np.zeros(len(out)))
            out[:, 0], out[:, 1] = total, largest
        else:
            _dense_extent(self.values[span], offsets, out)


Rows = DenseRows | CSR


def table(rows: Rows, scale: Array) -> Any:
    """Return rows as a table of float64, dense or sparse, each column times a number."""
    if isinstance(rows, DenseRows):
        return rows.values * scale
    columns = rows.columns.astype(np.int64)
    return sparse_table(CSR(columns, rows.values * scale[columns], rows.starts), len(scale), rising=False)


def correlated(rows: Rows, coef: Array, width: int, engine: Engine) -> Array:
    """Return ``X' coef``, (width,), from sums over fixed shards that are added in their order."""
    shards = sum_shards(rows, width)
    if len(shards) == 1:
        rows.correlate(coef, shards[0], total := np.zeros(width))
        return total
    sums = [np.zeros(width) for _ in shards] or [np.zeros(width)]
    engine.map_into(sums[: len(shards)], partial(rows.correlate, coef), shards)
    rest = sums[1:]

    def merge(part: slice, total: Array) -> None:
        for one in rest:
            total += one[part]

    engine.map_into(sums[0], merge, spans(width, MERGED))
    return sums[0]


def sum_shards(rows: Rows, width: int) -> list[slice]:
    """Cut rows into shards: few where a vector over all columns costs as much as the entries of a shard."""
    worth = rows.entries // (ENTRIES_PER_SUM * max(1, width))
    size = -(-rows.n // min(max(worth, FEWEST_SUMS), MOST_SUMS))
    return spans(rows.n, max(part_rows(rows), size))


def part_rows(rows: Rows) -> int:
    """Return how many rows are one part of a product."""
    return max(DESIGN_ROWS, LEAST_ENTRIES * rows.n // max(1, rows.entries))


@jit
def _dense_outputs(values, w, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        out[i] += dense_dot(values[i], w)


@jit
def _some_outputs(values, columns, w, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        total = 0.0
        for t in range(len(columns)):
            total += values[i, columns[t]] * w[t]
        out[i] += total


@jit
def _dense_correlate(values, coef, start, stop, out):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        if coef[i] != 0.0:
            dense_add(values[i], coef[i], out)


@jit
def _dense_each(values, offsets, w, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[1]):
        for k in range(len(offsets) - 1):
            block = slice(offsets[k], offsets[k + 1])
            out[k, i] += dense_dot(values[i, block], w[block])


@jit
def _dense_extent(values, offsets, out):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        for k in range(len(offsets) - 1):
            total = 0.0
            for j in range(offsets[k], offsets[k + 1]):
                total += np.float64(values[i, j]) * np.float64(values[i, j])
            out[k, 0] += total
            if not total <= out[k, 1]:
                out[k, 1] = total


@jit
def _column_extent(values, total, largest):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        for j in range(len(total)):
            square = np.float64(values[i, j]) * np.float64(values[i, j])
            total[j] += square
            largest[j] = largest[j] if square <= largest[j] else square


@jit
def _dense_squares(values, offsets, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[1]):
        for k in range(len(offsets) - 1):
            total = 0.0
            for j in range(offsets[k], offsets[k + 1]):
                total += np.float64(values[i, j]) * np.float64(values[i, j])
            out[k, i] = total
