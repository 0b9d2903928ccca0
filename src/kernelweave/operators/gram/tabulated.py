"""Very many kernels that are smooth curves over few base numbers: curves are tabulated, pairs of rows visited once.

Given groups of kernels ``K_k(x, y) = f_k(d)`` with one base number d for each group (squared distances on some
columns), all f_k of a group are interpolated on the same pieces by polynomials of degree 7 in a local variable t.  Then

    alpha' K_k alpha = sum_pieces sum_j f_k(x_j) W_j,     W from the moments  sum_pairs alpha_i alpha_i' t^p  of a piece
    sum_k beta_k K_k = the polynomials of the one curve  sum_k beta_k f_k

so that a pass over the pairs costs the same for one width and for twenty.  Pieces are those of `curves`.  Errors are
those of rounding (`WIDEST`, `CLOSE`), and all is in double precision.

    u (rows, rows)  shifted base numbers      first  the number of the first piece      middles, scales (pieces,)
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.blocks import spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Decaying, Ranged, which_have
from kernelweave.kernels.base import Array, take
from kernelweave.operators.base import Operator
from kernelweave.operators.gram.curves import NODES, POWERS, SHIFT, WIDEST, Grid, add_curve, make_grid
from kernelweave.operators.gram.dense import GramMatrix, mirror
from kernelweave.operators.gram.family import DOUBLE_SUM, SharedSet
from kernelweave.operators.gram.mixture import STRIP, Family

SMOOTH = 1.0 / 16.0
"""Offset of other curves, as a share of the interval."""
CLOSE = 1e-12
"""Largest error of the table of a curve whose smoothness is not known, as a share of its largest value."""
GROUPS_TOGETHER = 16
"""Groups of kernels that make one part of the work."""


class NotSmooth(ValueError):
    """A curve that a table of this size does not hold to rounding."""


class TabulatedSet(SharedSet):
    """Kernels that are tabulated curves of base numbers, which are made when they are needed.

    Parameters
    ----------
    family : every base must have the ability `Ranged`

    Raises
    ------
    NotSmooth : a curve is not polynomial enough
    """

    def __init__(
        self, family: Family, prepared: Any, n: int, engine: Engine, stored: bool = False, columns: int | None = None,
        dtype: type = np.float64,
    ):  # fmt: skip
        super().__init__(family, prepared, n, engine, False, None, np.float64)
        self.rounded = 8 * n**2 > DOUBLE_SUM
        decaying = zip(family.kernels, which_have(Decaying, family.kernels))
        known = [cast(Decaying, k).decay() if able else (np.nan, np.nan) for k, able in decaying]
        self.factors, self.rates = np.array(known).reshape(self.m, 2).T
        self.grids = [self._grid(group) for group in range(len(family.bases))]

    def _grid(self, group: int) -> Grid:
        base, members = self.family.bases[group], self.family.members[group]
        assert isinstance(base, Ranged)
        low, high = base.interval(self.prepared[group])
        rate = self.rates[members].max()
        if np.isfinite(rate):
            return make_grid(low, high, WIDEST / rate)
        grid = make_grid(low, high, max(SMOOTH * (high - low), np.finfo(float).tiny))
        self._check_smooth(group, grid)
        return grid

    def _check_smooth(self, group: int, grid: Grid) -> None:
        between = np.cos(np.arange(1, NODES) * np.pi / NODES)
        there = ((grid.middles - grid.shift)[:, None] + between / grid.scales[:, None]).ravel()
        found = self.curves(group, grid).reshape(-1, len(grid.middles), NODES) @ POWERS
        values = np.einsum("kbp,jp->kbj", found, np.vander(between, NODES, increasing=True))
        for k, value in zip(self.family.members[group], values):
            right = self.family.finish(k, there.copy())
            if np.abs(value.ravel() - right).max() > CLOSE * np.abs(right).max():
                raise NotSmooth(f"{self.family.kernels[k]!r} is not smooth enough for a table")

    def curves(self, group: int, grid: Grid) -> Array:
        """Return the values of the kernels of a group at the nodes, (members, pieces * NODES)."""
        members, nodes = self.family.members[group], grid.nodes
        if np.isfinite(self.rates[members[0]]):
            return self.factors[members, None] * np.exp(-self.rates[members, None] * nodes)
        return np.stack([self.family.finish(k, nodes.copy()) for k in members])

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,), from the support rows only."""
        support = np.flatnonzero(alpha)
        a, strips = alpha[support], spans(len(support), STRIP)

        def part(groups: slice) -> list[Array]:
            return [self._group_energies(group, support, a, strips) for group in range(groups.start, groups.stop)]

        out, parts = np.empty(self.m), spans(len(self.grids), GROUPS_TOGETHER)
        for groups, found in zip(parts, self.engine.map(part, parts)):
            for group, q in zip(range(groups.start, groups.stop), found):
                out[self.family.members[group]] = q
        return out

    def _group_energies(self, group: int, support: Array, a: Array, strips: list[slice]) -> Array:
        grid, base, rows = self.grids[group], self.family.bases[group], take(self.prepared[group], support)
        moments = np.zeros((len(grid.middles), NODES))
        for s in strips:
            values = base.block(take(rows, s), take(rows, slice(s.start, None)), np.float64)
            _add_moments(values, a[s], a[s.start :], *grid, moments)
        return self.curves(group, grid) @ (moments @ POWERS.T).ravel()

    def combined(self, weights: Array) -> Operator:
        """Return ``sum_k weights[k] K_k`` as a Gram matrix, in double precision up to a size."""
        return GramMatrix(self._weighted(weights, None, np.float32 if self.rounded else np.float64), self.engine)

    def combined_submatrix(self, weights: Array, rows: Array) -> Array:
        """Return ``sum_k weights[k] K_k[rows][:, rows]``."""
        return self._weighted(weights, rows, np.float64)

    def _weighted(self, weights: Array, rows: Array | None, dtype: type) -> Array:
        """Return the weighted sum on some rows: the part above the diagonal is made, then mirrored."""
        groups = [g for g, members in enumerate(self.family.members) if weights[members].any()]
        tables = self._tables(groups, weights)
        size = self.n if rows is None else len(rows)
        out: Array = np.empty((size, size), dtype)
        strips = spans(size, STRIP)

        def fill(s: slice, target: Array) -> None:
            target[:] = 0.0
            for group, table in zip(groups, tables):
                prepared = self.prepared[group]
                left, right = (r if rows is None else rows[r] for r in (s, slice(s.start, size)))
                values = self.family.bases[group].block(take(prepared, left), take(prepared, right), np.float64)
                add_curve(values, table, *self.grids[group], True, target)

        self.engine.map_into([out[s, s.start :] for s in strips], fill, strips)
        for s in strips:
            _mirror_square(out[s, s])
            mirror(out[s, s.stop :], out[s.stop :, s])
        return out

    def _tables(self, groups: list[int], weights: Array) -> list[Array]:
        """Return the polynomials of the weighted curve of each group, (pieces, NODES)."""

        def one(group: int) -> Array:
            values = weights[self.family.members[group]] @ self.curves(group, self.grids[group])
            return values.reshape(-1, NODES) @ POWERS

        parts = spans(len(groups), GROUPS_TOGETHER)
        made = self.engine.map(lambda part: [one(group) for group in groups[part]], parts)
        return [table for some in made for table in some]


@jit
def _add_moments(
    values: Array, left: Array, right: Array, shift: float, first: int, middles: Array, scales: Array, out: Array
) -> None:  # fmt: skip
    """Add ``left[i] right[j] t^p`` to the piece of each pair, twice for those right of the diagonal."""
    last, space = len(middles) - 1, np.empty(values.shape[1])
    for i in range(len(values)):
        row, others, u, twice = values[i, i:], right[i:], space[i:], 2.0 * left[i]
        bits = u.view(np.int64)
        for j in range(len(row)):
            u[j] = row[j] + shift
        for j in range(len(row)):
            piece = max((bits[j] >> SHIFT) - first, 0)
            if piece > last:
                piece = last
            t = (u[j] - middles[piece]) * scales[piece]
            w0 = twice * others[j] if j > 0 else left[i] * others[j]
            t2, w1 = t * t, w0 * t
            t4, w2, w3, target = t2 * t2, w0 * t2, w1 * t2, out[piece]
            target[0] += w0
            target[1] += w1
            target[2] += w2
            target[3] += w3
            target[4] += w0 * t4
            target[5] += w1 * t4
            target[6] += w2 * t4
            target[7] += w3 * t4


@jit
def _mirror_square(square: Array) -> None:
    for i in range(len(square)):
        for j in range(i):
            square[i, j] = square[j, i]
