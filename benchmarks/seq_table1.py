"""Table 1 of Sonnenburg et al. (2006): training time against N, for the weighted-degree and the spectrum kernel.

    python benchmarks/seq_table1.py                                  # up to 100,000 sequences, 1 and 2 threads
    python benchmarks/seq_table1.py --largest 1000000 --limit 1800 --kernels wd
    python benchmarks/seq_table1.py --largest 5000 --limit 20        # a look, two minutes
    python benchmarks/seq_table1.py --merge --methods linadd --threads 1 --sizes 30000 50000      # some cells anew

    precomputed   the Gram matrix in memory (up to `--gram-limit`), pair steps (SMO)
    cached        columns computed on demand, 1 GB of them kept, working sets
    linadd        working sets through the normal vector, no kernel values but those of the working set
    coordinate    coordinate descent on the normal vector

The paper: human splice sites, 1 % positive, eight Opterons of 2.4 GHz, SVMlight with epsilon 1e-5, Q = 112, cache 1 GB.
Here: simulated sites, 20 % positive (harder: more support vectors), to a certified relative gap of `--tol`.  C = 5 on
both sides; times include the building of whatever is held, compilation is kept out by small fits.  Cells are CPU
seconds of all threads, which other work on the machine leaves as they are; wall seconds are in the CSV.  A cell with
">" was stopped at the time limit, in wall seconds; that method is left out ("-") for larger N, as is one that does not
fit in memory.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import Row, conditions, show, stored, timed, write_csv, write_picture
from kernelweave.plots.style import figure
from seq_common import (
    METHODS,
    PAPER_SIZES,
    WARM_UP_ROWS,
    curves,
    grid,
    reset_peak,
    resident,
    shown,
    sizes_up_to,
    splice,
    train,
)

CACHE = 1e9
"""Bytes of the paper's kernel cache."""
PAPER = {
    "wd": {
        "WDPre": dict(zip(PAPER_SIZES, (12, 13, 40, 102, 636))),
        "WD1": dict(zip(PAPER_SIZES, (17, 17, 28, 47, 195, 441, 1_794, 5_153, 31_320, 102_384))),
        "LinWD1": dict(zip(PAPER_SIZES, (83, 83, 105, 134, 266, 389, 740, 1_631, 7_757, 26_190))),
        "LinWD4": dict(zip(PAPER_SIZES, (83, 78, 82, 90, 139, 179, 294, 569, 2_498, 8_053))),
        "LinWD8": dict(zip(PAPER_SIZES, (80, 75, 80, 87, 116, 139, 212, 379, 1_544, 4_835))),
    },
    "spectrum": {
        "SpecPre": dict(zip(PAPER_SIZES, (1, 2, 52, 136, 957))),
        "Spec": dict(zip(PAPER_SIZES, (1, 2, 30, 68, 315, 733, 3_127, 11_564, 91_075))),
        "LinSpec1": dict(zip(PAPER_SIZES, (1, 1, 19, 24, 36, 54, 107, 312, 1_420, 7_676))),
        "LinSpec4": dict(zip(PAPER_SIZES, (1, 1, 21, 23, 32, 47, 75, 192, 809, 4_607))),
        "LinSpec8": dict(zip(PAPER_SIZES, (1, 1, 21, 24, 32, 46, 74, 185, 728, 3_894))),
    },
}
BESIDE = {"precomputed": "Pre", "cached": "1", "linadd": "Lin1", "coordinate": "Lin1"}
"""The paper's single-processor column that belongs to each of our methods."""


def paper_seconds(kernel: str, method: str, n: int) -> int | str:
    """Return what the paper has for the like of a method on one processor."""
    columns = list(PAPER[kernel].values())
    return columns[{"Pre": 0, "1": 1, "Lin1": 2}[BESIDE[method]]].get(n, "-")


def memory(method: str, n: int, gram_limit: float) -> float | str:
    """Return the memory for kernel values; just too little for the whole matrix where columns are to be cached."""
    if method == "cached":
        return min(CACHE, 4.0 * n * n - 1)
    return gram_limit if method == "precomputed" else "auto"


def measure(kernel: str, method: str, threads: int, X: kw.Sequences, y: Any, options: argparse.Namespace) -> Row | None:
    """Train once; None where the method does not fit in memory."""
    n = len(y)
    reset_peak()
    with threadpool_limits(threads, user_api="blas"):
        run = timed(
            partial(
                train, kernel, METHODS[method], X, y, threads, options.tol,
                memory(method, n, options.gram_limit * 1e9), options.limit,
            )
        )  # fmt: skip
    if run.result is None:
        return None
    stopped = not run.result.converged
    return {
        "kernel": kernel, "n": n, "method": f"{method} {threads}", "threads": threads, "wall": run.wall,
        "cpu": run.cpu, "iterations": run.result.n_iter, "gap": run.result.gap,
        "dual": run.result.dual.value if run.result.dual else float("nan"), "peak_gb": resident("VmHWM"),
        "stopped": stopped, "limit": options.limit, "cell": shown(run.cpu, stopped),
        "paper_seconds": paper_seconds(kernel, method, n),
    }  # fmt: skip


def sweep(kernel: str, options: argparse.Namespace) -> list[Row]:
    """Train every method on every size, until it runs out of time or memory."""
    rows: list[Row] = []
    over: set[tuple[str, int]] = set()
    for n in options.sizes or sizes_up_to(options.largest):
        X, y = splice(n)
        for method in options.methods:
            for threads in options.threads:
                if (method, threads) in over or (method == "precomputed" and 4.0 * n * n > options.gram_limit * 1e9):
                    continue
                row = measure(kernel, method, threads, X, y, options)
                if row is None or row["stopped"]:
                    over.add((method, threads))
                if row is not None:
                    rows.append(row)
        print(f"{kernel}, {n} rows: done", flush=True)
    return rows


def beside_paper(kernel: str, rows: list[Row]) -> list[Row]:
    """Return the wide table: our CPU seconds, then the paper's columns."""
    cells = [row | {"cell": shown(row["cpu"], row["stopped"])} for row in rows]
    wide = grid(cells, "n", "method", "cell")
    return [line | {name: values.get(line["n"], "-") for name, values in PAPER[kernel].items()} for line in wide]


def merged(former: list[Row], made: list[Row]) -> list[Row]:
    """Return the cells of a former run with those of this one in their places, in the order of the paper."""
    cells = {(row["kernel"], row["n"], row["method"]): row for row in [*former, *made]}
    order = [f"{method} {threads}" for method in METHODS for threads in (1, 2)]
    names = list((made or former)[0])
    found = sorted(cells, key=lambda key: (list(PAPER).index(key[0]), key[1], order.index(key[2])))
    return [{name: cells[key].get(name, "") for name in names} for key in found]


def warm_up(options: argparse.Namespace) -> None:
    """Compile every path that will be timed; Gram matrices in either precision."""
    X, y = splice(WARM_UP_ROWS, seed=1)
    single = 4.0 * WARM_UP_ROWS**2
    for kernel in options.kernels:
        for name in options.methods:
            sizes = {"precomputed": (single, 2 * single), "cached": (single - 1,)}.get(name, ("auto",))
            for threads in options.threads:
                for size in sizes:
                    train(kernel, METHODS[name], X, y, threads, options.tol, size, options.limit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=100_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[], help="these alone")
    parser.add_argument("--merge", action="store_true", help="keep the cells of a former run that are not measured now")
    parser.add_argument("--kernels", nargs="+", choices=list(PAPER), default=list(PAPER))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a run is stopped")
    parser.add_argument("--gram-limit", type=float, default=4.0, help="GB for a precomputed Gram matrix")
    parser.add_argument("--redraw", action="store_true", help="train nothing, draw the table of a former run")
    options = parser.parse_args()
    former = stored("seq_table1") if options.redraw or options.merge else []
    print(conditions("scikit-learn"))
    if not options.redraw:
        warm_up(options)
    print("compiled by small fits first, not counted; cells: CPU seconds (method, threads)", flush=True)
    made = [] if options.redraw else [row for kernel in options.kernels for row in sweep(kernel, options)]
    rows = merged(former, made)
    kernels = [kernel for kernel in PAPER if any(row["kernel"] == kernel for row in rows)]
    fig, axes = figure(1, len(kernels), (4.6 * len(kernels), 4.2))
    for ax, kernel in zip(axes if len(kernels) > 1 else [axes], kernels):
        found = [row for row in rows if row["kernel"] == kernel]
        print(show(beside_paper(kernel, found)))
        curves(ax, found, "method", PAPER[kernel], y="cpu")
        ax.set_title(f"{kernel}: ours, and the paper's (dashed)", loc="left", fontsize=10)
        ax.set_ylabel("CPU seconds of all threads")
    if not options.redraw:
        print(write_csv("seq_table1", rows))
    print(write_picture("seq_table1", fig))


if __name__ == "__main__":
    main()
