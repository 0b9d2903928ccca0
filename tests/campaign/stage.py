"""What a stage of the campaign is made of, and what a trial may end with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

FAILURES = ("crash", "hang", "growth", "inner exception", "accepted garbage", "lost", "leak", "wrong")
"""Outcomes that end the campaign with 1; every other one is good."""
SECONDS = 10.0
"""A trial that takes more of the processor hangs, or one that waits for several times as long."""
GROWTH = 300 << 20
"""Bytes by which trials of one process may raise its peak memory above that after the warm-up: files are small."""


class Outcome(NamedTuple):
    """How a trial ended: the kind of thing it tried, one word of the outcome, and what was said.

    A trial may begin with the outcome "skipped" where a machine does not allow it.
    """

    kind: str
    outcome: str
    text: str = ""

    @property
    def failed(self) -> bool:
        """Whether it is one of FAILURES."""
        return self.outcome in FAILURES


Trial = Callable[[int, Path], Outcome]
"""From a number and an empty folder to an outcome."""


def nothing(folder: Path) -> None:
    """Prepare nothing."""


@dataclass(frozen=True)
class Stage:
    """A numbered list of trials that run in child processes.

    Parameters
    ----------
    name : the first column of the table
    trial : one trial; what it raises is an inner exception
    goal : trials of a campaign of an hour
    slice : trials of `make test`
    minutes : of the hour, at most
    warm : called once in each process, before the clocks and scales are set to zero: compiles loops, fits models
    seconds : of the processor; a trial that takes more hangs
    growth : bytes by which peak memory may rise after the warm-up; None for trials in processes of their own
    processes : number of child processes at a time; None for all cores
    """

    name: str
    trial: Trial
    goal: int
    slice: int
    minutes: float
    warm: Callable[[Path], Any] = nothing
    seconds: float = SECONDS
    growth: int | None = GROWTH
    processes: int | None = None
