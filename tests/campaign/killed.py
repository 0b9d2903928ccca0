"""Kill -9 in train, save and convert, as a stage; see `kills` for what must hold after each."""

from __future__ import annotations

from pathlib import Path

from .kills import trials_of
from .stage import Outcome, Stage


def trial(number: int, folder: Path) -> Outcome:
    """Kill one process at a moment that the number gives."""
    ((phase, outcome),) = trials_of([number], 21, folder)
    if outcome.startswith("failed"):
        return Outcome(phase, "lost", outcome)
    return Outcome(phase, outcome)


STAGE = Stage("kills", trial, goal=120, slice=1, minutes=12, seconds=240.0, growth=None)
