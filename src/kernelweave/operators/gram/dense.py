"""The whole Gram matrix in memory, built tile by tile with BLAS on all threads."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.blocks import LINES_TOGETHER, PART_ROWS, TILE, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, Kernel, count, take
from kernelweave.operators.expansion.cross import double_product

SQUARE = 8
"""Side of the squares in which a tile is transposed: one vector register for each of their lines."""


class GramMatrix:
    """A symmetric matrix in memory as an operator."""

    def __init__(self, gram: Array, engine: Engine):
        self.gram, self.engine = gram, engine
        self.n = len(gram)

    def diag(self) -> Array:
        """Return the diagonal, (n,) float64."""
        return self.gram.diagonal().astype(np.float64)

    def columns(self, rows: Array) -> Array:
        """Return ``K[:, rows]``, (n, len(rows)), as a transposed view of gathered rows."""
        return self.gram[rows].T

    def submatrix(self, rows: Array) -> Array:
        """Return ``K[rows][:, rows]``."""
        out = np.empty((len(rows), len(rows)), self.gram.dtype)
        gram = self.gram
        self.engine.map_into(out, lambda s, lines: gather(gram, rows[s], rows, lines), spans(len(rows), LINES_TOGETHER))
        return out

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out`, accumulated in float64."""
        gram = self.gram
        self.engine.map_into(
            out, lambda s, shard: add_rows(gram, rows, steps, s.start, shard), spans(self.n, PART_ROWS)
        )


class DenseGram(GramMatrix):
    """A kernel bound to training rows with its Gram matrix stored; it is computed when it is first needed.

    Parameters
    ----------
    kernel : the kernel, all parameters filled in
    prepared : prepared training rows
    dtype : float64, or float32 for half of the memory traffic
    """

    def __init__(self, kernel: Kernel, prepared: Any, engine: Engine, dtype: type = np.float64):
        self.kernel, self.prepared, self.engine, self.dtype = kernel, prepared, engine, np.dtype(dtype)
        self.n = self.most_rows = count(prepared)

    @cached_property
    def gram(self) -> Array:  # type: ignore[override]
        """The matrix, (n, n)."""
        return symmetric(self.kernel, self.prepared, self.engine, self.dtype.type)

    def diag(self) -> Array:
        """Return the diagonal, (n,) float64."""
        return self.kernel.diagonal(self.prepared).astype(np.float64)

    def submatrix(self, rows: Array) -> Array:
        """Return ``K[rows][:, rows]``, computed for itself while the matrix is not there."""
        return super().submatrix(rows) if "gram" in self.__dict__ else self.restricted(rows).gram

    def restricted(self, rows: Array) -> DenseGram:
        """Return the kernel on some of the rows, nothing computed yet."""
        return DenseGram(self.kernel, take(self.prepared, rows), self.engine, self.dtype.type)

    def fresh_product(self, alpha: Array, rows: Array | None = None) -> Array:
        """Return ``K @ alpha`` in double precision, from the kernel itself; only some rows of it where named."""
        return double_product(self.kernel, self.prepared, self.engine, alpha, rows)

    def exact_product(self, alpha: Array, rows: Array | None = None) -> Array | None:
        """Return ``K @ alpha`` in double precision, or None where the matrix is stored so."""
        return None if self.dtype == np.float64 else self.fresh_product(alpha, rows)


def symmetric(kernel: Kernel, prepared: Any, engine: Engine, dtype: type) -> Array:
    """Return the Gram matrix; tiles above the diagonal are computed and mirrored."""
    n = count(prepared)
    gram: Array = np.empty((n, n), dtype)
    cuts = spans(n, TILE)
    parts = [take(prepared, cut) for cut in cuts]

    def fill(pair: tuple[int, int], upper: Array, *lower: Array) -> None:
        tile = kernel.block(parts[pair[0]], parts[pair[1]], dtype)
        upper[:] = tile
        for one in lower:
            mirror(tile, one)

    pairs = above_diagonal(len(cuts))
    engine.map_into(mirrored(gram, cuts, pairs), fill, pairs)
    return gram


def above_diagonal(cuts: int) -> list[tuple[int, int]]:
    """Return the tiles on and above the diagonal of a matrix that is cut into so many parts."""
    return [(i, j) for i in range(cuts) for j in range(i, cuts)]


def mirrored(matrix: Array, cuts: list[slice], pairs: list[tuple[int, int]]) -> list[tuple[Array, ...]]:
    """Return the tile of each pair, with its mirror image below the diagonal where there is one."""
    return [
        (matrix[cuts[i], cuts[j]],) if i == j else (matrix[cuts[i], cuts[j]], matrix[cuts[j], cuts[i]])
        for i, j in pairs
    ]


@jit
def mirror(tile: Array, out: Array) -> None:
    """Write the transpose, square by square; squares of a size known to the compiler stay in registers."""
    n, m = tile.shape
    lines, places = n - n % SQUARE, m - m % SQUARE
    for top in range(0, lines, SQUARE):
        for left in range(0, places, SQUARE):
            for j in range(SQUARE):
                line = out[left + j]
                for i in range(SQUARE):
                    line[top + i] = tile[top + i, left + j]
    for i in range(n):
        for j in range(places if i < lines else 0, m):
            out[j, i] = tile[i, j]


@jit
def add_rows(gram: Array, rows: Array, steps: Array, start: int, out: Array) -> None:
    """``out += sum_j steps[j] gram[rows[j], start : start + len(out)]``, four rows at a time."""
    whole, stop = len(rows) - len(rows) % 4, start + len(out)
    for j in range(0, whole, 4):
        a, b = gram[rows[j], start:stop], gram[rows[j + 1], start:stop]
        c, d = gram[rows[j + 2], start:stop], gram[rows[j + 3], start:stop]
        s, t, u, v = steps[j], steps[j + 1], steps[j + 2], steps[j + 3]
        for i in range(len(out)):
            out[i] += s * a[i] + t * b[i] + u * c[i] + v * d[i]
    for j in range(whole, len(rows)):
        a, s = gram[rows[j], start:stop], steps[j]
        for i in range(len(out)):
            out[i] += s * a[i]


@jit
def gather(gram: Array, rows: Array, columns: Array, out: Array) -> None:
    """``out[i, j] = gram[rows[i], columns[j]]``."""
    for i in range(len(rows)):
        for j in range(len(columns)):
            out[i, j] = gram[rows[i], columns[j]]
