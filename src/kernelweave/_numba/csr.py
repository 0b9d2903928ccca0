"""Rows of sparse features, as every part of the library that has such rows holds them, and the loops over them.

    outputs    out_i  = <x_i, w>                    correlate   out   = sum_i coef_i x_i
    each       out_ki = <x_i, w> over block k       squares     out_ki = |x_i|^2 over block k

Block k of a row holds the columns from ``offsets[k]`` to ``offsets[k + 1]``, whose entries stand together.  Values may
be single, sums are double.  Loops over a span of rows write into `out`, which holds those rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelweave._numba.jit import jit
from kernelweave._numba.rows import row_add, row_dot
from kernelweave._numba.vector import copy_items

Array = np.ndarray


@dataclass(frozen=True)
class CSR:
    """Rows of features; those of row i stand from ``starts[i]`` to ``starts[i + 1]``.

    Attributes
    ----------
    columns : (total,) numbers of columns, or (total, words) the codes that name features; each comes once a row
    values : (total,) of float32 or float64
    starts : (n + 1,)

    Examples
    --------
    >>> rows = CSR(np.array([0, 2, 1]), np.array([1.0, 2.0, 3.0]), np.array([0, 2, 3]))
    >>> len(rows), rows.diagonal(), rows[[1, 1]].starts
    (2, array([5., 9.]), array([0, 1, 2]))
    """

    columns: Array
    values: Array
    starts: Array

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: Any) -> Self:
        """Return some of the rows; a slice of them shares the memory."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, last, _ = rows.indices(len(self))
            starts = self.starts[first : max(first, last) + 1]
            span = slice(starts[0], starts[-1])
            return replace(self, columns=self.columns[span], values=self.values[span], starts=starts - starts[0])
        return self.taken(np.arange(len(self))[rows])

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.starts) - 1

    @property
    def entries(self) -> int:
        """Number of stored values."""
        return len(self.values)

    @property
    def codes(self) -> Array:
        """The codes, (total, words)."""
        return self.columns if self.columns.ndim == 2 else self.columns[:, None]

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.starts.nbytes + self.columns.nbytes + self.values.nbytes

    def arrays(self) -> tuple[Array, Array, Array]:
        """Return what the loops read: starts, columns, values."""
        return self.starts, self.columns, self.values

    def taken(self, rows: Array) -> Self:
        """Return some of the rows, in the order asked for."""
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[rows])])
        columns = np.empty((starts[-1], *self.columns.shape[1:]), self.columns.dtype)
        values = np.empty(starts[-1], self.values.dtype)
        _take(*self.arrays(), np.asarray(rows, np.int64), starts, columns, values)
        return replace(self, columns=columns, values=values, starts=starts)

    def only(self, columns: Array, width: int) -> Self:
        """Return some of so many numbered columns, which rise, in double precision; they are numbered anew."""
        number = np.full(width, -1, np.int64)
        number[columns] = np.arange(len(columns))
        starts = np.zeros(self.n + 1, np.int64)
        _count_only(*self.arrays(), number, starts)
        np.cumsum(starts, out=starts)
        found, values = np.empty(starts[-1], np.uint32), np.empty(starts[-1])
        _only(*self.arrays(), number, found, values)
        return replace(self, columns=found, values=values, starts=starts)

    def column_gram(self, weights: Array, width: int, some: Array) -> Array:
        """Return some rows of ``X' diag(weights) X`` of numbered columns, (len(some), width)."""
        out, number = np.zeros((len(some), width)), np.full(width, -1, np.int64)
        number[some] = np.arange(len(some))
        _gram(*self.arrays(), weights, number, out)
        return out

    def times(self, factors: Array | float) -> Self:
        """Return the same features with their values times one number, or times one number a row (n,)."""
        scale = np.repeat(factors, np.diff(self.starts)) if np.ndim(factors) else factors
        return replace(self, values=self.values * scale)

    def astype(self, dtype: type) -> Self:
        """Return the same features with values of a type."""
        return self if self.values.dtype == dtype else replace(self, values=self.values.astype(dtype))

    def diagonal(self) -> Array:
        """Return the squared length of each row, (n,)."""
        out = np.empty(self.n)
        _squares_of_rows(self.starts, self.values, out)
        return out

    def unit(self) -> Self:
        """Return each row divided by its length; a row of zeros stays."""
        norms = np.sqrt(self.diagonal())
        return self.times(1.0 / np.where(norms > 0, norms, 1.0))

    def dense(self, width: int) -> Array:
        """Return rows of numbered columns as a table, (n, width)."""
        out = np.zeros((self.n, width))
        out[np.repeat(np.arange(self.n), np.diff(self.starts)), self.codes[:, 0]] = self.values
        return out

    def vector(self, rows: Array, steps: Array, width: int, dtype: type = np.float64) -> Array:
        """Return ``sum_j steps_j x_{rows_j}`` over so many columns."""
        w: Array = np.zeros(width, dtype)
        _scatter(*self.arrays(), rows, steps, w)
        return w

    def outputs(self, w: Array, span: slice, out: Array) -> None:
        """Add the outputs of a span of rows to `out`."""
        _outputs(*self.arrays(), w, span.start, span.stop, out)

    def some_outputs(self, w: Array, rows: Array, out: Array) -> None:
        """Add the outputs of some rows to `out`."""
        _some_outputs(*self.arrays(), w, rows, out)

    def correlate(self, coef: Array, span: slice, out: Array) -> None:
        """Add a span of rows, times coefficients (n,), to `out`, (width,)."""
        _correlate(*self.arrays(), coef, span.start, span.stop, out)

    def each(self, offsets: Array, w: Array, span: slice, out: Array) -> None:
        """Add the outputs of a span of rows in every block to `out`, (blocks, rows)."""
        _each(*self.arrays(), offsets, w, span.start, span.stop, out)

    def squares(self, offsets: Array, span: slice, out: Array) -> None:
        """Write the squared lengths of a span of rows in every block, (blocks, rows)."""
        _squares(*self.arrays(), offsets, span.start, span.stop, out)

    def extent(self, offsets: Array, span: slice, out: Array) -> None:
        """Write the sum and the largest of the squared lengths of a span of rows in every block, (blocks, 2)."""
        owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        _extent(*self.arrays(), owner, span.start, span.stop, out)


def coded(table: Array) -> CSR:
    """Return a dense table as rows of codes, its column numbers.

    Examples
    --------
    >>> coded(np.array([[1.0, 2.0]])).codes
    array([[0],
           [1]])
    """
    n, width = table.shape
    return CSR(np.tile(np.arange(width), n)[:, None], table.ravel(), width * np.arange(n + 1))


def stacked(blocks: Sequence[CSR]) -> CSR:
    """Return the rows of several blocks behind one another."""
    ends = np.cumsum([0, *(block.entries for block in blocks)])
    starts = np.concatenate([[0], *(block.starts[1:] + end for block, end in zip(blocks, ends))])
    columns, values = (np.concatenate(parts) for parts in zip(*((block.columns, block.values) for block in blocks)))
    return CSR(columns, values, starts)


def interleaved(one: CSR, other: CSR) -> CSR:
    """Return rows that have the entries of both, whose numbered columns rise in each row and are not the same."""
    starts = one.starts.astype(np.int64) + other.starts
    columns, values = np.empty(starts[-1], np.int64), np.empty(starts[-1])
    _interleave(*one.arrays(), *other.arrays(), starts, columns, values)
    return CSR(columns, values, starts)


@jit
def _interleave(  # type: ignore[no-untyped-def]
    starts, columns, values, their_starts, their_columns, their_values, new_starts, new_columns, new_values
):
    for i in range(len(new_starts) - 1):
        a, b, at = starts[i], their_starts[i], new_starts[i]
        while at < new_starts[i + 1]:
            if b == their_starts[i + 1] or (a < starts[i + 1] and columns[a] < their_columns[b]):
                new_columns[at], new_values[at] = columns[a], values[a]
                a += 1
            else:
                new_columns[at], new_values[at] = their_columns[b], their_values[b]
                b += 1
            at += 1


@jit
def _take(starts, columns, values, rows, new_starts, new_columns, new_values):  # type: ignore[no-untyped-def]
    for j in range(len(rows)):
        first, size = starts[rows[j]], new_starts[j + 1] - new_starts[j]
        copy_items(columns, first, new_columns, new_starts[j], size)
        copy_items(values, first, new_values, new_starts[j], size)


@jit
def _count_only(starts, columns, values, number, counts):  # type: ignore[no-untyped-def]
    for i in range(len(starts) - 1):
        for t in range(starts[i], starts[i + 1]):
            counts[i + 1] += number[columns[t]] >= 0


@jit
def _only(starts, columns, values, number, new_columns, new_values):  # type: ignore[no-untyped-def]
    at = 0
    for t in range(starts[len(starts) - 1]):
        if number[columns[t]] >= 0:
            new_columns[at], new_values[at] = number[columns[t]], values[t]
            at += 1


@jit
def _gram(starts, columns, values, weights, number, out):  # type: ignore[no-untyped-def]
    for i in range(len(starts) - 1):
        first, last = starts[i], starts[i + 1]
        for t in range(first, last):
            if number[columns[t]] >= 0:
                row_add(columns[first:last], values[first:last], weights[i] * values[t], out[number[columns[t]]])


@jit
def _squares_of_rows(starts, values, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        total = 0.0
        for t in range(starts[i], starts[i + 1]):
            total += np.float64(values[t]) * np.float64(values[t])
        out[i] = total


@jit
def _scatter(starts, columns, values, rows, steps, w):  # type: ignore[no-untyped-def]
    for j in range(len(rows)):
        first, last = starts[rows[j]], starts[rows[j] + 1]
        row_add(columns[first:last], values[first:last], steps[j], w)


@jit
def _outputs(starts, columns, values, w, start, stop, out):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        first, last = starts[i], starts[i + 1]
        out[i - start] += row_dot(columns[first:last], values[first:last], w, 0.0)


@jit
def _some_outputs(starts, columns, values, w, rows, out):  # type: ignore[no-untyped-def]
    for j in range(len(rows)):
        first, last = starts[rows[j]], starts[rows[j] + 1]
        out[j] += row_dot(columns[first:last], values[first:last], w, 0.0)


@jit
def _correlate(starts, columns, values, coef, start, stop, out):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        if coef[i] != 0.0:
            first, last = starts[i], starts[i + 1]
            row_add(columns[first:last], values[first:last], coef[i], out)


@jit
def _each(starts, columns, values, offsets, w, start, stop, out):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        at = starts[i]
        for k in range(len(offsets) - 1):
            first = at
            while at < starts[i + 1] and columns[at] < offsets[k + 1]:
                at += 1
            out[k, i - start] += row_dot(columns[first:at], values[first:at], w, 0.0)


@jit
def _squares(starts, columns, values, offsets, start, stop, out):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        at = starts[i]
        for k in range(len(offsets) - 1):
            total = 0.0
            while at < starts[i + 1] and columns[at] < offsets[k + 1]:
                total += np.float64(values[at]) * np.float64(values[at])
                at += 1
            out[k, i - start] = total


@jit
def _extent(starts, columns, values, owner, start, stop, out):  # type: ignore[no-untyped-def]
    for i in range(start, stop):
        at = starts[i]
        while at < starts[i + 1]:
            k, total = owner[columns[at]], 0.0
            while at < starts[i + 1] and owner[columns[at]] == k:
                total += np.float64(values[at]) * np.float64(values[at])
                at += 1
            out[k, 0] += total
            if not total <= out[k, 1]:
                out[k, 1] = total
