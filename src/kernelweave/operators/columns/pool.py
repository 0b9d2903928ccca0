"""All columns of several kernels on the same rows, of which few are ever made: what column generation draws from.

Column ``j = p n + i`` is ``K_p(., x_i)`` on the n training rows.  The pool makes columns that are asked for and scores
any set of them against a vector, ``K_p[:, rows]'u``, in bounded memory: never an n x n matrix beyond the limit.
Columns may be multiplied by a number for each row, `scale`: a column stands for that multiple of the kernel.
How each kernel is held (see `column_sources`) is planned before anything is made; `plan` says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelweave.data.blocks import spans
from kernelweave.data.kinds import n_rows
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Elementwise, Positional, has_codes
from kernelweave.kernels.base import Array, Kernel, take
from kernelweave.operators.columns.sources import ComputedColumns, Embedded, Source
from kernelweave.operators.expansion.cross import NEW_ROWS
from kernelweave.operators.gram.mixture import Family
from kernelweave.operators.memory import memory_budget
from kernelweave.operators.planner.choose import choose, weigh
from kernelweave.operators.planner.columns import ColumnTask, mixture_plan
from kernelweave.operators.planner.plan import Plan


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
    plan : how the kernels are held; `plan.parts` has a plan for each one
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
        self.limit, self.budget, self.held = limit, memory_budget(limit), 0.0
        self.source: dict[int, Source] = {}
        plans: dict[int, Plan] = {}
        passed = {k: self._by_features(k, plans) for k in range(self.m)}
        for members in self.family.members:
            self._by_values([k for k in members if k not in self.source], plans, passed)
        self.plan = mixture_plan([plans[k] for k in range(self.m)], int(self.held))
        self.quick = not any(isinstance(source, ComputedColumns) for source in self.source.values())
        self.capacity = max(0, int((self.budget - self.held) // (8 * self.n)))

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
        """Return the kernels from the cheapest to the most expensive at prediction.

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

    def _by_features(self, kernel: int, plans: dict[int, Plan]) -> tuple[tuple[str, str], ...]:
        """Hold a kernel by its features where that suits; return what was passed over."""
        found = weigh(self._task([kernel], "scores"))
        if found.choice is not None:
            self.source[kernel], plans[kernel] = found.choice
            self.held += found.choice.plan.bytes
        return found.passed_over

    def _by_values(
        self, kernels: list[int], plans: dict[int, Plan], passed: dict[int, tuple[tuple[str, str], ...]]
    ) -> None:
        """Hold kernels with a common base by their values: kept once made where they fit, else made each time."""
        if not kernels:
            return
        source, plan = choose(self._task(kernels, "columns"))
        self.held += plan.bytes
        for k in kernels:
            self.source[k] = source
            why, share = f"{self.kernels[k]!r}: {plan.why}", plan.bytes // len(kernels)
            plans[k] = Plan(plan.kind, share, why, (*passed[k], *plan.passed_over))

    def _task(self, kernels: list[int], need: str) -> ColumnTask:
        chosen = [self.kernels[k] for k in kernels]
        rows = self.prepared(kernels[0]) if need == "columns" else None
        return ColumnTask(
            chosen, self.X, self.engine, self.budget, need=need, members=kernels, group=self.group[kernels[0]],
            rows=rows, made=self.made, held=self.held, pool_family=self.family,
        )  # fmt: skip


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
