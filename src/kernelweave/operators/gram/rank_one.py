"""Kernels that are the product of one number per row, ``K_k(x, y) = v_k(x) v_k(y)``: a linear kernel on one column.

One kernel per column or per term of a text makes thousands of them.  Kept are the m vectors v_k, not m matrices:

    energies  (v_k' alpha)^2          outputs  v_k (v_k' alpha)          weighted sum  V' diag(weights) V
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.blocks import COLUMNS_TOGETHER, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, take
from kernelweave.operators.base import Operator
from kernelweave.operators.gram.dense import GramMatrix
from kernelweave.operators.gram.mixture import Family

LEFT_OVER = 1e-12
"""Share of the largest diagonal entry that rounding may leave after the one vector is taken out."""


def rank_one_vectors(family: Family, prepared: Any, n: int) -> Array | None:
    """Return the vectors v_k, (m, n), or None unless every kernel is of rank one (or zero) on these rows.

    A positive semi-definite matrix has rank one exactly if nothing is left on its diagonal after the column of the
    largest entry is taken out, ``K_ii = K_ir^2 / K_rr``: a diagonal and one row of each kernel tell.  The first
    kernel of higher rank ends the search, so that other families pay nothing.
    """
    out: Array | None = None
    for group, members in enumerate(family.members):
        rows = prepared[group]
        for k in members:
            diagonal = family.kernels[k].diagonal(rows)
            if not np.isfinite(diagonal).all():
                return None
            pivot = int(diagonal.argmax())
            if diagonal[pivot] > 0:
                one = take(rows, np.array([pivot]))
                row = family.finish(k, family.bases[group].block(one, rows, np.float64))[0]
                v = row / np.sqrt(diagonal[pivot])
                if not np.abs(diagonal - v * v).max() <= LEFT_OVER * diagonal[pivot]:
                    return None
            else:
                v = np.zeros(n)
            if out is None:
                out = np.empty((len(family.kernels), n))
            out[k] = v
    return out


class RankOneSet:
    """Rank-one kernels on the same rows, held as one vector each.

    Parameters
    ----------
    vectors : (m, n)
    stored : hold a weighted sum as a Gram matrix; else its columns are made when asked for
    """

    def __init__(self, vectors: Array, engine: Engine, stored: bool = True):
        self.vectors, self.engine, self.stored = vectors, engine, stored
        self.m, self.n = vectors.shape

    def selected(self, kernels: Array) -> RankOneSet:
        """Return some of the kernels."""
        return RankOneSet(self.vectors[kernels], self.engine, self.stored)

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,)."""
        return (self.vectors @ alpha) ** 2

    def each_inside(self, rows: Array, steps: Array) -> Array:
        """Return ``K_k[rows][:, rows] @ steps`` for every kernel, (m, len(rows))."""
        V = self.vectors[:, rows]
        return V * (V @ steps)[:, None]

    def each_add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K_k[:, rows] @ steps`` to ``out[k]`` for every kernel."""
        full = np.zeros(self.n)
        np.add.at(full, rows, steps)
        vectors, totals = self.vectors, self.vectors @ full

        def fill(part: slice, target: Array) -> None:
            target += vectors[part] * totals[part, None]

        self.engine.map_into(out, fill, spans(self.m, COLUMNS_TOGETHER))

    def combined(self, weights: Array) -> Operator:
        """Return ``sum_k weights[k] K_k`` as an operator."""
        active = np.flatnonzero(weights)
        scaled = self.vectors[active] * np.sqrt(weights[active])[:, None]
        return GramMatrix(scaled.T @ scaled, self.engine) if self.stored else VectorSum(scaled)

    def combined_submatrix(self, weights: Array, rows: Array) -> Array:
        """Return ``sum_k weights[k] K_k[rows][:, rows]``."""
        active = np.flatnonzero(weights)
        scaled = self.vectors[np.ix_(active, rows)] * np.sqrt(weights[active])[:, None]
        return scaled.T @ scaled

    def diagonals(self) -> Array:
        """Return the diagonal of every kernel, (m, n)."""
        return self.vectors**2


class VectorSum:
    """``V'V`` as an operator that holds V only, (k, n)."""

    def __init__(self, vectors: Array):
        self.vectors, self.n = vectors, vectors.shape[1]

    def diag(self) -> Array:
        """Return the diagonal, (n,)."""
        return np.einsum("ki,ki->i", self.vectors, self.vectors)

    def columns(self, rows: Array) -> Array:
        """Return ``K[:, rows]``, (n, len(rows))."""
        return self.vectors.T @ self.vectors[:, rows]

    def submatrix(self, rows: Array) -> Array:
        """Return ``K[rows][:, rows]``."""
        some = np.ascontiguousarray(self.vectors[:, rows])
        return some.T @ some

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out` (n,)."""
        out += self.vectors.T @ (self.vectors[:, rows] @ steps)
