"""100,000 rows in 1 GB: an RBF support vector machine whose Gram matrix (40 GB) fits nowhere.

    python benchmarks/svm_large.py

Prints seconds, the certified gap and the largest resident memory of the process, which holds nothing else.
The time includes everything: the data are made before the clock starts, compilation is excluded by a small fit.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from common import Row, conditions, peak_memory, show, timed, write_csv, write_picture
from kernelweave.plots.style import BLUE, GREY, figure, quiet

FEATURES = 20
ALLOWED = 2e9
"""Most memory that the whole process may take, in bytes."""


def problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised rows of two classes, 5 % of the labels flipped."""
    X, y = make_classification(
        n, FEATURES, n_informative=10, n_redundant=5, n_clusters_per_class=4, flip_y=0.05, random_state=0
    )
    return StandardScaler().fit_transform(X), y


def model(options: argparse.Namespace, **params: Any) -> kw.KernelClassifier:
    return kw.KernelClassifier(
        kw.RBF(gamma=1 / FEATURES), C=options.C, tol=options.tol, memory_limit=options.memory_limit, **params
    )


def tell(progress: Any) -> None:
    """Show a line every tenth iteration."""
    if progress.iteration % 10 == 1:
        print(f"  iteration {progress.iteration:4d}  {progress.seconds:7.1f} s  gap {progress.gap:.3g}", flush=True)


def draw(fitted: kw.KernelClassifier, tol: float) -> Any:
    """Return a figure of the gap over time."""
    fig, ax = figure(1, 1, (4.8, 3.2))
    ax.semilogy(fitted.trace_["seconds"], fitted.trace_["gap"], color=BLUE)
    ax.axhline(tol, color=GREY, linestyle="--", linewidth=1)
    ax.annotate("asked for", (0, tol), (2, 3), textcoords="offset points", color=GREY)
    ax.set_xlabel("seconds")
    ax.set_ylabel("relative duality gap")
    quiet(ax)
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--memory-limit", default="1GB")
    options = parser.parse_args()
    print(conditions("scikit-learn"))
    X, y = problem(options.rows)
    model(options, solver="chunking", solver_params={"chunk_size": 100}).set_params(memory_limit=4 * 500 * 64).fit(
        X[:500], y[:500]
    )
    run = timed(lambda: model(options, callbacks=(tell,)).fit(X, y))
    row: Row = {
        "n": options.rows, "features": FEATURES, "C": options.C, "memory_limit": options.memory_limit,
        "seconds": run.wall, "cpu": run.cpu, "iterations": run.result.n_iter_, "gap": run.result.duality_gap_,
        "primal": run.result.objective_, "dual": run.result.dual_objective_,
        "support_vectors": len(run.result.support_), "peak_memory_gb": peak_memory() / 1e9,
    }  # fmt: skip
    print(show([row]))
    print("peak memory is", "under" if peak_memory() < ALLOWED else "OVER", f"{ALLOWED / 1e9:g} GB")
    print(write_csv("svm_large", [row]))
    print(write_picture("svm_large", draw(run.result, options.tol)))


if __name__ == "__main__":
    main()
