"""One kernel of strings whose rows, and whose normal vector, are automata."""

from __future__ import annotations

from kernelweave.operators.automata.descent import AutomatonOperator
from kernelweave.operators.automata.rows import ARC_BYTES, machine_bytes, no_machines
from kernelweave.operators.planner.candidate import Candidate
from kernelweave.operators.planner.task import Task

ARC_COST = 60.0
"""Nanoseconds to follow an arc of a row and of the normal vector together."""


class StringAutomata(Candidate):
    """Rows as automata, and a normal vector that is one: strings are followed, not numbered."""

    kind = "automata"
    needs = ("automata",)

    def fits(self, task: Task) -> str | None:
        """For one kernel of strings, or of a transducer as a whole."""
        return no_machines(task.kernel, str(task.store))

    def what(self, task: Task) -> str:
        """Return what is held."""
        return f"the automata of {task.n} rows"

    def bytes(self, task: Task) -> float:
        """Return the bytes of the rows' automata, judged by some of them; the normal vector grows from nothing."""
        return machine_bytes(task.kernel, task.sample) * task.n / max(1, len(task.sample))

    def cost(self, task: Task) -> float:
        """Every arc of every row once."""
        return ARC_COST * task.steps * self.bytes(task) / ARC_BYTES

    def build(self, task: Task) -> AutomatonOperator:
        """Make the automata of all rows."""
        assert task.store is not None
        return AutomatonOperator(task.kernel, task.X, task.store)
