"""Columns of kernels for column generation: by few features, by sparse features, kept once made, or made each time.

All kernels of a pool share its memory: a task of columns knows what the kernels before it hold already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.kernels.abilities import Features, Positional, has_codes
from kernelweave.kernels.base import Array, width
from kernelweave.operators.columns.sources import ComputedColumns, Embedded, FeatureColumns, Source, Stored
from kernelweave.operators.expansion.cross import NEW_ROWS
from kernelweave.operators.memory import show_bytes
from kernelweave.operators.planner.candidate import Candidate, CannotHold
from kernelweave.operators.planner.features import SparseFeatures
from kernelweave.operators.planner.kmers import PositionalIndex
from kernelweave.operators.planner.plan import Plan
from kernelweave.operators.planner.task import Task
from kernelweave.operators.planner.values import READ_COST

STORE_SHARE, STORE_UP_TO = 0.25, 1e9
"""Made columns are kept while all of a kernel's would take no more than this share of the memory, and so many bytes."""
NARROW, STORE_NARROW = 128, 1e8
"""Values of kernels on rows of so few numbers are made as fast as fresh memory takes them: so many bytes are kept."""
EMBED_SHARE = 0.25
"""Share of the memory that explicit features of all kernels together may take."""


@dataclass
class ColumnTask(Task):
    """Columns of some kernels of a pool.

    Parameters
    ----------
    members : numbers of the kernels in the pool; several have a common base
    group : number of their base in the family of all kernels
    rows : the training rows as that base prepares them, or None where they are not needed
    made : (kernels of the pool,) counts the columns that were made
    held : bytes that other kernels of the pool take
    pool_family : all kernels of the pool
    """

    members: list[int] | None = None
    group: int = 0
    rows: Any = None
    made: Array | None = None
    held: float = 0.0
    pool_family: Any = None

    def is_little(self, size: float) -> bool:
        """Count every byte: the kernels of a pool are many."""
        return False

    @property
    def numbers(self) -> list[int]:
        """The numbers of the kernels in the pool."""
        assert self.members is not None
        return self.members

    @property
    def counter(self) -> Array:
        """The counts of columns that were made."""
        assert self.made is not None
        return self.made

    @property
    def left(self) -> float:
        """Bytes that other kernels leave."""
        return self.budget - self.held


class FewFeatures(Candidate):
    """Few explicit features: scores are two products with their table."""

    kind = "dense_features"
    needs = ("scores",)

    def fits(self, task: Task) -> str | None:
        """For kernels with a table of features."""
        if not isinstance(task.kernel, Features) or task.kernel.kind != "columns":
            return f"{task.kernel!r} has no table of features"
        try:
            self._sample(task)
        except ValueError as error:  # too many features
            return str(error)
        return None

    def what(self, task: Task) -> str:
        """Return the features."""
        return f"{self._sample(task).shape[1]} explicit features of {task.n} rows"

    def why(self, task: Task) -> str:
        """Return the features of the kernel."""
        return f"{task.kernel!r}: {self._sample(task).shape[1]} explicit features, {show_bytes(self.bytes(task))}"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the table, judged by its first rows."""
        return task.n * _table_bytes(self._sample(task)) / max(1, min(task.n, NEW_ROWS))

    def allowed(self, task: Task) -> float:
        """Return this form's share of the memory."""
        return EMBED_SHARE * task.budget - _of_pool(task).held

    def cost(self, task: Task) -> float:
        """Reading the table twice."""
        return 2 * READ_COST * self.bytes(task)

    def build(self, task: Task) -> Source:
        """Make the table."""
        kernel = task.kernel
        assert isinstance(kernel, Features)
        try:
            return Embedded(kernel.features(task.X), task.engine, _of_pool(task).counter)
        except ValueError as error:
            raise CannotHold(str(error)) from error

    def _sample(self, task: Task) -> Any:
        known = task.__dict__.get("_table")
        if known is None:
            assert isinstance(task.kernel, Features)
            known = task.__dict__["_table"] = task.kernel.features(task.X[:NEW_ROWS])
        return known


class SparseScores(Candidate):
    """Many sparse features, or k-mers with a place: scores go through the normal vector."""

    kind = "sparse_features"
    needs = ("scores",)

    def fits(self, task: Task) -> str | None:
        """As for one kernel."""
        if not has_codes(task.kernel) and not isinstance(task.kernel, Positional):
            return f"{task.kernel!r} has no sparse features"
        return self._form(task).fits(task)

    def what(self, task: Task) -> str:
        """As for one kernel."""
        return self._form(task).what(task)

    def why(self, task: Task) -> str:
        """Return the way of the scores."""
        return f"{task.kernel!r}: scores go through its sparse features, {show_bytes(self.bytes(task))}"

    def bytes(self, task: Task) -> float:
        """As for one kernel."""
        return self._form(task).bytes(task)

    def allowed(self, task: Task) -> float:
        """Return what other kernels leave."""
        return _of_pool(task).left

    def cost(self, task: Task) -> float:
        """As for one kernel."""
        return self._form(task).cost(task)

    def build(self, task: Task) -> Source:
        """Bind the kernel."""
        return FeatureColumns(self._form(task).build(task), _of_pool(task).counter)

    def _form(self, task: Task) -> Candidate:
        if isinstance(task.kernel, Positional) and PositionalIndex().fits(task) is None:
            return PositionalIndex()
        return SparseFeatures()


class StoredColumns(Candidate):
    """Columns that are kept from the first time they are made."""

    kind = "stored_columns"
    needs = ("columns",)

    def fits(self, task: Task) -> str | None:
        """While keeping is quicker than making."""
        narrow = 0 < width(_of_pool(task).rows) <= NARROW
        if self.bytes(task) <= (STORE_NARROW if narrow else STORE_UP_TO):
            return None
        return f"{show_bytes(self.bytes(task))} of columns are made as fast as they are written"

    def what(self, task: Task) -> str:
        """Return the matrices."""
        return f"{task.m} matrices of {task.n} columns"

    def why(self, task: Task) -> str:
        """Return the most bytes they will take."""
        return f"columns are kept once made, up to {show_bytes(self.bytes(task))}"

    def bytes(self, task: Task) -> float:
        """Return the bytes of all columns."""
        return 8.0 * task.n**2 * task.m

    def allowed(self, task: Task) -> float:
        """Return this form's share of the memory."""
        return STORE_SHARE * task.budget - _of_pool(task).held

    def cost(self, task: Task) -> float:
        """Reading the columns."""
        return READ_COST * self.bytes(task)

    def build(self, task: Task) -> Source:
        """Reserve the columns."""
        return Stored(RecomputedColumns().build(task), _of_pool(task).numbers)


class RecomputedColumns(Candidate):
    """Columns that are made when they are scored; nothing is kept."""

    kind = "recomputed_columns"
    needs = ("columns",)

    def what(self, task: Task) -> str:
        """Return that there is nothing to keep."""
        return "tiles of kernel values"

    def why(self, task: Task) -> str:
        """Return when they are made."""
        return "columns are made when scored"

    def bytes(self, task: Task) -> float:
        """Nothing is kept."""
        return 0.0

    def cost(self, task: Task) -> float:
        """Making every value."""
        return task.n**2 * task.value_cost * task.m

    def build(self, task: Task) -> ComputedColumns:
        """Return the source."""
        pool = _of_pool(task)
        return ComputedColumns(pool.pool_family, pool.group, pool.rows, task.n, task.engine, pool.counter)


WAYS = {
    "dense_features": "by few features",
    "sparse_features": "through sparse features",
    "stored_columns": "by columns that are stored once computed",
    "recomputed_columns": "by columns that are computed when scored",
}
"""How the columns of a kernel come about, in words."""


def mixture_plan(parts: Sequence[Plan], size: int) -> Plan:
    """Return the plan of a pool from those of its kernels."""
    counts = Counter(part.kind for part in parts)
    ways = ", ".join(f"{counts[kind]} {way}" for kind, way in WAYS.items() if counts[kind])
    return Plan("columns", size, f"{len(parts)} kernels, {ways}", parts=tuple(parts))


def _of_pool(task: Task) -> ColumnTask:
    assert isinstance(task, ColumnTask)
    return task


def _table_bytes(table: Any) -> int:
    return int(table.nbytes if isinstance(table, np.ndarray) else table.data.nbytes + table.indices.nbytes)
