"""Kernels with explicit sparse features: products go through the normal vector, never through kernel values.

    out += K[:, rows] steps    is    w = sum_j steps_j phi(x_j),   out_i += <phi(x_i), w>

Columns that occur in one training row only never meet another row.  They are not stored: all they do is add
``own_i alpha_i`` to the output of their row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.coordinate import box_step
from kernelweave._numba.csr import CSR
from kernelweave._numba.rows import row_add, row_dot
from kernelweave._numba.symmetric import mirror
from kernelweave.data.blocks import PART_ROWS, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.base import Descent, DescentState
from kernelweave.operators.features.vocabulary import Vocabulary, commonest_first

LOOK = 1 << 16
"""Values looked at together."""
GRAM_LINES = 64
"""Lines of a Gram matrix that are one part of the work."""
LIST_COST = 2.0
"""How much more expensive a product through the lists of columns is than one along a row: it is added in memory."""


@dataclass(frozen=True)
class SharedColumns:
    """Rows of features with numbered columns (see `commonest_first`), those that a single row has left out.

    Attributes
    ----------
    block : the entries of the shared columns
    own : (n,) squared length of what is left out; diagonal : (n,) that of the whole row
    codes : (width, words) what each column is, or None where several kernels share the columns
    """

    block: CSR
    own: Array
    diagonal: Array
    width: int
    codes: Array | None = None

    @classmethod
    def of(cls, rows: CSR) -> SharedColumns:
        """Return the features of n rows, which come as codes."""
        number, codes = _numbered(rows.codes)
        rows_with = np.bincount(number, minlength=len(codes))
        order = np.flatnonzero(rows_with > 1)
        order = order[commonest_first(codes[order], rows_with[order])]
        shared = np.full(len(codes), -1, np.int32)
        shared[order] = np.arange(len(order), dtype=np.int32)
        kept = int(rows_with[order].sum())
        starts, own = np.zeros(len(rows) + 1, np.int64), np.zeros(len(rows))
        columns = np.empty(kept, np.uint32)
        values: Array = np.empty(kept, _value_type(rows.values))
        _keep(rows.starts, number, shared, rows.values, starts, columns, values, own)
        return cls(CSR(columns, values, starts), own, rows.diagonal(), len(order), codes[order])

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.own)

    def taken(self, rows: Array) -> SharedColumns:
        """Return some of the rows, with the same columns."""
        block = self.block.taken(rows)
        return SharedColumns(block, self.own[rows], self.diagonal[rows], self.width, self.codes)

    @cached_property
    def single(self) -> Array:
        """The values in single precision."""
        return self.block.values.astype(np.float32, copy=False)

    @cached_property
    def table(self) -> tuple[Array, Array] | None:
        """The values, and those in single precision, (n, width), where every row has every column; else None."""
        columns = self.block.columns
        if len(columns) != self.n * self.width or not np.array_equal(
            columns.reshape(self.n, -1), np.broadcast_to(np.arange(self.width), (self.n, self.width))
        ):
            return None
        return self.block.values.reshape(self.n, -1), self.single.reshape(self.n, -1)

    def vector(self, rows: Array, steps: Array, dtype: type = np.float64) -> Array:
        """Return the normal vector ``sum_j steps_j phi(x_j)`` over the shared columns."""
        return self.block.vector(rows, steps, self.width, dtype)

    def outputs(self, w: Array, engine: Engine, out: Array) -> None:
        """Add ``<phi(x_i), w>`` to every row's output."""
        engine.map_into(out, partial(self.block.outputs, w), spans(self.n, PART_ROWS))

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.block.nbytes + self.own.nbytes + self.diagonal.nbytes


class FeatureOperator:
    """A kernel with explicit features bound to training rows.

    Parameters
    ----------
    kernel : with the ability `Features`
    X : training rows
    """

    def __init__(self, kernel: Kernel, X: Any, engine: Engine):
        self._set(SharedColumns.of(cast(Features, kernel).counts(X)), engine, kernel, X)

    @classmethod
    def bound(
        cls, shared: SharedColumns, engine: Engine, kernel: Kernel | None = None, X: Any = None
    ) -> FeatureOperator:
        """Return the operator of features that are there already; of what they were made, if it was one kernel."""
        made = cls.__new__(cls)
        made._set(shared, engine, kernel, X)
        return made

    def _set(self, shared: SharedColumns, engine: Engine, kernel: Kernel | None, X: Any) -> None:
        self.shared, self.engine, self.kernel, self.X, self.n = shared, engine, kernel, X, shared.n

    def diag(self) -> Array:
        """Return the diagonal, (n,)."""
        return self.shared.diagonal

    def columns(self, rows: Array) -> Array:
        """Return ``K[:, rows]``, (n, len(rows))."""
        out = np.zeros((len(rows), self.n))
        for j, row in enumerate(rows):
            self.add_to(out[j], np.array([row]), np.ones(1))
        return out.T

    def submatrix(self, rows: Array) -> Array:
        """Return ``K[rows][:, rows]``, by the lists of the columns where these are short."""
        out, rows = np.zeros((len(rows), len(rows))), np.asarray(rows, dtype=np.int64)
        (starts, columns, values), own, width = self.shared.block.arrays(), self.shared.own, self.shared.width
        first, places = by_column(starts, columns, width, rows)
        pairs = float((np.diff(first).astype(np.float64) ** 2).sum())
        if LIST_COST * pairs < float(first[-1]) * len(rows):
            column_products(values, rows, first, places, own, out)
        else:
            self.engine.map_into(
                out, lambda s, some: inside(starts, columns, values, own, width, rows, s.start, some),
                spans(len(rows), GRAM_LINES),
            )  # fmt: skip
        mirror(out)
        return out

    def narrowed(self, rows: Array) -> FeatureOperator:
        """Return the kernel on some of the rows."""
        X = None if self.X is None else self.X[rows]
        return FeatureOperator.bound(self.shared.taken(rows), self.engine, self.kernel, X)

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out` through the normal vector."""
        rows = np.asarray(rows, dtype=np.int64)
        self.shared.outputs(self.shared.vector(rows, steps), self.engine, out)
        np.add.at(out, rows, self.shared.own[rows] * steps)

    @property
    def rank(self) -> int:
        """Number of columns that several rows share."""
        return self.shared.width

    @property
    def entries(self) -> float:
        """Shared columns of a row, on average."""
        return self.shared.block.entries / max(1, self.n)

    def factor(self) -> tuple[Array, Array]:
        """Return these columns as a table, and what single rows have of their own."""
        return self.shared.block.dense(self.shared.width).astype(np.float64, copy=False), self.shared.own

    def descent(self, rows: Array | None, dtype: type) -> FeatureDescent:
        """Return a normal vector over some rows, for coordinate descent."""
        every = np.arange(self.n) if rows is None else rows
        return FeatureDescent(self.shared, every, self.engine, dtype)

    def stored(self, store: str) -> Descent:
        """Return a weight vector that is an automaton, for coordinate descent on all rows."""
        from kernelweave.operators.automata.descent import AutomatonOperator
        from kernelweave.operators.automata.rows import no_machines

        if self.kernel is None:
            raise TypeError(f"store={store!r} keeps the strings of one kernel; a sum of kernels needs store='indexed'.")
        if (reason := no_machines(self.kernel, store)) is not None:
            raise TypeError(reason)
        return AutomatonOperator(self.kernel, self.X, store).stored(store)


class FeatureDescent:
    """A normal vector over sparse features, and steps that keep it in line with alpha."""

    def __init__(self, shared: SharedColumns, rows: Array, engine: Engine, dtype: type):
        self.shared, self.rows, self.engine, self.dtype, self.n = shared, rows, engine, dtype, len(rows)

    def start(self, alpha: Array) -> None:
        """Set the normal vector to that of alpha."""
        moved = np.flatnonzero(alpha)
        self.w = self.shared.vector(self.rows[moved], alpha[moved], self.dtype)

    def sweep(self, rows: Array, state: DescentState) -> float:
        """Step along each of the rows in turn; return by how much the sum of alpha changed."""
        shared, block = self.shared, self.shared.block
        if shared.table is not None:
            table = shared.table[self.dtype is np.float32]
            return float(_sweep_table(table, shared.own, self.rows, self.w, rows, *state))
        values = shared.single if self.dtype is np.float32 else block.values
        return float(_sweep(block.starts, block.columns, values, shared.own, self.rows, self.w, rows, *state))

    def outputs(self, alpha: Array) -> Array:
        """Return the outputs of every row as the normal vector has them."""
        out = np.zeros(self.shared.n)
        self.shared.outputs(self.w, self.engine, out)
        return out[self.rows] + self.shared.own[self.rows] * alpha

    def product(self, alpha: Array, rows: Array | None = None) -> Array:
        """Return ``K @ alpha`` afresh, in double precision."""
        moved = np.flatnonzero(alpha)
        w = self.shared.vector(self.rows[moved], alpha[moved])
        if rows is not None:
            named, out, block = self.rows[rows], np.zeros(len(rows)), self.shared.block
            self.engine.map_into(
                out, lambda s, shard: block.some_outputs(w, named[s], shard), spans(len(rows), PART_ROWS)
            )  # fmt: skip
            return out + self.shared.own[named] * alpha[rows]
        out = np.zeros(self.shared.n)
        self.shared.outputs(w, self.engine, out)
        return out[self.rows] + self.shared.own[self.rows] * alpha


def _numbered(codes: Array) -> tuple[Array, Array]:
    """Return the number of each code (total, words), and the codes by their numbers: themselves where they are small.

    A code that is smaller than the number of features needs no hash table; of such codes some may not be used.
    """
    if codes.shape[1] == 1 and len(codes) and codes.min() >= 0 and codes.max() < len(codes):
        return codes[:, 0].astype(np.int32), np.arange(int(codes.max()) + 1, dtype=np.int64)[:, None]
    known = Vocabulary(codes.shape[1])
    number = known.number(codes)
    return number, known.codes()


def _value_type(values: Array) -> type:
    """Return single precision where it holds every value exactly (counts are whole numbers), else double."""
    for start in range(0, len(values), LOOK):
        part = values[start : start + LOOK]
        if not np.array_equal(part, part.astype(np.float32)):
            return np.float64
    return np.float32


@jit
def _keep(starts, number, shared, values, new_starts, new_columns, new_values, own):  # type: ignore[no-untyped-def]
    filled = 0
    for i in range(len(own)):
        for t in range(starts[i], starts[i + 1]):
            column = shared[number[t]]
            if column < 0:
                own[i] += values[t] * values[t]
            else:
                new_columns[filled], new_values[filled] = column, values[t]
                filled += 1
        new_starts[i + 1] = filled


@jit
def by_column(starts, columns, width, rows):  # type: ignore[no-untyped-def]
    """Sort the entries of some rows by column: where each column begins, and (row, entry) of each of its places."""
    first = np.zeros(width + 1, np.int64)
    for i in rows:
        for t in range(starts[i], starts[i + 1]):
            first[columns[t] + 1] += 1
    for c in range(width):
        first[c + 1] += first[c]
    places, filled = np.empty((first[width], 2), np.int64), first[:-1].copy()
    for a in range(len(rows)):
        for t in range(starts[rows[a]], starts[rows[a] + 1]):
            at = filled[columns[t]]
            places[at, 0], places[at, 1] = a, t
            filled[columns[t]] = at + 1
    return first, places


@jit
def column_products(values, rows, first, places, own, out):  # type: ignore[no-untyped-def]
    """Add the Gram matrix of some rows, up to the diagonal: rows of a column come in their order."""
    for c in range(len(first) - 1):
        for u in range(first[c], first[c + 1]):
            a, value = places[u, 0], np.float64(values[places[u, 1]])
            for v in range(first[c], u + 1):
                out[a, places[v, 0]] += value * values[places[v, 1]]
    for a in range(len(rows)):
        for b in range(a + 1):
            if rows[a] == rows[b]:  # a row may be asked for twice
                out[a, b] += own[rows[a]]


@jit
def inside(starts, columns, values, own, width, rows, start, out):  # type: ignore[no-untyped-def]
    """Write lines of the Gram matrix of some rows, from line `start` on, up to the diagonal."""
    w = np.zeros(width)
    for line in range(len(out)):
        a = start + line
        i = rows[a]
        for t in range(starts[i], starts[i + 1]):
            w[columns[t]] = values[t]
        for b in range(a + 1):
            j = rows[b]
            first, last = starts[j], starts[j + 1]
            total = row_dot(columns[first:last], values[first:last], w, 0.0)
            out[line, b] = total + (own[i] if i == j else 0.0)
        for t in range(starts[i], starts[i + 1]):
            w[columns[t]] = 0.0


@jit
def _sweep(  # type: ignore[no-untyped-def]
    starts, columns, values, own, named, w, rows,
    p, ridge, entropy, low, high, curvature, fixed, intercept, pull, v, outputs,
):  # fmt: skip
    moved, zero = 0.0, w.dtype.type(0.0)  # in the precision of w: converting each product would cost more than the sum
    for i in rows:
        alpha = 0.0
        for c in range(v.shape[0]):
            alpha += v[c, i]
        row = named[i]
        first, last = starts[row], starts[row + 1]
        total = row_dot(columns[first:last], values[first:last], w, zero)  # named slices would be counted references
        f = own[row] * alpha + fixed[i] + intercept + pull * moved + total
        outputs[i] = f
        change = box_step(i, f, p, ridge, entropy, low, high, curvature, v)
        if change != 0.0:
            moved += change
            row_add(columns[first:last], values[first:last], w.dtype.type(change), w)
    return moved


@jit
def _sweep_table(  # type: ignore[no-untyped-def]
    table, own, named, w, rows, p, ridge, entropy, low, high, curvature, fixed, intercept, pull, v, outputs
):
    """Sweep as above over rows that have every column: lines of a table, and sums that are vectors of the processor."""
    moved, zero = 0.0, w.dtype.type(0.0)
    for i in rows:
        alpha = 0.0
        for c in range(v.shape[0]):
            alpha += v[c, i]
        line, total = table[named[i]], zero
        for j in range(len(w)):
            total += line[j] * w[j]
        f = own[named[i]] * alpha + fixed[i] + intercept + pull * moved + total
        outputs[i] = f
        change = box_step(i, f, p, ridge, entropy, low, high, curvature, v)
        if change != 0.0:
            moved += change
            step = w.dtype.type(change)
            for j in range(len(w)):
                w[j] += step * line[j]
    return moved
