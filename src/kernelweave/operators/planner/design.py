"""The features of many kernels side by side: in memory, or made afresh part by part.

What the features of all rows are like is judged by some of them; coded features are then numbered in one pass over all
rows, which tells it exactly, and keeps what it made while there is memory for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kernelweave.data.blocks import spans
from kernelweave.kernels.abilities import Features, which_have
from kernelweave.operators.features.design.columns import TableColumns
from kernelweave.operators.features.design.make import Stream, Survey, form_after, joined
from kernelweave.operators.features.design.maps import ColumnMap, DenseMap
from kernelweave.operators.features.design.matrix import Design
from kernelweave.operators.features.design.rows import Rows
from kernelweave.operators.features.design.set import DesignSet
from kernelweave.operators.features.design.size import Form, is_single, measured
from kernelweave.operators.memory import show_bytes
from kernelweave.operators.planner.candidate import Candidate, CannotHold
from kernelweave.operators.planner.task import Task

CHUNK_ENTRIES, LONGEST_CHUNK, FEWEST_ROWS = 1 << 20, 8192, 16
"""Values that are made together by one worker, the most rows of such a chunk, and the fewest rows of a part."""
MAKING_BYTES = 40
"""Working space while one value is made: it, its code and its column, twice."""
VECTOR_BYTES = 64
"""Vectors over all columns: the weights of a solver and the sums of a product."""
WALK_COST, MAKE_COST = 1.0, 20.0
"""Nanoseconds to read a feature of a row, and to make it."""


class Layout(NamedTuple):
    """Rows that are made together, and rows of a part."""

    chunk: int
    rows: int


class Facts:
    """What the features of a task are like, and what one pass over the rows has made of them.

    Attributes
    ----------
    forms : of the features of each kernel, or of all where they are columns of one table
    single : whether single precision will do
    maps : from rows to columns, one for each kernel
    pieces : features that the pass kept, or None
    """

    def __init__(self, task: Task):
        self.n, self.workers = task.n, task.engine.workers
        self.pieces: list[Any] | None = None
        self.maps: Sequence[ColumnMap]
        self.table = task.table
        if task.table is None and task.maps is None:
            self.table = TableColumns.of(task.kernels, task.X)
        if self.table is not None:
            self._take_columns(task, self.table)
            return
        self.former: list[ColumnMap | None] = [None] * task.m if task.maps is None else list(task.maps)
        forms = (measured(kernel, task.sample, task.n, task.tol) for kernel in task.kernels)
        self.forms: list[Form] = [form_after(one, form) for one, form in zip(self.former, forms)]
        self.single = all(form.single for form in self.forms)
        each, sample = zip(self.former, task.kernels, self.forms), task.X[:1]
        self.maps = [one or DenseMap(kernel, int(form.width), sample) for one, kernel, form in each]
        inside = self.whole_bytes(self.dtype) <= task.budget
        if (self.coded or not inside) and (inside or self.part_bytes(self.least) <= task.budget):
            self._survey(task, inside)

    def _take_columns(self, task: Task, table: TableColumns) -> None:
        """Know the features of all kernels at once: they are columns of the table."""
        thin = sparse.issparse(task.X)
        self.table = table = table.present(task.X) if thin else table
        self.single = not task.fine and is_single(task.sample.data if thin else task.sample, task.tol)
        entries = table.entries(task.X) / max(1, task.n)
        self.forms = [Form(entries, len(table.columns), int(thin), self.single)]
        self.maps = table.maps(task.kernels, task.X)

    def _survey(self, task: Task, keep: bool) -> None:
        """Go over all rows: number codes, see the values, keep what fits."""
        survey = Survey(task.kernels, self.former, self.forms, task.X, task.tol, task.budget, keep)
        survey.run(self.chunk if keep else self.layout(task.budget).chunk, task.engine)
        self.maps, self.single, self.pieces = survey.maps(), self.single and survey.single, survey.pieces
        self.forms = survey.forms()

    @property
    def dtype(self) -> Any:
        """The precision that will do."""
        return np.dtype(np.float32 if self.single else np.float64)

    @property
    def coded(self) -> bool:
        """Whether some features have codes."""
        return any(form.words for form in self.forms)

    @property
    def unseen(self) -> bool:
        """Whether values were judged by a sample alone."""
        return self.table is not None or not self.coded

    @property
    def entries(self) -> float:
        """Features of a row."""
        return float(sum(form.entries for form in self.forms))

    @property
    def width(self) -> float:
        """Features of all rows."""
        return float(sum(form.width for form in self.forms))

    @property
    def chunk(self) -> int:
        """Rows that one worker makes at a time."""
        return min(_power_of_two(CHUNK_ENTRIES / max(1.0, self.entries)), LONGEST_CHUNK)

    @property
    def fixed(self) -> float:
        """Bytes whatever the number of rows in memory."""
        return VECTOR_BYTES * self.width + sum(form.code_bytes for form in self.forms if form.words)

    @property
    def least(self) -> int:
        """The fewest rows of a part."""
        return min(self.n, FEWEST_ROWS)

    def row_bytes(self, dtype: Any) -> float:
        """Return the bytes of a row."""
        return self.entries * (4 + dtype.itemsize) + 8 if self.coded else self.entries * dtype.itemsize

    def whole_bytes(self, dtype: Any) -> float:
        """Return the bytes of all rows, and of what their making needs."""
        making = MAKING_BYTES * self.entries * min(self.n, self.chunk * self.workers)
        return self.n * self.row_bytes(dtype) + self.fixed + making

    def part_bytes(self, rows: int) -> float:
        """Return the bytes of a part of so many rows that is made afresh."""
        return self.fixed + rows * self._one

    def layout(self, budget: float) -> Layout:
        """Return how rows are made afresh within a budget, but for no fewer than make sense."""
        rows = int((budget - self.fixed) // self._one)
        if rows < self.least:
            return Layout(1, self.least)
        chunk = min(self.chunk, _power_of_two(rows))
        return Layout(chunk, min(self.n, rows // chunk * chunk))

    @property
    def _one(self) -> float:
        return 2 * self.row_bytes(self.dtype) + MAKING_BYTES * self.entries

    def shown(self, dtype: Any) -> str:
        """Return the features in words."""
        return f"{self.width:.4g} features of {self.n} rows"

    def built(self, task: Task, dtype: Any, layout: Layout, whole: bool) -> DesignSet:
        """Return the design: in memory, from pieces where they were kept, or as a stream of parts."""
        stream = Stream(self.maps, task.X, dtype.type, layout.chunk, task.engine, self.table)
        source: Rows | Stream = stream
        if whole:
            pieces, self.pieces = self.pieces, None
            every = slice(0, self.n)
            source = stream.part(every) if pieces is None else joined(pieces, stream.offsets, dtype.type)
        made = Design(self.maps, source, spans(self.n, layout.rows), task.engine, self.table)
        made.room = max(
            0.0, task.budget - (self.whole_bytes(np.dtype(dtype)) if whole else self.part_bytes(layout.rows))
        )
        return DesignSet(made)


def facts(task: Task) -> Facts:
    """Return the facts of a task, found once."""
    known = task.__dict__.get("_facts")
    if known is None:
        known = task.__dict__["_facts"] = Facts(task)
    return known


class DesignInMemory(Candidate):
    """The features of all rows in memory."""

    kind = "design"
    needs = ("design",)

    def __init__(self, dtype: str):
        self.dtype = np.dtype(dtype)

    def fits(self, task: Task) -> str | None:
        """For kernels that all have features; in double precision where single will not do."""
        bare = without_features(task)
        if bare is not None:
            return bare
        if self.dtype == np.float32 and not facts(task).single:
            return "values need double precision"
        return "single precision is enough" if self.dtype == np.float64 and facts(task).single else None

    def what(self, task: Task) -> str:
        """Return the number of features."""
        return facts(task).shown(self.dtype)

    def why(self, task: Task) -> str:
        """Return the bytes of the features alone."""
        known = facts(task)
        return f"{self.what(task)} take {show_bytes(known.n * known.row_bytes(self.dtype))} in {self.dtype.name}"

    def bytes(self, task: Task) -> float:
        """Return the bytes of all features, and of what their making needs."""
        return facts(task).whole_bytes(self.dtype)

    def cost(self, task: Task) -> float:
        """Reading every feature of every row."""
        return WALK_COST * task.n * facts(task).entries

    def build(self, task: Task) -> DesignSet:
        """Make the features of all rows."""
        known = facts(task)
        made = known.built(task, self.dtype, Layout(known.chunk, max(1, known.n)), whole=True)
        if self.dtype == np.float32 and known.unseen and not is_single(made.design.part(0).values, tol=1.0):
            known.single = False  # no row of the sample was so large
            raise CannotHold("a value is too large for single precision")
        return made


class StreamedDesign(Candidate):
    """The features of some rows at a time, made afresh in every pass."""

    kind = "streamed"
    needs = ("design",)
    remedy = "take kernels with fewer features"

    def fits(self, task: Task) -> str | None:
        """For kernels that all have features."""
        return without_features(task)

    def what(self, task: Task) -> str:
        """Return how many rows at a time."""
        known = facts(task)
        return f"{known.shown(known.dtype)}, {self._layout(task).rows} of them at a time,"

    def why(self, task: Task) -> str:
        """Compare with all features."""
        known = facts(task)
        every, allowed = show_bytes(known.n * known.row_bytes(known.dtype)), show_bytes(task.budget)
        return (
            f"{known.shown(known.dtype)} take {every} in {known.dtype.name}, with what their making needs more than "
            f"the {allowed} allowed, so {self._layout(task).rows} rows at a time are made afresh"
        )

    def bytes(self, task: Task) -> float:
        """Return the bytes of a part."""
        return facts(task).part_bytes(self._layout(task).rows)

    def cost(self, task: Task) -> float:
        """Making every feature of every row."""
        return MAKE_COST * task.n * facts(task).entries

    def build(self, task: Task) -> DesignSet:
        """Return the design; its parts are made when they are read."""
        return facts(task).built(task, facts(task).dtype, self._layout(task), whole=False)

    def _layout(self, task: Task) -> Layout:
        return facts(task).layout(task.budget)


def without_features(task: Task) -> str | None:
    """Return which kernel has no features, None where all have some."""
    if task.table is not None:
        return None
    able = which_have(Features, task.kernels)
    bare = None if all(able) else task.kernels[able.index(False)]
    if bare is None:
        return None
    return f"{bare!r} has no explicit features; wrap it in IncompleteCholesky, Nystrom or Fourier."


def _power_of_two(size: float) -> int:
    """Return the largest power of two up to a size, at least 1."""
    return 1 << max(0, int(size).bit_length() - 1)
