"""Probabilities and thresholds that a command keeps with a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelweave.cli import options as o

if TYPE_CHECKING:
    from kernelweave.selection.search import SearchResult


def check_keeping(keeping: o.Keeping, task: str, out: str | None) -> None:
    """Raise where probabilities or a threshold are asked for and there is no classifier to keep them."""
    for name, value in (("--calibrate", keeping.calibrate), ("--hold-precision", keeping.hold_precision)):
        if value is not None and task != "classify":
            raise ValueError(f"{name} is for classifiers, not for --task {task}.")
        if value is not None and out is None:
            raise ValueError(f"{name} is kept in the model; name its file with --out.")


def keep(found: SearchResult, y: Any, keeping: o.Keeping) -> None:
    """Give the chosen model the probabilities and the threshold that were asked for."""
    from kernelweave.selection.calibrate import calibrate, hold_precision

    if keeping.calibrate is not None:
        calibrate(found, y, keeping.calibrate)
    if keeping.hold_precision is not None:
        hold_precision(found, y, keeping.hold_precision)
