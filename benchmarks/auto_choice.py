"""How far `solver="auto"` is from the best solver: every solver that suits, on the problems of `auto_problems.py`.

    python benchmarks/auto_choice.py                          # all problems
    python benchmarks/auto_choice.py --only wdbc_403 --cap 60
    python benchmarks/auto_choice.py --before path/to/older/checkout      # its "auto" beside ours
    python benchmarks/auto_choice.py --random 50 --seed 7     # problems by chance, to look for bad choices by night

All fits run on one thread, each in a process of its own, to the same certified gap.  A process fits twice or more and
the quickest counts, so that compiled loops are loaded; CPU seconds.  A solver is stopped once it has taken `SLOWER`
times as long as the best so far, plus the loading that is not counted; its line then says what it had reached.
`ratio` is `auto` over the best, both with `START_UP` added: what nobody waits for does not count.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

from auto_problems import PROBLEMS, Made, drawn
from common import ROOT, Row, conditions, show, write_csv, write_picture
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.svm import SVM_SOLVERS

SLOWER, LOADING = 1.5, 1.5
"""A solver is stopped at so many times the best, plus seconds for the loading of compiled loops."""
START_UP = 0.05
"""Seconds added to both sides of a ratio: below, differences are those of the clock."""
AIMS = {"median": 1.3, "worst": 3.0}
REPEAT_BELOW, REPEATS = 20.0, 3
"""Fits that take less are repeated."""


def solvers_for(made: Made) -> list[str]:
    """Return the solvers of the common objective that suit a problem, without the baselines."""
    model = made.model
    if "kernels" not in model.get_params(deep=False):
        smooth = model._loss().smooth
        return [name for name in SVM_SOLVERS if smooth or name != "newton"]
    given, loss = model.get_params(deep=False), model._loss()
    shared = given.get("shared_weights", False)
    suiting = [name for name, entry in MKL_SOLVERS.items() if entry.exact and entry.suits(loss)]
    suiting = [name for name in suiting if given.get("norm", 1.0) <= MKL_SOLVERS[name].largest_p]
    return [name for name in suiting if MKL_SOLVERS[name].shared_weights or not shared]


def measure(name: str, solver: str, cap: float) -> Row:
    """Fit one problem with one solver in this process; stop after so many CPU seconds."""
    made = PROBLEMS[name]()
    runs: list[Row] = []
    spent = 0.0
    while len(runs) < REPEATS and spent < REPEAT_BELOW:
        row = _fit(made, solver, cap)
        runs.append(row)
        spent += row["cpu"]
        if not row["reached"]:
            break
    return min(runs, key=lambda row: row["cpu"])


def _fit(made: Made, solver: str, cap: float) -> Row:
    began, wall = time.process_time(), time.perf_counter()
    model = made.model.set_params(solver=solver, callbacks=[lambda progress: time.process_time() - began > cap])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(made.X) if made.y is None else model.fit(made.X, made.y)
        except (ValueError, TypeError, MemoryError, np.linalg.LinAlgError) as error:
            return {"cpu": np.inf, "reached": False, "gap": np.inf, "why": f"{type(error).__name__}: {error}"[:120]}
    return {
        "cpu": time.process_time() - began, "wall": time.perf_counter() - wall, "reached": bool(model.converged_),
        "gap": float(model.duality_gap_), "objective": float(model.objective_), "solver": model.solver_,
        "plan": model.memory_plan_.kind, "why": model.solver_why_,
    }  # fmt: skip


def apart(name: str, solver: str, cap: float) -> Row:
    """Measure in a process of its own, which is ended where it does not stop by itself."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=lambda: theirs.send(measure(name, solver, cap)))
    process.start()
    theirs.close()
    allowed = cap + 15.0
    try:
        found = ours.recv() if ours.poll(allowed) else {}
    except EOFError:
        found = {}
    process.kill()
    process.join()
    return found or {"cpu": np.inf, "reached": False, "gap": np.inf, "why": f"ended after {allowed:.0f} s"}


def before(tree: str, name: str, cap: float) -> Row:
    """Measure "auto" of another source tree, by this interpreter."""
    paths = os.pathsep.join([str(Path(tree) / "src"), str(ROOT / "benchmarks")])
    command = [sys.executable, __file__, "--one", name, "auto", str(cap)]
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    if run.returncode:
        return {"cpu": np.inf, "reached": False, "gap": np.inf, "why": run.stderr.strip().splitlines()[-1][:120]}
    return json.loads(run.stdout.splitlines()[-1])


def compare(name: str, options: argparse.Namespace) -> tuple[Row, list[Row]]:
    """Return the line of a problem, and one line for each solver."""
    found = {"auto": apart(name, "auto", options.cap)}
    best = found["auto"]["cpu"] if found["auto"]["reached"] else options.cap
    names = options.solvers or solvers_for(PROBLEMS[name]())
    for solver in names:
        if solver == found["auto"].get("solver"):
            found[solver] = found["auto"]
            continue
        found[solver] = apart(name, solver, min(options.cap, SLOWER * best + LOADING))
        if found[solver]["reached"]:
            best = min(best, found[solver]["cpu"])
    lines = [{"problem": name, "asked": solver, **_line(row)} for solver, row in found.items()]
    reached = {solver: row["cpu"] for solver, row in found.items() if row["reached"] and solver != "auto"}
    first = min(reached, key=lambda solver: reached[solver]) if reached else "none"
    mine = found["auto"]
    row: Row = {
        "problem": name, "auto": mine.get("solver", "failed"), "plan": mine.get("plan", ""), "seconds": mine["cpu"],
        "gap": mine["gap"], "best": first, "best_seconds": reached.get(first, np.nan),
        "ratio": _ratio(mine, reached.get(first, np.nan)),
    }  # fmt: skip
    if options.before:
        old = before(options.before, name, max(options.cap, 60.0))
        row |= {"before": old.get("solver", "failed"), "before_seconds": old["cpu"], "before_gap": old["gap"]}
        row["before_ratio"] = _ratio(old, reached.get(first, np.nan))
    return row, lines


def _line(row: Row) -> Row:
    names = ("solver", "plan", "cpu", "wall", "reached", "gap", "objective", "why")
    return {name: row.get(name, "") for name in names}


def _ratio(row: Row, best: float) -> float:
    return (row["cpu"] + START_UP) / (best + START_UP) if row["reached"] else np.inf


def summary(rows: list[Row], column: str = "ratio") -> str:
    """Say how far the choices are from the best."""
    ratios = np.array([row[column] for row in rows])
    return (
        f"{column}: {len(rows)} problems, median {np.median(ratios):.2f} (aim {AIMS['median']}), worst "
        f"{ratios.max():.2f} (aim {AIMS['worst']}), above {AIMS['worst']:g}: {int((ratios > AIMS['worst']).sum())}"
    )


def draw(rows: list[Row]) -> Any:
    """Return a figure: how many times the best solver's seconds "auto" takes, problem by problem."""
    from kernelweave.plots.style import BLUE, GREY, figure, quiet

    fig, ax = figure(1, 1, (7.5, 0.2 * len(rows) + 1.2))
    order = sorted(rows, key=lambda row: row["ratio"])
    places = np.arange(len(order))
    if "before_ratio" in rows[0]:
        old = [min(row["before_ratio"], 1e3) for row in order]
        ax.scatter(old, places, s=18, facecolors="none", edgecolors=GREY, label="before (right edge: not reached)")
    ax.scatter([min(row["ratio"], 1e3) for row in order], places, s=18, color=BLUE, label="auto")
    ax.axvline(AIMS["worst"], color=GREY, lw=0.8)
    ax.set_xscale("log")
    ax.set_yticks(places, [row["problem"] for row in order], fontsize=6)
    ax.set_xlabel("CPU seconds, times those of the best solver")
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    quiet(ax)
    fig.tight_layout()
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(PROBLEMS), help="some of the problems")
    parser.add_argument("--solvers", nargs="+", help="some of the solvers")
    parser.add_argument("--cap", type=float, default=120.0, help="CPU seconds allowed to a fit")
    parser.add_argument("--before", metavar="TREE", help="another checkout, whose choice is timed as well")
    parser.add_argument("--one", nargs=3, metavar=("PROBLEM", "SOLVER", "CAP"), help=argparse.SUPPRESS)
    parser.add_argument("--name", default="auto_choice", help="of the files under results/")
    parser.add_argument("--random", type=int, default=0, help="so many problems drawn at random instead")
    parser.add_argument("--seed", type=int, default=0, help="of the first of them")
    options = parser.parse_args()
    if options.random:
        seeds = range(options.seed, options.seed + options.random)
        PROBLEMS.update({f"drawn_{seed}": partial(drawn, seed) for seed in seeds})
        options.only, options.name = [f"drawn_{seed}" for seed in seeds], "auto_random"
    if options.one:
        print(json.dumps(measure(options.one[0], options.one[1], float(options.one[2]))))
        return
    print(conditions("scikit-learn", "highspy"))
    rows: list[Row] = []
    lines: list[Row] = []
    for name in options.only or PROBLEMS:
        row, more = compare(name, options)
        rows, lines = [*rows, row], lines + more
        print(show([row]).splitlines()[-1] if len(rows) > 1 else show([row]), flush=True)
        write_csv(options.name, rows)
        write_csv(f"{options.name}_solvers", lines)
    print(show(rows))
    print(summary(rows))
    if options.before:
        print(summary(rows, "before_ratio"))
    print(write_picture(options.name, draw(rows)))


if __name__ == "__main__":
    main()
