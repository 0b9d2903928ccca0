"""Recognise acceptor splice sites: simulate, train, measure, keep.

The simulated sequences carry signals at known places (a branch point, a pyrimidine-rich tract, a periodic exon).
A support vector machine with the weighted-degree kernel learns them from strings alone.  The report ends with the
certificate: the optimum lies between the dual and the primal objective, whoever looks for it.

Run by `make demo`; writes demo/splice.kw and demo/splice.png.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import kernelweave as kw
from kernelweave.interpret import bootstrap_scores, confusion_at_precision


def main() -> None:
    options = arguments()
    X, y, X_test, y_test = simulate(options)
    model = train(X, y)
    scores = evaluate(model, X_test, y_test)
    options.out.mkdir(parents=True, exist_ok=True)
    keep(model, X_test, scores, options.out / "splice.kw")
    draw(y_test, scores, options.out / "splice.png")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--train", type=int, default=3000, help="number of training sequences")
    parser.add_argument("--test", type=int, default=2000, help="number of test sequences")
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulation")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the model and the picture")
    return parser.parse_args()


def simulate(options: argparse.Namespace) -> tuple[kw.Sequences, np.ndarray, kw.Sequences, np.ndarray]:
    X, y = kw.datasets.make_splice(
        options.train + options.test, signal_rate=0.8, decoy_rate=0.5, random_state=options.seed
    )
    print(f"data         {options.train} training and {options.test} test sequences of {X.shape[1]} letters,")
    print(f"             {np.mean(y == 1):.0%} true sites; for example {X[0][40:70]} ...")
    return X[: options.train], y[: options.train], X[options.train :], y[options.train :]


def train(X: kw.Sequences, y: np.ndarray) -> kw.KernelClassifier:
    start = time.perf_counter()
    model = kw.KernelClassifier(kw.WeightedDegree(20), C=1.0, normalize="trace", tol=1e-3).fit(X, y)
    seconds = time.perf_counter() - start
    print(f"model        {model.kernel}, C = {model.C:g}: trained in {seconds:.1f} s (compilation included),")
    print(f"             {model.n_iter_} steps, {len(model.support_)} support vectors")
    print(f"certificate  primal {model.objective_:.4f} >= optimum >= dual {model.dual_objective_:.4f}:")
    print(f"             at most {model.duality_gap_:.3%} above the best objective possible")
    return model


def evaluate(model: kw.KernelClassifier, X: kw.Sequences, y: np.ndarray) -> np.ndarray:
    scores = model.decision_function(X)
    print("test set     with 95 % bootstrap intervals")
    for name, found in bootstrap_scores(y, scores).items():
        print(f"             {name:<9} {found.value:.3f}  [{found.low:.3f}, {found.high:.3f}]")
    strict = confusion_at_precision(y, scores, 0.9)
    print(f"             at 90 % precision it finds {strict.recall:.0%} of the true sites")
    return scores


def keep(model: kw.KernelClassifier, X: kw.Sequences, scores: np.ndarray, path: Path) -> None:
    kw.save(model, path)
    same = np.array_equal(kw.load(path).decision_function(X), scores)
    if not same:
        raise SystemExit(f"The model read back from {path} does not predict what the saved one did.")
    print(f"model file   {path} ({path.stat().st_size / 1e6:.1f} MB); read back, it predicts the same to the last bit")


def draw(y: np.ndarray, scores: np.ndarray, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from kernelweave.plots import CurvesDisplay

    display = CurvesDisplay.from_scores(y, scores, name="WeightedDegree(20)").plot()
    display.figure_.suptitle("Acceptor splice sites, simulated", fontsize=13)
    display.figure_.savefig(path, dpi=150)
    print(f"picture      {path}")


if __name__ == "__main__":
    main()
