"""Many kernels held by their values: every matrix, the numbers they derive from, their weighted sum, or columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.kernels.abilities import Ranged
from kernelweave.operators.gram.family import DOUBLE_SUM, SharedSet, StoredSet
from kernelweave.operators.gram.rank_one import RankOneSet, rank_one_vectors
from kernelweave.operators.gram.tabulated import NotSmooth, TabulatedSet
from kernelweave.operators.memory import show_bytes
from kernelweave.operators.planner.candidate import Candidate, CannotHold
from kernelweave.operators.planner.task import Task
from kernelweave.operators.planner.values import READ_COST, cached_columns, large_double, precision, with_rows

STORE_UP_TO = 0.6e9
"""Beyond this, reading stored matrices costs as much as making kernel values from shared base numbers."""
FINISH_COST = 1.5
"""Nanoseconds that turn a base number into a kernel value."""
TABLE_COST, TABLE_BYTES = 4.0, 5000
"""Nanoseconds of looking a base number up in the table of a curve, and the bytes of such a table."""
MANY_GROUPS, MEMBERS = 32, 3
"""Base numbers, and kernels for each of them, from which on a table of their curves pays."""


HIGHER_RANK = (
    "This solver is for kernels of rank one, such as Linear() on single columns (kw.per_feature), and not all of these "
    "are; use solver='auto'."
)


class RankOne(Candidate):
    """Kernels of one number a row: their vectors, and their weighted sum where it fits."""

    kind = "rank_one"
    needs = ("parts", "vectors")

    def what(self, task: Task) -> str:
        """Return the vectors."""
        return f"{task.m} vectors of {task.n} rows"

    def why(self, task: Task) -> str:
        """Return the vectors, and what is done about sums of them."""
        kept = "their weighted sum as a matrix" if self._stored(task) else "columns of their weighted sum on demand"
        return f"{task.m} kernels of rank one are one vector each, {show_bytes(self._vectors(task))}, and {kept}"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the vectors, with the matrix of their sum where there is memory for it."""
        return self._vectors(task) + (8 * task.n**2 if self._stored(task) else 0)

    def cost(self, task: Task) -> float:
        """Reading the vectors, and the sum."""
        return READ_COST * (self._vectors(task) + 8.0 * task.n**2)

    def build(self, task: Task) -> RankOneSet:
        """Find the vectors; the first kernel of higher rank ends the search."""
        vectors = rank_one_vectors(task.family, task.prepared, task.n)
        if vectors is None:
            raise CannotHold(HIGHER_RANK if task.need == "vectors" else "not all kernels are of rank one")
        return RankOneSet(vectors, task.engine, stored=self._stored(task))

    def _vectors(self, task: Task) -> float:
        return 8.0 * task.n * task.m

    def _stored(self, task: Task) -> bool:
        return self._vectors(task) + 8 * task.n**2 <= task.budget


class StoredFamily(Candidate):
    """Every Gram matrix, and one for their weighted sum."""

    kind = "stored"
    needs = ("parts",)

    def __init__(self, dtype: str):
        self.dtype = np.dtype(dtype)

    def fits(self, task: Task) -> str | None:
        """In double precision up to a size; in single while that is quicker than to derive the values."""
        size = self.bytes(task)
        if self.dtype == np.float32 and task.groups < task.m and size > STORE_UP_TO:
            return f"{show_bytes(size)} of stored matrices are read no faster than values are derived from shared ones"
        return large_double(self.dtype, size, task)

    def what(self, task: Task) -> str:
        """Return the number of matrices."""
        return f"{task.m} Gram matrices in {self.dtype.name}{with_rows(task)}"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the matrices and of their sum."""
        total = max(self.dtype.itemsize, 8 if 8 * task.n**2 <= DOUBLE_SUM else 0)
        return task.n**2 * (self.dtype.itemsize * task.m + total) + task.prepared_bytes

    def cost(self, task: Task) -> float:
        """Reading the matrices."""
        return READ_COST * self.dtype.itemsize * task.n**2 * task.m

    def build(self, task: Task) -> StoredSet:
        """Compute the matrices."""
        return StoredSet(task.family, task.prepared, task.n, task.engine, self.dtype.type)


class Derived(Candidate):
    """Kernel values derived when they are needed; what is kept differs."""

    needs = ("parts",)
    stored = False

    def why(self, task: Task) -> str:
        """Compare with all matrices."""
        every = show_bytes(precision(task).itemsize * task.n**2 * (task.m + 1))
        return f"{task.m} Gram matrices would take {every}, so they are recomputed around one sum of them"

    def what(self, task: Task) -> str:
        """Return the sum."""
        return f"the weighted sum of {task.m} Gram matrices{with_rows(task)}"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the sum."""
        return precision(task).itemsize * task.n**2 + task.prepared_bytes

    def cost(self, task: Task) -> float:
        """Base numbers are made again for each pass."""
        return task.n**2 * (task.groups * task.value_cost + FINISH_COST * task.m)

    def build(self, task: Task) -> SharedSet:
        """Return the set; nothing but base numbers is computed yet."""
        return SharedSet(
            task.family, task.prepared, task.n, task.engine, self.stored, self.columns(task), precision(task).type
        )

    def columns(self, task: Task) -> int | None:
        """Return how many columns of the sum are kept; None for all."""
        return None


class SharedFamily(Derived):
    """The base numbers that groups of kernels derive from."""

    kind = "shared"
    stored = True

    def fits(self, task: Task) -> str | None:
        """Where kernels have base numbers in common."""
        return None if task.groups < task.m else "no two kernels derive from the same numbers"

    def what(self, task: Task) -> str:
        """Return the number of bases."""
        return f"the {task.groups} matrices that {task.m} kernels derive from{with_rows(task)}"

    def why(self, task: Task) -> str:
        """Compare with all matrices."""
        size = precision(task).itemsize * task.n**2
        every, shared = (show_bytes(size * (count + 1)) for count in (task.m, task.groups))
        return f"{task.m} Gram matrices would take {every}; the {task.groups} they derive from {shared}"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the base matrices and of the sum."""
        return precision(task).itemsize * task.n**2 * (task.groups + 1) + task.prepared_bytes

    def cost(self, task: Task) -> float:
        """Base numbers are read, kernel values derived."""
        return task.n**2 * (task.groups * READ_COST * precision(task).itemsize + FINISH_COST * task.m)


class TabulatedFamily(Derived):
    """Curves over many base numbers, tabulated, and their weighted sum in memory."""

    kind = "tabulated"

    def fits(self, task: Task) -> str | None:
        """Where many base numbers have several curves each, and their ranges are known."""
        if task.groups < MANY_GROUPS or task.m < MEMBERS * task.groups:
            return "tables of curves are for many kernels that derive from fewer, but many numbers"
        if not all(isinstance(base, Ranged) for base in task.family.bases):
            return "tables of curves need numbers whose range is known"
        return None

    def why(self, task: Task) -> str:
        """Compare with all matrices."""
        every = show_bytes(8.0 * task.n**2 * (task.m + 1))
        return (
            f"{task.m} Gram matrices would take {every}; they are curves of {task.groups} numbers a pair, which are "
            "made again for each pass"
        )

    def bytes(self, task: Task) -> float:
        """Return the bytes of the sum and of the tables."""
        each = 8 if 8 * task.n**2 <= DOUBLE_SUM else 4
        return each * task.n**2 + TABLE_BYTES * task.groups + task.prepared_bytes

    def cost(self, task: Task) -> float:
        """Base numbers are made and looked up."""
        return task.n**2 * task.groups * (task.value_cost + TABLE_COST)

    def build(self, task: Task) -> TabulatedSet:
        """Return the set; nothing but the places of the tables is computed yet."""
        try:
            return TabulatedSet(task.family, task.prepared, task.n, task.engine)
        except NotSmooth as error:
            raise CannotHold(str(error)) from None


class RecomputedFamily(Derived):
    """The weighted sum in memory, everything else made afresh."""

    kind = "recomputed"


class CachedFamily(Derived):
    """Some columns of the weighted sum."""

    kind = "cached"

    def what(self, task: Task) -> str:
        """Return the number of columns."""
        return f"{cached_columns(task, precision(task).itemsize)} kernel columns of {task.n} rows{with_rows(task)}"

    def why(self, task: Task) -> str:
        """Compare with one matrix."""
        one, allowed = show_bytes(super().bytes(task)), show_bytes(task.budget)
        return f"one Gram matrix{with_rows(task)} would take {one} of the {allowed} allowed, so columns are cached"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the columns."""
        size = precision(task).itemsize
        return cached_columns(task, size) * size * task.n + task.prepared_bytes

    def cost(self, task: Task) -> float:
        """Base numbers are made again for each pass, and once more for columns that are not in the cache."""
        missing = 1 - cached_columns(task, precision(task).itemsize) / task.n
        return super().cost(task) * (1 + missing)

    def columns(self, task: Task) -> Any:
        """Return how many columns fit."""
        return cached_columns(task, precision(task).itemsize)
