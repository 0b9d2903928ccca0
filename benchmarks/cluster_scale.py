"""Rows of any number: time, memory, rounds and bytes from ten thousand to fifty million simulated splice sites.

    python benchmarks/cluster_scale.py --rows 10000,100000,1000000,10000000 --folder DATA
    python benchmarks/cluster_scale.py --rows 50000000 --tol 1e-2 --hours 2 --folder DATA
    python benchmarks/cluster_scale.py --rows 10000000 --mkl 20 --hours 1.5 --folder DATA
    python benchmarks/cluster_scale.py --rows 1000000 --dask 2 --name dask --folder DATA       # two processes
    python benchmarks/cluster_scale.py --rows 1000000 --threads 1 --name one --folder DATA
    python benchmarks/cluster_scale.py --rows 1000000 --solver dual_coordinate --in-memory --name before --folder DATA

Weighted degree 20 (or, with `--mkl`, one kernel for each degree), C = 5, unit diagonal, free intercept, by
``solver="active_set"`` on a store on disk, which is made in the folder where it is missing.  Every round goes at once
to ``results/cluster_scale_NAME.log``: wall and CPU seconds since the start of the run, gap, both objectives, rows of
the working set, support, rows with a loss outside of it, megabytes that travelled, memory now and at its peak.  The
fit keeps a checkpoint beside the store, so a run that is stopped goes on when it is started again; its log goes on
below the first one's, and the table has the last run's time.  Area under the
precision-recall curve on a million other rows.  A small fit keeps compilation out of the numbers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from sklearn.metrics import average_precision_score

import kernelweave as kw
from cluster_data import write_sites
from common import RESULTS, Row, conditions, show, write_csv, write_picture
from kernelweave.plots.style import BLUE, GREY, figure, quiet
from kernelweave.solvers.loop import Progress
from seq_common import DEGREE, C, exponent, reset_peak, resident

WARM_UP_ROWS = 20_000
TEST_ROWS = 1_000_000
COLUMNS = ("working_set", "support", "violators", "megabytes")


def store(folder: Path, rows: int, seed: int) -> Any:
    """Return a store of so many simulated sites, made if it is not there."""
    path = folder / f"splice_{rows}_{seed}.kws"
    if not path.exists():
        write_sites(path, rows, seed)
    return kw.read(path)


def logger(file: TextIO, hours: float) -> Callable[[Progress], bool]:
    """Return a callback that writes a line for each round, and stops the fit after some hours."""
    wall, cpu = time.perf_counter(), time.process_time()
    print("round   wall s    CPU s        gap        primal          dual       set   support violators "
          "     MB     GB peak GB", file=file)  # fmt: skip

    def tell(progress: Progress) -> bool:
        seconds = time.perf_counter() - wall
        extra = [progress.extra.get(name, float("nan")) for name in COLUMNS]
        print(
            f"{progress.iteration:5d} {seconds:8.1f} {time.process_time() - cpu:8.1f} {progress.gap:10.3g} "
            f"{progress.primal:13.4f} {progress.dual:13.4f} {extra[0]:9.0f} {extra[1]:9.0f} {extra[2]:9.0f} "
            f"{extra[3]:7.2f} {resident():6.2f} {resident('VmHWM'):7.2f}",
            file=file, flush=True,
        )  # fmt: skip
        return seconds > hours * 3600

    return tell


def model(options: argparse.Namespace, callbacks: tuple = (), checkpoint: Any = None) -> Any:
    """Return an unfitted machine."""
    common: dict[str, Any] = {
        "C": C, "tol": options.tol, "solver": options.solver, "n_jobs": options.threads, "callbacks": callbacks,
        "memory_limit": options.memory_limit, "checkpoint": checkpoint, "engine": options.client,
    }  # fmt: skip
    if options.mkl:
        params = {"solver": options.inner} if options.solver == "active_set" else None
        return kw.MKLClassifier(kw.WeightedDegree(options.mkl).per_degree(), solver_params=params, **common)
    return kw.KernelClassifier(kw.WeightedDegree(DEGREE), normalize="trace", **common)


def measure(rows: int, options: argparse.Namespace) -> Row:
    """Fit one size, write its log, and return a line of the table."""
    name = f"{'mkl' if options.mkl else 'wd'}_{rows}" + (f"_{options.name}" if options.name else "")
    data, test = store(options.folder, rows, 1), store(options.folder, TEST_ROWS, 2)
    X = data.X[:] if options.in_memory else data.X
    checkpoint = None if options.no_checkpoint else str(options.folder / f"{name}.kwc")
    goes_on = checkpoint is not None and Path(checkpoint).exists()
    with open(RESULTS / f"cluster_scale_{name}.log", "a" if goes_on else "w") as file:
        print(conditions(), file=file, flush=True)
        reset_peak()
        wall, cpu = time.perf_counter(), time.process_time()
        fitted = model(options, (logger(file, options.hours),), checkpoint).fit(X, data.y)
        wall, cpu, peak = time.perf_counter() - wall, time.process_time() - cpu, resident("VmHWM")
        scores = fitted.decision_function(test.X)
        trace = fitted.trace_
        found: Row = {
            "n": rows, "kernels": options.mkl or 1, "solver": fitted.solver_, "threads": options.threads,
            "tol": options.tol, "wall": wall, "cpu": cpu, "rounds": fitted.n_iter_, "gap": fitted.duality_gap_,
            "primal": fitted.objective_, "dual": fitted.dual_objective_, "support_vectors": len(fitted.support_),
            "peak_gb": peak,
            "megabytes_a_round": float(np.nanmax(trace["megabytes"])) if "megabytes" in trace.columns else float("nan"),
            "auprc": average_precision_score(np.asarray(test.y), scores), "stopped": not fitted.converged_,
        }  # fmt: skip
        if options.mkl:
            print("weights", np.round(fitted.kernel_weights_, 4).tolist(), file=file)
        print(show([found]), file=file, flush=True)
    return found


def draw(rows: list[Row], name: str) -> None:
    """Draw time and area under the curve over the number of rows; fits that were stopped have open marks."""
    fig, axes = figure(1, 2, (9.0, 3.6))
    for ax, column, label in ((axes[0], "cpu", "CPU seconds"), (axes[1], "auprc", "area under precision-recall")):
        done, cut = ([row for row in rows if row["stopped"] is flag] for flag in (False, True))
        ax.plot([row["n"] for row in done], [row[column] for row in done], "o-", color=BLUE)
        ax.plot([row["n"] for row in cut], [row[column] for row in cut], "o", color=GREY, fillstyle="none")
        ax.set(xscale="log", xlabel="training rows", ylabel=label)
        quiet(ax)
    axes[0].set_yscale("log")
    write_picture(name, fig)


def main() -> None:
    """Read the options, fit each size, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="10000,100000,1000000", help="numbers of rows, separated by commas")
    parser.add_argument("--folder", type=Path, required=True, help="where stores and checkpoints are")
    parser.add_argument("--mkl", type=int, default=0, help="learn weights of kernels of so many degrees")
    parser.add_argument("--solver", default="active_set")
    parser.add_argument("--inner", default="auto", help="solver of the master, for many kernels")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--memory-limit", default="auto")
    parser.add_argument("--in-memory", action="store_true", help="read the store before the fit")
    parser.add_argument("--dask", type=int, default=0, help="score parts on so many processes of one thread")
    parser.add_argument("--no-checkpoint", action="store_true")
    parser.add_argument("--name", default="", help="end of the names of the results")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    options.client = None
    with ExitStack() as stack:
        if options.dask:
            from distributed import Client, LocalCluster

            cluster = LocalCluster(
                n_workers=options.dask, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
            )
            options.client = stack.enter_context(Client(stack.enter_context(cluster)))
        small = store(options.folder, WARM_UP_ROWS, 3)
        model(options).fit(small.X, small.y)
        rows = [measure(int(one), options) for one in options.rows.split(",")]
    kind = ("mkl" if options.mkl else "wd") + (f"_{options.name}" if options.name else "")
    write_csv(f"cluster_scale_{kind}", rows)
    print(show(rows))
    certified = [row for row in rows if not row["stopped"]]
    if len(certified) > 1:
        print(f"time grows as n^{exponent([row['n'] for row in certified], [row['cpu'] for row in certified]):.2f}")
        draw(rows, f"cluster_scale_{kind}")


if __name__ == "__main__":
    main()
