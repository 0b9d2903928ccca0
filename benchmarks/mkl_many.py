"""Very many kernels: Gaussians of many widths on single columns and on random sets of columns, hinge loss.

    python benchmarks/mkl_many.py                                   # 100,000 kernels on 1,000 rows, p = 1 and 4/3
    python benchmarks/mkl_many.py --kernels 2000 --rows 300 --judge

The table is drawn: a label depends on six of 60 columns.  Every set of columns has 20 widths, a geometric sequence
around its number of columns.  Timed is the whole fit at the defaults, from kernels and table to the fitted model.

`--judge` computes both objectives anew: the classifier from the kernels with weight, the bound from the energies of all
kernels, each by its own kernel values in double precision on the rows where the dual point is not zero.
Compilation is kept out by a smaller fit.  A line is shown and written as soon as its norm is done.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

import kernelweave as kw
from common import Row, conditions, peak_memory, show, timed, write_csv
from kernelweave.penalties import LpBall
from mkl_common import Array, fit_quietly

COLUMNS, WIDTHS = 60, 20
MOST_TOGETHER = 7
"""Columns of the largest set."""
WARM_UP = 200, 800
"""Rows and kernels of the fit that compiles."""


def table(n: int, seed: int = 0) -> tuple[Array, Array]:
    """Return rows and labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, COLUMNS))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.7 * np.abs(X[:, 3]) + 0.3 * X[:, 4] * X[:, 5]
    score += 0.3 * rng.normal(size=n)
    return X, np.where(score > np.median(score), 1, -1)


def gaussians(m: int, seed: int = 1) -> list[kw.kernels.Kernel]:
    """Return m Gaussians: every single column first, then random sets of columns, all widths of each."""
    rng, sets = np.random.default_rng(seed), -(-m // WIDTHS)
    columns = [[j] for j in range(min(COLUMNS, sets))]
    while len(columns) < sets:
        size = int(rng.integers(2, MOST_TOGETHER + 1))
        columns.append(sorted(rng.choice(COLUMNS, size, replace=False).tolist()))
    widths = np.geomspace(0.1, 100.0, WIDTHS)
    return [kw.RBF(width=float(width) * len(some)).on(some) for some in columns for width in widths][:m]


def judged_gap(model: Any, X: Array, y: Array, C: float, p: float) -> float:
    """Return the gap of a model's own points, from kernel values of one kernel at a time."""
    alpha, beta = model.certificate_.alpha[0], model.kernel_weights_
    coef, sign = np.zeros(len(y)), np.where(y == model.classes_[1], 1.0, -1.0)
    coef[model.support_] = model.dual_coef_[0]
    rows = np.flatnonzero(alpha)
    q, f = np.empty(len(beta)), np.zeros(len(y))
    for k, kernel in enumerate(model.kernels_):
        q[k] = alpha[rows] @ kernel.gram(X[rows]) @ alpha[rows]
        if beta[k] > 0:
            f += beta[k] * (kernel.gram(X, X[model.support_]) @ model.dual_coef_[0])
    primal = 0.5 * coef @ f + C * np.maximum(0.0, 1.0 - sign * (f + model.intercept_[0])).sum()
    dual = np.abs(alpha).sum() - 0.5 * LpBall(p).support(q)
    return float((primal - dual) / primal)


def fitted(m: int, n: int, p: float, C: float, tol: float) -> tuple[Any, Array, Array]:
    """Return a fitted model and its data."""
    X, y = table(n)
    return fit_quietly(kw.MKLClassifier(gaussians(m), C=C, norm=p, tol=tol), X, y), X, y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--norms", type=float, nargs="+", default=[1.0, 4 / 3])
    parser.add_argument("--cost", type=float, default=1.0)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--judge", action="store_true", help="compute the gap anew, one kernel at a time")
    options = parser.parse_args()
    lines: list[Row] = []
    for p in options.norms:
        fitted(WARM_UP[1], WARM_UP[0], p, options.cost, options.tol)
        run = timed(partial(fitted, options.kernels, options.rows, p, options.cost, options.tol))
        model, X, y = run.result
        first = timed(partial(model.decision_function, X))
        lines.append({
            "kernels": options.kernels, "rows": options.rows, "norm": round(p, 3), "solver": model.solver_,
            "wall": run.wall, "cpu": run.cpu, "gap": model.duality_gap_, "iterations": model.n_iter_,
            "with weight": int(np.count_nonzero(model.kernel_weights_)), "support": len(model.support_),
            "predict": first.wall, "peak GB": peak_memory() / 1e9, "plan": model.memory_plan_.kind,
            "judged gap": judged_gap(model, X, y, options.cost, p) if options.judge else None,
        })  # fmt: skip
        write_csv("mkl_many", lines)
        print(show(lines[-1:]), flush=True)
    print(conditions())


if __name__ == "__main__":
    main()
