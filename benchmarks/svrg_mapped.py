"""Rows larger than the memory that is allowed: `fit` on mapped files; logistic loss, C = 1, p = 2, gap 1e-3.

    python benchmarks/svrg_mapped.py                  # a table of 400 MB, and 200,000 sequences
    python benchmarks/svrg_mapped.py --quick          # few rows, to look at

table       20 Gaussian kernels as 20 waves each (`svrg_common.py`) on a table of 100 columns, of which they read ten; a
            file that numpy opens with mmap_mode="r"
sequences   spectra of 2 to 5 letters on simulated splice sites; a file opened with kw.Sequences.open

The memory limit is half of the file, and a small part of the features, which are made afresh in every pass.  Each run
is a fresh process.  Its memory is the largest sum of its private pages, above what it was before the fit: pages of the
file that the system keeps at hand belong to the file.  "in memory" reads the whole file, which counts in its time and
memory, and has no limit.  Compilation is kept out: small fits in both forms come first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kernelweave as kw
from common import Row, conditions, show, timed, write_csv, write_picture
from kernelweave.plots.style import GREY, figure, quiet
from mkl_common import fit_quietly, time_cap
from svrg_common import BLOCK, COLOURS, WARM_UP_ROWS, Array, rows, verdict, waves

KERNELS, FEATURES, WIDE = 20, 20, 100
"""Kernels of the table, features of each, and its columns."""
LENGTHS = (2, 3, 4, 5)
GAP = 1e-3
SHARE, LEAST_LIMIT = 0.5, 1e6
"""The memory limit as a share of the file, and the limit of the small fit that compiles."""
SMALL = 20.0
"""Megabytes of a file below which working space of fixed size says more than its rows do."""
TICK = 0.02
"""Seconds between two looks at the memory."""


def write_file(case: str, n: int, folder: Path) -> Path:
    """Write the rows of a case to a file, and their labels beside it."""
    path = folder / ("rows.npy" if case == "table" else "rows.kwseq")
    if case == "table":
        X, y = rows(n)
        file = np.lib.format.open_memmap(path, "w+", np.float64, (n, WIDE))
        for first in range(0, n, BLOCK):
            some = slice(first, min(n, first + BLOCK))
            rest = np.random.default_rng([1, first]).standard_normal((some.stop - first, WIDE - X.shape[1]))
            file[some] = np.hstack([X[some], rest])
        file.flush()
    else:
        S, y = kw.datasets.make_splice(n, signal_rate=0.6, decoy_rate=0.6, random_state=0)
        S.save(path)
    np.save(folder / "labels.npy", y)
    return path


def read_file(case: str, path: Path, mapped: bool) -> Any:
    """Return the rows of a file, mapped or read."""
    if case == "table":
        return np.load(path, mmap_mode="r" if mapped else None)
    return kw.Sequences.open(path, mmap=mapped)


def model(case: str, limit: float | str, seconds: float) -> kw.MKLClassifier:
    """Return the classifier of a case, stopped after so many seconds."""
    kernels = waves(KERNELS, FEATURES) if case == "table" else [kw.Spectrum(k) for k in LENGTHS]
    return kw.MKLClassifier(
        kernels, C=1.0, loss="logistic", norm=2.0, solver="svrg", tol=GAP, memory_limit=limit,
        callbacks=(time_cap(seconds),),
    )  # fmt: skip


def private_bytes() -> int:
    """Return the resident bytes of this process that no file backs."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def watched(call: Callable[[], Any]) -> tuple[Any, int, int]:
    """Return what a call returned, the private memory before it, and the most that a watching thread saw."""
    before, over, seen = private_bytes(), threading.Event(), [0]

    def look() -> None:
        while not over.wait(TICK):
            seen[0] = max(seen[0], private_bytes())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        result = call()
    finally:
        over.set()
        thread.join()
    return result, before, max(seen[0], private_bytes())


def one_file(case: str, where: str, limit: float, path: Path, seconds: float) -> Row:
    """Fit on a file in this process, after small fits that compile."""
    y, mapped = np.load(path.parent / "labels.npy"), where == "mapped"
    some: Array = np.arange(0, len(y), max(1, len(y) // WARM_UP_ROWS))
    for room in (LEAST_LIMIT, "auto"):
        fit_quietly(model(case, room, seconds), read_file(case, path, mapped=True)[some], y[some])
    made = model(case, limit if mapped else "auto", seconds)
    run, before, most = watched(lambda: timed(lambda: fit_quietly(made, read_file(case, path, mapped), y)))
    return {
        "case": case, "n": len(y), "side": where, "file_mb": path.stat().st_size / 1e6,
        "limit_mb": limit / 1e6 if mapped else "-", "held": made.memory_plan_.kind, "seconds": run.wall,
        "cpu": run.cpu, "passes": float(made.trace_["passes"][-1]), "gap": made.duality_gap_,
        "objective": made.objective_, "memory_mb": (most - before) / 1e6, "before_mb": before / 1e6,
    }  # fmt: skip


def in_new_process(case: str, where: str, limit: float, path: Path, seconds: float) -> Row:
    """Fit on a file in a fresh process."""
    command = [sys.executable, __file__, "--child", case, where, str(limit), str(path), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{case}, {where} ended with:\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(options: argparse.Namespace) -> list[Row]:
    """Return one line for each file, mapped and in memory."""
    found = []
    for case, n in (("table", options.table_rows), ("sequences", options.sequence_rows)):
        with tempfile.TemporaryDirectory() as folder:
            path = write_file(case, n, Path(folder))
            limit = SHARE * path.stat().st_size
            pair = [in_new_process(case, where, limit, path, options.limit) for where in ("mapped", "in memory")]
        for row in pair:
            row["times_slower"] = row["seconds"] / pair[1]["seconds"]
            row["times_more_cpu"] = row["cpu"] / pair[1]["cpu"]
            row["share_of_memory"] = row["memory_mb"] / pair[1]["memory_mb"]
            row["objective_off"] = row["objective"] / pair[1]["objective"] - 1.0
        found += pair
        print(f"{case}: done", flush=True)
    return found


def judge(lines: list[Row], seconds: float) -> list[str]:
    """Return one line for each mapped file; a small one, or one stopped by the clock, tells nothing."""
    found = []
    for row in (row for row in lines if row["side"] == "mapped"):
        good: bool | None = row["gap"] <= GAP and row["held"] == "streamed" and row["memory_mb"] < row["file_mb"]
        if row["file_mb"] < SMALL or (row["gap"] > GAP and row["seconds"] > seconds):
            good = None
        text = (
            f"{row['case']}, {row['n']} rows, a file of {row['file_mb']:.3g} MB, limit {row['limit_mb']:.3g} MB: gap "
            f"{row['gap']:.1e} ({row['held']}) in {row['memory_mb']:.3g} MB and {row['times_slower']:.1f}x the time of "
            f"all in memory (aim: gap {GAP:g} in less than the file)"
        )
        found.append(verdict(good, text))
    return found


def draw(lines: list[Row]) -> Any:
    """Return a figure: memory and seconds, mapped beside in memory, with file and limit as marks."""
    cases = list(dict.fromkeys(row["case"] for row in lines))
    fig, axes = figure(1, 2, (8.4, 3.8))
    for ax, column, label in zip(axes, ("memory_mb", "seconds"), ("private memory of the fit, MB", "seconds")):
        for shift, (colour, side) in zip((-0.2, 0.2), ((COLOURS[0], "mapped"), (GREY, "in memory"))):
            some = [row for row in lines if row["side"] == side]
            bars = ax.bar(np.arange(len(some)) + shift, [row[column] for row in some], 0.36, color=colour, label=side)
            ax.bar_label(bars, fmt="{:.3g}", fontsize=8)
        ax.set_xticks(range(len(cases)), cases)
        ax.set_ylabel(label)
        ax.margins(y=0.15)
        quiet(ax)
    for place, row in enumerate(row for row in lines if row["side"] == "mapped"):
        for column, name, style in (("file_mb", "size of the file", "-"), ("limit_mb", "memory_limit", ":")):
            label = name if place == 0 else None
            axes[0].hlines(row[column], place - 0.45, place + 0.45, COLOURS[1], style, linewidth=1.6, label=label)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, frameon=False, fontsize=8, ncols=4, loc="outside lower center")
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table-rows", type=int, default=500_000)
    parser.add_argument("--sequence-rows", type=int, default=200_000)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a run at most")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        case, where, limit, path, seconds = options.child
        print(json.dumps(one_file(case, where, float(limit), Path(path), float(seconds))))
        return
    end = ""
    if options.quick:
        options.table_rows, options.sequence_rows, options.limit, end = 8000, 16_000, 10.0, "_quick"
    print(conditions())
    print("compiled by small fits first, not counted", flush=True)
    lines = measure(options)
    print(show(lines))
    print(write_csv(f"svrg_mapped{end}", lines))
    print(write_picture(f"svrg_mapped{end}", draw(lines)))
    print("\n".join(judge(lines, options.limit)), flush=True)


if __name__ == "__main__":
    main()
