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
from kernelweave._numba.rows import dense_add, dense_dot, row_add, row_dot
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array
from kernelweave.operators.expansion.cross import spans
from kernelweave.operators.features.operator import take_entries

SHARD = 1024
"""Rows of one part of a product; cut by size, so that bits do not depend on threads."""
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

    def outputs(self, w: Array, span: slice, out: Array) -> None:
        """Write the outputs of the rows of a span, (rows,)."""
        _dense_outputs(self.values[span], w, out)

    def correlate(self, coef: Array, span: slice, out: Array) -> None:
        """Add the features of the rows of a span, times coefficients (all rows)."""
        _dense_correlate(self.values, coef, span.start, span.stop, out)

    def each(self, offsets: Array, w: Array, span: slice, out: Array) -> None:
        """Add the outputs of the rows of a span in every block to `out`, (m, rows)."""
        _dense_each(self.values[span], offsets, w, out)

    def squares(self, offsets: Array, span: slice, out: Array) -> None:
        """Write the squared lengths of the rows of a span in every block, (m, rows)."""
        _dense_squares(self.values[span], offsets, out)

    def table(self, scale: Array) -> Array:
        """Return the rows as a table of float64, each column times a number."""
        return self.values * scale


class SparseRows(NamedTuple):
    """Rows of entries: starts (n + 1,) int64, columns uint32 and values of float32 or float64, (entries,)."""

    starts: Array
    columns: Array
    values: Array

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.starts) - 1

    @property
    def entries(self) -> int:
        """Number of stored values."""
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.starts.nbytes + self.columns.nbytes + self.values.nbytes

    def taken(self, rows: Array) -> SparseRows:
        """Return some of the rows."""
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[rows])])
        columns, values = np.empty(starts[-1], np.uint32), np.empty(starts[-1], self.values.dtype)
        take_entries(*self, np.asarray(rows, np.int64), starts, columns, values)
        return SparseRows(starts, columns, values)

    def outputs(self, w: Array, span: slice, out: Array) -> None:
        """Write the outputs of the rows of a span, (rows,)."""
        _sparse_outputs(self.starts[span.start :], self.columns, self.values, w, out)

    def correlate(self, coef: Array, span: slice, out: Array) -> None:
        """Add the features of the rows of a span, times coefficients (all rows)."""
        _sparse_correlate(*self, coef, span.start, span.stop, out)

    def each(self, offsets: Array, w: Array, span: slice, out: Array) -> None:
        """Add the outputs of the rows of a span in every block to `out`, (m, rows)."""
        _sparse_each(self.starts[span.start :], self.columns, self.values, offsets, w, out)

    def squares(self, offsets: Array, span: slice, out: Array) -> None:
        """Write the squared lengths of the rows of a span in every block, (m, rows)."""
        _sparse_squares(self.starts[span.start :], self.columns, self.values, offsets, out)

    def table(self, scale: Array) -> Any:
        """Return the rows as a sparse table of float64, each column times a number."""
        from scipy import sparse

        columns = self.columns.astype(np.int64)
        return sparse.csr_array((self.values * scale[columns], columns, self.starts), shape=(self.n, len(scale)))


Rows = DenseRows | SparseRows


def correlated(rows: Rows, coef: Array, width: int, engine: Engine) -> Array:
    """Return ``X' coef``, (width,), from sums over fixed shards that are added in their order."""
    shards = sum_shards(rows, width)
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
    return spans(rows.n, max(SHARD, size))


@jit
def _dense_outputs(values, w, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        out[i] = dense_dot(values[i], w)


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
def _dense_squares(values, offsets, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[1]):
        for k in range(len(offsets) - 1):
            total = 0.0
            for j in range(offsets[k], offsets[k + 1]):
                total += np.float64(values[i, j]) * np.float64(values[i, j])
            out[k, i] = total


@jit
def _sparse_outputs(starts, columns, values, w, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        first, last = starts[i], starts[i + 1]
        out[i] = row_dot(columns[first:last], values[first:last], w, 0.0)


@jit
def _sparse_correlate(starts, columns, values, coef, start, stop, out):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        if coef[i] != 0.0:
            first, last = starts[i], starts[i + 1]
            row_add(columns[first:last], values[first:last], coef[i], out)


@jit
def _sparse_each(starts, columns, values, offsets, w, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[1]):
        at = starts[i]
        for k in range(len(offsets) - 1):
            first = at
            while at < starts[i + 1] and columns[at] < offsets[k + 1]:
                at += 1
            out[k, i] += row_dot(columns[first:at], values[first:at], w, 0.0)


@jit
def _sparse_squares(starts, columns, values, offsets, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[1]):
        at = starts[i]
        for k in range(len(offsets) - 1):
            total = 0.0
            while at < starts[i + 1] and columns[at] < offsets[k + 1]:
                total += np.float64(values[at]) * np.float64(values[at])
                at += 1
            out[k, i] = total
