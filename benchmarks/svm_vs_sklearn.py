"""One RBF support vector machine, trained by kernelweave, by oneDAL and by scikit-learn's SVC on the same rows.

    python benchmarks/svm_vs_sklearn.py                  # 5,000 to 50,000 rows, C = 1 and 100, one thread and two
    python benchmarks/svm_vs_sklearn.py --solvers        # smo against chunking

All sides run in this process, in turn; the best of `--repeats` runs counts.  oneDAL is scikit-learn-intelex; where it
is not installed, its columns are empty.  It and ours have the same number of threads, SVC always one, and none beyond
10,000 rows.  Both have a cache of 2 GB and their default tolerance of 1e-3.  Ours stops at a relative duality gap
(column `tol`) small enough that both of its objectives are at least as good as theirs.  All objectives are recomputed
here in double precision, from the coefficients alone, by the same function for all sides.  Compilation is kept out of
the times: a small fit on each path comes first.  So is the first touch of fresh memory, which is slow on virtual
machines: before each run of each side, as much as it may use is touched and given back.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

try:
    from sklearnex.svm import SVC as OneDAL
except ImportError:
    OneDAL = None

import kernelweave as kw
from common import Row, alternate, conditions, show, write_csv, write_picture
from kernelweave.plots.style import BLUE, GREY, figure, quiet

FEATURES = 50
GAMMA = 1 / FEATURES
TOLERANCES = {1.0: 5e-5, 100.0: 1e-3}
"""Our relative gap for each C: round numbers at which both of our objectives are at least as good as SVC's."""
FINEST = 5e-5
"""Our relative gap for any other C."""
AS_GOOD = 1e-6
"""Objectives that differ by less than this, relatively, count as equal."""
MEMORY, MOST_TOUCHED = 10, 12e9
"""Bytes for each pair of rows that a side may use, and the most that are touched first."""
LARGEST_SVC = 10_000
AIM = 2.0
"""oneDAL's CPU and wall seconds over ours."""
LIGHT = "#BDBDBD"
CHUNKS = (256, 512, 1024, 2048)


def problem(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised rows of two classes, 5 % of the labels flipped."""
    X, y = make_classification(
        n, FEATURES, n_informative=20, n_redundant=10, n_clusters_per_class=4, flip_y=0.05, random_state=0
    )
    return StandardScaler().fit_transform(X), np.where(y > 0, 1.0, -1.0)


def ours(C: float, tol: float, solver: str = "auto", threads: int | None = None, **params: Any) -> kw.KernelClassifier:
    kernel = kw.RBF(gamma=GAMMA)
    return kw.KernelClassifier(kernel, C=C, tol=tol, solver=solver, solver_params=params, n_jobs=threads)


def theirs(C: float) -> SVC:
    return SVC(C=C, gamma=GAMMA, cache_size=2000, tol=1e-3)


def onedal(C: float, threads: int) -> Any:
    return OneDAL(C=C, gamma=GAMMA, cache_size=2000, tol=1e-3, n_jobs=threads)


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


def compare(n: int, C: float, tol: float, repeats: int, threads: int) -> Row:
    """Time all sides on one problem and put their objectives beside each other."""
    X, y = problem(n)
    calls: dict[str, Any] = {"ours": lambda: ours(C, tol, threads=threads).fit(X, y)}
    if OneDAL is not None:
        calls["onedal"] = lambda: onedal(C, threads).fit(X, y)
    if n <= LARGEST_SVC:
        calls["svc"] = lambda: theirs(C).fit(X, y)
    runs = alternate(calls, repeats, min(MEMORY * n * n, MOST_TOUCHED))
    mine = runs["ours"].result
    b = float(mine.intercept_[0])
    primal, _ = objectives(X, y, C, spread(n, mine.support_, mine.dual_coef_[0]), b)
    _, dual = objectives(X, y, C, mine.certificate_.alpha[0], b)
    row: Row = {
        "n": n, "C": C, "threads": threads, "tol": tol, "seconds": runs["ours"].wall, "cpu": runs["ours"].cpu,
        "solver": mine.solver_, "dual": dual, "primal": primal, "gap": (primal - dual) / primal,
    }  # fmt: skip
    for side in ("onedal", "svc"):
        row |= beside(side, runs.get(side), row, X, y)
    return row


def beside(side: str, run: Any, row: Row, X: np.ndarray, y: np.ndarray) -> Row:
    """Return the columns of a rival: times, their ratios to ours, objectives, whether ours are at least as good."""
    names = ("seconds", "cpu", "ratio", "cpu_ratio", "dual", "primal", "gap", "as_good")
    if run is None:
        return {f"{side}_{name}": "" for name in names}
    found = run.result
    alpha = spread(len(y), found.support_, found.dual_coef_[0])
    primal, dual = objectives(X, y, row["C"], alpha, float(found.intercept_[0]))
    slack = AS_GOOD * abs(dual)
    as_good = bool(row["dual"] >= dual - slack and row["primal"] <= primal + slack)
    gap, ratio, cpu_ratio = (primal - dual) / primal, run.wall / row["seconds"], run.cpu / row["cpu"]
    values = (run.wall, run.cpu, ratio, cpu_ratio, dual, primal, gap, as_good)
    return {f"{side}_{name}": value for name, value in zip(names, values)}


def judge(rows: list[Row]) -> list[str]:
    """Return one line for each problem on which oneDAL has run."""
    lines = []
    for row in rows:
        if row["onedal_seconds"] != "":
            good = row["onedal_as_good"] and min(row["onedal_ratio"], row["onedal_cpu_ratio"]) >= AIM
            lines.append(
                f"{'reached' if good else 'MISSED'}: {row['n']} rows, C = {row['C']:g}, {row['threads']} threads: "
                f"{row['onedal_cpu_ratio']:.1f}x less CPU, {row['onedal_ratio']:.1f}x less wall than oneDAL "
                f"(aim: {AIM:g}x), objectives {'as good' if row['onedal_as_good'] else 'WORSE'}"
            )
    return lines


def compare_solvers(n: int, C: float, tol: float, repeats: int) -> list[Row]:
    """Time pair steps and working sets of several sizes on one problem."""
    X, y = problem(n)
    models = {"smo": ours(C, tol, "smo")} | {f"chunking {q}": ours(C, tol, "chunking", chunk_size=q) for q in CHUNKS}
    runs = alternate({name: lambda m=model: m.fit(X, y) for name, model in models.items()}, repeats, MEMORY * n * n)
    return [
        {"n": n, "C": C, "tol": tol, "solver": name, "seconds": run.wall, "cpu": run.cpu,
         "iterations": run.result.n_iter_, "primal": run.result.objective_, "dual": run.result.dual_objective_,
         "gap": run.result.duality_gap_}
        for name, run in runs.items()
    ]  # fmt: skip


def draw(rows: list[Row]) -> Any:
    """Return a figure: CPU seconds of each side with one thread, one panel for each C, the ratio above ours."""
    fewest = min(row["threads"] for row in rows)
    costs = sorted({row["C"] for row in rows})
    fig, axes = figure(1, len(costs), (4.2 * len(costs), 3.4))
    sides = (("svc_cpu", LIGHT, "SVC"), ("onedal_cpu", GREY, "oneDAL"), ("cpu", BLUE, "kernelweave"))
    for ax, C in zip(np.atleast_1d(axes), costs):
        some = [row for row in rows if row["C"] == C and row["threads"] == fewest]
        place = np.arange(len(some))
        for shift, (column, colour, label) in zip((-0.27, 0.0, 0.27), sides):
            ax.bar(place + shift, [row[column] or 0.0 for row in some], 0.25, color=colour, label=label)
        for x, row in zip(place, some):
            if row["onedal_cpu_ratio"] != "":
                text = f"{row['onedal_cpu_ratio']:.1f}x"
                ax.annotate(text, (x + 0.27, row["cpu"]), (0, 3), textcoords="offset points", ha="center")
        ax.set_yscale("log")
        ax.set_xticks(place, [f"{row['n']:,}" for row in some])
        ax.set_xlabel("training rows")
        ax.set_title(f"C = {C:g}", loc="left", fontsize=10)
        quiet(ax)
    np.atleast_1d(axes)[0].set_ylabel("CPU seconds")
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
    if OneDAL is not None:
        onedal(1.0, 1).fit(X, y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5000, 10000, 20000, 50000])
    parser.add_argument("--costs", type=float, nargs="+", default=[1.0, 100.0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="of ours and of oneDAL")
    parser.add_argument("--tol", type=float, help="our relative duality gap, for every C")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each side, in turn; the best counts")
    parser.add_argument("--solvers", action="store_true", help="compare our solvers with each other")
    options = parser.parse_args()
    warm_up(options.solvers)
    print(conditions("scikit-learn", *(["scikit-learn-intelex"] if OneDAL is not None else [])))
    print(f"compiled by small fits first, not counted; best of {options.repeats}")
    rows: list[Row] = []
    name = "svm_solvers" if options.solvers else "svm_vs_sklearn"
    for n in options.sizes:
        for C in options.costs:
            tol = options.tol or TOLERANCES.get(C, FINEST)
            if options.solvers:
                rows += compare_solvers(n, C, tol, options.repeats)
            else:
                rows += [compare(n, C, tol, options.repeats, threads) for threads in options.threads]
            print(f"{n} rows, C = {C:g}: done", flush=True)
            written = write_csv(name, rows)
    print(show(rows))
    print(written)
    if not options.solvers:
        print(write_picture(name, draw(rows)))
        print("\n".join(judge(rows)))


if __name__ == "__main__":
    main()
