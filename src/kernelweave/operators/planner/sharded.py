"""Rows that no form holds: worked through part by part, with a working set of them in memory."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from kernelweave.data.blocks import sample_rows
from kernelweave.data.kinds import take
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Kernel
from kernelweave.operators.memory import show_bytes
from kernelweave.operators.planner.candidate import Candidate
from kernelweave.operators.planner.task import Task
from kernelweave.operators.sharded.operator import ShardedOperator, ShardedSet

JUDGES = 4096
"""Rows by which the bytes of a working set are judged: more than those up to which a Gram matrix is quicker."""
WORKING_SHARE = 0.6
"""Share of the memory limit that a working set may take; parts and what is known of every row have the rest."""
ROW_BYTES = 64
"""Bytes of what a solver knows of each row: target, cost, coefficients, and copies of the best of them."""
PART_COST = 25.0
"""Nanoseconds for each letter or number of a row to be scored."""


class PartByPart(Candidate):
    """One kernel: a working set in memory, all other rows scored part by part."""

    kind = "sharded"
    needs = ("shards",)
    within: ClassVar[str] = "any"

    def what(self, task: Task) -> str:
        """Return what is in memory."""
        return f"a working set of up to {most_rows(task, self.within)} of {task.n} rows"

    def why(self, task: Task) -> str:
        """Return how rows are worked through."""
        size = show_bytes(self.bytes(task))
        return f"all rows are scored part by part; with {self.what(task)} in memory that takes up to {size}"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the largest working set and of what is known of every row."""
        return most_rows(task, self.within) * row_bytes(task, self.within) + ROW_BYTES * task.n

    def allowed(self, task: Task) -> float:
        """Return the memory limit, with room for what rounding of the estimate leaves."""
        return 1.01 * task.budget

    def cost(self, task: Task) -> float:
        """Every row is scored."""
        return PART_COST * task.n * max(1, int(getattr(task.X, "shape", (1, 1))[-1]))

    def build(self, task: Task) -> ShardedOperator | ShardedSet:
        """Bind nothing yet: the solver chooses a working set."""
        made = ShardedSet if self.within == "parts" else ShardedOperator
        return made(task.kernels, task.X, task.engine, partial(_bound, task, self.within), most_rows(task, self.within))


class FamilyPartByPart(PartByPart):
    """Many kernels: the same."""

    needs = ("shard_parts",)
    within = "parts"


def most_rows(task: Task, need: str) -> int:
    """Return how many rows a working set may have within the memory limit."""
    rest = WORKING_SHARE * (task.budget - ROW_BYTES * task.n)
    return max(2, min(task.n, int(rest / row_bytes(task, need))))


def row_bytes(task: Task, need: str) -> float:
    """Return the bytes of a row in memory, judged by some of them in the form that they would take.

    A Gram matrix is no such form: its bytes grow with the square of the rows.  Cached columns are what is left then,
    and a row counts as its share of the limit.
    """
    known = vars(task).setdefault("_row_bytes", {})
    if need not in known:
        from kernelweave.operators.planner.choose import choose

        some = take(task.X, sample_rows(task.n, JUDGES))
        sample = Task(task.kernels, some, _here(task.engine), task.limit, task.tol, need)
        plan = choose(sample).plan
        each = plan.bytes / sample.n
        known[need] = max(1.0, GROWING * each) if plan.kind not in SQUARED else 4.0 * (task.budget / 4.0) ** 0.5
    return float(known[need])


SQUARED = ("dense", "cached", "stored", "shared", "tabulated", "recomputed")
"""Forms that grow with the square of the rows, or fill whatever there is."""
GROWING = 1.5
"""Long k-mers that two rows share grow a little faster than the rows, and sorting them takes memory for a while."""


def _bound(task: Task, need: str, rows: Any) -> Any:
    """Bind the kernels to a working set."""
    from kernelweave.operators.planner.choose import choose

    limit = max(1.0, WORKING_SHARE * task.budget)
    given: list[Kernel] = list(task.kernels)
    return choose(Task(given, rows, _here(task.engine), limit, task.tol, need)).operator


def _here(engine: Engine) -> Engine:
    """Return the engine for work that stays with the caller: rows of a working set do not travel."""
    here: Engine = getattr(engine, "here", engine)
    return here
