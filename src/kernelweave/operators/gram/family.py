"""Many kernels bound to the same rows: three ways to hold them, from all in memory to nothing in memory.

`StoredSet` keeps every Gram matrix; `SharedSet` keeps the base numbers that several kernels are functions of (one
distance matrix for ten Gaussian widths) or recomputes even those.  Either gives the solvers the same four things.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, take
from kernelweave.operators.base import Operator
from kernelweave.operators.expansion.cross import spans
from kernelweave.operators.gram.cached import CachedColumns
from kernelweave.operators.gram.dense import GramMatrix, add_rows, gather, mirror
from kernelweave.operators.gram.mixture import STRIP, Family, Mixture

TILE = 1024
"""Rows of a tile; tiles and kernels are what runs in parallel."""
PART = 2_000_000
"""Kernel values that one part reads, in up to eight matrices."""


class StoredSet:
    """Every Gram matrix in memory, (m, n, n)."""

    def __init__(self, family: Family, prepared: Any, n: int, engine: Engine, dtype: type):
        self.family, self.engine, self.n, self.m = family, engine, n, len(family.kernels)
        self.grams: Array = np.empty((self.m, n, n), dtype)
        self.dtype = np.float64 if n * n * 8 <= DOUBLE_SUM else dtype
        self.parts = spans(self.m, max(1, min(8, PART // (n * n))))
        parts = [take(prepared, cut) for cut in spans(n, TILE)]
        engine.map(lambda job: self._fill(parts, *job), _jobs(len(family.bases), len(parts)))

    def _fill(self, parts: list[Any], group: int, i: int, j: int) -> None:
        rows, columns = slice(i * TILE, (i + 1) * TILE), slice(j * TILE, (j + 1) * TILE)
        base = self.family.base_block(group, parts[i], parts[j], self.grams.dtype.type)
        for k in self.family.members[group]:
            tile = self.grams[k, rows, columns]
            tile[:] = base
            # Finished where it is stored: fresh memory for each kernel would cost as much as its values.
            values = self.family.finish(k, tile)
            if values is not tile:
                tile[:] = values
            if i != j:
                mirror(tile, self.grams[k, columns, rows])

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,)."""
        support, out = np.flatnonzero(alpha), np.empty(self.m)
        self.engine.map(lambda part: _energies(self.grams[part], support, alpha, out[part]), self.parts)
        return out

    def each_inside(self, rows: Array, steps: Array) -> Array:
        """Return ``K_k[rows][:, rows] @ steps`` for every kernel, (m, len(rows))."""
        out = np.zeros((self.m, self.n))
        self.each_add_to(out, rows, steps)
        return out[:, rows]

    def each_add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K_k[:, rows] @ steps`` to ``out[k]`` for every kernel."""

        def fill(part: slice) -> None:
            for k in range(part.start, part.stop):
                add_rows(self.grams[k], rows, steps, 0, self.n, out[k])

        self.engine.map(fill, self.parts)

    def combined(self, weights: Array) -> Operator:
        """Return ``sum_k weights[k] K_k`` as an operator."""
        active = np.flatnonzero(weights)
        out: Array = np.empty((self.n, self.n), self.dtype)
        self.engine.map(
            lambda s: _weighted_sum(self.grams, active, weights[active], s.start, s.stop, out), spans(self.n, 64)
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
    stored : keep the base matrices, (groups, n, n) float32
    columns : None for a combined kernel held as a Gram matrix, else the number of its columns to cache
    """

    def __init__(self, family: Family, prepared: Any, n: int, engine: Engine, stored: bool, columns: int | None = None):
        self.family, self.prepared, self.engine, self.columns = family, prepared, engine, columns
        self.n, self.m = n, len(family.kernels)
        self.bases = np.empty((len(family.bases), n, n), np.float32) if stored else None
        if self.bases is not None:
            engine.map(self._store, _jobs(len(family.bases), len(spans(n, TILE))))

    def _store(self, job: tuple[int, int, int]) -> None:
        assert self.bases is not None
        group, i, j = job
        rows, columns = slice(i * TILE, (i + 1) * TILE), slice(j * TILE, (j + 1) * TILE)
        left = take(self.prepared[group], rows)
        right = left if i == j else take(self.prepared[group], columns)
        tile = self.family.bases[group].block(left, right, np.float32)
        self.bases[group, rows, columns] = tile
        if i != j:
            mirror(tile, self.bases[group, columns, rows])

    def _base(self, group: int, rows: Array | slice, columns: Array | slice) -> Array:
        """Return base values of one group, float32, not to be written to."""
        if self.bases is None:
            left = take(self.prepared[group], rows)
            right = left if rows is columns else take(self.prepared[group], columns)
            return self.family.bases[group].block(left, right, np.float32)
        if isinstance(rows, slice) or isinstance(columns, slice):
            return self.bases[group, rows, columns]
        out = np.empty((len(rows), len(columns)), np.float32)
        gather(self.bases[group], rows, columns, out)
        return out

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
        every = np.arange(STRIP)

        def part(job: tuple[int, slice]) -> None:
            group, cut = job
            for some in spans(len(rows), TILE):
                for k, s, values in self.family.strips(group, self._base(group, rows[some], cut)):
                    add_rows(values, every[: len(values)], steps[some][s], 0, values.shape[1], out[k, cut])

        self.engine.map(part, [(g, cut) for g in range(len(self.family.bases)) for cut in spans(self.n, TILE)])

    def combined(self, weights: Array) -> Operator:
        """Return ``sum_k weights[k] K_k``: a Gram matrix in single precision, or cached columns."""
        if self.columns is not None:
            return self._cached(weights)
        return GramMatrix(self._sum(weights, [slice(s.start, s.stop) for s in spans(self.n, TILE)]), self.engine)

    def combined_submatrix(self, weights: Array, rows: Array) -> Array:
        """Return ``sum_k weights[k] K_k[rows][:, rows]``."""
        return self._sum(weights, [rows[s] for s in spans(len(rows), TILE)]).astype(np.float64)

    def _sum(self, weights: Array, cuts: list[Any]) -> Array:
        """Return the weighted sum on the given rows, float32; tiles above the diagonal are made and mirrored."""
        sizes = [c.stop - c.start if isinstance(c, slice) else len(c) for c in cuts]
        spots = spans(sum(sizes), TILE)
        out: Array = np.empty((sum(sizes), sum(sizes)), np.float32)
        wanted = weights > 0
        groups = [g for g, members in enumerate(self.family.members) if wanted[members].any()]

        def fill(job: tuple[int, int, int]) -> None:
            _, i, j = job
            target = out[spots[i], spots[j]]
            target[:] = 0.0
            for group in groups:
                for k, s, values in self.family.strips(group, self._base(group, cuts[i], cuts[j]), wanted):
                    _add_times(values, weights[k], target[s])
            if i != j:
                mirror(target, out[spots[j], spots[i]])

        self.engine.map(fill, _jobs(1, len(cuts)))
        return out

    def _cached(self, weights: Array) -> Operator:
        assert self.columns is not None
        active = np.flatnonzero(weights)
        mixture = Mixture([self.family.kernels[k] for k in active], weights[active])
        # The mixture meets the groups in the order of their first member that has weight.
        used = [(members[weights[members] > 0], g) for g, members in enumerate(map(np.array, self.family.members))]
        groups = [g for _, g in sorted((members[0], g) for members, g in used if len(members))]
        return CachedColumns(mixture, tuple(self.prepared[g] for g in groups), self.engine, self.columns)

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
    return [(g, i, j) for g in range(groups) for i in range(cuts) for j in range(i, cuts)]


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
    scale = np.float32(weight)
    for i in range(len(values)):
        row, target = values[i], out[i]
        for j in range(len(row)):
            target[j] += scale * row[j]


@jit
def _weighted_sum(grams: Array, active: Array, weights: Array, start: int, stop: int, out: Array) -> None:
    for i in range(start, stop):
        target = out[i]
        for j in range(len(target)):
            target[j] = 0.0
        for a in range(len(active)):
            row, w = grams[active[a], i], weights[a]
            for j in range(len(target)):
                target[j] += w * row[j]
