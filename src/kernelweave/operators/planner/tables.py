"""Kernels of l-mers by Hamming distance: tables over all 4^l l-mers, for one or several, beside others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from kernelweave.data.kinds import alphabet_of, kind_of
from kernelweave.kernels.abilities import Features, Hamming
from kernelweave.kernels.base import Kernel
from kernelweave.kernels.tree import Leaf
from kernelweave.operators.kmers.lmers import LETTERS
from kernelweave.operators.kmers.tables import TableOperator, TableSet, table_seconds
from kernelweave.operators.memory import show_bytes
from kernelweave.operators.mixed import MixedSet
from kernelweave.operators.planner.candidate import Candidate, CannotHold
from kernelweave.operators.planner.task import Task

LONGEST = 15
"""Letters of the longest l-mers of a table: 4^15 numbers take 8 GB."""
PRODUCTS = 25
"""Products of a fit: 12 to 28 to a gap of 1e-3 were seen for C from 1 to 100."""
PAIR_SECONDS, FEATURE_SECONDS = 0.2e-9, 50e-9
"""To compare two l-mers of two rows, and to make and use a sparse feature."""
DOUBLE = 0.0
"""Tolerance that asks for double precision of the kernels beside tables."""


class LmerTable(Candidate):
    """A table over all l-mers: products scatter the rows that move, transform, and look every l-mer up."""

    kind = "lmer_table"
    needs = ("any", "whole")

    def fits(self, task: Task) -> str | None:
        """For sums over l-mers of at most four letters, where rows are too many for values and features."""
        if task.store is not None:
            return f"store={task.store!r} was asked for"
        return no_table(task.kernel, task) or too_small(task)

    def what(self, task: Task) -> str:
        """Return the size of the table."""
        return f"{tables_in_words([task.kernel], task)} and {task.n} sequences"

    def why(self, task: Task) -> str:
        """Return what there is instead of kernel values."""
        return f"products go through {self.what(task)}, {show_bytes(self.bytes(task))}"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the largest table, and of the rows."""
        return 8.0 * 4.0 ** longest([task.kernel]) + letter_count(task.kernel, task)

    def cost(self, task: Task) -> float:
        """One product."""
        return 1e9 * sum(table_seconds(leaf.kernel.window()[0], places(leaf, task)) for leaf in hamming(task.kernel))

    def build(self, task: Task) -> TableOperator:
        """Bind the kernel to the l-mers."""
        try:
            return TableOperator.of(task.kernel, task.X, task.engine)
        except ValueError as error:
            raise CannotHold(str(error)) from error


class LmerFamily(Candidate):
    """Several kernels by tables, and what is left of the kernels in another form."""

    kind = "lmer_tables"
    needs = ("parts",)

    def fits(self, task: Task) -> str | None:
        """Where at least one kernel is a sum over l-mers, and rows are too many for values and features."""
        chosen = self._chosen(task)
        if not chosen:
            return "no kernel is a sum over l-mers of at most four letters"
        return too_small(self._part(task, chosen))

    def what(self, task: Task) -> str:
        """Return the tables, and how many kernels are beside them."""
        chosen = self._chosen(task)
        beside = f" beside {task.m - len(chosen)} kernels in another form" if len(chosen) < task.m else ""
        return f"{tables_in_words([task.kernels[k] for k in chosen], task)} for {len(chosen)} kernels{beside}"

    def why(self, task: Task) -> str:
        """Return what there is instead of kernel values."""
        return f"products go through {self.what(task)}, {show_bytes(self.bytes(task))}"

    def bytes(self, task: Task) -> float:
        """Return the bytes of two tables of the longest l-mers, of the rows, and of the diagonals."""
        chosen = [task.kernels[k] for k in self._chosen(task)]
        letters = sum(letter_count(kernel, task) for kernel in chosen)
        return 2 * 8.0 * 4.0 ** longest(chosen) + letters + 8.0 * task.n * task.m

    def cost(self, task: Task) -> float:
        """One product of each kernel."""
        chosen = [leaf for k in self._chosen(task) for leaf in hamming(task.kernels[k])]
        return 1e9 * sum(table_seconds(cast(Any, leaf.kernel).window()[0], places(leaf, task)) for leaf in chosen)

    def build(self, task: Task) -> TableSet | MixedSet:
        """Bind the kernels; those that have no table are planned by themselves within the memory that is left."""
        from kernelweave.operators.planner.choose import choose

        chosen = self._chosen(task)
        try:
            tables = TableSet([task.kernels[k] for k in chosen], task.X, task.engine)
        except ValueError as error:
            raise CannotHold(str(error)) from error
        others = [k for k in range(task.m) if k not in set(chosen)]
        if not others:
            return tables
        left = max(1.0, task.budget - self.bytes(task))
        rest = choose(replace(self._part(task, others), limit=left, tol=DOUBLE)).operator
        return MixedSet([tables, rest], [np.array(chosen), np.array(others)])

    def _chosen(self, task: Task) -> list[int]:
        return [k for k, kernel in enumerate(task.kernels) if no_table(kernel, task) is None]

    def _part(self, task: Task, numbers: list[int]) -> Task:
        return replace(task, kernels=[task.kernels[k] for k in numbers])


def hamming(kernel: Kernel) -> list[Any]:
    """Return the innermost kernels."""
    return list(kernel.leaves())


def no_table(kernel: Kernel, task: Task) -> str | None:
    """Return why a kernel has no table over l-mers; None where it has."""
    for leaf in hamming(kernel):
        if not isinstance(leaf.kernel, Hamming) or not leaf.additive or leaf.centred:
            return f"{leaf.name} is not a sum over pairs of l-mers"
        seen = leaf.select(task.sample)
        alphabet = alphabet_of(seen)
        if alphabet is None or kind_of(seen).uncertain or alphabet.size > LETTERS:
            return f"{leaf.name} has more than {LETTERS} letters or rows that are not sequences"
        if leaf.kernel.window()[0] > LONGEST:
            return f"a table over l-mers of {leaf.kernel.window()[0]} letters is beyond any memory"
    return None


def too_small(task: Task) -> str | None:
    """Return that kernel values or sparse features take less time, where rows are few or l-mers are long."""
    tables = values = features = 0.0
    for leaf in (leaf for kernel in task.kernels for leaf in hamming(kernel)):
        letters, count = leaf.kernel.window()[0], float(places(leaf, task))
        strands = 2 if leaf.kernel.reverse_complement else 1
        tables += PRODUCTS * table_seconds(letters, int(count))
        values += 0.5 * strands * PAIR_SECONDS * count**2
        leaf.kernel.check()
        near = float(leaf.kernel.coefficients(LETTERS)[0])
        near = near if isinstance(leaf.kernel, Features) else np.inf
        features += FEATURE_SECONDS * count * near if task.many else np.inf
    if tables <= min(values, features):
        return None
    best, seconds = ("kernel values", values) if values <= features else ("sparse features", features)
    return f"{best} take about {seconds:.2g} s, a fit by tables about {tables:.2g} s"


def places(leaf: Leaf, task: Task) -> int:
    """Return the number of letters of all rows as a leaf sees them."""
    return len(leaf.select(task.X).codes)


def letter_count(kernel: Kernel, task: Task) -> float:
    """Return the bytes of the letters of all rows, and of outputs and factors."""
    return sum(float(places(leaf, task)) + 24.0 * task.n for leaf in hamming(kernel))


def longest(kernels: list[Kernel]) -> int:
    """Return the length of the longest l-mers."""
    return max(int(leaf.kernel.window()[0]) for kernel in kernels for leaf in hamming(kernel))


def tables_in_words(kernels: list[Kernel], task: Task) -> str:
    """Return the tables with their sizes, such as "a table over all 4^11 l-mers (34 MB)"."""
    sizes = sorted({int(leaf.kernel.window()[0]) for kernel in kernels for leaf in hamming(kernel)})
    each = [f"4^{letters} l-mers ({show_bytes(8 * 4**letters)})" for letters in sizes]
    return f"a table over all {each[0]}" if len(each) == 1 else f"tables over all {', '.join(each)}"
