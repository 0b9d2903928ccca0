"""One kernel for each column or group of columns, beside celer and skglm: the group lasso, certified.

    make bench-env                                 # once: installs the peers into .bench
    .bench/bin/python benchmarks/mkl_blocks.py [--cases wdbc sonar wide ...] [--repeats 3]

At its optimum our L1 problem  ``1/2 (sum_k |w_k|)^2 + C sum_i loss``  is the group lasso of the peers for one strength
of their penalty, ``sum_k |w_k| / (2 n C)`` (squared loss) or ``sum_k |w_k| / (n C)`` (logistic), which they are given.
Their tolerance is the loosest of a list at which they reach our objective to 1e-6, so that nobody solves more than was
asked; the objective shown is ours, for everybody, and the gap is to the lower bound that our fit proved.  skglm has the
group lasso of both losses, celer that of the squared loss, and both have the lasso (one column each) of both.

Everybody starts from the table: the times are those of `fit`, with a list of groups (ours: of kernels) that is there
already; a sparse table comes by rows, and turning it is part of a fit.  Compilation is kept out by a first run, and
runs alternate.  A peer that is not installed is left out.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import kernelweave as kw
from common import Row, alternate, conditions, show, write_csv
from mkl_common import Array, fit_quietly, split, uci
from mkl_peers import GROUPS, installed

SAME = 1e-6
"""Relative excess over our lower bound at which objectives count as equal."""
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
MOST_ITER = 1000


class Case(NamedTuple):
    """A table, its targets, the groups of columns, the cost and the loss."""

    X: Any
    y: Array
    size: int
    C: float
    loss: str
    groups: list[list[int]]


class Fit(NamedTuple):
    """Coefficients and the intercept."""

    coef: Array
    intercept: float
    model: Any


def correlated(n: int, m: int, size: int, C: float, loss: str = "squared", used: int = 20) -> Case:
    """Neighbouring columns have correlation 1/2; some groups make the targets, with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, m * size))
    for j in range(1, m * size):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    w = np.zeros(m * size)
    for k in rng.choice(m, used, replace=False):
        w[k * size : (k + 1) * size] = rng.standard_normal(size)
    f = X @ w
    y = f / f.std() + 0.3 * rng.standard_normal(n)
    return Case(X, np.sign(y) if loss == "logistic" else y, size, C, loss, consecutive(m, size))


def words(n: int, m: int, C: float, loss: str) -> Case:
    """Sparse columns, few of them common, as words of a text are; each is a group."""
    rng = np.random.default_rng(0)
    share = np.maximum(0.2 / np.arange(1, m + 1) ** 0.6, 2.0 / n)
    X = sparse.hstack([sparse.random(n, 1, s, random_state=rng, format="csc") for s in share]).tocsr()
    f = np.asarray(X @ (rng.standard_normal(m) * (rng.random(m) < 0.1))).ravel()
    y = f / f.std() + 0.3 * rng.standard_normal(n)
    return Case(X, np.where(y > 0, 1.0, -1.0) if loss == "logistic" else y, 1, C, loss, consecutive(m, 1))


def real(data: str) -> Case:
    X, y = uci(data)
    X, y, *_ = split(X, y, len(y) // 2, 0)
    return Case(X, y, len(GROUPS[data][0]), 0.1, "squared", GROUPS[data])


def consecutive(m: int, size: int) -> list[list[int]]:
    return [list(range(k * size, (k + 1) * size)) for k in range(m)]


CASES: dict[str, Callable[[], Case]] = {
    "wdbc": partial(real, "wdbc"),
    "sonar": partial(real, "sonar"),
    "groups of 5": partial(correlated, 500, 100, 5, 0.1),
    "long": partial(correlated, 20_000, 100, 5, 0.01),
    "groups of 4": partial(correlated, 2_000, 500, 4, 0.02),
    "wide": partial(correlated, 2_000, 5_000, 2, 0.01),
    "columns": partial(correlated, 1_000, 3_000, 1, 0.1),
    "logistic columns": partial(correlated, 2_000, 2_000, 1, 0.05, "logistic"),
    "logistic groups": partial(correlated, 2_000, 500, 4, 0.05, "logistic"),
    "long logistic": partial(correlated, 20_000, 500, 1, 0.01, "logistic"),
    "words": partial(words, 5_000, 2_000, 0.1, "squared"),
    "logistic words": partial(words, 5_000, 2_000, 0.5, "logistic"),
}


def kernels_of(case: Case) -> list[Any]:
    """Return one kernel for each group."""
    return [kw.Linear().on(group) for group in case.groups]


def ours(case: Case, solver: str, kernels: list[Any]) -> Any:
    """Return our model."""
    make = kw.MKLClassifier if case.loss == "logistic" else kw.MKLRegressor
    model = make(kernels, C=case.C, loss=case.loss, normalize=None, tol=SAME, solver=solver)
    return fit_quietly(model, case.X, case.y)


def peer(module: str, case: Case, strength: float, tol: float) -> Any:
    """Return the model of a peer."""
    X = case.X.tocsc() if sparse.issparse(case.X) else case.X
    return fit_quietly(PEERS[module, case.loss, case.size > 1](case, strength, tol), X, case.y)


def read(case: Case, model: Any) -> Fit:
    """Return the coefficients of the columns, whoever has found them."""
    intercept = float(np.ravel(model.intercept_)[0])
    if not hasattr(model, "kernel_weights_"):
        return Fit(np.asarray(model.coef_).ravel(), intercept, model)
    coef = np.zeros(case.X.shape[1])
    if hasattr(model, "coef_"):
        for group, first, last in zip(case.groups, model.coef_offsets_, model.coef_offsets_[1:]):
            coef[group] = spread(model, first, last, len(group))
    else:
        for weight, group in zip(model.kernel_weights_, case.groups):
            coef[group] = weight * (model.dual_coef_[0] @ case.X[model.support_][:, group])
    return Fit(coef, intercept, model)


def spread(model: Any, first: int, last: int, size: int) -> Array:
    """Return the coefficients of a group; columns of a sparse table that are zero on all rows have none."""
    part = model.coef_[0, first:last]
    return part if len(part) == size else np.resize(part, size) if len(part) else np.zeros(size)


def celer_groups(case: Case, strength: float, tol: float) -> Any:
    from celer import GroupLasso

    return GroupLasso(groups=case.groups, alpha=strength, tol=tol, max_iter=MOST_ITER)


def celer_lasso(case: Case, strength: float, tol: float) -> Any:
    from celer import Lasso

    return Lasso(alpha=strength, tol=tol, max_iter=MOST_ITER)


def skglm_groups(case: Case, strength: float, tol: float) -> Any:
    from skglm import GroupLasso

    return GroupLasso(groups=case.groups, alpha=strength, tol=tol, max_iter=MOST_ITER)


def skglm_lasso(case: Case, strength: float, tol: float) -> Any:
    from skglm import Lasso

    return Lasso(alpha=strength, tol=tol, max_iter=MOST_ITER)


def skglm_logistic(case: Case, strength: float, tol: float) -> Any:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    return GeneralizedLinearEstimator(Logistic(), L1(strength), ProxNewton(tol=tol, fit_intercept=True))


def skglm_logistic_groups(case: Case, strength: float, tol: float) -> Any:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import LogisticGroup
    from skglm.penalties import WeightedGroupL2
    from skglm.solvers import GroupProxNewton
    from skglm.utils.data import grp_converter

    order, starts = grp_converter(case.groups, case.X.shape[1])
    penalty = WeightedGroupL2(strength, np.ones(len(case.groups)), starts, order)
    return GeneralizedLinearEstimator(
        LogisticGroup(starts, order), penalty, GroupProxNewton(tol=tol, fit_intercept=True)
    )


PEERS: dict[tuple[str, str, bool], Callable[[Case, float, float], Any]] = {
    ("celer", "squared", True): celer_groups,
    ("celer", "squared", False): celer_lasso,
    ("skglm", "squared", True): skglm_groups,
    ("skglm", "squared", False): skglm_lasso,
    ("skglm", "logistic", True): skglm_logistic_groups,
    ("skglm", "logistic", False): skglm_logistic,
}
"""What each peer offers, by loss and whether groups have several columns; celer's logistic lasso has no intercept."""


def objective(case: Case, fit: Fit) -> float:
    """Return our objective."""
    f = np.asarray(case.X @ fit.coef).ravel() + fit.intercept
    losses = np.logaddexp(0.0, -case.y * f) if case.loss == "logistic" else np.square(f - case.y)
    return 0.5 * sum(np.linalg.norm(fit.coef[group]) for group in case.groups) ** 2 + case.C * float(losses.sum())


def loosest(module: str, case: Case, strength: float, bound: float) -> float:
    """Return the loosest tolerance of a peer that reaches our objective, else the finest."""
    for tol in TOLERANCES:
        value = objective(case, read(case, peer(module, case, strength, tol)))
        if (value - bound) / value <= SAME:
            return tol
    return TOLERANCES[-1]


def compare(name: str, solver: str, repeats: int) -> list[Row]:
    case = CASES[name]()
    kernels = kernels_of(case)
    first = read(case, ours(case, solver, kernels))
    bound = first.model.dual_objective_
    total = sum(np.linalg.norm(first.coef[group]) for group in case.groups)
    strength = total / ((2.0 if case.loss == "squared" else 1.0) * len(case.y) * case.C)
    calls: dict[str, Callable[[], Any]] = {"kernelweave": partial(ours, case, solver, kernels)}
    tolerances = {"kernelweave": SAME}
    for module in ("celer", "skglm"):
        if (module, case.loss, case.size > 1) in PEERS and installed(module):
            tolerances[module] = loosest(module, case, strength, bound)
            calls[module] = partial(peer, module, case, strength, tolerances[module])
    runs = alternate(calls, repeats)
    least = runs["kernelweave"].cpu
    rows = []
    for method, run in runs.items():
        found = read(case, run.result)
        value = objective(case, found)
        rows.append({
            "case": name, "n": len(case.y), "groups": len(case.groups), "columns": case.X.shape[1], "loss": case.loss,
            "method": method, "tol": tolerances[method], "cpu": run.cpu, "seconds": run.wall, "objective": value,
            "gap": (value - bound) / value, "cpu_ratio": run.cpu / least,
            "used": sum(bool(found.coef[group].any()) for group in case.groups),
        })  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--solver", default="block_coordinate", help="ours")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    importlib.import_module("mkl_peers")
    print(conditions("scikit-learn"))
    rows: list[Row] = []
    for name in options.cases:
        rows += compare(name, options.solver, options.repeats)
        print(show(rows[-3:] if len(rows) > 2 else rows), flush=True)
    print(show(rows))
    print(write_csv("mkl_blocks", rows))


if __name__ == "__main__":
    main()
