"""Several views of the same rows: learned weights against the best single view and the plain sum.

    python benchmarks/repro_views.py                          # all three data sets
    python benchmarks/repro_views.py --data mfeat --repeats 10

mfeat     2,000 handwritten digits, six views (UCI Multiple Features); a quarter of the rows for training
msrcv1    210 images of seven kinds, six views; half of the rows for training
3sources  169 news stories of six topics, three newspapers; half of the rows for training

Each view has Gaussians of three widths: 1/2, 1 and 2 times the mean squared distance of its training rows, on columns
that are standardised there.  Word counts become log (1 + count), scaled to unit length, with one linear kernel per
view: nearly all pairs of sparse texts are equally far apart, where the narrowest Gaussian fits every label.
C (1, 10, 100) is chosen for each method, and view and width of the best single kernel, by 3-fold cross-validation on
the training rows of the first split.  Prints test accuracies over the splits; the picture shows the weights of the
first split.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

import kernelweave as kw
from common import ROOT, Row, conditions, show, timed, write_csv, write_picture
from kernelweave.plots import KernelWeightsDisplay
from kernelweave.plots.style import figure

DATA = ROOT.parent / "shared" / "data" / "multiview"
FILES = {"mfeat": "mfeat_digits_6views", "msrcv1": "msrcv1_6views", "3sources": "3sources_text_3views"}
TRAIN = {"mfeat": 0.25, "msrcv1": 0.5, "3sources": 0.5}
FACTORS = (0.5, 1.0, 2.0)
COSTS = (1.0, 10.0, 100.0)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
METHODS: dict[str, dict[str, Any]] = {
    "sum": {"solver": "uniform"},
    "norm 1, each class": {"norm": 1.0},
    "norm 1, shared": {"norm": 1.0, "shared_weights": True},
    "norm 2, each class": {"norm": 2.0},
    "norm 2, shared": {"norm": 2.0, "shared_weights": True},
}


@dataclass
class Split:
    """Training and test rows of every view, and the kernels of each view by name."""

    rows: dict[str, np.ndarray]
    y: np.ndarray
    test: dict[str, np.ndarray]
    y_test: np.ndarray
    kernels: dict[str, Any]


def load(name: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    with np.load(DATA / f"{FILES[name]}.npz") as file:
        views = {view: file[view].astype(float) for view in file.files if view != "y"}
        return views, file["y"]


def scaled(block: np.ndarray, train: np.ndarray, counts: bool) -> np.ndarray:
    """Return word counts as vectors of unit length, other columns standardised on the training rows."""
    if counts:
        logs = np.log1p(block)
        return logs / np.maximum(np.linalg.norm(logs, axis=1, keepdims=True), 1e-12)
    deviation = block[train].std(axis=0)
    return (block[:, deviation > 0] - block[train][:, deviation > 0].mean(axis=0)) / deviation[deviation > 0]


def mean_squared_distance(rows: np.ndarray) -> float:
    """Return the mean over pairs of different rows: twice the sum of the columns' sample variances."""
    return 2.0 * float(rows.var(axis=0, ddof=1).sum())


def split_of(name: str, views: dict[str, np.ndarray], y: np.ndarray, train: np.ndarray, test: np.ndarray) -> Split:
    blocks = {view: scaled(block, train, name == "3sources") for view, block in views.items()}
    kernels = {}
    for view, block in blocks.items():
        if name == "3sources":
            kernels[view] = kw.Linear().on(view)
            continue
        size = mean_squared_distance(block[train])
        kernels |= {f"{view} x{factor:g}": kw.RBF(width=factor * size).on(view) for factor in FACTORS}
    rows, new = ({view: block[part] for view, block in blocks.items()} for part in (train, test))
    return Split(rows, y[train], new, y[test], kernels)


def chosen_cost(split: Split, kernels: list[Any], options: dict[str, Any]) -> tuple[float, float]:
    """Return the best C and its accuracy in cross-validation on the training rows."""
    norm = options.get("norm", 1.0)
    rest = {key: value for key, value in options.items() if key != "norm"}
    model = kw.MKLClassifierCV(kernels, Cs=COSTS, norms=(norm,), cv=FOLDS, tol=1e-2, n_jobs=1, **rest)
    model.fit(split.rows, split.y)
    return model.C_, float(model.cv_scores_.mean(axis=2).max())


def best_single(split: Split) -> tuple[str, float, dict[str, float]]:
    """Return the kernel with the best accuracy in cross-validation, its C, and the best accuracy of each view."""
    found = {name: chosen_cost(split, [kernel], {"solver": "uniform"}) for name, kernel in split.kernels.items()}
    views: dict[str, float] = {}
    for name, (_, score) in found.items():
        view = name.split(" ")[0]
        views[view] = max(views.get(view, 0.0), score)
    name = max(found, key=lambda key: found[key][1])
    return name, found[name][0], views


def study(name: str, repeats: int) -> tuple[list[Row], dict[str, kw.MKLClassifier], list[str]]:
    """Compare all methods on one data set; return the table, the models of the first split, and the kernels' names."""
    views, y = load(name)
    cuts = StratifiedShuffleSplit(repeats, train_size=TRAIN[name], random_state=0).split(np.zeros(len(y)), y)
    splits = [split_of(name, views, y, train, test) for train, test in cuts]
    first = splits[0]
    single, C, by_view = best_single(first)
    print(f"{name}: cross-validated accuracy by view:", {v: round(s, 3) for v, s in by_view.items()}, flush=True)
    rows, models = [], {}
    for method, options in {f"best single: {single}": {"solver": "uniform"}, **METHODS}.items():
        only = method.startswith("best")
        if not only:
            C, _ = chosen_cost(first, list(first.kernels.values()), options)
        accuracy, seconds = [], []
        for split in splits:
            kernels = [split.kernels[single]] if only else list(split.kernels.values())
            model = kw.MKLClassifier(kernels, C=C, n_jobs=1, **options)
            seconds.append(timed(lambda m=model, s=split: m.fit(s.rows, s.y)).wall)
            accuracy.append(model.score(split.test, split.y_test))
            models.setdefault(method, model)
        used = np.atleast_2d(models[method].kernel_weights_) > 1e-3
        rows.append({
            "data": name, "method": method, "kernels": used.shape[1], "C": C,
            "accuracy": round(100 * float(np.mean(accuracy)), 2), "std": round(100 * float(np.std(accuracy)), 2),
            "kernels used": round(float(used.sum(axis=1).mean()), 1), "seconds": round(float(np.mean(seconds)), 2),
            "gap": models[method].duality_gap_,
        })  # fmt: skip
        print(f"  {method}: {rows[-1]['accuracy']} % (C = {C:g}, {rows[-1]['seconds']} s)", flush=True)
    return rows, models, list(first.kernels)


def draw(models: dict[str, kw.MKLClassifier], names: list[str]) -> Any:
    """Return a figure: shared weights as bars, weights of each class as heat maps, for both norms."""
    fig, axes = figure(2, 2, (10.5, 1.6 + 0.46 * len(names)))
    for row, norm in zip(axes, (1, 2)):
        for ax, kind in zip(row, ("shared", "each class")):
            method = f"norm {norm}, {kind}"
            display = KernelWeightsDisplay.from_estimator(models[method], names=names)
            display.plot(ax, kind="bar" if kind == "shared" else "heatmap")
            ax.set_title(method, loc="left", fontsize=10)
        row[0].set_xlim(0, None)
    return fig


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=list(FILES), default=list(FILES))
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(conditions("scikit-learn"), flush=True)
    rows: list[Row] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*nearly the same kernel.*")
        for name in options.data:
            made, models, names = study(name, options.repeats)
            rows += made
            print(write_picture(f"repro_views_{name}", draw(models, names)), flush=True)
    print(show(rows))
    print(write_csv("repro_views", rows))


if __name__ == "__main__":
    main()
