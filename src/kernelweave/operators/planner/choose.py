"""The choice: one ordered list of candidates, and one loop that takes the first that fits the memory limit.

Candidates of one need stand in the order of preference, quicker ones first where memory allows.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Kernel
from kernelweave.operators.base import Operator
from kernelweave.operators.memory import show_bytes
from kernelweave.operators.planner.automata import StringAutomata
from kernelweave.operators.planner.candidate import Candidate, CannotHold
from kernelweave.operators.planner.columns import FewFeatures, RecomputedColumns, SparseScores, StoredColumns
from kernelweave.operators.planner.design import DesignInMemory, StreamedDesign
from kernelweave.operators.planner.family import (
    CachedFamily,
    RankOne,
    RecomputedFamily,
    SharedFamily,
    StoredFamily,
    TabulatedFamily,
)
from kernelweave.operators.planner.features import FeatureFamily, SharedPatterns, SparseFeatures
from kernelweave.operators.planner.kmers import KmerStore, PositionalFamily, PositionalIndex
from kernelweave.operators.planner.plan import Plan
from kernelweave.operators.planner.sharded import FamilyPartByPart, PartByPart
from kernelweave.operators.planner.tables import LmerFamily, LmerTable
from kernelweave.operators.planner.task import Task
from kernelweave.operators.planner.values import CachedValues, DenseValues

CANDIDATES: tuple[Candidate, ...] = (
    PositionalIndex(),
    LmerTable(),
    SharedPatterns(),
    SparseFeatures(),
    StringAutomata(),
    DenseValues("float64"),
    DenseValues("float32"),
    KmerStore("sorted"),
    KmerStore("trie"),
    KmerStore("map"),
    CachedValues(),
    PositionalFamily(),
    LmerFamily(),
    FeatureFamily(),
    RankOne(),
    StoredFamily("float64"),
    TabulatedFamily(),
    StoredFamily("float32"),
    SharedFamily(),
    RecomputedFamily(),
    CachedFamily(),
    DesignInMemory("float32"),
    DesignInMemory("float64"),
    StreamedDesign(),
    FewFeatures(),
    SparseScores(),
    StoredColumns(),
    RecomputedColumns(),
    PartByPart(),
    FamilyPartByPart(),
)
"""Every way to hold kernels, in the order in which they are tried."""
MUCH_SLOWER = 5.0
"""A form that is estimated to take so many times as long as one that memory did not allow is warned of."""


class Choice(NamedTuple):
    """What was built, and the plan that says why."""

    operator: Any
    plan: Plan


class Weighed(NamedTuple):
    """The choice, or None; what was passed over; what memory alone was short for; the last fault while building."""

    choice: Choice | None
    passed_over: tuple[tuple[str, str], ...]
    short: list[Candidate]
    fault: BaseException | None


def weigh(task: Task) -> Weighed:
    """Try the candidates for a task in their order, and build the first that suits it and fits the memory."""
    passed: list[tuple[str, str]] = []
    short: list[Candidate] = []
    fault: BaseException | None = None
    for candidate in CANDIDATES:
        if task.need not in candidate.needs:
            continue
        reason = candidate.fits(task)
        if reason is None and not task.is_little(size := candidate.bytes(task)) and size > candidate.allowed(task):
            allowed = show_bytes(candidate.allowed(task))
            reason = f"{candidate.what(task)} take {show_bytes(size)}, more than the {allowed} allowed"
            short.append(candidate)
        if reason is None:
            try:
                operator = candidate.build(task)
            except CannotHold as error:
                reason, fault = str(error), error.__cause__
            else:
                plan = Plan(candidate.kind, int(candidate.bytes(task)), candidate.why(task), tuple(passed))
                _warn_if_slow(candidate, short, task)
                return Weighed(Choice(operator, plan), tuple(passed), short, fault)
        passed.append((candidate.kind, reason))
    return Weighed(None, tuple(passed), short, fault)


def choose(task: Task) -> Choice:
    """Return the kernels of a task in the first form that fits the memory limit, and the plan.

    Raises
    ------
    MemoryError : every form that suits the task takes more than the memory limit; says what the last resort takes
    TypeError, ValueError : no form suits the task, or the store that was asked for does not

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.engines import Serial
    >>> from kernelweave.kernels import RBF
    >>> rows = np.zeros((200, 3))
    >>> choose(Task([RBF(gamma=1.0)], rows, Serial(), "1MB")).plan.kind
    'dense'
    >>> plan = choose(Task([RBF(gamma=1.0)], rows, Serial(), "100kB")).plan
    >>> plan.kind, plan.bytes, len(plan.passed_over)
    ('cached', 100000, 9)
    """
    found = weigh(task)
    if found.choice is not None:
        return found.choice
    if found.short:
        least = found.short[-1]
        what = least.what(task)
        raise MemoryError(
            f"{what[0].upper()}{what[1:]} take {show_bytes(least.bytes(task))}, more than the memory_limit of "
            f"{show_bytes(task.budget)}; raise the limit or {least.remedy}."
        )
    if task.store is not None and task.need != "automata":
        raise ValueError(f"{dict(found.passed_over)[task.store]}.")
    raise found.fault or TypeError(found.passed_over[-1][1])


def bind(
    kernel: Kernel, X: Any, engine: Engine, limit: float | str | None = "auto", tol: float = 1e-3, need: str = "any"
) -> Operator:
    """Bind one kernel to training rows; parameters as for `Task`."""
    return choose(Task([kernel], X, engine, limit, tol, need)).operator


def _warn_if_slow(chosen: Candidate, short: list[Candidate], task: Task) -> None:
    if not short:
        return
    best = min(short, key=lambda candidate: candidate.cost(task))
    ratio = chosen.cost(task) / max(best.cost(task), 1.0)
    if ratio >= MUCH_SLOWER:
        warnings.warn(
            f"The memory_limit of {show_bytes(task.budget)} leaves a form that is about {ratio:.0f} times as slow as "
            f"another: {chosen.why(task)}. With {show_bytes(best.bytes(task))} there would be memory for "
            f"{best.what(task)}.",
            UserWarning, stacklevel=4,
        )  # fmt: skip
