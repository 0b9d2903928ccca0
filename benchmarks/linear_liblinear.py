"""Linear classifiers by dual coordinate descent: ours and liblinear's, to the same objective.

    python benchmarks/linear_liblinear.py              # Reuters tf-idf and covertype
    python benchmarks/linear_liblinear.py --quick      # two goals, one repeat, to look at

    reuters        the 9,603 training stories, words by TfidfVectorizer, "acq" against the rest
    covertype      cover types 1 against 2, 8,566 rows, columns scaled to [0, 1]
    standardised   the same rows, columns of mean 0 and variance 1

One problem for both: C = 1, the intercept regularised (liblinear's `-B 1`), hinge (`-s 3`) or squared hinge (`-s 1`,
which switches to its Newton method after 300 passes).  Each side runs down a ladder of its own tolerances; the primal
objective is computed by one function from w and b.  For each goal, a distance from the smallest objective seen, a side
is as fast as its fastest run that comes as close.  "fit" is all of ours, from the table to the classifier with its
certificate; "train" is liblinear's `train` alone, and "convert" its copy of the table, which it needs first.

CPU seconds of one thread, the best of `--repeats` in turn, compiled by small fits first; needs liblinear-official.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import kernelweave as kw
from common import Row, conditions, show, timed, write_csv
from text_common import STORIES, stories

GOALS, QUICK_GOALS = (1e-2, 1e-3, 1e-4, 1e-5), (1e-2, 1e-3)
LOSSES = {"hinge": 3, "squared_hinge": 1}
OURS, THEIRS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6), (1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5)
"""Tolerances; the next ones are left out once a run has reached the finest goal."""
TRAINING = 9603
WARM_UP_ROWS = 300
Array = np.ndarray


def reuters() -> tuple[Any, Array]:
    """Return the tf-idf of the training stories, and which are about acquisitions."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    every = stories()
    return TfidfVectorizer().fit_transform(every.texts[:TRAINING]), every.y[:TRAINING]


def covertype(standardised: bool) -> tuple[Array, Array]:
    """Return the rows of cover types 1 and 2."""
    with np.load(STORIES.parents[1] / "dense" / "covtype_10000_a.npz") as found:
        X, y = found["X"].astype(float), found["y"]
    X, y = X[y <= 2], np.where(y[y <= 2] == 2, 1.0, -1.0)
    shift, size = (X.mean(axis=0), X.std(axis=0)) if standardised else (X.min(axis=0), np.ptp(X, axis=0))
    return (X - shift) / np.where(size > 0, size, 1.0), y


def objective(w: Array, b: float, X: Any, y: Array, loss: str) -> float:
    """Return the primal objective with C = 1 and a regularised intercept."""
    short = np.maximum(0.0, 1.0 - y * (X @ w + b))
    return 0.5 * float(w @ w + b * b) + float(short.sum() if loss == "hinge" else (short * short).sum())


def ours(X: Any, y: Array, loss: str, tol: float) -> kw.KernelClassifier:
    """Return the classifier."""
    given = {"solver": "dual_coordinate", "fit_intercept": "regularized", "tol": tol, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kw.KernelClassifier(kw.Linear(), C=1.0, loss=loss, **given).fit(X, y)


def weights(model: kw.KernelClassifier, d: int) -> tuple[Array, float]:
    """Return w and b of a linear classifier, from its outputs on the unit vectors and on zero."""
    b = float(model.decision_function(np.zeros((1, d)))[0])
    return model.decision_function(sparse.eye_array(d, format="csr")) - b, b


def our_line(X: Any, y: Array, loss: str, tol: float) -> Row:
    """Return time and objective of one fit of ours."""
    run = timed(lambda: ours(X, y, loss, tol))
    w, b = weights(run.result, X.shape[1])
    return {"fit": run.cpu, "objective": objective(w, b, X, y, loss)}


def their_line(X: Any, y: Array, loss: str, tol: float) -> Row:
    """Return times and objective of one run of liblinear."""
    from liblinear.liblinearutil import parameter, problem, train

    made = timed(lambda: problem(y, sparse.csr_matrix(X)))
    run = timed(lambda: train(made.result, parameter(f"-s {LOSSES[loss]} -c 1 -B 1 -e {tol} -q")))
    d, model = X.shape[1], run.result
    w = np.array(model.w[: d + 1]) * (1.0 if model.label[0] > 0 else -1.0)
    return {"fit": run.cpu, "convert": made.cpu, "objective": objective(w[:d], float(w[d]), X, y, loss)}


def ladder(run: Callable[[float], Row], tolerances: tuple[float, ...], repeats: int) -> list[Row]:
    """Return the fastest run at each tolerance."""
    return [min((run(tol) for _ in range(repeats)), key=lambda line: line["fit"]) | {"tol": tol} for tol in tolerances]


def fastest(lines: list[Row], value: float) -> Row | None:
    """Return the fastest run whose objective is no larger."""
    good = [line for line in lines if line["objective"] <= value]
    return min(good, key=lambda line: line["fit"]) if good else None


def compare(name: str, X: Any, y: Array, loss: str, options: argparse.Namespace) -> list[Row]:
    """Return a line for each goal."""
    ours(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS], loss, 1e-3)
    ours(X, y, loss, 1e-6)
    our_line(X, y, loss, 1e-2)
    their_line(X, y, loss, 1.0)
    mine = ladder(lambda tol: our_line(X, y, loss, tol), OURS, options.repeats)
    peer = ladder(lambda tol: their_line(X, y, loss, tol), THEIRS, options.repeats)
    smallest = min(line["objective"] for line in mine + peer)
    found = []
    for goal in options.goals:
        a, b = (fastest(lines, smallest * (1.0 + goal)) for lines in (mine, peer))
        line: Row = {"data": name, "loss": loss, "goal": goal, "smallest": smallest}
        if a is not None:
            line |= {"tol": a["tol"], "fit": a["fit"], "objective": a["objective"]}
        if b is not None:
            line |= {"liblinear_e": b["tol"], "train": b["fit"], "convert": b["convert"]}
            line |= {"liblinear_objective": b["objective"]}
        if a is not None and b is not None:
            line |= {"train/fit": b["fit"] / a["fit"], "both/fit": (b["fit"] + b["convert"]) / a["fit"]}
        found.append(line)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    options.goals = QUICK_GOALS if options.quick else GOALS
    options.repeats = 1 if options.quick else options.repeats
    print(conditions("liblinear-official"))
    lines: list[Row] = []
    data = {"reuters": reuters, "covertype": lambda: covertype(False), "standardised": lambda: covertype(True)}
    for name, read in data.items():
        X, y = read()
        for loss in LOSSES:
            lines += compare(name, X, y, loss, options)
            print(show(lines[-len(options.goals) :]), flush=True)
    names = list(max(lines, key=len))
    print(write_csv("linear_liblinear_quick" if options.quick else "linear_liblinear",
                    [{name: line.get(name, "-") for name in names} for line in lines]))  # fmt: skip


if __name__ == "__main__":
    main()
