"""One way to hold kernels: whether it can, the bytes it takes, why, what a pass costs, and how it is built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from kernelweave.operators.memory import show_bytes
from kernelweave.operators.planner.task import Task


class CannotHold(Exception):
    """A form turned out not to suit while it was built; the text is the reason, the cause a fault of the input."""


class Candidate(ABC):
    """A way to hold kernels.

    Attributes
    ----------
    kind : its name
    needs : what it can give to a solver, some of `task.NEEDS`
    remedy : what can be done where even this form does not fit, beside a larger limit
    """

    kind: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    remedy: ClassVar[str] = "train on fewer rows"

    def fits(self, task: Task) -> str | None:
        """Return why this form is not for the task, whatever the memory; None where it is."""
        return None

    @abstractmethod
    def what(self, task: Task) -> str:
        """Return what would be in memory, in words that go before "take"."""

    @abstractmethod
    def bytes(self, task: Task) -> float:
        """Return the bytes of what would be built; for a form of any size, of the largest that is allowed."""

    @abstractmethod
    def cost(self, task: Task) -> float:
        """Return roughly the nanoseconds of a pass: every row moves once, and all outputs follow."""

    @abstractmethod
    def build(self, task: Task) -> Any:
        """Return the kernels in this form, or raise `CannotHold`."""

    def allowed(self, task: Task) -> float:
        """Return the bytes that this form may take."""
        return task.budget

    def why(self, task: Task) -> str:
        """Return the reason for this form."""
        return f"{self.what(task)} take {show_bytes(self.bytes(task))}"
