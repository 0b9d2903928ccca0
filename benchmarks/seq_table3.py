"""Table 3 of Sonnenburg et al. (2006): training time of linadd against the size Q of the working set.

    python benchmarks/seq_table3.py                                  # up to 100,000 sequences
    python benchmarks/seq_table3.py --largest 5000 --limit 20

The weighted-degree kernel of degree 20, C = 5, `chunking` through the normal vector, to a certified relative gap of
`--tol`; the paper's Q, and larger ones.  The paper: human splice sites, 1 % positive, one Opteron of 2.4 GHz, epsilon
1e-5.  Here: simulated sites, 20 % positive.  Compilation is kept out by small fits.  A cell with ">" was stopped at the
time limit; that Q is left out ("-") for larger N.  A star marks the best Q of a line.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import Row, conditions, show, timed, write_csv, write_picture
from kernelweave.plots.style import figure
from seq_common import METHODS, PAPER_SIZES, WARM_UP_ROWS, curves, grid, shown, sizes_up_to, splice, train

PAPER = {
    12: (4, 7, 15, 32, 128, 258, 696, 1_875, 9_411, 31_145),
    32: (1, 7, 21, 38, 128, 217, 494, 1_361, 6_558, 20_831),
    42: (22, 11, 33, 54, 127, 242, 585, 1_320, 6_203, 20_136),
    52: (68, 34, 31, 67, 160, 252, 573, 1_417, 6_583, 21_591),
    72: (67, 60, 68, 97, 187, 309, 643, 1_610, 7_883, 24_043),
    112: (83, 83, 105, 134, 266, 389, 740, 1_631, 7_757, 26_190),
}
"""Seconds for each Q, on the sizes of `PAPER_SIZES`."""
LARGER = (256, 512, 1024)


def measure(q: int, X: kw.Sequences, y: Any, options: argparse.Namespace) -> Row:
    """Train with one size of the working set."""
    n, paper = len(y), dict(zip(PAPER_SIZES, PAPER.get(q, ())))
    call = partial(
        train, "wd", METHODS["linadd"], X, y, options.threads, options.tol, "auto", options.limit, chunk_size=q
    )
    with threadpool_limits(options.threads, user_api="blas"):
        run = timed(call)
    stopped = not run.result.converged
    return {
        "n": n, "Q": q, "threads": options.threads, "wall": run.wall, "cpu": run.cpu,
        "iterations": run.result.n_iter, "gap": run.result.gap, "stopped": stopped, "limit": options.limit,
        "cell": shown(run.wall, stopped), "paper_seconds": paper.get(n, "-"),
    }  # fmt: skip


def beside_paper(rows: list[Row]) -> list[Row]:
    """Return the wide table: our wall seconds for each Q, the best one marked, then the paper's."""
    done = [row for row in rows if not row["stopped"]]
    best = {n: min(row["wall"] for row in done if row["n"] == n) for n in {row["n"] for row in done}}
    marked = [row | {"cell": row["cell"] + "*" * (row["wall"] == best.get(row["n"]))} for row in rows]
    wide = grid([row | {"Q": f"Q={row['Q']}"} for row in marked], "n", "Q", "cell")
    paper = {f"paper {q}": dict(zip(PAPER_SIZES, seconds)) for q, seconds in PAPER.items()}
    return [line | {name: values.get(line["n"], "-") for name, values in paper.items()} for line in wide]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=100_000)
    parser.add_argument("--chunks", type=int, nargs="+", default=[*PAPER, *LARGER], help="values of Q")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a run is stopped")
    options = parser.parse_args()
    print(conditions("scikit-learn"))
    measure(min(options.chunks), *splice(WARM_UP_ROWS, seed=1), options)
    print("compiled by a small fit first, not counted; cells: wall seconds", flush=True)
    rows: list[Row] = []
    over: set[int] = set()
    for n in sizes_up_to(options.largest):
        X, y = splice(n)
        for q in options.chunks:
            if q not in over:
                rows.append(measure(q, X, y, options))
                if rows[-1]["stopped"]:
                    over.add(q)
        print(f"{n} rows: done", flush=True)
    print(show(beside_paper(rows)))
    print(write_csv("seq_table3", rows))
    fig, ax = figure(1, 1, (5.2, 4.2))
    best = {f"paper, Q = {q}": dict(zip(PAPER_SIZES, PAPER[q])) for q in (12, 42)}
    curves(ax, [row | {"Q": f"Q = {row['Q']}"} for row in rows], "Q", best)
    print(write_picture("seq_table3", fig))


if __name__ == "__main__":
    main()
