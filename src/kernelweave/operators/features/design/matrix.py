"""The explicit features of m kernels side by side: one matrix, in memory or made afresh part by part.

    X = [X_1 .. X_m], (n, width)     K_k = X_k X_k'     kernel k owns the columns offsets[k] .. offsets[k + 1]

A solver in the space of w asks for outputs ``X w`` and gradients ``X' coef``, and walks along the rows of one part
after the other.  Rows are dense where every kernel has a dense embedding, else sparse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from kernelweave._numba.csr import CSR, stacked
from kernelweave.data.blocks import FEATURE_ROWS, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array
from kernelweave.operators.features.design.columns import TableColumns, have_codes, offsets_of
from kernelweave.operators.features.design.make import Stream
from kernelweave.operators.features.design.maps import ColumnMap
from kernelweave.operators.features.design.rows import DenseRows, Rows, correlated, part_rows, sum_shards

SPARSE = 8
"""One in so many columns are few: the others of a cache line are not read for them."""
COPIES = 2
"""Matrices of columns that a solver may hold at a time: old and new ones."""
PART_BYTES = 1 << 25
"""Dense features that one worker makes at a time for a proof in double precision."""


class Design:
    """The features of n rows under m kernels.

    Parameters
    ----------
    maps : one for each kernel
    source : the rows of features, or what makes those of a part afresh
    parts : the rows of each part
    table : the columns of a table that the features are, where they are all that

    Attributes
    ----------
    offsets : (m + 1,) int64, the first column of each kernel
    dense : whether rows are dense
    streamed : whether `part` makes rows afresh
    room : bytes that the memory limit leaves beside the features
    """

    room: float = math.inf

    def __init__(
        self, maps: Sequence[ColumnMap], source: Rows | Stream, parts: list[slice], engine: Engine,
        table: TableColumns | None = None,
    ):  # fmt: skip
        self.maps, self.parts, self.engine, self.source, self.table = maps, parts, engine, source, table
        self.offsets = offsets_of(maps)
        self.n, self.m, self.width = parts[-1].stop if parts else 0, len(maps), int(self.offsets[-1])
        self.dense, self.streamed = not have_codes(maps), isinstance(source, Stream)

    def affordable(self) -> int:
        """Return how many columns may be copied, with matrices of as many rows and columns, within the memory limit."""
        rows = self.n if self.dense else 0
        most = 0.5 * (math.sqrt(rows * rows + 4.0 * self.room / (COPIES * 8)) - rows)
        return int(min(most, self.width))

    @property
    def widest(self) -> int:
        """Columns of the kernel that has most."""
        return int(np.diff(self.offsets).max(initial=0))

    @property
    def dtype(self) -> np.dtype:
        """The type of the values."""
        return np.dtype(self.source.dtype if isinstance(self.source, Stream) else self.source.values.dtype)

    def in_double(self, X: Any) -> Design:
        """Return the same columns of the same rows X in double precision, made part by part whenever they are read."""
        chunk = max(1, min(FEATURE_ROWS, PART_BYTES // (8 * max(1, self.width)))) if self.dense else FEATURE_ROWS
        if self.streamed:  # no more rows at a time than there was memory for
            chunk = max(1, min(chunk, (self.parts[0].stop - self.parts[0].start) // (2 * self.engine.workers)))
        source = Stream(self.maps, X, np.float64, chunk, self.engine, self.table)
        return Design(self.maps, source, spans(self.n, chunk * self.engine.workers), self.engine, self.table)

    def part(self, i: int) -> Rows:
        """Return the rows of a part, `DenseRows` or `CSR`."""
        return self.source.part(self.parts[i]) if isinstance(self.source, Stream) else self.source

    def outputs(self, w: Array) -> Array:
        """Return ``X w``, (n,); of a dense design those columns are read that w has, where they are few."""
        out, used = np.zeros(self.n), np.flatnonzero(w)
        if self.dense and SPARSE * len(used) <= self.width:
            some = w[used]
            self._over(out, lambda part, span, target: part.some_outputs(used, some, span, target))  # type: ignore
        else:
            self._over(out, lambda part, span, target: part.outputs(w, span, target))
        return out

    def correlate(self, coef: Array) -> Array:
        """Return ``X' coef``, (width,)."""
        total = np.zeros(self.width)
        for i, some in enumerate(self.parts):
            if coef[some].any():
                total += correlated(self.part(i), np.ascontiguousarray(coef[some]), self.width, self.engine)
        return total

    def each_output(self, w: Array, out: Array) -> None:
        """Add ``X_k w_k`` to ``out[k]``, (m, n), for every kernel."""
        offsets = self.offsets
        self._over(out, lambda part, span, target: part.each(offsets, w, span, target))

    def lengths(self) -> Array:
        """Return the squared length of every row under every kernel, (m, n)."""
        out, offsets = np.empty((self.m, self.n)), self.offsets
        self._over(out, lambda part, span, target: part.squares(offsets, span, target))
        return out

    def squares(self) -> Array:
        """Return the mean and the largest squared length of the rows under every kernel, (m, 2)."""
        return self._squares

    @cached_property
    def _squares(self) -> Array:
        total, largest = np.zeros(self.m), np.zeros(self.m)
        for i in range(len(self.parts)):
            part = self.part(i)
            shards = sum_shards(part, self.m)
            found = np.zeros((len(shards), self.m, 2))
            self.engine.map_into(list(found), partial(part.extent, self.offsets), shards)
            total, largest = total + found[:, :, 0].sum(axis=0), np.maximum(largest, found[:, :, 1].max(axis=0))
        return np.stack([total / max(1, self.n), largest], axis=1)

    def taken(self, rows: Array) -> Design:
        """Return the same columns on some of the rows, in memory."""
        some = self.source.taken(np.asarray(rows, np.int64))
        return Design(self.maps, some, [slice(0, some.n)], self.engine, self.table)

    def columns(self, some: Array, former: tuple[Array, Rows] | None = None) -> Rows:
        """Return some columns of all rows, numbered anew, in memory and in double precision.

        Parameters
        ----------
        some : their numbers, which rise
        former : what was returned for other columns, after these: dense columns are taken from there as far as they are
        """
        if former is not None and isinstance(former[1], DenseRows):
            return self._dense_columns(some, former[0], former[1])
        made = [self.part(i).only(some, self.width) for i in range(len(self.parts))]
        if len(made) == 1:
            return made[0]
        tables = [part.values for part in made if isinstance(part, DenseRows)]
        return (
            DenseRows(np.concatenate(tables)) if tables else stacked([part for part in made if isinstance(part, CSR)])
        )

    def _dense_columns(self, some: Array, known: Array, rows: DenseRows) -> Rows:
        """Return some columns, those that are known from rows at hand."""
        there = np.isin(some, known)
        table = np.empty((self.n, len(some)))
        table[:, there] = rows.values[:, np.searchsorted(known, some[there])]
        if not there.all():
            table[:, ~there] = self.columns(some[~there]).values
        return DenseRows(table)

    def _over(self, out: Array, work: Callable[[Rows, slice, Array], None]) -> None:
        """Call work(part, some rows in it, their outputs) for every part, on all workers; `out` is (n,) or (m, n)."""
        for i, some in enumerate(self.parts):
            part = self.part(i)
            cuts, mine = spans(part.n, part_rows(part)), out[..., some]
            self.engine.map_into([mine[..., cut] for cut in cuts], partial(work, part), cuts)
