"""What the planner decided: how kernels are held, the bytes that takes, the reason, and what was passed over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelweave.operators.memory import show_bytes


@dataclass(frozen=True)
class Plan:
    """How kernels on given rows are held.

    Parameters
    ----------
    kind : name of the form, such as "dense" or "positional"
    bytes : that it takes
    why : one sentence
    passed_over : what comes before it in the order of preference, each with the reason against it: (kind, reason)
    parts : of a mixture of kernels, the plan of each one

    Examples
    --------
    >>> str(Plan("dense", 800, "the 10 x 10 Gram matrix in float64 takes 800 B"))
    'dense, 800 B: the 10 x 10 Gram matrix in float64 takes 800 B'
    """

    kind: str
    bytes: int
    why: str
    passed_over: tuple[tuple[str, str], ...] = ()
    parts: tuple[Plan, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}, {show_bytes(self.bytes)}: {self.why}"

    @classmethod
    def from_record(cls, **state: Any) -> Plan:
        """Return a plan from what a model file keeps of it; former files name the fields `size` and `reason`."""
        if "reason" in state:
            return cls(state["kind"], int(state["size"]), state["reason"])
        return cls(**state)
