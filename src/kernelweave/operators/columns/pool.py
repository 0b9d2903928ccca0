"""All columns of several kernels on the same rows, of which few are ever made: what column generation draws from.

Column ``j = p n + i`` is ``K_p(., x_i)`` on the n training rows.  The pool makes columns that are asked for and scores
any set of them against a vector, ``K_p[:, rows]'u``, in bounded memory: never an n x n matrix beyond the limit.
Columns may be multiplied by a number for each row, `scale`: a column stands for that multiple of the kernel.
How each kernel is held (see `column_sources`) is planned before anything is made; `plan` says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from kernelweave.data.kinds import n_rows
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Elementwise, Features, Positional, has_codes
from kernelweave.kernels.base import Array, Kernel, take, width
from kernelweave.operators.columns.sources import Embedded, Explicit, Made, Source, Stored
from kernelweave.operators.expansion.cross import NEW_ROWS, spans
from kernelweave.operators.gram.mixture import Family
from kernelweave.operators.memory import memory_budget, show_bytes
from kernelweave.operators.planner.one import GRAM_UP_TO, bind_explicit

STORE_SHARE, STORE_UP_TO = 0.25, 1e9
"""Made columns are kept while all of a kernel's would take no more than this share of the memory, and so many bytes."""
NARROW, STORE_NARROW = 128, 1e8
"""Values of kernels on rows of so few numbers are made as fast as fresh memory takes them: so many bytes are kept."""
EMBED_SHARE = 0.25
"""Share of the memory that explicit features of all kernels together may take."""


class ColumnPool:
    """Kernels bound to training rows, column by column.

    Parameters
    ----------
    kernels : with every learned parameter filled in
    X : training rows
    limit : bytes, a text such as "4GB", or "auto"
    scale : (n,) what the columns of each row are multiplied by, or None

    Attributes
    ----------
    n, m : rows and kernels
    scored, made : (m,) int64, columns scored so far, and columns whose kernel values were made
    plan : one sentence for each kernel on how it is held
    room : columns of the working set, in double precision, that what is left of the memory holds
    quick : whether all columns can be scored without making kernel values more than once

    Examples
    --------
    >>> from kernelweave.engines import Serial
    >>> from kernelweave.kernels import Linear, RBF
    >>> pool = ColumnPool([Linear(), RBF(width=1.0)], np.array([[0.0], [1.0], [2.0]]), Serial())
    >>> pool.scores(0, np.array([1.0, 0.0, -1.0]))
    array([ 0., -2., -4.])
    >>> pool.columns(1, np.array([1])).ravel().round(3)
    array([0.368, 1.   , 0.368])
    """

    def __init__(
        self, kernels: Sequence[Kernel], X: Any, engine: Engine, limit: float | str | None = "auto",
        scale: Array | None = None,
    ):  # fmt: skip
        self.kernels, self.X, self.engine, self.family = list(kernels), X, engine, Family(kernels)
        self.n, self.m = n_rows(X), len(self.kernels)
        self.scored, self.made = np.zeros(self.m, np.int64), np.zeros(self.m, np.int64)
        self.group = {k: g for g, members in enumerate(self.family.members) for k in members}
        self._rows: dict[int, Any] = {}
        self.scale = scale
        self.budget = memory_budget(limit)
        self.held = 0.0
        self.source: dict[int, Source] = {}
        reasons = [self._embed(k) or self._explicit(k, limit) for k in range(self.m)]
        for members in self.family.members:
            self._values([k for k in members if k not in self.source], reasons)
        self.plan = tuple(str(reason) for reason in reasons)
        self.quick = not any(isinstance(source, Made) for source in self.source.values())
        self.room = max(0, int((self.budget - self.held) // (8 * self.n)))

    def columns(self, kernel: int, rows: Array) -> Array:
        """Return ``K_p[:, rows]``, (n, len(rows)) float64, column after column in memory."""
        rows = np.asarray(rows, np.int64)
        made = self.source[kernel].columns(kernel, rows)
        return made if self.scale is None else made * self.scale[rows]

    def scores(self, kernel: int, u: Array, rows: Array | None = None) -> Array:
        """Return ``K_p[:, rows]'u``, (len(rows),); all rows where `rows` is None."""
        return self.scan([kernel], u, rows)[0]

    def scan(self, kernels: Sequence[int], u: Array, rows: Array | None = None) -> Array:
        """Return the scores of several kernels, (kernels, rows); those with a common base share its numbers."""
        rows = np.arange(self.n) if rows is None else np.asarray(rows, np.int64)
        active = np.flatnonzero(u)
        out = np.empty((len(kernels), len(rows)))
        sharing: dict[int, list[int]] = {}
        for place, k in enumerate(kernels):
            sharing.setdefault(id(self.source[k]), []).append(place)
        for places in sharing.values():
            some = [kernels[place] for place in places]
            out[places] = self.source[some[0]].scores(some, u, active, rows)
        self.scored[list(kernels)] += len(rows)
        return out if self.scale is None else out * self.scale[rows]

    def against(self, X: Any) -> NewColumns:
        """Return the columns on other rows, for validation."""
        return NewColumns(self, X)

    def prepared(self, kernel: int) -> Any:
        """Return the training rows as the base of a kernel prepares them."""
        group = self.group[kernel]
        if group not in self._rows:
            self._rows[group] = self.family.bases[group].prepare(self.X)
        return self._rows[group]

    def by_cost(self) -> list[int]:
        """Return the kernels from the cheapest to the dearest at prediction.

        First those with few explicit features (by their number), then curves over the inner product, other curves,
        kernels with sparse features, the rest; equals keep their order.
        """
        return sorted(range(self.m), key=self._cost)

    def _cost(self, kernel: int) -> tuple[int, int]:
        source, described = self.source[kernel], self.kernels[kernel]
        if isinstance(source, Embedded):
            return 0, int(source.table.shape[1])
        if isinstance(described, Elementwise):
            return (1 if described.base().definite else 2), 0
        return (3 if has_codes(described) or isinstance(described, Positional) else 4), 0

    def _embed(self, kernel: int) -> str | None:
        """Hold a kernel by its explicit features where they are few; return the reason."""
        described = self.kernels[kernel]
        if not isinstance(described, Features) or described.kind != "columns":
            return None
        try:
            size = self.n * _bytes(described.features(self.X[:NEW_ROWS])) / max(1, min(self.n, NEW_ROWS))
            if self.held + size > EMBED_SHARE * self.budget:
                return None
            table = described.features(self.X)
        except ValueError:  # too many features
            return None
        self.held += size
        self.source[kernel] = Embedded(table, self.engine, self.made)
        return f"{described!r}: {table.shape[1]} explicit features, {show_bytes(size)}"

    def _explicit(self, kernel: int, limit: float | str | None) -> str | None:
        """Hold a kernel of many rows by its sparse features; return the reason."""
        described = self.kernels[kernel]
        if self.n <= GRAM_UP_TO:
            return None
        try:
            operator = bind_explicit(described, self.X, self.engine, limit)
        except (MemoryError, ValueError):  # too many features for the memory or for column numbers
            return None
        if operator is None:
            return None
        self.source[kernel] = Explicit(operator, self.made)
        return f"{described!r}: scores go through its sparse features"

    def _values(self, kernels: list[int], reasons: list[str | None]) -> None:
        """Hold kernels with a common base by their values: kept once made where they fit, else made each time."""
        if not kernels:
            return
        made = Made(self.family, self.group[kernels[0]], self.prepared(kernels[0]), self.n, self.engine, self.made)
        size = 8.0 * self.n**2 * len(kernels)
        narrow = 0 < width(self.prepared(kernels[0])) <= NARROW
        stored = self.held + size <= min(STORE_SHARE * self.budget, STORE_NARROW if narrow else STORE_UP_TO)
        if stored:
            self.held += size
        source = Stored(made, kernels) if stored else made
        how = f"columns are kept once made, up to {show_bytes(size)}" if stored else "columns are made when scored"
        for k in kernels:
            self.source[k] = cast(Source, source)
            reasons[k] = f"{self.kernels[k]!r}: {how}"


class NewColumns:
    """Columns of a pool on other rows."""

    def __init__(self, pool: ColumnPool, X: Any):
        self.pool, self.X = pool, X
        self.n = n_rows(X)
        self._rows: dict[int, Any] = {}

    def columns(self, kernel: int, rows: Array) -> Array:
        """Return ``K_p(new rows, x_rows)``, (new rows, len(rows)), column after column in memory."""
        pool, group = self.pool, self.pool.group[kernel]
        if group not in self._rows:
            self._rows[group] = pool.family.bases[group].prepare(self.X)
        new, kept = self._rows[group], take(pool.prepared(kernel), np.asarray(rows, np.int64))
        family, out, tiles = pool.family, np.empty((len(rows), self.n)), spans(self.n, NEW_ROWS)

        def fill(here: slice, target: Array) -> None:
            target[:] = family.finish(kernel, family.bases[group].block(take(new, here), kept, np.float64)).T

        pool.engine.map_into([out[:, here] for here in tiles], fill, tiles)
        return out.T if pool.scale is None else out.T * pool.scale[rows]


def _bytes(table: Any) -> int:
    return int(table.nbytes if isinstance(table, np.ndarray) else table.data.nbytes + table.indices.nbytes)
