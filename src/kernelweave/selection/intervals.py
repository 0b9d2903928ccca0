"""How well held-out rows are told apart: means over folds, with the uncertainty of finite folds.

Decision values of different folds come from different models and are not compared with each other: every measure is
computed fold by fold and averaged.  A bootstrap draws the held-out rows of each fold anew (whole groups, where rows
belong to groups) and averages again.  So the interval speaks of the rows that happened to be held out, not of the
training rows: those of two models that were judged on the same folds may overlap although one is reliably better.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelweave.interpret.classes import count_classes, drawn_counts, measures_of
from kernelweave.interpret.ranking import Ranking
from kernelweave.interpret.scores import Interval
from kernelweave.selection.search import SearchResult

Array = np.ndarray
Measured = dict[str, tuple[float, Array]]
"""By name the value of one fold, and those of its resamples."""


def fold_scores(
    found: SearchResult, y: Any, *, n_resamples: int = 1000, confidence: float = 0.95, random_state: int = 0
) -> dict[str, Interval]:
    """Return what the best setting of a search reaches on held-out rows, as means over the folds with intervals.

    Of two classes accuracy, auroc, auprc, f1 and mcc (at the decision value 0); of several accuracy, balanced_accuracy,
    f1_macro and mcc; of numbers r2, mae and rmse.

    Parameters
    ----------
    found : what `kw.search` has returned
    y : the labels or numbers that it was given
    n_resamples : how many times to draw the held-out rows of each fold
    confidence : share of the resamples that an interval covers
    random_state : seed

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(200, random_state=0)
    >>> found = kw.search(kw.KernelClassifier("wd:8"), X, y, cv=3, refit=False)
    >>> scores = fold_scores(found, y, n_resamples=100)
    >>> sorted(scores), scores["auroc"].low <= scores["auroc"].value <= scores["auroc"].high
    (['accuracy', 'auprc', 'auroc', 'f1', 'mcc'], True)
    """
    y, measure = np.asarray(y), _measure_for(found)
    folds = []
    for number, (_, test) in enumerate(found.folds_):
        rows = test[np.isfinite(found.out_of_fold_[test].reshape(len(test), -1)).all(axis=1)]
        groups = None if found.groups_ is None else found.groups_[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            measured = measure(y[rows], found.out_of_fold_[rows], groups, n_resamples, random_state + number)
        folds.append(measured)
    folds = [one for one in folds if one]
    if not folds:
        raise ValueError("No fold holds out rows of both classes, so that nothing can be measured; take fewer folds.")
    tails = [(1.0 - confidence) / 2, (1.0 + confidence) / 2]
    out = {}
    for name in folds[0]:
        draws = np.nanmean([one[name][1] for one in folds], axis=0)
        low, high = np.nanquantile(draws, tails)
        out[name] = Interval(float(np.mean([one[name][0] for one in folds])), float(low), float(high))
    return out


def _measure_for(found: SearchResult) -> Callable[[Array, Array, Array | None, int, int], Measured]:
    classes = found.classes_
    if classes is None:
        return _numbers
    if len(classes) > 2:
        return lambda y, f, groups, n, seed: _several(y, classes[f.argmax(axis=1)], classes, n, seed)
    return lambda y, f, groups, n, seed: _two(y == classes[1], f, groups, n, seed)


def _two(positive: Array, f: Array, groups: Array | None, n_resamples: int, seed: int) -> Measured:
    if positive.all() or not positive.any():
        return {}
    ranking = Ranking(positive, f)
    drawn = [ranking.summary(0.0, weights) for weights in ranking.resamples(n_resamples, seed, groups)]
    return {
        name: (float(value), np.concatenate([one[name] for one in drawn]))
        for name, value in ranking.summary(0.0).items()
    }


def _several(y: Array, said: Array, classes: Array, n_resamples: int, seed: int) -> Measured:
    counts = count_classes(y, said, classes)
    value, drawn = measures_of(counts), measures_of(drawn_counts(counts, n_resamples, seed))
    return {name: (float(value[name]), drawn[name]) for name in value}


def _numbers(y: Array, f: Array, groups: Array | None, n_resamples: int, seed: int) -> Measured:
    rng = np.random.default_rng(seed)
    if groups is None:
        weights = rng.multinomial(len(y), np.full(len(y), 1 / len(y)), size=n_resamples).astype(float)
    else:
        place = np.unique(groups, return_inverse=True)[1]
        many = int(place.max()) + 1
        weights = rng.multinomial(many, np.full(many, 1 / many), size=n_resamples)[:, place].astype(float)
    value, drawn = _errors(y, f, np.ones((1, len(y)))), _errors(y, f, weights)
    return {name: (float(value[name][0]), drawn[name]) for name in value}


def _errors(y: Array, f: Array, weights: Array) -> dict[str, Array]:
    total = weights.sum(axis=1)
    squared = weights @ (f - y) ** 2 / total
    spread = weights @ y**2 / total - (weights @ y / total) ** 2
    return {"r2": 1.0 - squared / spread, "mae": weights @ np.abs(f - y) / total, "rmse": np.sqrt(squared)}
