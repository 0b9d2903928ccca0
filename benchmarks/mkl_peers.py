"""Multiple kernel learning beside its peers, on a held-out half of wdbc and sonar.

    make bench-env                                 # once: installs the peers into .bench
    .bench/bin/python benchmarks/mkl_peers.py

Classification: 10 Gaussians and 3 polynomials on each feature and on all (403 kernels on wdbc, 793 on sonar), learned
by ours (L1 and L2 weights), by MKLpy (AverageMKL, EasyMKL, both with an SVC of the same C) and by himalaya
(multiple-kernel ridge, random search).  The peers solve problems of their own: the objective shown is ours for the
weights they found, with the best classifier for those weights; the gap is to the lower bound that our L1 fit proved.

Group lasso: one linear kernel for each group of features, squared loss.  At its optimum our L1 problem is the group
lasso of celer and skglm for one strength of their penalty, which they are given; all three minimise the same function.

Both sides start from the table and build their kernels within the time; compilation is kept out by a first, smaller
run.  A peer that is not installed is left out.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import SVC

import kernelweave as kw
from common import Row, conditions, show, stored, timed, write_csv, write_picture
from kernelweave.plots.style import BLUE, GREY, figure, quiet
from mkl_common import DEGREES, SIGMAS, Array, fit_quietly, from_stack, many_kernels, score, split, uci
from yardsticks import gram_stack

WARM_UP_ROWS = 60
SEARCHES = 20
"""Random kernel weights that himalaya tries; it offers 100, at five times the cost."""
RIDGES = np.logspace(-3, 3, 7)
GROUP_COST = 0.1
GROUPS = {"wdbc": [[j, j + 10, j + 20] for j in range(10)], "sonar": [list(range(j, j + 5)) for j in range(0, 60, 5)]}
"""wdbc: mean, error and worst value of each measurement; sonar: neighbouring bands."""

Split = tuple[Array, Array, Array, Array]
Found = tuple[Array | None, Callable[[Array], Array], Any]
"""Kernel weights, a predictor of new rows, and the model."""


def ours(X: Array, y: Array, C: float, norm: float = 1.0, tol: float = 1e-3) -> Found:
    model = fit_quietly(kw.MKLClassifier(many_kernels(X.shape[1]), C=C, norm=norm, tol=tol), X, y)
    return model.kernel_weights_, model.predict, model


def mklpy(name: str, X: Array, y: Array, C: float) -> Found:
    import torch

    make = getattr(importlib.import_module("MKLpy.algorithms"), name)
    grams = torch.from_numpy(gram_stack(X, SIGMAS, DEGREES))
    model = make(learner=SVC(C=C)).fit(grams, torch.from_numpy(y))

    def predict(new: Array) -> Array:
        return np.asarray(model.predict(torch.from_numpy(gram_stack(X, SIGMAS, DEGREES, new=new))))

    return model.solution.weights.numpy().astype(float), predict, model


def himalaya(X: Array, y: Array, C: float) -> Found:
    from himalaya.kernel_ridge import MultipleKernelRidgeCV

    search = {"n_iter": SEARCHES, "alphas": RIDGES, "progress_bar": False}
    model = MultipleKernelRidgeCV("precomputed", solver_params=search, fit_intercept=True, random_state=0)
    model.fit(gram_stack(X, SIGMAS, DEGREES), y)
    weights = np.exp(model.deltas_).ravel()

    def predict(new: Array) -> Array:
        return np.where(model.predict(gram_stack(X, SIGMAS, DEGREES, new=new)).ravel() > 0, 1.0, -1.0)

    return weights / weights.sum(), predict, model


CLASSIFIERS: dict[str, tuple[str, Callable[..., Found]]] = {
    "kernelweave L1": ("kernelweave", ours),
    "kernelweave L2": ("kernelweave", partial(ours, norm=2.0)),
    "MKLpy AverageMKL": ("MKLpy", partial(mklpy, "AverageMKL")),
    "MKLpy EasyMKL": ("MKLpy", partial(mklpy, "EasyMKL")),
    "himalaya ridge": ("himalaya", himalaya),
}


def classify(data: str, halves: Split, C: float) -> list[Row]:
    """Train every classifier on the first half, count its hits on the second."""
    X, y, X_new, y_new = halves
    grams = gram_stack(X, SIGMAS, DEGREES)
    bound, rows = ours(X, y, C, tol=1e-4)[2].dual_objective_, []
    for name, (module, make) in CLASSIFIERS.items():
        if installed(module):
            run = timed(partial(make, X, y, C))
            weights, predict, _ = run.result
            # Ours with p = 2 solves another problem; on the simplex its weights are as good as anyone's.
            weights = weights / weights.sum()
            primal = objective(grams, y, C, weights)
            rows.append(line(data, "classification", name, run, primal, bound, weights, predict(X_new) == y_new))
    return rows


def objective(grams: Array, y: Array, C: float, weights: Array) -> float:
    """Return our objective at kernel weights on the simplex, with the SVM that is best for them."""
    svm = SVC(C=C, kernel="precomputed", tol=1e-5).fit(np.tensordot(weights, grams, 1), y)
    alpha = np.zeros(len(y))
    alpha[svm.support_] = svm.dual_coef_[0]
    return score(from_stack(grams), y, C, alpha, weights).primal


def our_groups(groups: list[list[int]], X: Array, y: Array) -> tuple[Array, float, Any]:
    """Return the coefficients and the intercept of our fit."""
    model = kw.MKLRegressor(
        [kw.Linear().on(group) for group in groups], C=GROUP_COST, loss="squared", normalize=None, tol=1e-6
    )
    fit_quietly(model, X, y)
    coef = np.zeros(X.shape[1])
    if hasattr(model, "coef_"):  # trained through the columns themselves
        for first, group in zip(model.coef_offsets_, groups):
            coef[group] = model.coef_[0, first : first + len(group)]
    else:
        for weight, group in zip(model.kernel_weights_, groups):
            coef[group] = weight * (model.dual_coef_[0] @ X[np.ix_(model.support_, group)])
    return coef, float(model.intercept_[0]), model


def group_lasso(module: str, strength: float, groups: list[list[int]], X: Array, y: Array) -> tuple[Array, float, Any]:
    """Return the coefficients and the intercept of a peer."""
    make = importlib.import_module(module).GroupLasso
    model = fit_quietly(make(groups=groups, alpha=strength, fit_intercept=True, tol=1e-8), X, y)
    return np.asarray(model.coef_).ravel(), float(np.ravel(model.intercept_)[0]), model


def regress(data: str, halves: Split) -> list[Row]:
    """Fit the group lasso with every package; its sign is the class."""
    X, y, X_new, y_new = halves
    groups = GROUPS[data]
    some = slice(0, WARM_UP_ROWS)
    our_groups(groups, X[some], y[some])
    first = timed(partial(our_groups, groups, X, y))
    coef, _, model = first.result
    strength = sum(np.linalg.norm(coef[group]) for group in groups) / (2 * len(y) * GROUP_COST)
    runs = {"kernelweave squared": first}
    for module in ("celer", "skglm"):
        if installed(module):
            group_lasso(module, strength, groups, X[some], y[some])
            runs[f"{module} GroupLasso"] = timed(partial(group_lasso, module, strength, groups, X, y))
    rows = []
    for name, run in runs.items():
        coef, b, _ = run.result
        norms = np.array([np.linalg.norm(coef[group]) for group in groups])
        primal = 0.5 * norms.sum() ** 2 + GROUP_COST * float(np.square(X @ coef + b - y).sum())
        hits = np.sign(X_new @ coef + b) == y_new
        rows.append(line(data, "group lasso", name, run, primal, model.dual_objective_, norms / norms.sum(), hits))
    return rows


def line(
    data: str, task: str, name: str, run: Any, primal: float, bound: float, weights: Array, hits: Array
) -> Row:  # fmt: skip
    return {
        "data": data, "task": task, "method": name, "seconds": run.wall, "cpu": run.cpu, "objective": primal,
        "gap": (primal - bound) / primal, "kernels_used": int((weights > 1e-6).sum()), "kernels": len(weights),
        "accuracy": float(np.mean(hits)),
    }  # fmt: skip


def installed(module: str) -> bool:
    """Tell whether a peer can be imported; say so once where it cannot."""
    if module not in MISSING:
        try:
            importlib.import_module(module)
            MISSING[module] = False
        except ImportError as error:
            print(f"{module} is left out: {error}")
            MISSING[module] = True
    return not MISSING[module]


MISSING: dict[str, bool] = {}


def warm_up(X: Array, y: Array, C: float) -> None:
    """Compile and load what will be timed, in both precisions of our Gram matrices."""
    some = slice(0, WARM_UP_ROWS)
    for module, make in CLASSIFIERS.values():
        if installed(module):
            make(X[some], y[some], C)
    kernels = many_kernels(X.shape[1])
    for norm in (1.0, 2.0):
        single = 4 * (len(kernels) + 1) * WARM_UP_ROWS**2
        fit_quietly(kw.MKLClassifier(kernels, C=C, norm=norm, tol=1e-2, memory_limit=single), X[some], y[some])


def draw(rows: list[Row]) -> Any:
    """Return a figure: seconds of every method, its accuracy beside the bar, one panel for each set and task."""
    panels = sorted({(r["task"], r["data"]) for r in rows})
    fig, axes = figure(len(panels), 1, (6.4, 1.5 * len(panels) + 0.5))
    for ax, (task, data) in zip(np.atleast_1d(axes), panels):
        some = [r for r in rows if (r["task"], r["data"]) == (task, data)][::-1]
        colours = [BLUE if r["method"].startswith("kernelweave") else GREY for r in some]
        ax.barh([r["method"] for r in some], [r["seconds"] for r in some], color=colours)
        for place, r in enumerate(some):
            other = r["task"] == "classification" and r["method"] != "kernelweave L1"
            text = f"{100 * r['accuracy']:.1f} %, " + ("another problem" if other else f"gap {r['gap']:.2g}")
            ax.annotate(text, (r["seconds"], place), (3, 0), textcoords="offset points", va="center", fontsize=7)
        ax.set_xscale("log")
        ax.set_xlim(min(r["seconds"] for r in some) / 3, max(r["seconds"] for r in some) * 10)
        ax.set_title(f"{task}, {data}", loc="left", fontsize=10)
        ax.tick_params(labelsize=8)
        quiet(ax)
    np.atleast_1d(axes)[-1].set_xlabel("seconds; beside the bars: accuracy, gap")
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(GROUPS), choices=list(GROUPS))
    parser.add_argument("--C", type=float, default=1.0, help="cost of an error (classification)")
    parser.add_argument("--seed", type=int, default=0, help="of the two halves")
    parser.add_argument("--redraw", action="store_true", help="draw the table there is")
    options = parser.parse_args()
    if options.redraw:
        print(write_picture("mkl_peers", draw(stored("mkl_peers"))))
        return
    print(conditions("scikit-learn"))
    rows: list[Row] = []
    for data in options.data:
        X, y = uci(data)
        halves = split(X, y, len(y) // 2, options.seed)
        warm_up(*halves[:2], options.C)
        rows += classify(data, halves, options.C) + regress(data, halves)
        print(f"{data}: done", flush=True)
    print(show(rows))
    print(write_csv("mkl_peers", rows))
    print(write_picture("mkl_peers", draw(rows)))


if __name__ == "__main__":
    main()
