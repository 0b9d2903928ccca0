"""A million splice sites: one long fit with its log, growth of time with N, or many kernels for some hours.

    python benchmarks/seq_million.py --rows 1000000 --solver dual_coordinate --threads 2
    python benchmarks/seq_million.py --growth 10000,100000,1000000 --threads 1
    python benchmarks/seq_million.py --mkl 20 --rows 200000 --hours 0.5        # MKL over 20 degrees
    python benchmarks/seq_million.py --mkl 20 --rows 1000000 --hours 2
    python benchmarks/seq_million.py --mkl 20 --mkl-solver silp_chunking --growth 10000,100000,1000000 --threads 1
    python benchmarks/seq_million.py --mkl 20 --window 5 --rows 10000 --hours 0.17   # over positions and degrees

Weighted degree 20, C = 5, unit diagonal, free intercept, gap 1e-3.  Every iteration goes at once to
``results/seq_million.log`` (with `--growth` and `--mkl` to a file of its own): wall and CPU seconds since the start of
the fit, gap, active rows where the solver leaves rows out, memory now and at its peak.  The fit includes the building
of features; the data are made before it and count only in the memory.  A small fit keeps compilation out.  After
`--hours` the fit is stopped at the end of an iteration and keeps the best point so far.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TextIO

import kernelweave as kw
from common import RESULTS, ROOT, Row, conditions, show, write_csv, write_picture
from kernelweave.plots.style import BLUE, GREY, figure, quiet
from kernelweave.solvers.certificate import Ledger
from kernelweave.solvers.loop import Progress
from kernelweave.solvers.svm import SVM_SOLVERS
from kernelweave.solvers.svm.dual_coordinate import DualCoordinate
from seq_common import (
    DEGREE,
    LENGTH,
    WARM_UP_ROWS,
    C,
    classifier,
    exponent,
    fit_timed,
    reset_peak,
    resident,
    splice,
)

MINUTES, GIGABYTES, EXPONENT = 15.0, 8.0, 1.25
"""What is asked for: a million rows in so many minutes and so much memory, and time that grows no faster than this."""
MILLION = 1_000_000


class Told(DualCoordinate):
    """Coordinate descent that also tells, while it runs, how many rows are active: a callback is not told."""

    active_rows: ClassVar[float] = float("nan")

    def certify(self, ledger: Ledger) -> dict[str, float]:
        extra = super().certify(ledger)
        Told.active_rows = extra["active"]
        return extra


def logger(file: TextIO, hours: float) -> Callable[[Progress], bool]:
    """Return a callback that writes a line for each iteration, as it goes, and stops the fit after some hours."""
    wall, cpu = time.perf_counter(), time.process_time()
    print("  iter    wall s     CPU s        gap        primal          dual    active      GB peak GB", file=file)
    Told.active_rows = float("nan")

    def tell(progress: Progress) -> bool:
        seconds = time.perf_counter() - wall
        print(
            f"{progress.iteration:6d} {seconds:9.2f} {time.process_time() - cpu:9.2f} {progress.gap:10.3g} "
            f"{progress.primal:13.6f} {progress.dual:13.6f} {Told.active_rows:9.0f} "
            f"{resident():7.3f} {resident('VmHWM'):7.3f}",
            file=file, flush=True,
        )  # fmt: skip
        return seconds > hours * 3600

    return tell


def model(options: argparse.Namespace, file: TextIO) -> Any:
    """Return an unfitted machine that writes to the log."""
    callbacks = (logger(file, options.hours),)
    if not options.mkl:
        return classifier(
            "wd", options.threads, options.tol, solver=options.solver, callbacks=callbacks,
            memory_limit=options.memory_limit,
        )  # fmt: skip
    kernel = kw.WeightedDegree(options.mkl)
    parts = kernel.per_position(options.window, LENGTH, by_degree=True) if options.window else kernel.per_degree()
    return kw.MKLClassifier(
        parts, C=C, tol=options.tol, solver=options.mkl_solver, n_jobs=options.threads, callbacks=callbacks,
        memory_limit=options.memory_limit,
    )  # fmt: skip


def measure(n: int, options: argparse.Namespace, file: TextIO) -> tuple[Row, Any]:
    """Make n rows, fit, and return the line of the table with the fitted machine."""
    began = time.perf_counter()
    X, y = splice(n)
    kernels = f"MKL over {options.mkl} degrees, window {options.window}" if options.mkl else f"WD-{DEGREE}"
    seconds = time.perf_counter() - began
    text = f"{n} rows made in {seconds:.1f} s, {resident():.3f} GB; {kernels}; {options.threads} threads"
    print(text, file=file, flush=True)
    reset_peak()
    run = fit_timed(partial(model, options, file), X, y, options.threads)
    fitted = run.result
    row: Row = {
        "n": n, "kernels": len(fitted.kernels_) if options.mkl else 1, "solver": fitted.solver_ if options.mkl
        else options.solver, "threads": options.threads, "wall": run.wall, "cpu": run.cpu,
        "iterations": fitted.n_iter_, "gap": fitted.duality_gap_, "primal": fitted.objective_,
        "dual": fitted.dual_objective_, "support_vectors": len(fitted.support_), "peak_gb": resident("VmHWM"),
        "stopped": not fitted.converged_,
    }  # fmt: skip
    print(show([row]), file=file, flush=True)
    return row, fitted


def judge(rows: list[Row], options: argparse.Namespace) -> list[str]:
    """Return one line for each aim that these rows can answer."""
    lines = []
    for row in rows:
        if row["n"] == MILLION and not options.mkl:
            good = row["wall"] <= MINUTES * 60 and row["peak_gb"] <= GIGABYTES and not row["stopped"]
            lines.append(
                f"{'reached' if good else 'MISSED'}: {row['wall'] / 60:.1f} minutes, {row['peak_gb']:.2f} GB, gap "
                f"{row['gap']:.2g} (aim: {MINUTES:g} minutes, {GIGABYTES:g} GB, {options.tol:g})"
            )
    if len(rows) > 1:
        for clock in ("wall", "cpu"):
            a = exponent([row["n"] for row in rows], [row[clock] for row in rows])
            lines.append(f"{'reached' if a <= EXPONENT else 'MISSED'}: {clock} grows as N^{a:.2f} (aim: {EXPONENT:g})")
    return lines


def draw(rows: list[Row], fitted: Any, tol: float) -> Any:
    """Return a figure: seconds over N for several fits, the gap over time for one."""
    fig, ax = figure(1, 1, (4.8, 3.4))
    if len(rows) > 1:
        sizes = [row["n"] for row in rows]
        ax.loglog(sizes, [row["wall"] for row in rows], "o-", color=BLUE, label="wall")
        ax.loglog(sizes, [row["cpu"] for row in rows], "s--", color=GREY, label="CPU")
        ax.set_xlabel("sequences")
        ax.set_ylabel("seconds")
        ax.legend(frameon=False)
    else:
        ax.semilogy(fitted.trace_["seconds"], fitted.trace_["gap"], color=BLUE)
        ax.axhline(tol, color=GREY, linestyle="--", linewidth=1)
        ax.set_xlabel("seconds of the solver")
        ax.set_ylabel("relative duality gap")
    quiet(ax)
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=MILLION)
    parser.add_argument("--growth", help="sizes, divided by commas: fit each and find the exponent")
    parser.add_argument("--solver", default="dual_coordinate", choices=["auto", "chunking", "dual_coordinate"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--hours", type=float, default=1.0, help="hours after which a fit is stopped")
    parser.add_argument("--mkl", type=int, default=0, metavar="DEGREE", help="learn weights of the degrees up to this")
    parser.add_argument("--window", type=int, default=0, help="with --mkl: and of windows of so many positions")
    parser.add_argument("--mkl-solver", default="auto")
    parser.add_argument("--memory-limit", default="auto")
    options = parser.parse_args()
    SVM_SOLVERS["dual_coordinate"] = Told
    sizes = [int(part) for part in options.growth.split(",")] if options.growth else [options.rows]
    named = "_mkl" + ("" if options.mkl_solver == "auto" else f"_{options.mkl_solver}") if options.mkl else ""
    name = f"seq_growth{named}" if options.growth else f"seq_million{named}" + (f"_{options.rows}" if named else "")
    RESULTS.mkdir(exist_ok=True)
    with open("/dev/null", "w", encoding="utf-8") as nowhere:
        fit_timed(partial(model, options, nowhere), *splice(WARM_UP_ROWS, seed=1), options.threads)
    path = RESULTS / f"{name}.log"
    with path.open("w", encoding="utf-8") as file:
        print(conditions("scikit-learn"), "- compiled by a small fit first, not counted", file=file, flush=True)
        print(f"the log is {path.relative_to(ROOT)}", flush=True)
        rows = []
        for n in sizes:
            row, fitted = measure(n, options, file)
            rows.append(row)
        lines = judge(rows, options)
        print("\n".join(lines), file=file)
    print(show(rows))
    print(write_csv(name, rows))
    print(write_picture(name, draw(rows, fitted, options.tol)))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
