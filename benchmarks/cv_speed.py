"""What cross-validation costs: 5 folds and 5 values of C against one fit, on kernels that are bound once.

    python benchmarks/cv_speed.py [--rows 30000] [--data celegans splice]

Both sides run in one process, one after the other, on the same rows: `KernelClassifier("wd:20")` fitted at C = 1, the
best of three times, and `kw.search` over five values of C on five folds, with the fit to all rows at the end.  A ratio
is of wall seconds, or of CPU seconds; loops are compiled before.  Real acceptor sites come from the folder of shared
data and are left out where it is missing.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path
from typing import Any

import numpy as np

import kernelweave as kw
from common import best, conditions, show, timed, write_csv

CS = [0.01, 0.1, 1.0, 10.0, 100.0]
FITS = 3
CELEGANS = Path(__file__).resolve().parents[2] / "shared" / "data" / "splice" / "celegans_acceptor_chr1_2.tsv.gz"
UPSTREAM, LENGTH, SITE = 60, 141, 197
"""Letters before the AG, of the window, and where the AG stands in the file."""


def celegans(n: int) -> tuple[kw.Sequences, np.ndarray]:
    """Return windows of 141 letters around real acceptor sites and decoys."""
    with gzip.open(CELEGANS, "rt") as file:
        lines = [line.split("\t")[:2] for line in file]
    chosen = [lines[i] for i in np.sort(np.random.default_rng(0).choice(len(lines), n, replace=False))]
    windows = [text[SITE - UPSTREAM : SITE - UPSTREAM + LENGTH] for _, text in chosen]
    return kw.Sequences.from_strings(windows, alphabet="dna"), np.array([int(label) for label, _ in chosen])


def compared(name: str, n: int, jobs: int) -> dict[str, Any]:
    """Return the times of a fit and of a search on one set of rows."""
    X, y = celegans(n) if name == "celegans" else kw.datasets.make_splice(n, random_state=0)
    model = kw.KernelClassifier("wd:20", normalize="trace", n_jobs=jobs)
    kw.search(model, X[:6000], y[:6000], {"C": [0.1, 1.0]}, cv=2)  # compiles
    one = best([timed(lambda: model.fit(X, y)) for _ in range(FITS)])
    many = timed(lambda: kw.search(model, X, y, {"C": CS}, cv=5, scoring="auprc"))
    return {
        "data": name, "rows": n, "fit wall s": one.wall, "fit CPU s": one.cpu, "search wall s": many.wall,
        "search CPU s": many.cpu, "wall ratio": many.wall / one.wall, "CPU ratio": many.cpu / one.cpu,
        "solver": one.result.solver_, "C": many.result.best_params_["C"], "auPRC": many.result.best_score_,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--data", nargs="+", default=["celegans", "splice"], choices=["celegans", "splice"])
    parser.add_argument("--jobs", type=int, default=-1)
    given = parser.parse_args()
    table = []
    for name in given.data:
        if name == "celegans" and not CELEGANS.exists():
            print(f"{name}: left out, {CELEGANS} is missing")
            continue
        table.append(compared(name, given.rows, given.jobs))
        print(show(table[-1:]), flush=True)
    print(conditions("numpy", "scikit-learn"))
    print(write_csv("cv_speed", table))


if __name__ == "__main__":
    main()
