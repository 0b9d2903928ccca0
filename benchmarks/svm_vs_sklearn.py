"""One RBF support vector machine, trained by kernelweave and by scikit-learn's SVC on the same rows.

    python benchmarks/svm_vs_sklearn.py                  # 5,000 / 10,000 / 20,000 rows, C = 1 and 100
    python benchmarks/svm_vs_sklearn.py --solvers        # smo against chunking, the source of the "auto" rule

Both sides run in this process, in turn; the best of `--repeats` runs counts.  SVC has a cache of 2 GB and its default
tolerance of 1e-3.  Ours stops at a relative duality gap (column `tol`) small enough that both of its objectives are at
least as good as SVC's.  All objectives are recomputed here in double precision, from the coefficients alone, by the
same function for both sides.  Compilation is kept out of the times: a small fit on each path comes first; so is the
first touch of fresh memory, which is slow on virtual machines and would count for whoever runs first.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernelweave as kw
from common import Row, alternate, conditions, show, touch, write_csv, write_picture
from kernelweave.plots.style import BLUE, GREY, figure, quiet

FEATURES = 50
GAMMA = 1 / FEATURES
TOLERANCES = {1.0: 5e-5, 100.0: 1e-3}
"""Our relative gap for each C: round numbers at which both of our objectives are at least as good as SVC's."""
FINEST = 5e-5
"""Our relative gap for any other C."""
AS_GOOD = 1e-6
"""Objectives that differ by less than this, relatively, count as equal."""
MEMORY = 10
"""Bytes for each pair of rows that either side may use."""
CHUNKS = (256, 512, 1024, 2048)


def problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised rows of two classes, 5 % of the labels flipped."""
    X, y = make_classification(
        n, FEATURES, n_informative=20, n_redundant=10, n_clusters_per_class=4, flip_y=0.05, random_state=0
    )
    return StandardScaler().fit_transform(X), np.where(y > 0, 1.0, -1.0)


def ours(C: float, tol: float, solver: str = "auto", **params: Any) -> kw.KernelClassifier:
    return kw.KernelClassifier(kw.RBF(gamma=GAMMA), C=C, tol=tol, solver=solver, solver_params=params)


def theirs(C: float) -> SVC:
    return SVC(C=C, gamma=GAMMA, cache_size=2000, tol=1e-3)


def objectives(X: np.ndarray, y: np.ndarray, C: float, alpha: np.ndarray, b: float) -> tuple[float, float]:
    """Return the primal and the dual objective of signed coefficients (n,) and an intercept."""
    rows = np.flatnonzero(alpha)
    f = np.concatenate([rbf_kernel(part, X[rows], gamma=GAMMA) @ alpha[rows] for part in np.array_split(X, 50)])
    energy = alpha @ f
    return 0.5 * energy + C * np.maximum(0, 1 - y * (f + b)).sum(), y @ alpha - 0.5 * energy


def spread(n: int, support: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    alpha = np.zeros(n)
    alpha[support] = coefficients
    return alpha


def compare(n: int, C: float, tol: float, repeats: int) -> Row:
    """Time both sides on one problem and put their objectives beside each other."""
    X, y = problem(n)
    touch(MEMORY * n * n)
    runs = alternate({"ours": lambda: ours(C, tol).fit(X, y), "svc": lambda: theirs(C).fit(X, y)}, repeats)
    mine, svc = runs["ours"].result, runs["svc"].result
    b = float(mine.intercept_[0])
    primal, _ = objectives(X, y, C, spread(n, mine.support_, mine.dual_coef_[0]), b)
    _, dual = objectives(X, y, C, mine.certificate_.alpha[0], b)
    svc_primal, svc_dual = objectives(X, y, C, spread(n, svc.support_, svc.dual_coef_[0]), float(svc.intercept_[0]))
    slack = AS_GOOD * abs(svc_dual)
    return {
        "n": n, "C": C, "tol": tol, "seconds": runs["ours"].wall, "svc_seconds": runs["svc"].wall,
        "ratio": runs["svc"].wall / runs["ours"].wall,
        "cpu": runs["ours"].cpu, "svc_cpu": runs["svc"].cpu,
        "dual": dual, "svc_dual": svc_dual, "primal": primal, "svc_primal": svc_primal,
        "gap": (primal - dual) / primal, "svc_gap": (svc_primal - svc_dual) / svc_primal,
        "as_good": bool(dual >= svc_dual - slack and primal <= svc_primal + slack),
    }  # fmt: skip


def compare_solvers(n: int, C: float, tol: float, repeats: int) -> list[Row]:
    """Time pair steps and working sets of several sizes on one problem."""
    X, y = problem(n)
    touch(MEMORY * n * n)
    models = {"smo": ours(C, tol, "smo")} | {f"chunking {q}": ours(C, tol, "chunking", chunk_size=q) for q in CHUNKS}
    runs = alternate({name: lambda m=model: m.fit(X, y) for name, model in models.items()}, repeats)
    return [
        {"n": n, "C": C, "tol": tol, "solver": name, "seconds": run.wall, "cpu": run.cpu,
         "iterations": run.result.n_iter_, "primal": run.result.objective_, "dual": run.result.dual_objective_,
         "gap": run.result.duality_gap_}
        for name, run in runs.items()
    ]  # fmt: skip


def draw(rows: list[Row]) -> Any:
    """Return a figure: seconds of both sides, one panel for each C, the ratio above each pair of bars."""
    costs = sorted({row["C"] for row in rows})
    fig, axes = figure(1, len(costs), (4.2 * len(costs), 3.4))
    for ax, C in zip(np.atleast_1d(axes), costs):
        some = [row for row in rows if row["C"] == C]
        place = np.arange(len(some))
        ax.bar(place - 0.2, [row["svc_seconds"] for row in some], 0.38, color=GREY, label="SVC")
        ax.bar(place + 0.2, [row["seconds"] for row in some], 0.38, color=BLUE, label="kernelweave")
        for x, row in zip(place, some):
            ax.annotate(
                f"{row['ratio']:.1f}x", (x + 0.2, row["seconds"]), (0, 3), textcoords="offset points", ha="center"
            )
        ax.set_xticks(place, [f"{row['n']:,}" for row in some])
        ax.set_xlabel("training rows")
        ax.set_title(f"C = {C:g}", loc="left", fontsize=10)
        quiet(ax)
    np.atleast_1d(axes)[0].set_ylabel("seconds")
    np.atleast_1d(axes)[0].legend(frameon=False, loc="upper left")
    return fig


def warm_up(solvers: bool) -> None:
    """Compile every path that will be timed, in both precisions of the Gram matrix."""
    n = 1200  # more than one tile of the Gram matrix
    X, y = problem(n)
    for name in ("smo", "chunking") if solvers else ("auto",):
        for limit in (8 * n**2, 4 * n**2):
            params = {"chunk_size": 100} if name == "chunking" else {}
            ours(1.0, 1e-3, name, **params).set_params(memory_limit=limit).fit(X, y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5000, 10000, 20000])
    parser.add_argument("--costs", type=float, nargs="+", default=[1.0, 100.0])
    parser.add_argument("--tol", type=float, help="our relative duality gap, for every C")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each side, in turn; the best counts")
    parser.add_argument("--solvers", action="store_true", help="compare our solvers with each other")
    options = parser.parse_args()
    warm_up(options.solvers)
    print(conditions("scikit-learn"))
    print(f"compiled by small fits first, not counted; best of {options.repeats}")
    rows: list[Row] = []
    for n in options.sizes:
        for C in options.costs:
            tol = options.tol or TOLERANCES.get(C, FINEST)
            if options.solvers:
                rows += compare_solvers(n, C, tol, options.repeats)
            else:
                rows.append(compare(n, C, tol, options.repeats))
            print(f"{n} rows, C = {C:g}: done", flush=True)
    print(show(rows))
    name = "svm_solvers" if options.solvers else "svm_vs_sklearn"
    print(write_csv(name, rows))
    if not options.solvers:
        print(write_picture(name, draw(rows)))


if __name__ == "__main__":
    main()
