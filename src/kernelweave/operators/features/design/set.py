"""m kernels bound to the same rows through a design.

K_k alpha = X_k X_k' alpha        alpha'K_k alpha = |X_k' alpha|^2        sum_k b_k K_k = X diag(b) X'
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kernelweave.data.blocks import spans
from kernelweave.kernels.base import Array
from kernelweave.operators.features.design.matrix import Design
from kernelweave.operators.features.design.rows import DESIGN_ROWS, Rows, table

FEW = 4
"""One in so many rows are few enough to be copied."""


class DesignSet:
    """m kernels as an `OperatorSet` over their features."""

    curvature_rows = 500  # kernel values of explicit rows cost as much as the rows are long

    def __init__(self, design: Design):
        self.design, self.n, self.m = design, design.n, design.m

    @property
    def rounded(self) -> bool:
        """Whether features are rounded to single precision."""
        return self.design.dtype != np.float64

    def restricted(self, rows: Array) -> DesignSet:
        """Return the same kernels on some of the rows, in memory."""
        return DesignSet(self.design.taken(rows))

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,)."""
        w = self.design.correlate(np.asarray(alpha, np.float64))
        owner = np.repeat(np.arange(self.m), np.diff(self.design.offsets))
        return np.bincount(owner, w * w, self.m)

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
            self.design.engine.map_into(out[place], partial(fill, part), spans(part.n, DESIGN_ROWS))
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
