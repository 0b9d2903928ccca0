"""Make the rows of a design: chunk by chunk, on all workers, numbering coded features on the way.

Chunks are cut by size.  The first pass over the rows numbers the codes in the order of the rows and keeps what it made
while there is room; a design that does not fit is made afresh whenever it is read, from the rows of X.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.expansion.cross import spans
from kernelweave.operators.features.design.maps import (
    CodedMap,
    ColumnMap,
    Columns,
    DenseMap,
    features_of,
    number_codes,
    ordered,
)
from kernelweave.operators.features.design.rows import DenseRows, Rows, SparseRows
from kernelweave.operators.features.vocabulary import FeatureRows, Vocabulary
from kernelweave.operators.memory import show_bytes
from kernelweave.operators.planner.design import MOST_COLUMNS, Form, is_single

AHEAD = 2
"""Chunks for each worker whose features wait to be numbered."""


def offsets_of(maps: Sequence[ColumnMap]) -> Array:
    """Return the first column of each kernel, and the number of all, (m + 1,)."""
    return np.concatenate([[0], np.cumsum([one.width for one in maps])]).astype(np.int64)


class Stream:
    """Makes rows of a design when asked.

    Parameters
    ----------
    maps : one for each kernel
    X : all rows, in memory or mapped from disk
    dtype : of the values
    chunk : rows that one worker makes at a time
    """

    def __init__(self, maps: Sequence[ColumnMap], X: Any, dtype: type, chunk: int, engine: Engine):
        self.maps, self.X, self.dtype, self.chunk, self.engine = maps, X, dtype, chunk, engine
        self.offsets = offsets_of(maps)

    def part(self, span: slice) -> Rows:
        """Return the rows of a span."""
        cuts = [slice(span.start + cut.start, span.start + cut.stop) for cut in self._cuts(span.stop - span.start)]
        return self._made(self.X, cuts)

    def taken(self, rows: Array) -> Rows:
        """Return some rows, in the order asked for."""
        return self._made(self.X, [rows[cut] for cut in self._cuts(len(rows))])

    def _cuts(self, n: int) -> list[slice]:
        return spans(n, self.chunk)

    def _made(self, X: Any, cuts: Sequence[Any]) -> Rows:
        if number_codes(self.maps):
            maps = self.maps
            pieces = self.engine.map(lambda cut: [one.columns(X[cut]) for one in maps], cuts)
            return joined(pieces, self.offsets, self.dtype)
        sizes = [cut.stop - cut.start if isinstance(cut, slice) else len(cut) for cut in cuts]
        values: Array = np.empty((sum(sizes), self.offsets[-1]), self.dtype)
        targets = [values[end - size : end] for size, end in zip(sizes, np.cumsum(sizes))]
        self.engine.map_into(targets, partial(_fill, self.maps, self.offsets, X), cuts)
        return DenseRows(values)


def _fill(maps: Sequence[ColumnMap], offsets: Array, X: Any, cut: Any, target: Array) -> None:
    """Write the features of some rows under every kernel side by side."""
    some = X[cut]
    for one, first, last in zip(maps, offsets[:-1], offsets[1:]):
        target[:, first:last] = one.columns(some)


def _read(kernels: Sequence[Kernel], X: Any, tol: float, cut: slice) -> list[Any]:
    """Return the features of some rows under every kernel, in single precision where that will do."""
    some, made = X[cut], []
    for kernel in kernels:
        found = features_of(kernel, some)
        values = found.values if isinstance(found, FeatureRows) else found
        kept = values.astype(np.float32) if is_single(values, tol) else values
        made.append(found._replace(values=kept) if isinstance(found, FeatureRows) else kept)
    return made


class Survey:
    """One pass over all rows: it numbers the codes, sees whether single precision will do, and keeps what fits.

    Parameters
    ----------
    forms : of the features of each kernel
    budget : bytes for what is kept and for the numbers of the codes
    keep : whether to keep the features
    """

    def __init__(
        self, kernels: Sequence[Kernel], forms: Sequence[Form], X: Any, tol: float, budget: float, keep: bool
    ):  # fmt: skip
        self.kernels, self.X, self.tol, self.budget = kernels, X, tol, budget
        self.known = [Vocabulary(form.words) if form.words else None for form in forms]
        self.counts = [np.zeros(0, np.int32) for _ in kernels]
        self.given = list(forms)
        self.entries, self.single, self.size = np.zeros(len(kernels)), True, 0
        self.pieces: list[list[Any]] | None = [] if keep else None

    def run(self, chunk: int, engine: Engine) -> None:
        """Go over all rows."""
        cuts = spans(self.X.shape[0], chunk)
        for batch in spans(len(cuts), AHEAD * engine.workers):
            for piece in engine.map(partial(_read, self.kernels, self.X, self.tol), cuts[batch]):
                self._number(piece)

    def _number(self, piece: list[Any]) -> None:
        """Number the codes of a piece, and keep it while there is room."""
        for k, found in enumerate(piece):
            values, known = found.values if isinstance(found, FeatureRows) else found, self.known[k]
            self.single = self.single and values.dtype == np.float32
            self.entries[k] += values.size
            if known is None:
                self.size += values.nbytes + values.size * np.dtype(np.uint32).itemsize
                continue
            number = known.number(found.codes)
            if known.size > len(self.counts[k]):
                self.counts[k] = np.concatenate([self.counts[k], np.zeros(known.size, np.int32)])
            _count(number, self.counts[k])
            piece[k] = Columns(number, found.values, found.bounds)
            self.size += sum(array.nbytes for array in piece[k])
        tables = [known for known in self.known if known is not None]
        codes = sum(known.nbytes for known in tables)
        if codes > self.budget:
            raise MemoryError(
                f"Numbering {sum(known.size for known in tables)} distinct features takes {show_bytes(codes)}, more "
                f"than the memory_limit of {show_bytes(self.budget)}; raise the limit or take shorter features."
            )
        if self.size + codes > self.budget:
            self.pieces = None
        if self.pieces is not None:
            self.pieces.append(piece)

    def forms(self) -> list[Form]:
        """Return the forms as they turned out."""
        each = zip(self.given, self.entries / max(1, self.X.shape[0]), self.widths)
        return [form._replace(entries=entries, width=width) for form, entries, width in each]

    def maps(self) -> list[ColumnMap]:
        """Return the map of each kernel; what was kept gets the same columns."""
        sample, maps = self.X[:1], list[ColumnMap]()
        for k, (kernel, known) in enumerate(zip(self.kernels, self.known)):
            if known is None:
                maps.append(DenseMap(kernel, int(self.given[k].width), sample))
                continue
            order = ordered(known, self.counts[k][: known.size])
            maps.append(CodedMap(kernel, known.codes()[order], sample))
            column = np.empty(known.size, np.int32)
            column[order] = np.arange(known.size, dtype=np.int32)
            for piece in self.pieces or ():
                piece[k].columns[:] = column[piece[k].columns]
            self.known[k] = None
        self.widths = [one.width for one in maps]
        if sum(self.widths) > MOST_COLUMNS:
            raise ValueError(f"{sum(self.widths)} features are more than columns of 32 bits can number.")
        return maps


def joined(pieces: list[Any], offsets: Array, dtype: type) -> SparseRows:
    """Return pieces behind one another, the features of all kernels in each row; the list is used up."""
    sizes = np.concatenate([np.sum([_sizes(one) for one in piece], axis=0) for piece in pieces])
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    columns, values, row = np.empty(starts[-1], np.uint32), np.empty(starts[-1], dtype), 0
    for i, piece in enumerate(pieces):
        n = len(_sizes(piece[0]))
        filled = starts[row : row + n].copy()
        for one, offset in zip(piece, offsets):
            if isinstance(one, Columns):
                _place(*one, offset, filled, columns, values)
            else:
                _place_table(one, offset, filled, columns, values)
        pieces[i], row = None, row + n  # arrays that are not yet written to take no memory, so this halves the need
    return SparseRows(starts, columns, values)


def _sizes(piece: Any) -> Array:
    return np.diff(piece.bounds) if isinstance(piece, Columns) else np.full(len(piece), piece.shape[1])


@jit
def _count(number, counts):  # type: ignore[no-untyped-def]
    for one in number:
        counts[one] += 1


@jit
def _place(columns, values, bounds, offset, filled, new_columns, new_values):  # type: ignore[no-untyped-def]
    for i in range(len(filled)):
        at = filled[i]
        for t in range(bounds[i], bounds[i + 1]):
            new_columns[at] = columns[t] + offset
            new_values[at] = values[t]
            at += 1
        filled[i] = at


@jit
def _place_table(table, offset, filled, new_columns, new_values):  # type: ignore[no-untyped-def]
    for i in range(len(filled)):
        for j in range(table.shape[1]):
            new_columns[filled[i] + j] = offset + j
            new_values[filled[i] + j] = table[i, j]
        filled[i] += table.shape[1]
