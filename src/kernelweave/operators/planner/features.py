"""Kernels with explicit sparse features: rows of numbered features, of one kernel or of several."""

from __future__ import annotations

import numpy as np

from kernelweave.kernels.abilities import Features, Positional, has_columns
from kernelweave.operators.features.operator import FeatureOperator
from kernelweave.operators.features.patterns import compares_lmers, pattern_columns, patterns_of
from kernelweave.operators.features.set import FeatureSet
from kernelweave.operators.planner.candidate import Candidate, CannotHold
from kernelweave.operators.planner.kmers import few_rows, no_prefixes
from kernelweave.operators.planner.task import Task

FEATURE_BYTES = 36
"""Bytes a feature takes: column and value, once more while they are renumbered."""
JOINED = 1.5
"""Features of all kernels and, beside them, those of their weighted sum."""
ENTRY_COST = 2.0
"""Nanoseconds of a feature in a product."""
L_MER_BYTES, PATTERN_BYTES = 24, 80
"""Bytes of an l-mer, of its bits in a table and of a list of those chosen; of a feature that several l-mers share,
while it is sorted and numbered."""
EVEN_LETTERS, REPEATED = 16, 0.05
"""Letters of a large alphabet match by chance as often as those of an even one of this size; and the share of l-mers
that are repeated beyond chance."""
ROWS_A_COLUMN = 8
"""Rows for each column of a table from which on its columns are quicker than kernel values: 9,000 rows of 70 entries
take a thirtieth of the time by columns, 20,000 of 50 a twentieth."""


def too_wide(task: Task) -> str | None:
    """Return that tables have too many columns for their rows; None where they have few, or codes on many rows."""
    if not any(has_columns(kernel) for kernel in task.kernels):
        return few_rows(task) or countable(task)
    if reason := countable(task):
        return reason
    entries = float(task.entries.sum())
    if ROWS_A_COLUMN * entries <= task.n:
        return None
    return f"rows of {entries:.4g} features are no quicker than kernel values of {task.n} rows"


def countable(task: Task) -> str | None:
    """Return why the features cannot be numbered, None where some rows show that they can."""
    try:
        task.entries  # noqa: B018 - asked for the fault
    except ValueError as error:  # more features than columns can be numbered, or than a row may have
        return str(error)
    return None


class SparseFeatures(Candidate):
    """The features of one kernel: products go through the normal vector."""

    kind = "features"
    needs = ("any", "products", "whole", "features")

    def fits(self, task: Task) -> str | None:
        """For kernels with features whose place does not matter, on many rows; for tables on more rows than columns."""
        if task.store is not None:
            return f"store={task.store!r} was asked for"
        if not isinstance(task.kernel, Features):
            return f"{task.kernel!r} has no explicit features; use a solver that works on kernel values."
        if isinstance(task.kernel, Positional) and no_prefixes(task) is None and few_rows(task) is None:
            return "k-mers with a place take less as prefixes"
        return too_wide(task) if task.need != "features" else None

    def what(self, task: Task) -> str:
        """Return whose features they are."""
        return f"the features of {task.n} rows"

    def bytes(self, task: Task) -> float:
        """Return the bytes while the features are made, judged by some of the rows."""
        return float(task.n * task.entries[0] * FEATURE_BYTES)

    def cost(self, task: Task) -> float:
        """Every feature of every row once."""
        return float(ENTRY_COST * task.steps * task.n * task.entries[0])

    def build(self, task: Task) -> FeatureOperator:
        """Make the features of all rows."""
        try:
            return FeatureOperator(task.kernel, task.X, task.engine)
        except ValueError as error:
            raise CannotHold(str(error)) from error


class SharedPatterns(Candidate):
    """L-mers that agree at some places: of all such features, those that l-mers share."""

    kind = "patterns"
    needs = ("any", "products", "whole", "features")

    def fits(self, task: Task) -> str | None:
        """For sums over l-mers of one strand whose number of common places can be counted, on many rows."""
        if task.store is not None:
            return f"store={task.store!r} was asked for"
        if not compares_lmers(task.kernel) or patterns_of(task.kernel, task.sample) is None:
            return f"{task.kernel!r} does not count the places at which l-mers agree, or has fewer features than places"
        return few_rows(task)

    def what(self, task: Task) -> str:
        """Return what is listed."""
        return f"the patterns that l-mers of {task.n} rows share"

    def bytes(self, task: Task) -> float:
        """Return the bytes of all l-mers, of the table of bits, and of the features that are shared by chance."""
        windows, shared = self._expected(task)
        return L_MER_BYTES * windows + PATTERN_BYTES * shared

    def cost(self, task: Task) -> float:
        """Every shared feature of every row once."""
        return ENTRY_COST * task.steps * self._expected(task)[1]

    def build(self, task: Task) -> FeatureOperator:
        """List the shared features."""
        made = pattern_columns(task.kernel, task.X)
        if made is None:
            raise CannotHold("the rows have no patterns")
        return FeatureOperator.bound(made, task.engine, task.kernel, task.X)

    def _expected(self, task: Task) -> tuple[float, float]:
        """Return the number of l-mers, and of features that are shared where letters are independent."""
        found = patterns_of(task.kernel, task.sample)
        assert found is not None
        leaf, patterns = found
        seen = leaf.select(task.X)
        windows, even = float(len(seen.codes)), float(min(seen.alphabet.size, EVEN_LETTERS))
        return windows, float((windows * np.minimum(1.0, REPEATED + windows / even**patterns.sizes)).sum())


class FeatureFamily(Candidate):
    """The features of many kernels."""

    kind = "features"
    needs = ("parts",)

    def fits(self, task: Task) -> str | None:
        """For kernels that all have features, on many rows; for tables on more rows than columns."""
        if not all(isinstance(kernel, Features) and not isinstance(kernel, Positional) for kernel in task.kernels):
            return "not all kernels have features without a place"
        return too_wide(task)

    def what(self, task: Task) -> str:
        """Return whose features they are."""
        return f"the features of {task.m} kernels"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the features of all kernels and of their weighted sum."""
        return float(JOINED * FEATURE_BYTES * task.n * task.entries.sum())

    def cost(self, task: Task) -> float:
        """Every feature of every row once."""
        return float(ENTRY_COST * task.steps * task.n * task.entries.sum())

    def build(self, task: Task) -> FeatureSet:
        """Make the features of all rows."""
        try:
            return FeatureSet.of(task.kernels, task.X, task.engine)
        except ValueError as error:
            raise CannotHold(str(error)) from error
