"""What the benchmarks share: clocks, tables, CSV files, pictures and peak memory."""

from __future__ import annotations

import csv
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
Row = dict[str, Any]


@dataclass(frozen=True)
class Timing:
    """What a call returned, and the wall and CPU seconds it took."""

    result: Any
    wall: float
    cpu: float


def timed(call: Callable[[], Any]) -> Timing:
    """Run a call under both clocks."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return Timing(result, time.perf_counter() - wall, time.process_time() - cpu)


def best(timings: Sequence[Timing]) -> Timing:
    """Return the run that took the least wall time: the one that was disturbed least."""
    return min(timings, key=lambda timing: timing.wall)


def alternate(calls: dict[str, Callable[[], Any]], repeats: int, touched: float = 0.0) -> dict[str, Timing]:
    """Run all calls in turn, `repeats` times over, each after a touch of so many bytes; return the best of each."""
    runs: dict[str, list[Timing]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            touch(touched)
            runs[name].append(timed(call))
    return {name: best(timings) for name, timings in runs.items()}


def touch(size: float) -> None:
    """Use that many bytes once: the first touch of fresh memory can be slow, and would count for whoever runs first."""
    np.ones(int(size // 8))


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def conditions(*packages: str) -> str:
    """Return one line that says on what a benchmark ran."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = ", ".join(f"{name} {version(name)}" for name in ("kernelweave", "numpy", "numba", *packages))
    return f"{cores} cores, {platform.machine()}, Python {platform.python_version()}, {versions}"


def show(rows: Sequence[Row]) -> str:
    """Return rows as a table with aligned columns."""
    names = list(rows[0])
    cells = [[_text(row.get(name)) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(names)]
    lines = [names, ["-" * width for width in widths], *cells]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines)


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def write_csv(name: str, rows: Sequence[Row]) -> Path:
    """Write rows to ``results/name.csv`` and return the path from the project's root."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path.relative_to(ROOT)


def stored(name: str) -> list[Row]:
    """Return the rows of a table as a former run has written them."""
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [{key: _value(text) for key, text in row.items()} for row in csv.DictReader(file)]


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def write_picture(name: str, figure: Any) -> Path:
    """Write a figure to ``results/name.png`` and return the path from the project's root."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.png"
    figure.savefig(path, dpi=110)
    return path.relative_to(ROOT)
