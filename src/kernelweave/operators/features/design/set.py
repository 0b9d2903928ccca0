"""m kernels bound to the same rows through a design, and `bind_design`, which makes it within the memory limit.

K_k alpha = X_k X_k' alpha        alpha'K_k alpha = |X_k' alpha|^2        sum_k b_k K_k = X diag(b) X'
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.expansion.cross import spans
from kernelweave.operators.features.design.make import Stream, Survey, form_after, joined
from kernelweave.operators.features.design.maps import ColumnMap, DenseMap
from kernelweave.operators.features.design.matrix import Design
from kernelweave.operators.features.design.rows import SHARD, Rows, table
from kernelweave.operators.memory import memory_budget
from kernelweave.operators.planner.design import Layout, is_single, measured, plan_design
from kernelweave.operators.planner.one import Plan

CURVATURE_ROWS = 500
"""Kernel values of explicit rows cost as much as the rows are long."""
FEW = 4
"""One in so many rows are few enough to be copied."""


class DesignSet:
    """m kernels as an `OperatorSet` over their features."""

    curvature_rows = CURVATURE_ROWS

    def __init__(self, design: Design):
        self.design, self.n, self.m = design, design.n, design.m

    def restricted(self, rows: Array) -> DesignSet:
        """Return the same kernels on some of the rows, in memory."""
        return DesignSet(self.design.taken(rows))

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,)."""
        w = self.design.correlate(np.asarray(alpha, np.float64))
        return np.array([np.einsum("i,i->", w[a:b], w[a:b]) for a, b in pairwise(self.design.offsets)])

    def each_inside(self, rows: Array, steps: Array) -> Array:
        """Return ``K_k[rows][:, rows] @ steps`` for every kernel, (m, len(rows))."""
        design = self.design
        if len(rows) > (design.parts[0].stop if design.streamed else self.n // FEW):
            full = np.zeros((self.m, self.n))  # outputs of all rows take less than a copy of so many rows
            self.each_add_to(full, rows, steps)
            return full[:, rows]
        some, out = design.taken(rows), np.zeros((self.m, len(rows)))
        some.each_output(some.correlate(np.asarray(steps, np.float64)), out)
        return out

    def each_add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K_k[:, rows] @ steps`` to ``out[k]``, (m, n), for every kernel."""
        self.design.each_output(self.design.correlate(spread(rows, steps, self.n)), out)

    def combined(self, weights: Array) -> DesignOperator:
        """Return ``sum_k weights[k] K_k`` as an operator."""
        return DesignOperator(self.design, weights)

    def combined_submatrix(self, weights: Array, rows: Array) -> Array:
        """Return ``sum_k weights[k] K_k[rows][:, rows]``."""
        return self.combined(weights).submatrix(rows)

    def diagonals(self) -> Array:
        """Return the diagonal of every kernel, (m, n)."""
        return self.design.lengths()


class DesignOperator:
    """A weighted sum of the kernels of a design: the columns of kernel k count weights[k] times."""

    def __init__(self, design: Design, weights: Array):
        self.design, self.n, self.weights = design, design.n, np.asarray(weights, np.float64)
        self.scale = np.repeat(self.weights, np.diff(design.offsets))

    def diag(self) -> Array:
        """Return the diagonal, (n,)."""
        return self.weights @ self.design.lengths()

    def columns(self, rows: Array) -> Array:
        """Return ``K[:, rows]``, (n, len(rows))."""
        some, out = table(self.design.taken(rows).part(0), self.scale).T, np.empty((self.n, len(rows)))
        ones = np.ones(self.design.width)

        def fill(part: Rows, span: slice, target: Array) -> None:
            target[:] = plain(table(part.taken(np.arange(span.start, span.stop)), ones) @ some)

        for i, place in enumerate(self.design.parts):
            part = self.design.part(i)
            self.design.engine.map_into(out[place], partial(fill, part), spans(part.n, SHARD))
        return out

    def submatrix(self, rows: Array) -> Array:
        """Return ``K[rows][:, rows]``."""
        made = table(self.design.taken(rows).part(0), np.sqrt(self.scale))
        return plain(made @ made.T)

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out` (n,)."""
        out += self.design.outputs(self.scale * self.design.correlate(spread(rows, steps, self.n)))


def spread(rows: Array, steps: Array, n: int) -> Array:
    """Return steps at their rows, zero elsewhere, (n,)."""
    out = np.zeros(n)
    np.add.at(out, rows, steps)
    return out


def plain(made: Any) -> Array:
    """Return a table that may be sparse as an array."""
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made)


def bind_design(
    kernels: Sequence[Kernel | ColumnMap],
    X: Any,
    engine: Engine,
    limit: float | str | None = "auto",
    tol: float = 1e-3,
) -> tuple[DesignSet, Plan]:
    """Bind kernels with explicit features to training rows, in memory where they fit the limit, else part by part.

    Parameters
    ----------
    kernels : each with the ability `Features` and every learned parameter filled in; or the map of a former design (of
        a model), whose columns stay as they are and get new ones behind them: `design.maps` has these, too
    X : training rows; `X[rows]` gives some of them
    limit : bytes, a text such as "4GB", or "auto"
    tol : the relative gap that will be asked for; below 1e-6 values are held in double precision

    Examples
    --------
    >>> import kernelweave as kw
    >>> from kernelweave.engines import Serial
    >>> X = kw.Sequences.from_strings(["ACCA", "CCCA", "GGAA"])
    >>> bound, plan = bind_design([kw.Spectrum(1), kw.Spectrum(2)], X, Serial())
    >>> bound.design.offsets, bound.energies(np.array([1.0, -1.0, 0.0]))
    (array([0, 3, 9]), array([2., 2.]))
    >>> plan.kind, bound.design.squares()[:, 1]
    ('explicit', array([10.,  5.]))
    >>> more, _ = bind_design(bound.design.maps, kw.Sequences.from_strings(["TTA"]), Serial())
    >>> more.design.offsets
    array([ 0,  4, 12])
    """
    budget, n = memory_budget(limit), X.shape[0]
    former = [None if isinstance(one, Kernel) else one for one in kernels]
    each = [one if isinstance(one, Kernel) else one.kernel for one in kernels]
    forms = [form_after(one, measured(kernel, X, tol)) for one, kernel in zip(former, each)]
    single = all(form.single for form in forms)
    plan, layout = plan_design(forms, n, engine.workers, budget, single)
    pieces: list[Any] | None = None
    if plan.kind == "streamed" or any(form.words for form in forms):
        survey = Survey(each, former, forms, X, tol, budget, keep=plan.kind == "explicit")
        survey.run(layout.chunk, engine)
        maps, single, pieces = survey.maps(), single and survey.single, survey.pieces
        plan, layout = plan_design(survey.forms(), n, engine.workers, budget, single)
    else:
        maps = [one or DenseMap(k, int(form.width), X[:1]) for one, k, form in zip(former, each, forms)]
    design = _design(maps, X, engine, plan, layout, pieces)
    if design.dense and single and not design.streamed and not is_single(design.part(0).values, tol=1.0):
        plan, layout = plan_design(forms, n, engine.workers, budget, single=False)  # no row of the sample was so large
        design = _design(maps, X, engine, plan, layout, None)
    return DesignSet(design), plan


def _design(
    maps: list[ColumnMap], X: Any, engine: Engine, plan: Plan, layout: Layout, pieces: list[Any] | None
) -> Design:  # fmt: skip
    """Return a design as planned, from pieces where they were kept."""
    stream = Stream(maps, X, plan.dtype, layout.chunk, engine)
    source: Rows | Stream = stream
    if plan.kind == "explicit":
        source = stream.part(slice(0, X.shape[0])) if pieces is None else joined(pieces, stream.offsets, plan.dtype)
    return Design(maps, source, spans(X.shape[0], layout.rows), engine)
