"""Where the columns of a kernel matrix come from, and their products with a vector.

    scores  K[rows, :] u    (kernels are symmetric: the same as K[:, rows]'u)        columns  K[:, rows]

    Made      nothing is kept; tiles of kernel values are made, used and dropped; kernels with a common base share it
    Stored    each column is made the first time it is asked for, and kept
    Embedded  few explicit features Z: scores are Z (Z'u), no kernel value is made
    Explicit  many sparse features (strings): scores go through the normal vector

Rows where u is zero are skipped.  Every source counts the columns whose values it made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.blocks import COLUMNS_TOGETHER, PART_ROWS, spans
from kernelweave.data.tables import is_hollow
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, take
from kernelweave.operators.base import Operator
from kernelweave.operators.expansion.cross import KEPT_ROWS, NEW_ROWS
from kernelweave.operators.gram.mixture import Family

MOSTLY = 4
"""Rows in use are copied out of a table where they are fewer than one in so many."""


class Source(Protocol):
    """Columns of one or several kernels on the same n rows; kernels are named by their place in the pool."""

    def scores(self, kernels: list[int], u: Array, active: Array, rows: Array) -> Array:
        """Return ``K_k[rows, :] u`` for each of the kernels, (kernels, rows); u is zero outside `active`."""

    def columns(self, kernel: int, rows: Array) -> Array:
        """Return ``K[:, rows]``, (n, len(rows)), column after column in memory."""


class ComputedColumns:
    """Kernel values made tile by tile; one group of a family.

    Parameters
    ----------
    prepared : rows, as the base of the group prepares them
    made : (kernels,) int64, counts the columns that were made; shared with the pool
    """

    def __init__(self, family: Family, group: int, prepared: Any, n: int, engine: Engine, made: Array):
        self.family, self.group, self.prepared, self.n, self.engine, self.made = (
            family, group, prepared, n, engine, made,
        )  # fmt: skip

    def scores(self, kernels: list[int], u: Array, active: Array, rows: Array) -> Array:
        """Return ``K_k[rows, :] u`` for each of the kernels, (kernels, rows)."""
        out = np.zeros((len(kernels), len(rows)))
        for part in spans(len(active), KEPT_ROWS):
            some = active[part]
            self._values(kernels, rows, some, list(out), partial(_add_product, u[some]))
        self.made[kernels] += len(rows)
        return out

    def columns(self, kernel: int, rows: Array) -> Array:
        """Return ``K[:, rows]``."""
        out = np.empty((len(rows), self.n))
        self.fill([kernel], rows, [out])
        return out.T

    def fill(self, kernels: list[int], rows: Array, targets: list[Array]) -> None:
        """Write ``K_k[rows, :]`` into the target of each kernel, (rows, n)."""
        for part in spans(self.n, KEPT_ROWS):
            self._values(kernels, rows, part, [target[:, part] for target in targets], _put)
        self.made[kernels] += len(rows)

    def _values(
        self, kernels: list[int], rows: Array, others: Array | slice, targets: list[Array],
        use: Callable[[Array, Array], None],
    ) -> None:  # fmt: skip
        """Make ``K_k[rows, others]`` in tiles and call use(values, the lines of the kernel's target) with each."""
        prepared, family, group = self.prepared, self.family, self.group
        kept, wanted = take(prepared, others), np.zeros(len(family.kernels), bool)
        wanted[kernels] = True
        place = {k: p for p, k in enumerate(kernels)}

        def tile(here: slice, *lines: Array) -> None:
            base = family.bases[group].block(take(prepared, rows[here]), kept, np.float64)
            for k, values in family.finished(group, base, wanted):
                use(values, lines[place[k]])

        tiles = spans(len(rows), NEW_ROWS)
        self.engine.map_into([tuple(target[here] for target in targets) for here in tiles], tile, tiles)


class Stored:
    """Columns that are kept from the first time they are made, in the order in which they were made.

    So the memory in use grows from the front with the columns made: pages are touched only then, one after the other.
    """

    def __init__(self, source: ComputedColumns, kernels: list[int]):
        self.source, self.n, self.engine = source, source.n, source.engine
        self.kept = {k: np.empty((self.n, self.n)) for k in kernels}
        self.place = {k: np.full(self.n, -1, np.int64) for k in kernels}
        self.filled = dict.fromkeys(kernels, 0)

    def scores(self, kernels: list[int], u: Array, active: Array, rows: Array) -> Array:
        """Return ``K_k[rows, :] u`` for each of the kernels, (kernels, rows)."""
        self._make(kernels, rows)
        out = np.empty((len(kernels), len(rows)))
        for line, k in enumerate(kernels):
            dots = partial(_dots_of, self.kept[k], self.place[k][rows], u, active)
            self.engine.map_into(out[line], dots, spans(len(rows), COLUMNS_TOGETHER))
        return out

    def columns(self, kernel: int, rows: Array) -> Array:
        """Return ``K[:, rows]``."""
        self._make([kernel], rows)
        return self.kept[kernel][self.place[kernel][rows]].T

    def _make(self, kernels: list[int], rows: Array) -> None:
        """Make the columns that are missing; kernels that lack the same ones share their base."""
        lacking: dict[bytes, list[int]] = {}
        for k in kernels:
            lacking.setdefault((self.place[k][rows] < 0).tobytes(), []).append(k)
        for same in lacking.values():
            missing = np.unique(rows[self.place[same[0]][rows] < 0])
            if len(missing):
                targets = [self.kept[k][self.filled[k] : self.filled[k] + len(missing)] for k in same]
                self.source.fill(same, missing, targets)
                for k in same:
                    self.place[k][missing] = self.filled[k] + np.arange(len(missing))
                    self.filled[k] += len(missing)


class Embedded:
    """A kernel that is the inner product of a few explicit features.

    Parameters
    ----------
    table : (n, d) dense or CSR
    """

    def __init__(self, table: Any, engine: Engine, made: Array):
        table = without_empty_columns(table) if is_hollow(table) else table
        self.table, self.engine, self.made, self.n = table, engine, made, table.shape[0]

    def scores(self, kernels: list[int], u: Array, active: Array, rows: Array) -> Array:
        """Return ``K[rows, :] u`` through the features, (1, rows)."""
        if len(active) * MOSTLY < self.n:
            parts = [active[s] for s in spans(len(active), PART_ROWS)]
        else:
            parts = spans(self.n, PART_ROWS)  # type: ignore[assignment]
        table, w = self.table, np.zeros(self.table.shape[1])
        for some in self.engine.map(lambda s: table[s].T @ u[s], parts):
            w += some
        out = np.empty((1, len(rows)))
        if len(rows) * MOSTLY < self.n:
            self.engine.map_into(out[0], lambda s, f: _put(table[rows[s]] @ w, f), spans(len(rows), PART_ROWS))
        else:
            every = np.empty(self.n)
            self.engine.map_into(every, lambda s, f: _put(table[s] @ w, f), spans(self.n, PART_ROWS))
            out[0] = every[rows]
        return out

    def columns(self, kernel: int, rows: Array) -> Array:
        """Return ``K[:, rows]``."""
        out, table, some, shards = np.empty((len(rows), self.n)), self.table, self.table[rows], spans(self.n, PART_ROWS)

        def tile(s: slice, target: Array) -> None:
            values = some @ table[s].T
            target[:] = values if isinstance(values, np.ndarray) else values.toarray()

        self.engine.map_into([out[:, s] for s in shards], tile, shards)
        self.made[kernel] += len(rows)
        return out.T


class FeatureColumns:
    """A kernel held by an operator whose products cost no kernel values."""

    def __init__(self, operator: Operator, made: Array):
        self.operator, self.made = operator, made

    def scores(self, kernels: list[int], u: Array, active: Array, rows: Array) -> Array:
        """Return ``K[rows, :] u`` through the normal vector, (1, rows)."""
        out = np.zeros(self.operator.n)
        self.operator.add_to(out, active, u[active])
        return out[rows][None]

    def columns(self, kernel: int, rows: Array) -> Array:
        """Return ``K[:, rows]``."""
        self.made[kernel] += len(rows)
        return np.asfortranarray(self.operator.columns(rows))


def without_empty_columns(table: Any) -> Any:
    """Return a sparse table without its empty columns: inner products of its rows are the same."""
    found, places = np.unique(table.indices, return_inverse=True)
    return type(table)((table.data, places, table.indptr), shape=(table.shape[0], len(found)))


def _add_product(steps: Array, values: Array, out: Array) -> None:
    out += values @ steps


def _put(values: Array, out: Array) -> None:
    out[:] = values


def _dots_of(kept: Array, places: Array, u: Array, active: Array, s: slice, out: Array) -> None:
    if len(active) * MOSTLY < len(u):
        _sparse_dots(kept, places[s], active, u, out)
    else:
        _dots(kept, places[s], u, out)


@jit
def _dots(kept, places, u, out):  # type: ignore[no-untyped-def]
    for r in range(len(places)):
        row, total = kept[places[r]], 0.0
        for i in range(len(u)):
            total += row[i] * u[i]
        out[r] = total


@jit
def _sparse_dots(kept, places, active, u, out):  # type: ignore[no-untyped-def]
    for r in range(len(places)):
        row, total = kept[places[r]], 0.0
        for i in active:
            total += row[i] * u[i]
        out[r] = total
