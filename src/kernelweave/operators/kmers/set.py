"""Many kernels of positioned k-mers on the same rows: one pass over the prefixes serves all of them.

The kernels divide the cells (position, k) among themselves: by degree, by position, or both.  linadd then works as for
one kernel (see `positional`), except that what a row reads is put down to the kernel that owns the cell:

    k <= D   at each position the degrees fall into runs of one owner; a run has one table, summed along its levels
    k >  D   neighbours in the sorted order, one cell after the other

A weighted sum of such kernels is again one kernel of positioned k-mers, with the weighted cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.vector import copy_items
from kernelweave.data.blocks import PART_ROWS, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Positional, Reweighted
from kernelweave.kernels.base import Array, Kernel, take
from kernelweave.operators.kmers.energies import cell_energies
from kernelweave.operators.kmers.neighbours import add_deep_owned
from kernelweave.operators.kmers.positional import (
    LetterRows,
    PositionalOperator,
    add_below,
    moved_words,
    pyramid_size,
    sum_levels,
    table_depth,
)
from kernelweave.operators.kmers.prefixes import spread
from kernelweave.operators.kmers.sweep import can_sweep

POSITIONS = 8
"""Positions whose tables are one part of the work."""
SET_COST = 1.5
"""How much more expensive neighbours are here than for a single kernel, when the size of the tables is chosen."""


class PositionalSet:
    """m kernels of positioned k-mers bound to the same rows.

    Parameters
    ----------
    kernels : with the ability `Positional`; no cell has a weight in two of them
    prepared : training rows, prepared by any of the kernels
    rows : their letters, where they are at hand
    """

    curvature_rows = 2000

    def __init__(self, kernels: Sequence[Kernel], prepared: Any, engine: Engine, rows: LetterRows | None = None):
        self.kernels, self.prepared, self.engine = list(kernels), prepared, engine
        able = [cast(Positional, kernel) for kernel in kernels]
        length = prepared.codes.shape[1]
        each = [kernel.cells(length) for kernel in able]
        self.degree = max(cells.shape[1] for cells in each)
        self.cells = np.zeros((len(each), length, self.degree))
        for k, cells in enumerate(each):
            self.cells[k, :, : cells.shape[1]] = cells
        self.n, self.m, self.shifts = len(prepared), len(each), able[0].shift_weights()
        self.fits = np.arange(length)[:, None] + np.arange(self.degree) < length
        self.rows = LetterRows(prepared, self.degree, engine) if rows is None else rows
        self.owner = np.where(self.cells.any(axis=0), self.cells.argmax(axis=0), -1).astype(np.int64)
        self.given = _spread_owned(self.cells, self.shifts)
        # With shifts, cells of different owners give nothing to each other, so their sum is no kernel of its own.
        self.everywhere = len(self.shifts) == 1 or bool(np.all(self.owner == np.where(self.fits, self.owner[0], -1)))

    def combined(self, weights: Array) -> PositionalOperator:
        """Return ``sum_k weights[k] K_k`` as an operator; kernels of weight zero cost nothing."""
        given = self.given * np.append(np.asarray(weights, dtype=float), 0.0)[self.owner]
        kernel, cells = None, given[len(self.shifts) - 1]
        first = self.kernels[0]
        if (
            self.everywhere
            and isinstance(first, Reweighted)
            and np.array_equal(cells, np.where(self.fits, cells[0], 0.0))
        ):
            # The same weights at every position: pairs of rows can be compared many letters at a time.
            kernel = first.reweighted(cells[0])
        return PositionalOperator(kernel, self.prepared, self.rows, given)

    def restricted(self, rows: Array) -> PositionalSet:
        """Return the same kernels on some of the rows."""
        return PositionalSet(self.kernels, take(self.prepared, rows), self.engine)

    def combined_submatrix(self, weights: Array, rows: Array) -> Array:
        """Return ``sum_k weights[k] K_k[rows][:, rows]``."""
        return self.combined(weights).submatrix(rows)

    def diagonals(self) -> Array:
        """Return the diagonal of every kernel, (m, n)."""
        out = np.empty((self.m, self.n))
        for k in range(self.m):
            out[k] = PositionalOperator(None, self.prepared, self.rows, spread(self.cells[k], self.shifts)).diag()
        return out

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,)."""
        rows, alphabet = np.flatnonzero(alpha), self.prepared.alphabet
        if self.rows.spelling.masked or not can_sweep(alphabet, len(self.shifts) - 1, self.degree):
            return np.einsum("ki,i->k", self.each_inside(rows, alpha[rows]), alpha[rows])
        some = np.ascontiguousarray(self.rows.symbols[rows].T)
        found = cell_energies(some, int(alphabet.size), self.degree, alpha[rows])
        return np.einsum("kpd,pd->k", self.cells, found)

    def each_inside(self, rows: Array, steps: Array) -> Array:
        """Return ``K_k[rows][:, rows] @ steps`` for every kernel, (m, len(rows))."""
        out = np.zeros((self.m, self.n))
        self.each_add_to(out, rows, steps)
        return out[:, rows]

    def each_add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K_k[:, rows] @ steps`` to ``out[k]``, (m, n), for every kernel."""
        if len(rows) == 0:
            return
        index, rows = self.rows.index, np.asarray(rows, dtype=np.int64)
        steps = np.ascontiguousarray(steps, dtype=np.float64)
        depth = table_depth(index, int(SET_COST * len(rows) * len(self.given)))
        runs = owner_runs(self.owner, depth)
        spelling = index.spelling
        tables = np.empty((len(runs), 1 << (spelling.bits * depth)))
        (codes, whole), given, prefix = moved_words(index, rows), self.given, index.prefix

        def fill(part: slice, target: Array) -> None:
            _fill_runs(codes, whole, steps, given, spelling.bits, spelling.depth, runs[part], target)

        self.engine.map_into(tables, fill, _by_position(runs))

        def read(shard: slice, target: Array) -> None:
            _read_runs(prefix, spelling.bits, spelling.depth, runs, tables, shard.start, target)

        shards = spans(self.n, PART_ROWS)
        self.engine.map_into([out[:, shard] for shard in shards], read, shards)
        if index.degree > depth:
            add_deep_owned(
                index.symbols, index.order, index.rank, index.lcp, spelling.masked, spelling.mask, depth, self.given,
                self.owner, rows, steps, out,
            )  # fmt: skip


def divided(cells: Sequence[Array]) -> bool:
    """Tell whether no cell has a weight in two kernels."""
    degree = max(part.shape[1] for part in cells)
    count = np.zeros((len(cells[0]), degree), dtype=int)
    for part in cells:
        count[:, : part.shape[1]] += part > 0
    return bool(count.max(initial=0) <= 1)


def _spread_owned(cells: Array, shifts: Array) -> Array:
    """Return what each cell gives to its neighbours; nothing passes between cells of different owners."""
    return np.sum([spread(part, shifts) for part in cells], axis=0) if len(shifts) > 1 else spread(cells.sum(0), shifts)


def owner_runs(owner: Array, depth: int) -> Array:
    """Return the runs of one owner among the first `depth` degrees: (runs, 4) position, owner, first, last degree."""
    runs = []
    for position, owners in enumerate(owner):
        start, levels = 0, min(depth, len(owners))
        while start < levels:
            stop = start
            while stop + 1 < levels and owners[stop + 1] == owners[start]:
                stop += 1
            if owners[start] >= 0:
                runs.append((position, owners[start], start + 1, stop + 1))
            start = stop + 1
    return np.array(runs, dtype=np.int64).reshape(-1, 4)


def _by_position(runs: Array) -> list[slice]:
    """Cut runs into parts of several positions each: runs of one position share sums."""
    bounds = np.append(np.searchsorted(runs[:, 0], np.arange(0, runs[:, 0].max(initial=0) + 1, POSITIONS)), len(runs))
    return [slice(int(a), int(b)) for a, b in pairwise(bounds) if b > a]


@jit
def _fill_runs(codes, whole, steps, given, bits, letters, runs, tables):  # type: ignore[no-untyped-def]
    length, depth = given.shape[1], 0
    for r in range(len(runs)):
        depth = max(depth, runs[r, 3])
    above, below = np.empty(tables.shape[1]), np.empty(tables.shape[1])
    sums, summed, at = np.empty(pyramid_size(bits, depth)), False, -1
    for r in range(len(runs)):
        position, first, last = runs[r, 0], runs[r, 2], runs[r, 3]
        if position != at:
            summed = sum_levels(
                codes, whole, steps, given, bits, letters, position, min(depth, length - position), sums
            )  # fmt: skip
            at = position
        above[: 1 << (bits * (first - 1))] = 0.0
        for k in range(first - 1, last):
            add_below(codes, whole, steps, given, bits, letters, position, k, summed, sums, above, below)
            above, below = below, above
        copy_items(above, 0, tables[r], 0, 1 << (bits * last))


@jit
def _read_runs(prefix, bits, letters, runs, tables, start, out):  # type: ignore[no-untyped-def]
    for r in range(len(runs)):
        total, codes, values = out[runs[r, 1]], prefix[runs[r, 0], start : start + out.shape[1]], tables[r]
        drop = bits * (letters - runs[r, 3])
        for i in range(len(total)):
            total[i] += values[codes[i] >> drop]
