"""Make the rows of a design: chunk by chunk, on all workers, numbering coded features on the way.

Chunks are cut by size.  The first pass over the rows numbers the codes in the order of the rows and keeps what it made
while there is room; a design that does not fit is made afresh whenever it is read, from the rows of X.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.csr import CSR, stacked
from kernelweave.data.blocks import spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.features.design.columns import TableColumns, offsets_of
from kernelweave.operators.features.design.maps import CodedMap, ColumnMap, DenseMap, number_codes, rows_of
from kernelweave.operators.features.design.rows import DenseRows, Rows
from kernelweave.operators.features.design.size import MOST_COLUMNS, Form, is_single
from kernelweave.operators.features.vocabulary import Vocabulary, commonest_first
from kernelweave.operators.memory import show_bytes

AHEAD = 2
"""Chunks for each worker whose features wait to be numbered."""


class Stream:
    """Makes rows of a design when asked.

    Parameters
    ----------
    maps : one for each kernel
    X : all rows, in memory or mapped from disk
    dtype : of the values
    chunk : rows that one worker makes at a time
    table : the columns of X that the features are, where they are all that
    """

    def __init__(
        self, maps: Sequence[ColumnMap], X: Any, dtype: type, chunk: int, engine: Engine,
        table: TableColumns | None = None,
    ):  # fmt: skip
        self.maps, self.X, self.dtype, self.chunk, self.engine, self.table = maps, X, dtype, chunk, engine, table
        self.offsets = offsets_of(maps)

    def part(self, span: slice) -> Rows:
        """Return the rows of a span; a table that holds the features already is not copied."""
        values = None if self.table is None else self.table.shared(self.X, self.dtype)
        if values is not None:
            return DenseRows(values[span])
        cuts = [slice(span.start + cut.start, span.start + cut.stop) for cut in self._cuts(span.stop - span.start)]
        return self._made(self.X, cuts)

    def taken(self, rows: Array) -> Rows:
        """Return some rows, in the order asked for."""
        return self._made(self.X, [rows[cut] for cut in self._cuts(len(rows))])

    def _cuts(self, n: int) -> list[slice]:
        return spans(n, self.chunk)

    def _made(self, X: Any, cuts: Sequence[Any]) -> Rows:
        table, dtype = self.table, self.dtype
        if table is not None and table.codes is not None:
            made = self.engine.map(lambda cut: table.rows(X[cut], dtype), cuts)
            return made[0] if len(made) == 1 else stacked(made)
        if number_codes(self.maps):
            maps = self.maps
            pieces = self.engine.map(lambda cut: [one.columns(X[cut]) for one in maps], cuts)
            return joined(pieces, self.offsets, self.dtype)
        sizes = [cut.stop - cut.start if isinstance(cut, slice) else len(cut) for cut in cuts]
        values: Array = np.empty((sum(sizes), self.offsets[-1]), self.dtype)
        targets = [values[end - size : end] for size, end in zip(sizes, np.cumsum(sizes))]
        fill = partial(_fill, self.maps, self.offsets) if table is None else table.fill
        self.engine.map_into(targets, partial(fill, X), cuts)
        return DenseRows(values)


def _fill(maps: Sequence[ColumnMap], offsets: Array, X: Any, cut: Any, target: Array) -> None:
    """Write the features of some rows under every kernel side by side."""
    some = X[cut]
    for one, first, last in zip(maps, offsets[:-1], offsets[1:]):
        target[:, first:last] = one.columns(some)


def _read(makers: Sequence[Callable[[Any], Array | CSR]], X: Any, tol: float, cut: slice) -> list[Array | CSR]:
    """Return the features of some rows under every kernel, in single precision where that will do."""
    some, made = X[cut], list[Array | CSR]()
    for make in makers:
        found = make(some)
        values = found.values if isinstance(found, CSR) else found
        made.append(found.astype(np.float32) if is_single(values, tol) else found)
    return made


class Survey:
    """One pass over all rows: it numbers the codes, sees whether single precision will do, and keeps what fits.

    Parameters
    ----------
    former : for each kernel the map of former rows, whose columns keep their numbers, or None
    forms : of the features of each kernel
    budget : bytes for what is kept and for the numbers of the codes
    keep : whether to keep the features
    """

    def __init__(
        self, kernels: Sequence[Kernel], former: Sequence[ColumnMap | None], forms: Sequence[Form], X: Any, tol: float,
        budget: float, keep: bool,
    ):  # fmt: skip
        self.kernels, self.former, self.X, self.tol, self.budget = kernels, former, X, tol, budget
        self.known = [_numbered(one, form) for one, form in zip(former, forms)]
        self.counts = [np.zeros(0, np.int32) for _ in kernels]
        self.given = list(forms)
        self.entries, self.single, self.size = np.zeros(len(kernels)), True, 0
        self.pieces: list[list[Any]] | None = [] if keep else None

    def run(self, chunk: int, engine: Engine) -> None:
        """Go over all rows."""
        cuts = spans(self.X.shape[0], chunk)
        read = partial(_read, [_maker(*pair) for pair in zip(self.kernels, self.former)], self.X, self.tol)
        for batch in spans(len(cuts), AHEAD * engine.workers):
            for piece in engine.map(read, cuts[batch]):
                self._number(piece)

    def _number(self, piece: list[Any]) -> None:
        """Number the codes of a piece, and keep it while there is room."""
        for k, found in enumerate(piece):
            values, known = found.values if isinstance(found, CSR) else found, self.known[k]
            self.single = self.single and values.dtype == np.float32
            self.entries[k] += values.size
            if known is None:
                self.size += values.nbytes + values.size * np.dtype(np.uint32).itemsize
                continue
            number = known.number(found.codes)
            if known.size > len(self.counts[k]):
                self.counts[k] = np.concatenate([self.counts[k], np.zeros(known.size, np.int32)])
            _count(number, self.counts[k])
            piece[k] = CSR(number, found.values, found.starts)
            self.size += piece[k].nbytes
        self._weigh()
        if self.pieces is not None:
            self.pieces.append(piece)

    def _weigh(self) -> None:
        """Let go of what was kept, or refuse, where the memory is used up."""
        tables = [known for known in self.known if known is not None]
        codes = sum(known.nbytes for known in tables)
        if codes > self.budget:
            raise MemoryError(
                f"Numbering {sum(known.size for known in tables)} distinct features takes {show_bytes(codes)}, more "
                f"than the memory_limit of {show_bytes(self.budget)}; raise the limit or take shorter features."
            )
        if self.size + codes > self.budget:
            self.pieces = None

    def forms(self) -> list[Form]:
        """Return the forms as they turned out."""
        each = zip(self.given, self.entries / max(1, self.X.shape[0]), self.widths)
        return [form._replace(entries=entries, width=width) for form, entries, width in each]

    def maps(self) -> list[ColumnMap]:
        """Return the map of each kernel; what was kept gets the same columns."""
        maps = [self._map(k) for k in range(len(self.kernels))]
        self.known = [None] * len(maps)
        self.widths = [one.width for one in maps]
        if sum(self.widths) > MOST_COLUMNS:
            raise ValueError(f"{sum(self.widths)} features are more than columns of 32 bits can number.")
        return maps

    def _map(self, k: int) -> ColumnMap:
        known, former, kernel, sample = self.known[k], self.former[k], self.kernels[k], self.X[:1]
        if known is None:
            return former or DenseMap(kernel, int(self.given[k].width), sample)
        if former is not None:  # numbers are columns, old and new
            return former if known.size == former.width else CodedMap.of(kernel, known, former.sample)
        codes = known.codes()
        order = commonest_first(codes, self.counts[k][: known.size])
        column = np.empty(known.size, np.int32)
        column[order] = np.arange(known.size, dtype=np.int32)
        for piece in self.pieces or ():
            piece[k].columns[:] = column[piece[k].columns]
        return CodedMap(kernel, codes[order], sample)


def form_after(former: ColumnMap | None, form: Form) -> Form:
    """Return what the features of rows are like in the form that former rows had."""
    if former is None:
        return form
    if not isinstance(former, CodedMap):
        return form._replace(entries=float(former.width), width=float(former.width), words=0)
    return form._replace(width=max(form.width, float(former.width)), words=int(former.codes.shape[1]))


def _maker(kernel: Kernel, former: ColumnMap | None) -> Callable[[Any], Array | CSR]:
    """Return what makes features in the form that former rows had: a dense table may follow a sparse one."""
    if isinstance(former, DenseMap):
        return former.columns
    return partial(rows_of, kernel) if former is None else cast(Features, kernel).counts


def _numbered(former: ColumnMap | None, form: Form) -> Vocabulary | None:
    """Return the numbers of codes that former rows had, in a copy that may grow; None for features without codes."""
    if isinstance(former, CodedMap):
        return former.vocabulary.copy()
    return Vocabulary(form.words) if form.words else None


def joined(pieces: list[Any], offsets: Array, dtype: type) -> CSR:
    """Return pieces behind one another, the features of all kernels in each row; the list is used up."""
    sizes = np.concatenate([np.sum([_sizes(one) for one in piece], axis=0) for piece in pieces])
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    columns, values, row = np.empty(starts[-1], np.uint32), np.empty(starts[-1], dtype), 0
    for i, piece in enumerate(pieces):
        n = len(_sizes(piece[0]))
        filled = starts[row : row + n].copy()
        for one, offset in zip(piece, offsets):
            if isinstance(one, CSR):
                _place(*one.arrays(), offset, filled, columns, values)
            else:
                _place_table(one, offset, filled, columns, values)
        pieces[i], row = None, row + n  # arrays that are not yet written to take no memory, so this halves the need
    return CSR(columns, values, starts)


def _sizes(piece: Any) -> Array:
    return np.diff(piece.starts) if isinstance(piece, CSR) else np.full(len(piece), piece.shape[1])


@jit
def _count(number, counts):  # type: ignore[no-untyped-def]
    for one in number:
        counts[one] += 1


@jit
def _place(starts, columns, values, offset, filled, new_columns, new_values):  # type: ignore[no-untyped-def]
    for i in range(len(filled)):
        at = filled[i]
        for t in range(starts[i], starts[i + 1]):
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
