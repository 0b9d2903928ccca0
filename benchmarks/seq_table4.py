"""Table 4 of Sonnenburg et al. (2006): multiple kernel learning over the 20 degrees of a weighted-degree kernel.

    python benchmarks/seq_table4.py                                  # up to 100,000 sequences, 1 and 2 threads
    python benchmarks/seq_table4.py --largest 3000 --limit 20

    precomputed   all 20 Gram matrices in memory (up to `--gram-limit`), SILP wrapper (Algorithm 1)
    cached        SILP chunking (Algorithm 2); columns of the weighted sum cached, 1 GB, those of the parts recomputed
    linadd        SILP chunking through 20 normal vectors (Algorithms 2 and 3)
    auto          what `MKLClassifier` chooses by itself

C = 5, kernels scaled to unit diagonal, L1, to a certified relative gap of `--tol`.  The paper: human splice sites, 1 %
positive, Opterons of 2.4 GHz, epsilon 1e-5 for both criteria.  Here: simulated sites, 20 % positive.  Compilation is
kept out by small fits.  A cell with ">" was stopped at the time limit; that method is left out ("-") for larger N, as
is one that does not fit in memory.  (The paper's line N = 500 looks garbled in our copy: 80 seconds on eight
processors.)
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import Row, conditions, show, stored, timed, write_csv, write_picture
from kernelweave.engines import Engine, choose_engine
from kernelweave.estimators.normalize import normalized
from kernelweave.losses import make_loss
from kernelweave.operators.gram.family import SharedSet, StoredSet
from kernelweave.operators.gram.mixture import Family
from kernelweave.operators.kmers.set import PositionalSet
from kernelweave.penalties import LpBall
from kernelweave.plots.style import figure
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.mkl.problem import MKLProblem
from mkl_common import fit_quietly
from seq_common import (
    DEGREE,
    PAPER_SIZES,
    WARM_UP_ROWS,
    C,
    curves,
    grid,
    reset_peak,
    resident,
    shown,
    sizes_up_to,
    splice,
    time_cap,
)

CACHE = 1e9
"""Bytes of the paper's cache of each kernel; ours holds columns of their weighted sum."""
PAPER = {
    "PreMKL": dict(zip(PAPER_SIZES, (22, 56, 518, 2_786))),
    "MKL": dict(zip(PAPER_SIZES, (22, 64, 393, 1_181, 25_227, 204_492))),
    "LinMKL1": dict(zip(PAPER_SIZES, (11, 139, 223, 474, 1_853, 3_849, 10_745, 34_933, 185_886))),
    "LinMKL4": dict(zip(PAPER_SIZES, (10, 116, 124, 209, 648, 1_292, 3_456, 10_677, 56_614, 214_021))),
    "LinMKL8": dict(zip(PAPER_SIZES, (80, 116, 108, 172, 462, 857, 2_145, 6_540, 33_625, 124_691))),
}
SOLVERS = {"precomputed": "silp", "cached": "silp_chunking", "linadd": "silp_chunking"}
BESIDE = {"precomputed": "PreMKL", "cached": "MKL", "linadd": "LinMKL1", "auto": "LinMKL1"}
"""The paper's column, on one processor where there is a choice, that belongs to each of our methods."""


def hold(method: str, X: kw.Sequences, engine: Engine) -> Any:
    """Return the 20 kernels, scaled and bound to the rows in one certain way."""
    n = len(X)
    kernels = [normalized(part, X, "trace", engine) for part in kw.WeightedDegree(DEGREE).per_degree()]
    if method == "linadd":
        return PositionalSet(kernels, kernels[0].prepare(X), engine)
    family = Family(kernels)
    prepared = family.prepare(X)
    if method == "precomputed":
        return StoredSet(family, prepared, n, engine, np.float32)
    return SharedSet(family, prepared, n, engine, False, int(min(CACHE / (4 * n), n - 1)))


def held(method: str, X: kw.Sequences, y: Any, threads: int, options: argparse.Namespace) -> Row:
    """Train as `MKLClassifier` does, but for its own choice of how to hold the kernels."""
    monitor, n, solver = time_cap(options.limit), len(y), SOLVERS[method]
    operators = hold(method, X, choose_engine(None, threads))
    problem = MKLProblem(operators, make_loss("hinge"), y[None, :].astype(float), np.full(n, C), LpBall(1.0))
    result = run(MKL_SOLVERS[solver].make(), problem, Stop(options.tol), monitor)
    return {"iterations": result.n_iter, "gap": result.gap, "converged": result.converged, "held": method}


def estimator(X: Any, y: Any, threads: int, options: argparse.Namespace) -> Row:
    """Train the estimator, which holds the kernels as it sees fit."""
    model = kw.MKLClassifier(
        kw.WeightedDegree(DEGREE).per_degree(), C=C, tol=options.tol, n_jobs=threads,
        callbacks=(time_cap(options.limit),),
    )  # fmt: skip
    fit_quietly(model, X, y)
    return {
        "iterations": model.n_iter_, "gap": model.duality_gap_, "converged": model.converged_,
        "held": f"{model.memory_plan_.kind}, {model.solver_}",
    }  # fmt: skip


def measure(method: str, threads: int, X: kw.Sequences, y: Any, options: argparse.Namespace) -> Row:
    """Train once under both clocks."""
    reset_peak()
    call = partial(held, method) if method in SOLVERS else estimator
    with threadpool_limits(threads, user_api="blas"):
        clock = timed(lambda: call(X, y, threads, options))
    found = clock.result
    stopped = not found.pop("converged")
    return {
        "n": len(y), "method": f"{method} {threads}", "threads": threads, "wall": clock.wall, "cpu": clock.cpu,
        **found, "peak_gb": resident("VmHWM"), "stopped": stopped, "limit": options.limit,
        "cell": shown(clock.wall, stopped),
        "paper_seconds": PAPER[BESIDE[method]].get(len(y), "-"),
    }  # fmt: skip


def sweep(options: argparse.Namespace) -> list[Row]:
    """Train every method on every size, until it runs out of time or memory."""
    rows: list[Row] = []
    over: set[tuple[str, int]] = set()
    for n in sizes_up_to(options.largest):
        X, y = splice(n)
        for method in options.methods:
            fits = method != "precomputed" or 4.0 * n * n * (DEGREE + 1) <= options.gram_limit * 1e9
            for threads in options.threads:
                if fits and (method, threads) not in over:
                    rows.append(measure(method, threads, X, y, options))
                    if rows[-1]["stopped"]:
                        over.add((method, threads))
        print(f"{n} rows: done", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=100_000)
    parser.add_argument("--methods", nargs="+", choices=list(BESIDE), default=list(BESIDE))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which a run is stopped")
    parser.add_argument("--gram-limit", type=float, default=10.0, help="GB for 20 Gram matrices and their sum")
    parser.add_argument("--redraw", action="store_true", help="train nothing, draw the table of a former run")
    options = parser.parse_args()
    if options.redraw:
        draw(stored("seq_table4"))
        return
    print(conditions("scikit-learn", "highspy"))
    X, y = splice(min(WARM_UP_ROWS, options.largest), seed=1)
    for method in options.methods:
        small = slice(None) if method in ("linadd", "auto") else slice(500)
        measure(method, max(options.threads), X[small], y[small], options)
    print("compiled by small fits first, not counted; cells: wall seconds (method, threads)", flush=True)
    rows = sweep(options)
    wide = grid(rows, "n", "method", "cell")
    print(show([line | {name: values.get(line["n"], "-") for name, values in PAPER.items()} for line in wide]))
    print(write_csv("seq_table4", rows))
    draw(rows)


def draw(rows: list[Row]) -> None:
    """Draw the table."""
    fig, ax = figure(1, 1, (5.6, 4.4))
    curves(ax, rows, "method", PAPER)
    print(write_picture("seq_table4", fig))


if __name__ == "__main__":
    main()
