"""Find where the signal is: simulate splice sites, learn the weight of every sub-kernel, score, draw.

The simulated sequences carry signals at known places (a branch point, a pyrimidine-rich tract, letters around the site,
a periodic exon); half of the decoys carry one of them, too.  Two models learn from the strings alone:

    positions   a weighted-degree kernel for each window of three positions
    lengths     a weighted-degree kernel for each length of k-mers

Their kernel weights (multiple kernel learning) tell where and how the classes differ; the report compares them with the
places where signals were planted.  Every fit ends with a certificate: the gap bounds how much better any other solver
could do.

Run by `make demo`; writes demo/splice.kw, demo/where.png and demo/curves.png.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import kernelweave as kw
from kernelweave.interpret import bootstrap_scores, confusion_at_precision, top_kmers, weights_by_position

DEGREE, WINDOW = 20, 3
SITE = 60
"""Where `make_splice` puts the AG."""
CLEAR = 2.0
"""A signal is found when its positions have at least so many times the weight of positions without any signal."""
SHOWN_KMERS = 6
Scores = dict[str, np.ndarray]


def main() -> None:
    options = arguments()
    start = time.perf_counter()
    X, y, X_test, y_test = simulate(options)
    models = learn(X, y)
    scores = evaluate(models, X_test, y_test)
    explain(models["positions"], X.shape[1])
    options.out.mkdir(parents=True, exist_ok=True)
    keep(models["positions"], X_test, scores["positions"], options.out / "splice.kw")
    draw_weights(models, X.shape[1], options.out / "where.png")
    draw_curves(y_test, scores, options.out / "curves.png")
    print(f"time         {time.perf_counter() - start:.0f} s, compilation included")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--train", type=int, default=3000, help="number of training sequences")
    parser.add_argument("--test", type=int, default=5000, help="number of test sequences")
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulation")
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the model and the pictures")
    return parser.parse_args()


def simulate(options: argparse.Namespace) -> tuple[kw.Sequences, np.ndarray, kw.Sequences, np.ndarray]:
    X, y = kw.datasets.make_splice(
        options.train + options.test, signal_rate=0.8, decoy_rate=0.5, random_state=options.seed
    )
    print(f"data         {options.train} training and {options.test} test sequences of {X.shape[1]} letters,")
    print(f"             {np.mean(y == 1):.0%} true sites; for example {X[0][40:70]} ...")
    return X[: options.train], y[: options.train], X[options.train :], y[options.train :]


def learn(X: kw.Sequences, y: np.ndarray) -> dict[str, Any]:
    """Return a model with one kernel and the two that learn weights, fitted."""
    kernel = kw.WeightedDegree(DEGREE)
    models = {
        "one kernel": kw.KernelClassifier(kernel, normalize="trace"),
        "lengths": kw.MKLClassifier(kernel.per_degree()),
        "positions": kw.MKLClassifier(kernel.per_position(window=WINDOW)),
    }
    print("models       kernels  used  seconds  gap")
    for name, model in models.items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*nearly the same kernel.*")  # so are those of long k-mers
            model.fit(X, y)
        weights = getattr(model, "kernel_weights_", np.ones(1))
        seconds, used = time.perf_counter() - start, int(np.count_nonzero(weights > 1e-3))
        print(f"  {name:<10} {len(weights):7d}  {used:4d}  {seconds:7.1f}  {model.duality_gap_:.3%}")
    return models


def evaluate(models: dict[str, Any], X: kw.Sequences, y: np.ndarray) -> Scores:
    scores = {name: model.decision_function(X) for name, model in models.items()}
    print("test set     auROC and auPRC with 95 % bootstrap intervals; true sites found at 90 % precision")
    for name, values in scores.items():
        found = bootstrap_scores(y, values)
        areas = "  ".join(f"{found[k].value:.3f} [{found[k].low:.3f}, {found[k].high:.3f}]" for k in ("auroc", "auprc"))
        print(f"  {name:<10} {areas}  {confusion_at_precision(y, values, 0.9).recall:.0%}")
    return scores


def explain(model: Any, length: int) -> None:
    """Compare the learned weights with the places where signals were planted."""
    each, planted = weights_by_position(model).per_position, kw.datasets.splice_signals(length)
    free = np.ones(length, dtype=bool)
    for start, stop in planted.values():
        free[start:stop] = False
    rest = float(each[free].mean())
    held = f"{each[~free].sum():.0%} of the weight"
    print(f"signals      planted in {np.sum(~free)} of {length} positions, which have {held}")
    found = 0
    for name, (start, stop) in planted.items():
        times = float(each[start:stop].mean()) / max(rest, np.finfo(float).tiny)
        found += times >= CLEAR
        told = f"{each[start:stop].sum():4.0%} of the weight, {times:4.1f} times the level of free positions"
        verdict = "found" if times >= CLEAR else "MISSED"
        print(f"  {name.replace('_', ' '):<12} {start:3d}..{stop - 1:<3d} {told}: {verdict}")
    print(f"             {found} of {len(planted)} planted signals found")
    print("k-mers       that tell true sites from decoys best (position, weight, letters)")
    for kmer in top_kmers(model, SHOWN_KMERS, k=3):
        print(f"             {kmer}")


def keep(model: Any, X: kw.Sequences, scores: np.ndarray, path: Path) -> None:
    kw.save(model, path)
    same = np.array_equal(kw.load(path).decision_function(X), scores)
    if not same:
        raise SystemExit(f"The model read back from {path} does not predict what the saved one did.")
    print(f"model file   {path} ({path.stat().st_size / 1e6:.1f} MB); read back, it predicts the same to the last bit")


def draw_weights(models: dict[str, Any], length: int, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from kernelweave.plots import DegreeWeightsDisplay, PositionWeightsDisplay
    from kernelweave.plots.style import figure

    fig, (top, bottom) = figure(2, 1, (9.0, 7.2))
    signals = kw.datasets.splice_signals(length)
    PositionWeightsDisplay.from_estimator(models["positions"]).plot(top, signals=signals, origin=SITE)
    top.set_xlabel("where a k-mer starts, relative to the site; planted signals are shaded")
    DegreeWeightsDisplay.from_estimator(models["lengths"]).plot(bottom)
    fig.suptitle("Learned kernel weights by position and by length of k-mer", fontsize=13)
    fig.savefig(path, dpi=150)
    print(f"pictures     {path}: where the models look")


def draw_curves(y: np.ndarray, scores: Scores, path: Path) -> None:
    from kernelweave.plots import CurvesDisplay

    display = CurvesDisplay.from_scores(y, scores["positions"], name="windows of positions").plot()
    display.figure_.suptitle("Acceptor splice sites, simulated", fontsize=13)
    display.figure_.savefig(path, dpi=150)
    print(f"             {path}: ROC and precision-recall")


if __name__ == "__main__":
    main()
