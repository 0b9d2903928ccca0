"""Scoring of many sequences with a weighted-degree machine: sequences a second, and memory.

    python benchmarks/seq_scoring.py                                 # trained on 100,000, scores 1,000,000
    python benchmarks/seq_scoring.py --train 3000 --score 5000

The new sequences are made in blocks, before the clock starts, so that memory holds one block at a time; each block is
one call of `decision_function`.  What the model sets up at its first call is shown apart (`first_call`, 1,000 rows); a
small model keeps compilation out.  Scoring is stopped after `--limit` seconds: the rate is that of the rows scored by
then.  The outputs on all numbers of threads are compared, bit by bit, on the first block.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from common import Row, conditions, show, timed, write_csv, write_picture
from kernelweave.plots.style import BLUE, GREY, figure, quiet
from seq_common import DEGREE, WARM_UP_ROWS, classifier, fit_timed, reset_peak, resident, splice

ASKED = 20_000.0
"""Sequences a second on two threads."""
FIRST = 1000
SEED = 1000
"""Seeds of the blocks to score start here: no block is the training set."""


def score(model: Any, threads: int, options: argparse.Namespace) -> tuple[Row, np.ndarray]:
    """Score block by block; return the line of the table and the outputs of the first block."""
    model.set_params(n_jobs=threads)
    done, wall, cpu, seed, kept = 0, 0.0, 0.0, SEED, np.empty(0)
    reset_peak()
    with threadpool_limits(threads, user_api="blas"):
        first = timed(lambda: model.decision_function(splice(FIRST, SEED)[0]))
        while done < options.score and wall < options.limit:
            X, _ = splice(min(options.block, options.score - done), seed)
            run = timed(lambda: model.decision_function(X))  # noqa: B023 - called at once
            done, wall, cpu, seed = done + len(X), wall + run.wall, cpu + run.cpu, seed + 1
            kept = kept if len(kept) else run.result
    row: Row = {
        "train": options.train, "support_vectors": len(model.support_), "threads": threads, "scored": done,
        "first_call": first.wall, "wall": wall, "cpu": cpu, "per_second": done / wall,
        "peak_gb": resident("VmHWM"), "stopped": done < options.score,
    }  # fmt: skip
    return row, kept


def draw(rows: list[Row]) -> Any:
    """Return a figure: sequences a second for each number of threads."""
    fig, ax = figure(1, 1, (3.6, 3.2))
    for place, row in enumerate(rows):
        ax.bar(place, row["per_second"], 0.6, color=BLUE)
        text = f"{row['per_second']:,.0f}"
        ax.annotate(text, (place, row["per_second"]), (0, 2), textcoords="offset points", ha="center", fontsize=8)
    ax.axhline(ASKED, color=GREY, linestyle="--", linewidth=1)
    ax.set_xticks(range(len(rows)), [f"{row['threads']} threads" for row in rows])
    ax.set_ylabel("sequences a second")
    quiet(ax)
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=int, default=100_000)
    parser.add_argument("--score", type=int, default=1_000_000)
    parser.add_argument("--block", type=int, default=100_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of scoring, for each number of threads")
    options = parser.parse_args()
    print(conditions("scikit-learn"))
    for n in (WARM_UP_ROWS, options.train):
        X, y = splice(n)
        run = fit_timed(lambda: classifier("wd", max(options.threads), 1e-3), X, y, max(options.threads))
        run.result.decision_function(splice(FIRST, SEED)[0]) if n == WARM_UP_ROWS else None
    print(f"WD-{DEGREE} trained on {options.train} in {run.wall:.1f} s; compiled by small runs first", flush=True)
    made = [score(run.result, threads, options) for threads in options.threads]
    rows = [row for row, _ in made]
    print(show(rows))
    print(write_csv("seq_scoring", rows))
    print(write_picture("seq_scoring", draw(rows)))
    print("same bits on all numbers of threads:", all(np.array_equal(made[0][1], values) for _, values in made))
    for row in rows:
        if row["threads"] == 2:
            word = "reached" if row["per_second"] >= ASKED else "MISSED"
            print(f"{word}: {row['per_second']:,.0f} sequences a second on 2 threads (aim: {ASKED:,.0f})")


if __name__ == "__main__":
    main()
