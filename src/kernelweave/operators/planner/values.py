"""One kernel held by its values: the whole Gram matrix, or some of its columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.operators.gram.cached import CachedColumns
from kernelweave.operators.gram.dense import DenseGram
from kernelweave.operators.memory import show_bytes
from kernelweave.operators.planner.candidate import Candidate
from kernelweave.operators.planner.task import Task

DOUBLE_UP_TO = 256e6
"""Gram matrices are kept in double precision up to this size; beyond it, single precision halves the traffic."""
FEWEST_COLUMNS = 64
"""A cache of fewer columns than this would compute the same ones over and over."""
READ_COST = 0.2
"""Nanoseconds to read a byte of a matrix that no cache holds."""
SINGLE = np.dtype(np.float32).itemsize


class DenseValues(Candidate):
    """The Gram matrix in memory."""

    kind = "dense"
    needs = ("any", "products", "whole", "values")

    def __init__(self, dtype: str):
        self.dtype = np.dtype(dtype)

    def fits(self, task: Task) -> str | None:
        """Not where another store was asked for; in double precision only where it gains something."""
        if task.store is not None:
            return f"store={task.store!r} was asked for"
        return large_double(self.dtype, self.bytes(task), task)

    def what(self, task: Task) -> str:
        """Return the size of the matrix."""
        return f"the {task.n} x {task.n} Gram matrix in {self.dtype.name}{with_rows(task)}"

    def why(self, task: Task) -> str:
        """Return the bytes of the matrix."""
        return f"{self.what(task)} {'take' if task.prepared_bytes else 'takes'} {show_bytes(self.bytes(task))}"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the matrix."""
        return task.n * task.n * self.dtype.itemsize + task.prepared_bytes

    def cost(self, task: Task) -> float:
        """Reading the matrix."""
        return READ_COST * task.n**2 * self.dtype.itemsize

    def build(self, task: Task) -> DenseGram:
        """Compute the matrix."""
        return DenseGram(task.kernel, task.prepared, task.engine, self.dtype.type)


class CachedValues(Candidate):
    """As many columns of the Gram matrix as the memory holds, the most recently used ones."""

    kind = "cached"
    needs = ("any", "products", "whole", "values")

    def fits(self, task: Task) -> str | None:
        """Not where another store was asked for."""
        return None if task.store is None else f"store={task.store!r} was asked for"

    def what(self, task: Task) -> str:
        """Return the number of columns."""
        return f"{cached_columns(task)} kernel columns of {task.n} rows{with_rows(task)}"

    def why(self, task: Task) -> str:
        """Compare with the whole matrix."""
        whole, allowed = show_bytes(SINGLE * task.n**2 + task.prepared_bytes), show_bytes(task.budget)
        return (
            f"the Gram matrix{with_rows(task)} would take {whole} of the {allowed} allowed, so "
            f"{cached_columns(task)} of {task.n} columns are cached"
        )

    def bytes(self, task: Task) -> float:
        """Return the bytes of the columns."""
        return cached_columns(task) * SINGLE * task.n + task.prepared_bytes

    def cost(self, task: Task) -> float:
        """Making the values that are not in the cache."""
        share = 1 - cached_columns(task) / task.n
        return task.n**2 * (READ_COST * SINGLE + share * task.value_cost)

    def build(self, task: Task) -> Any:
        """Reserve the cache."""
        return CachedColumns(task.kernel, task.prepared, task.engine, cached_columns(task), np.float32)


def cached_columns(task: Task, size: int = SINGLE) -> int:
    """Return how many columns of values of this size memory holds, no fewer than make sense and no more than all."""
    return min(task.n, max(FEWEST_COLUMNS, int((task.budget - task.prepared_bytes) // (size * task.n))))


def precision(task: Task) -> np.dtype:
    """Return the type of values that are derived when they are needed: single unless the tolerance is fine."""
    return np.dtype(np.float64 if task.fine else np.float32)


def large_double(dtype: Any, size: float, task: Task) -> str | None:
    """Return why double precision is not wanted at such a size, None where it is or where it is not double."""
    if dtype == np.float64 and not task.fine and size > DOUBLE_UP_TO:
        return f"{show_bytes(size)} in double precision are read more slowly than half of them in single"
    return None


def with_rows(task: Task) -> str:
    """Return a remark on prepared rows where they count."""
    return f" and {show_bytes(task.prepared_bytes)} of prepared rows" if task.prepared_bytes else ""
