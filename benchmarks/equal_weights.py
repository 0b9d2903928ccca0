"""Do learned weights of n-gram orders predict better than equal ones?  SNIPS intents, C chosen alike for all.

    python benchmarks/equal_weights.py [--seeds 3]

700 utterances of 7 intents, as word lattices of a recogniser and as its best hypotheses; stratified 5-fold, `--seeds`
times over.  Every model has its C (0.3, 1, 3, 10, 30) chosen by `kw.search` with 4 folds inside of its training rows,
so that no kernel has a better tuned C than another.  `used` is the mean number of kernels with a weight.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import kernelweave as kw
from common import Row, conditions, show, write_csv
from lattice_tasks import BEST, LATTICE, ORDERS, PAIRS, TOL, snips

COSTS, FOLDS = [0.3, 1.0, 3.0, 10.0, 30.0], 4
MODELS: dict[str, Callable[[], Any]] = {
    "1- and 2-grams": lambda: kw.KernelClassifier(PAIRS, normalize="cosine", tol=TOL),
    "1- and 2-grams, tf-idf": lambda: kw.KernelClassifier(kw.TfIdf(PAIRS), normalize="cosine", tol=TOL),
    "orders 1 to 3, equal weights": lambda: kw.MKLClassifier(ORDERS, norm=np.inf, normalize="cosine", tol=TOL),
    "orders 1 to 3, norm 2": lambda: kw.MKLClassifier(ORDERS, norm=2.0, normalize="cosine", tol=TOL),
    "orders 1 to 3, norm 1": lambda: kw.MKLClassifier(ORDERS, norm=1.0, normalize="cosine", tol=TOL),
}


def measured(make: Callable[[], Any], X: Any, y: np.ndarray, splits: list[Any]) -> Row:
    """Return the accuracy of a model over the splits."""
    began, scores, chosen, used = time.process_time(), [], [], []
    for train, test in splits:
        found = kw.search(make(), X[train], y[train], {"C": COSTS}, cv=FOLDS)
        model = found.best_estimator_
        scores.append(float(np.mean(model.predict(X[test]) == y[test])))
        chosen.append(found.best_params_["C"])
        used.append(float(np.mean(np.count_nonzero(np.atleast_2d(getattr(model, "kernel_weights_", [1.0])), axis=1))))
    return {
        "accuracy": float(np.mean(scores)), "std": float(np.std(scores)), "C": float(np.median(chosen)),
        "used": float(np.mean(used)), "cpu_s": time.process_time() - began,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="repetitions of the folds")
    task, rows = snips(parser.parse_args().seeds), []
    warnings.simplefilter("ignore")
    for given in (LATTICE, BEST):
        for name, make in MODELS.items():
            found = measured(make, task.inputs[given], task.y, task.splits)
            rows.append({"input": given, "model": name, "splits": len(task.splits), **found})
            print(rows[-1], flush=True)
            write_csv("equal_weights", rows)
    print(show(rows))
    print(conditions("scikit-learn"))


if __name__ == "__main__":
    main()
