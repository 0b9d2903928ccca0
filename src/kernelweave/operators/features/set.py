"""Many kernels with explicit features on the same rows: a normal vector each, no kernel values.

    |w_k|^2 = alpha'K_k alpha,     K_k alpha = (<phi_k(x_i), w_k>)_i,     w_k = sum_i alpha_i phi_k(x_i)

A weighted sum of such kernels is one with the features of all, those of kernel k times the root of its weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.csr import CSR
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.features.operator import FeatureOperator, SharedColumns


class FeatureSet:
    """m kernels bound to the same rows through their features.

    Parameters
    ----------
    parts : the features of each kernel
    """

    curvature_rows = 500  # kernel values of sparse rows cost as much as the rows are long

    def __init__(self, parts: Sequence[SharedColumns], engine: Engine):
        self.parts, self.engine = list(parts), engine
        self.n, self.m = parts[0].n, len(parts)
        self.operators = [FeatureOperator.bound(part, engine) for part in parts]

    @classmethod
    def of(cls, kernels: Sequence[Kernel], X: Any, engine: Engine) -> FeatureSet:
        """Bind kernels to training rows."""
        return cls([SharedColumns.of(cast(Features, kernel).counts(X)) for kernel in kernels], engine)

    @property
    def rank(self) -> int:
        """Number of columns of all kernels."""
        return sum(part.width for part in self.parts)

    @property
    def entries(self) -> float:
        """Columns of all kernels that a row has, on average."""
        return sum(part.block.entries for part in self.parts) / max(1, self.n)

    def restricted(self, rows: Array) -> FeatureSet:
        """Return the same kernels on some of the rows."""
        return FeatureSet([part.taken(rows) for part in self.parts], self.engine)

    def combined(self, weights: Array) -> FeatureOperator:
        """Return ``sum_k weights[k] K_k`` as an operator; kernels of weight zero cost nothing."""
        return FeatureOperator.bound(joined(self.parts, np.asarray(weights, dtype=float)), self.engine)

    def combined_submatrix(self, weights: Array, rows: Array) -> Array:
        """Return ``sum_k weights[k] K_k[rows][:, rows]``."""
        return self.combined(weights).submatrix(rows)

    def diagonals(self) -> Array:
        """Return the diagonal of every kernel, (m, n)."""
        return np.stack([part.diagonal for part in self.parts])

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,)."""
        rows = np.flatnonzero(alpha)
        out = np.empty(self.m)
        for k, part in enumerate(self.parts):
            w = part.vector(rows, alpha[rows])
            out[k] = np.einsum("i,i->", w, w) + np.einsum("i,i,i->", part.own[rows], alpha[rows], alpha[rows])
        return out

    def each_inside(self, rows: Array, steps: Array) -> Array:
        """Return ``K_k[rows][:, rows] @ steps`` for every kernel, (m, len(rows))."""
        rows = np.asarray(rows, np.int64)
        alpha = np.zeros(self.n)
        np.add.at(alpha, rows, steps)
        every = np.arange(self.n)
        return np.stack([operator.descent(every, np.float64).product(alpha, rows) for operator in self.operators])

    def each_add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K_k[:, rows] @ steps`` to ``out[k]``, (m, n), for every kernel."""
        for line, operator in zip(out, self.operators):
            operator.add_to(line, rows, steps)


def joined(parts: Sequence[SharedColumns], weights: Array) -> SharedColumns:
    """Return the features of several kernels behind one another, times the roots of their weights."""
    used = [(part, weight) for part, weight in zip(parts, weights) if weight > 0]
    n, entries = parts[0].n, sum(part.block.entries for part, _ in used)
    starts = np.sum([part.block.starts for part, _ in used], axis=0) if used else np.zeros(n + 1, np.int64)
    columns, values = np.empty(entries, np.uint32), np.empty(entries)
    own, diagonal, filled, width = np.zeros(n), np.zeros(n), starts[:-1].copy(), 0
    for part, weight in used:
        _join(*part.block.arrays(), width, np.sqrt(weight), filled, columns, values)
        own += weight * part.own
        diagonal += weight * part.diagonal
        width += part.width
    return SharedColumns(CSR(columns, values, starts), own, diagonal, width)


@jit
def _join(starts, columns, values, offset, root, filled, new_columns, new_values):  # type: ignore[no-untyped-def]
    for i in range(len(filled)):
        at = filled[i]
        for t in range(starts[i], starts[i + 1]):
            new_columns[at] = columns[t] + offset
            new_values[at] = root * values[t]
            at += 1
        filled[i] = at
