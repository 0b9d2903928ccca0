"""Kernels of positioned k-mers: an index of sorted prefixes, or a store of sparse weights that is filled in turns."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from kernelweave.kernels.abilities import Positional
from kernelweave.kernels.base import Array
from kernelweave.operators.kmers.levels import path_bytes
from kernelweave.operators.kmers.positional import PositionalOperator, StoredWeights
from kernelweave.operators.kmers.prefixes import PREFIX_BITS, index_bytes, spread
from kernelweave.operators.kmers.set import PositionalSet, divided
from kernelweave.operators.kmers.stores import STORES
from kernelweave.operators.memory import show_bytes
from kernelweave.operators.planner.candidate import Candidate
from kernelweave.operators.planner.task import GRAM_UP_TO, WORKING_SET, Task

FEWEST_ROWS = 8
"""A store that holds fewer rows at a time would read all others over and over."""
CELL_BYTES = 24
"""The weight of a cell, its share of what it gives to each shift, and the sum of those before it."""
LOOK_UP_COST, WALK_COST = 6.0, 6.0
"""Nanoseconds of a look-up in a table of prefixes, and of a walk along a path in a store, for each letter of a row."""


class PositionalIndex(Candidate):
    """Sorted prefixes of every position: products go through tables of them."""

    kind = "positional"
    needs = ("any", "products", "whole", "features")

    def fits(self, task: Task) -> str | None:
        """For k-mers with a place in an alphabet that prefixes can be coded in, on many rows."""
        if task.store is not None:
            return f"store={task.store!r} was asked for"
        if not isinstance(task.kernel, Positional):
            return f"{task.kernel!r} has no k-mers with a place"
        return few_rows(task) or no_prefixes(task)

    def what(self, task: Task) -> str:
        """Return what is sorted."""
        return f"the sorted k-mers of {task.n} sequences"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the index, of the paths of coordinate descent, or of the larger where either may be."""
        rows, (length, degree) = task.letters, self._cells(task).shape
        index = index_bytes(task.n, length, degree, rows.spelling)
        paths = path_bytes(task.n, length, degree, rows.spelling.bits) if self._reach(task) == 1 else index
        taken = {"features": paths, "any": max(index, paths)}.get(task.need, index)
        return taken + letter_bytes(task, self._cells(task), self._reach(task))

    def cost(self, task: Task) -> float:
        """One look-up at each position in a step."""
        return LOOK_UP_COST * task.steps * task.n * len(self._cells(task))

    def build(self, task: Task) -> PositionalOperator:
        """Return the operator; its index is sorted at the first product."""
        rows, able = task.letters, cast(Positional, task.kernel)
        return PositionalOperator(task.kernel, task.placed, rows, spread(self._cells(task), able.shift_weights()))

    def _cells(self, task: Task) -> Array:
        rows = task.letters
        return cast(Positional, task.kernel).cells(rows.symbols.shape[1])

    def _reach(self, task: Task) -> int:
        return 2 * len(cast(Positional, task.kernel).shift_weights()) - 1


class KmerStore(Candidate):
    """Sparse weights of the rows that move, some rows at a time; nothing of the training rows is indexed."""

    needs = ("any", "products", "whole")

    def __init__(self, kind: str):
        self.kind = kind  # type: ignore[misc]

    def fits(self, task: Task) -> str | None:
        """For k-mers with a place, where it was asked for, or where rows are many and a working set fits at once."""
        if task.store not in (None, self.kind):
            return f"store={task.store!r} was asked for"
        if not isinstance(task.kernel, Positional):
            return (
                f"store={self.kind!r} keeps k-mers with a place, as WeightedDegree has them, and {task.kernel!r} has "
                "none; leave store out"
            )
        if task.store is None and not task.many:
            return few_rows(task)
        refused = self._class.refuses(self._cells(task), task.placed.alphabet.size)
        if refused is None and task.store is None and self._rows(task) < WORKING_SET:
            return f"{self.what(task)} are fewer than the {WORKING_SET} of a step: cached columns are quicker"
        return str(refused) if refused else None

    def what(self, task: Task) -> str:
        """Return how many rows are in the store at a time."""
        return f"the k-mers of {self._rows(task)} of {task.n} sequences in the store {self.kind!r}"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the store when it is full."""
        return self._fixed(task) + self._size(task, self._rows(task))

    def cost(self, task: Task) -> float:
        """All rows walk once for each filling of the store; a step takes one or several."""
        turns = -(-min(task.n, WORKING_SET) // self._rows(task))
        return WALK_COST * task.steps * turns * task.n * len(self._cells(task))

    def build(self, task: Task) -> StoredWeights:
        """Return the operator with its store empty."""
        rows, able, cells = task.letters, cast(Positional, task.kernel), self._cells(task)
        operator = PositionalOperator(task.kernel, task.placed, rows, spread(cells, able.shift_weights()))
        return operator.through(self.kind, self._rows(task))

    @property
    def _class(self) -> Any:
        return STORES[self.kind]

    def _cells(self, task: Task) -> Array:
        rows = task.letters
        return cast(Positional, task.kernel).cells(rows.symbols.shape[1])

    def _fixed(self, task: Task) -> float:
        reach = 2 * len(cast(Positional, task.kernel).shift_weights()) - 1
        return letter_bytes(task, self._cells(task), reach)

    def _size(self, task: Task, rows: int) -> float:
        shifts, size = len(cast(Positional, task.kernel).shift_weights()), task.placed.alphabet.size
        return float(self._class.most_bytes(rows, self._cells(task), shifts, size, reserved=rows < task.n))

    def _rows(self, task: Task) -> int:
        """Return how many rows the store holds within the budget: at least a few, at most all."""
        if self._fixed(task) + self._size(task, task.n) <= task.budget:
            return task.n
        low, high = min(FEWEST_ROWS, task.n), max(1, task.n - 1)
        while low < high:
            middle = (low + high + 1) // 2
            if self._fixed(task) + self._size(task, middle) <= task.budget:
                low = middle
            else:
                high = middle - 1
        return low


class PositionalFamily(Candidate):
    """Many kernels that divide the k-mers of the same rows among themselves."""

    kind = "positional"
    needs = ("parts",)

    def fits(self, task: Task) -> str | None:
        """For kernels of k-mers with a place, no cell in two of them, on many rows."""
        if not all(isinstance(kernel, Positional) for kernel in task.kernels):
            return "not all kernels have k-mers with a place"
        if not task.many:
            return few_rows(task)
        able, length = [cast(Positional, kernel) for kernel in task.kernels], task.letters.symbols.shape[1]
        shifts = able[0].shift_weights()
        if not all(np.array_equal(kernel.shift_weights(), shifts) for kernel in able):
            return "the kernels differ in their shifts"
        if not divided([kernel.cells(length) for kernel in able]):
            return "two kernels share k-mers of the same place and length"
        return no_prefixes(task)

    def what(self, task: Task) -> str:
        """Return what is shared."""
        return f"the sorted k-mers of {task.n} sequences and the outputs of {task.m} kernels"

    def why(self, task: Task) -> str:
        """Return what is shared."""
        size = show_bytes(self.bytes(task))
        return f"{task.m} kernels share the sorted k-mers of {task.n} sequences, {size} with their outputs"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the index and of the outputs."""
        rows = task.letters
        length = rows.symbols.shape[1]
        index = index_bytes(task.n, length, rows.degree, rows.spelling)
        paths = path_bytes(task.n, length, rows.degree, rows.spelling.bits)
        return index + paths + rows.symbols.nbytes + (CELL_BYTES * length * rows.degree + 8 * task.n) * task.m

    def cost(self, task: Task) -> float:
        """A look-up for each run of one owner: at least one at each position."""
        return LOOK_UP_COST * task.steps * task.n * max(task.letters.symbols.shape[1], task.m)

    def build(self, task: Task) -> PositionalSet:
        """Bind the kernels to the letters."""
        rows = task.letters
        return PositionalSet(task.kernels, task.placed, task.engine, rows)


def letter_bytes(task: Task, cells: Array, reach: int) -> float:
    """Return the bytes of the letters, of the weights of all cells, and of the diagonal."""
    return task.letters.symbols.nbytes + CELL_BYTES * reach * cells.size + 8 * task.n


def few_rows(task: Task) -> str | None:
    """Return that a Gram matrix is quicker, where rows are few and the solver leaves the choice."""
    if task.many or task.need == "features":
        return None
    return f"up to {GRAM_UP_TO} rows a Gram matrix is quicker"


def no_prefixes(task: Task) -> str | None:
    """Return that letters are too many to be coded in prefixes."""
    bits = task.letters.spelling.bits
    return f"letters of {bits} bits do not fit prefixes of {PREFIX_BITS} bits" if bits > PREFIX_BITS else None
