"""Linear classifiers on rows as they were measured, their columns of any scale: ours against scikit-learn's SVC.

    python benchmarks/raw_scales.py
    python benchmarks/raw_scales.py --repeats 1 --only wdbc

    heart, wdbc    the UCI tables, no column scaled, C = 1 and 100
    normal 1e8     120 rows of 5 normal columns times 1e8, C = 1: K(x, x) is about 5e16

Both sides get the same rows, C and a free intercept.  Ours ends with a duality gap of at most 1e-3, or with the best
certified model and a warning, whose cause stands in the last column.  SVC ends by its own rule, at its default of 1e-3;
its gap is computed here from its coefficients, by the bound that any dual point gives.  A run of SVC that takes more
than `--most` CPU seconds is stopped.  CPU seconds of one thread, the best of
`--repeats`, compiled by a fit before.
"""

from __future__ import annotations

import argparse
import resource
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import kernelweave as kw
from common import Row, conditions, show, timed, write_csv
from mkl_common import uci

Array = np.ndarray
TOLERANCE = 1e-3


def normal() -> tuple[Array, Array]:
    """Return rows on which hardly anything can be computed in double precision."""
    random = np.random.default_rng(0)
    X = 1e8 * random.normal(size=(120, 5))
    return X, np.where(X[:, 0] + 0.5e8 * random.normal(size=120) > 0, 1.0, -1.0)


PROBLEMS: dict[str, tuple[Callable[[], tuple[Array, Array]], float]] = {
    "heart": (lambda: uci("heart_statlog"), 1.0),
    "heart, C = 100": (lambda: uci("heart_statlog"), 100.0),
    "wdbc": (lambda: uci("wdbc"), 1.0),
    "wdbc, C = 100": (lambda: uci("wdbc"), 100.0),
    "normal 1e8": (normal, 1.0),
}


def primal(w: Array, b: float, X: Array, y: Array, C: float) -> float:
    """Return the objective of a linear classifier."""
    return 0.5 * float(w @ w) + C * float(np.maximum(0.0, 1.0 - y * (X @ w + b)).sum())


def ours(X: Array, y: Array, C: float, repeats: int) -> Row:
    """Return time, gap and the reason of our fit."""
    make = lambda: kw.KernelClassifier(kw.Linear(), C=C, tol=TOLERANCE, n_jobs=1)  # noqa: E731
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        make().fit(X, y)
        runs = [timed(lambda: make().fit(X, y)) for _ in range(repeats)]
    model = runs[0].result
    reasons = {str(one.message) for one in said if issubclass(one.category, ConvergenceWarning)}
    return {
        "ours s": min(run.cpu for run in runs), "gap": model.duality_gap_, "objective": model.objective_,
        "solver": model.solver_, "said": " ".join(sorted(reasons)),
    }  # fmt: skip


def theirs(X: Array, y: Array, C: float) -> Row:
    """Return time and gap of SVC."""
    run = timed(lambda: SVC(kernel="linear", C=C, tol=TOLERANCE).fit(X, y))
    model = run.result
    w, b = model.coef_[0], float(model.intercept_[0])
    upper, lower = primal(w, b, X, y, C), float(np.abs(model.dual_coef_).sum()) - 0.5 * float(w @ w)
    return {"SVC s": run.cpu, "SVC gap": (upper - lower) / abs(upper), "SVC objective": upper}


def limited(name: str, seconds: int, pipe: Any) -> None:
    """Run SVC in a child that may use so many seconds of the processor."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    read, C = PROBLEMS[name]
    pipe.send(theirs(*read(), C))


def of_a_child(name: str, seconds: int) -> Row:
    """Return what SVC did, or that it was stopped."""
    context = get_context("spawn")
    mine, other = context.Pipe(duplex=False)
    child = context.Process(target=limited, args=(name, seconds, other))
    child.start()
    other.close()
    try:
        return mine.recv()
    except EOFError:
        return {"SVC s": f"> {seconds}", "SVC gap": "stopped", "SVC objective": "-"}
    finally:
        child.join()


def line(name: str, options: argparse.Namespace) -> Row:
    """Return the line of a problem."""
    read, C = PROBLEMS[name]
    X, y = read()
    mine, peer = ours(X, y, C, options.repeats), of_a_child(name, options.most)
    for _ in range(1, options.repeats if isinstance(peer["SVC s"], float) else 1):
        peer = min(peer, of_a_child(name, options.most), key=lambda one: one["SVC s"])
    ratio = peer["SVC s"] / mine["ours s"] if isinstance(peer["SVC s"], float) else "-"
    said = mine.pop("said")
    return {"problem": name, "n": len(y), **mine, **peer, "SVC/ours": ratio, "said": said}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--most", type=int, default=30, help="CPU seconds of one run of SVC")
    parser.add_argument("--only", action="append", choices=list(PROBLEMS))
    options = parser.parse_args()
    print(conditions("scikit-learn"))
    lines = []
    for name in options.only or PROBLEMS:
        lines.append(line(name, options))
        print(lines[-1], flush=True)
    print(show(lines))
    if not options.only:
        print(write_csv("raw_scales", lines))


if __name__ == "__main__":
    main()
