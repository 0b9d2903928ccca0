"""Many kernels bound to the same rows: three ways to hold them, from all in memory to nothing in memory.

`StoredSet` keeps every Gram matrix; `SharedSet` keeps the base numbers that several kernels are functions of (one
distance matrix for ten Gaussian widths) or recomputes even those.  Either gives the solvers the same four things.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.blocks import TILE, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, take
from kernelweave.operators.base import Operator
from kernelweave.operators.expansion.cross import double_product
from kernelweave.operators.gram.cached import CachedColumns
from kernelweave.operators.gram.dense import (
    DenseGram,
    GramMatrix,
    above_diagonal,
    add_rows,
    gather,
    mirror,
    mirrored,
)
from kernelweave.operators.gram.mixture import STRIP, Family, Mixture, weighted_curve

PART_VALUES = 2_000_000
"""Kernel values that one part reads, in up to eight matrices."""
ON_DEMAND_FROM = 15_000
"""Rows from which on a weighted sum makes its values when a solver asks for them: most of its rows may never count."""
CURVATURE_ROWS = 2000
"""Free rows that a second-order method looks at: factoring more would cost more than it saves in steps."""


class StoredSet:
    """Every Gram matrix in memory, (m, n, n)."""

    curvature_rows = CURVATURE_ROWS

    def __init__(self, family: Family, prepared: Any, n: int, engine: Engine, dtype: type):
        self.family, self.engine, self.n, self.m = family, engine, n, len(family.kernels)
        self.rounded = dtype != np.float64
        self.grams: Array = np.empty((self.m, n, n), dtype)
        self.dtype = np.float64 if n * n * 8 <= DOUBLE_SUM else dtype
        self.parts = spans(self.m, max(1, min(8, PART_VALUES // (n * n))))
        cuts = spans(n, TILE)
        jobs = _jobs(len(family.bases), len(cuts))
        targets = [
            tuple(tile for k in family.members[group] for tile in mirrored(self.grams[k], cuts, [(i, j)])[0])
            for group, i, j in jobs
        ]
        engine.map_into(targets, partial(_fill_tiles, family, [take(prepared, cut) for cut in cuts]), jobs)

    def selected(self, kernels: Array) -> StoredSet:
        """Return copies of some of the kernels."""
        return self._like(self.family.selected(kernels)[0], self.grams[kernels])

    def restricted(self, rows: Array) -> StoredSet:
        """Return copies of all kernels on some of the rows."""
        grams = np.empty((self.m, len(rows), len(rows)), self.grams.dtype)
        for gram, out in zip(self.grams, grams):
            gather(gram, rows, rows, out)
        return self._like(self.family, grams)

    def _like(self, family: Family, grams: Array) -> StoredSet:
        """Return a set of other matrices."""
        some: StoredSet = object.__new__(StoredSet)
        some.family, some.engine, some.m, some.n = family, self.engine, *grams.shape[:2]
        some.grams, some.dtype, some.rounded = grams, self.dtype, self.rounded
        some.parts = spans(some.m, max(1, min(8, PART_VALUES // (some.n * some.n))))
        return some

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,)."""
        support, out, grams = np.flatnonzero(alpha), np.empty(self.m), self.grams
        self.engine.map_into(out, lambda part, some: _energies(grams[part], support, alpha, some), self.parts)
        return out

    def each_inside(self, rows: Array, steps: Array) -> Array:
        """Return ``K_k[rows][:, rows] @ steps`` for every kernel, (m, len(rows))."""
        out = np.zeros((self.m, self.n))
        self.each_add_to(out, rows, steps)
        return out[:, rows]

    def each_add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K_k[:, rows] @ steps`` to ``out[k]`` for every kernel."""
        grams = self.grams

        def fill(part: slice, target: Array) -> None:
            for gram, outputs in zip(grams[part], target):
                add_rows(gram, rows, steps, 0, outputs)

        self.engine.map_into(out, fill, self.parts)

    def combined(self, weights: Array) -> Operator:
        """Return ``sum_k weights[k] K_k`` as an operator."""
        active, grams = np.flatnonzero(weights), self.grams
        out: Array = np.empty((self.n, self.n), self.dtype)
        self.engine.map_into(
            out, lambda s, lines: _weighted_sum(grams, active, weights[active], s.start, lines), spans(self.n, 64)
        )
        return GramMatrix(out, self.engine)

    def combined_submatrix(self, weights: Array, rows: Array) -> Array:
        """Return ``sum_k weights[k] K_k[rows][:, rows]``."""
        out, one = np.zeros((len(rows), len(rows))), np.empty((len(rows), len(rows)), self.grams.dtype)
        for k in np.flatnonzero(weights):
            gather(self.grams[k], rows, rows, one)
            out += weights[k] * one
        return out

    def diagonals(self) -> Array:
        """Return the diagonal of every kernel, (m, n)."""
        return self.grams.diagonal(axis1=1, axis2=2).astype(np.float64)


class SharedSet:
    """Kernel values made on the fly from base numbers, which are stored once per group or recomputed.

    Parameters
    ----------
    stored : keep the base matrices, (groups, n, n)
    columns : None for a combined kernel held as a Gram matrix, else the number of its columns to cache
    dtype : of base numbers, kernel values and their weighted sum
    """

    curvature_rows = CURVATURE_ROWS

    def __init__(
        self, family: Family, prepared: Any, n: int, engine: Engine, stored: bool, columns: int | None = None,
        dtype: type = np.float32,
    ):  # fmt: skip
        self.family, self.prepared, self.engine, self.columns, self.dtype = family, prepared, engine, columns, dtype
        self.n, self.m, self.rounded = n, len(family.kernels), dtype != np.float64
        self.bases: Array | None = np.empty((len(family.bases), n, n), dtype) if stored else None
        if self.bases is not None:
            cuts = spans(n, TILE)
            jobs = _jobs(len(family.bases), len(cuts))
            targets = [mirrored(self.bases[group], cuts, [(i, j)])[0] for group, i, j in jobs]
            engine.map_into(targets, partial(_fill_base, family, prepared, cuts), jobs)

    def _base(self, group: int, rows: Array | slice, columns: Array | slice) -> Array:
        """Return base values of one group, not to be written to."""
        if self.bases is None:
            left = take(self.prepared[group], rows)
            right = left if rows is columns else take(self.prepared[group], columns)
            return self.family.bases[group].block(left, right, self.dtype)
        if isinstance(rows, slice) or isinstance(columns, slice):
            return self.bases[group, rows, columns]
        out: Array = np.empty((len(rows), len(columns)), self.dtype)
        gather(self.bases[group], rows, columns, out)
        return out

    def selected(self, kernels: Array) -> SharedSet:
        """Return some of the kernels on the same rows; base numbers of theirs are made afresh, not kept."""
        family, groups = self.family.selected(kernels)
        return type(self)(
            family, tuple(self.prepared[g] for g in groups), self.n, self.engine, False, self.columns, self.dtype
        )

    def restricted(self, rows: Array) -> SharedSet:
        """Return the same kernels on some of the rows, in no more memory; base numbers are kept where they fit."""
        prepared, few = tuple(take(one, rows) for one in self.prepared), len(rows)
        room = self.n * (self.n if self.columns is None else self.columns)
        columns = None if few * few <= room else max(1, room // few)
        stored = few * few * (len(self.family.bases) + 1) <= room
        return type(self)(self.family, prepared, few, self.engine, stored, columns, self.dtype)

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,), from the support rows only."""
        support = np.flatnonzero(alpha)
        return self.each_inside(support, alpha[support]) @ alpha[support]

    def each_inside(self, rows: Array, steps: Array) -> Array:
        """Return ``K_k[rows][:, rows] @ steps`` for every kernel, (m, len(rows)): each pair of rows is made once."""
        spots = spans(len(rows), TILE)
        cuts = [rows[s] for s in spots]

        def part(job: tuple[int, int, int]) -> tuple[Array, Array]:
            group, i, j = job
            members = {k: place for place, k in enumerate(self.family.members[group])}
            down, along = np.zeros((len(members), len(cuts[j]))), np.zeros((len(members), len(cuts[i])))
            for k, s, values in self.family.strips(group, self._base(group, cuts[i], cuts[j])):
                _both_ways(values, steps[spots[i]][s], steps[spots[j]], down[members[k]], along[members[k], s])
            return down, along

        out = np.zeros((self.m, len(rows)))
        jobs = _jobs(len(self.family.bases), len(cuts))
        for (group, i, j), (down, along) in zip(jobs, self.engine.map(part, jobs)):
            out[self.family.members[group], spots[j]] += down
            if i != j:
                out[self.family.members[group], spots[i]] += along
        return out

    def each_add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K_k[:, rows] @ steps`` to ``out[k]`` for every kernel."""
        every, moved = np.arange(STRIP), spans(len(rows), TILE)

        def part(job: tuple[int, slice], *targets: Array) -> None:
            group, cut = job
            target = dict(zip(self.family.members[group], targets))
            for some in moved:
                for k, s, values in self.family.strips(group, self._base(group, rows[some], cut)):
                    add_rows(values, every[: len(values)], steps[some][s], 0, target[k])

        jobs = [(g, cut) for g in range(len(self.family.bases)) for cut in spans(self.n, TILE)]
        self.engine.map_into([tuple(out[k, cut] for k in self.family.members[g]) for g, cut in jobs], part, jobs)

    def combined(self, weights: Array) -> Operator:
        """Return ``sum_k weights[k] K_k``: a Gram matrix, at once or when it is needed, or cached columns."""
        if self.columns is not None:
            return CachedColumns(*self._mixture(weights), self.engine, self.columns, self.dtype)
        if self.n >= ON_DEMAND_FROM:
            return DenseGram(*self._mixture(weights), self.engine, self.dtype)
        return GramMatrix(self._sum(weights, [slice(s.start, s.stop) for s in spans(self.n, TILE)]), self.engine)

    def combined_submatrix(self, weights: Array, rows: Array) -> Array:
        """Return ``sum_k weights[k] K_k[rows][:, rows]``."""
        return self._sum(weights, [rows[s] for s in spans(len(rows), TILE)]).astype(np.float64)

    def _sum(self, weights: Array, cuts: list[Any]) -> Array:
        """Return the weighted sum on the given rows; tiles above the diagonal are made and mirrored."""
        sizes = [c.stop - c.start if isinstance(c, slice) else len(c) for c in cuts]
        spots = spans(sum(sizes), TILE)
        out: Array = np.empty((sum(sizes), sum(sizes)), self.dtype)
        wanted = weights > 0
        active = [[k for k in members if wanted[k]] for members in self.family.members]
        curves = {g: weighted_curve(self.family, some, weights) for g, some in enumerate(active) if some}

        def fill(pair: tuple[int, int], target: Array, *lower: Array) -> None:
            target[:] = 0.0
            for group, curve in curves.items():
                base = self._base(group, cuts[pair[0]], cuts[pair[1]])
                if curve is not None:
                    curve.add_to(target, base)
                    continue
                for k, s, values in self.family.strips(group, base, wanted):
                    _add_times(values, self.dtype(weights[k]), target[s])
            for one in lower:
                mirror(target, one)

        pairs = above_diagonal(len(cuts))
        self.engine.map_into(mirrored(out, spots, pairs), fill, pairs)
        return out

    def outputs(self, weights: Array, alpha: Array) -> Array:
        """Return ``sum_k weights[k] K_k @ alpha``, (n,), in double precision, from kernel values made afresh."""
        return double_product(*self._mixture(weights), self.engine, alpha)

    def _mixture(self, weights: Array) -> tuple[Mixture, Any]:
        """Return the weighted sum as a kernel, and the rows as it prepares them."""
        active = np.flatnonzero(weights)
        mixture = Mixture([self.family.kernels[k] for k in active], weights[active])
        # The mixture meets the groups in the order of their first member that has weight.
        used = [(members[weights[members] > 0], g) for g, members in enumerate(map(np.array, self.family.members))]
        groups = [g for _, g in sorted((members[0], g) for members, g in used if len(members))]
        return mixture, tuple(self.prepared[g] for g in groups)

    def diagonals(self) -> Array:
        """Return the diagonal of every kernel, (m, n)."""
        out = np.empty((self.m, self.n))
        for group, members in enumerate(self.family.members):
            for k in members:
                out[k] = self.family.kernels[k].diagonal(self.prepared[group])
        return out


DOUBLE_SUM = 64e6
"""A weighted sum of Gram matrices is kept in double precision up to this many bytes."""


def _jobs(groups: int, cuts: int) -> list[tuple[int, int, int]]:
    return [(group, i, j) for group in range(groups) for i, j in above_diagonal(cuts)]


def _fill_tiles(family: Family, parts: list[Any], job: tuple[int, int, int], *tiles: Array) -> None:
    """Write one tile of every kernel of a group, and its mirror image unless it lies on the diagonal."""
    group, i, j = job
    base = family.base_block(group, parts[i], parts[j], tiles[0].dtype.type)
    each = len(tiles) // len(family.members[group])
    for place, k in enumerate(family.members[group]):
        tile, *lower = tiles[each * place : each * (place + 1)]
        tile[:] = base
        # Finished where it is stored: fresh memory for each kernel would cost as much as its values.
        values = family.finish(k, tile)
        if values is not tile:
            tile[:] = values
        for one in lower:
            mirror(tile, one)


def _fill_base(
    family: Family, prepared: Any, cuts: list[slice], job: tuple[int, int, int], upper: Array, *lower: Array
) -> None:  # fmt: skip
    """Write one tile of the base numbers of a group, and its mirror image unless it lies on the diagonal."""
    group, i, j = job
    left = take(prepared[group], cuts[i])
    tile = family.bases[group].block(left, left if i == j else take(prepared[group], cuts[j]), upper.dtype.type)
    upper[:] = tile
    for one in lower:
        mirror(tile, one)


@jit
def _energies(grams: Array, support: Array, alpha: Array, out: Array) -> None:
    for k in range(len(grams)):
        total = 0.0
        for i in support:
            row, part = grams[k, i], 0.0
            for j in range(len(row)):
                part += row[j] * alpha[j]
            total += alpha[i] * part
        out[k] = total


@jit
def _both_ways(values: Array, left: Array, right: Array, down: Array, along: Array) -> None:
    """``down += left' values`` and ``along += values right``."""
    n, m = values.shape
    for i in range(n):
        row, step, total = values[i], left[i], 0.0
        for j in range(m):
            down[j] += step * row[j]
            total += row[j] * right[j]
        along[i] += total


@jit
def _add_times(values: Array, weight: float, out: Array) -> None:
    """``out += weight values``."""
    for i in range(len(values)):
        row, target = values[i], out[i]
        for j in range(len(row)):
            target[j] += weight * row[j]


@jit
def _weighted_sum(grams: Array, active: Array, weights: Array, start: int, out: Array) -> None:
    for i in range(len(out)):
        target = out[i]
        for j in range(len(target)):
            target[j] = 0.0
        for a in range(len(active)):
            row, w = grams[active[a], start + i], weights[a]
            for j in range(len(target)):
                target[j] += w * row[j]
