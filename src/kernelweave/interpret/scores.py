"""How well decision values separate two classes, with the uncertainty of a finite test set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.interpret.ranking import Array, Ranking, area_under_roc, average_precision


@dataclass(frozen=True)
class Interval:
    """A number and the bootstrap interval around it."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"


@dataclass(frozen=True)
class Curves:
    """The ROC and the precision-recall curve, one point for each distinct score, from the highest score down.

    Attributes
    ----------
    thresholds : (g,) scores; an example is called positive when its score is at least the threshold
    false_positive_rate, true_positive_rate, precision : (g,)
    """

    thresholds: Array
    false_positive_rate: Array
    true_positive_rate: Array
    precision: Array

    @property
    def recall(self) -> Array:
        """The true positive rate, under its other name."""
        return self.true_positive_rate


@dataclass(frozen=True)
class Confusion:
    """The four counts at one threshold; positive means ``score >= threshold``."""

    threshold: float
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def precision(self) -> float:
        """Share of the called positives that are positive."""
        return self.true_positives / max(self.true_positives + self.false_positives, 1)

    @property
    def recall(self) -> float:
        """Share of the positives that are called."""
        return self.true_positives / (self.true_positives + self.false_negatives)


def auroc(y_true: Any, scores: Any, *, positive: Any = None) -> float:
    """Return the area under the ROC curve: how often a positive example outscores a negative one.

    Parameters
    ----------
    y_true : (n,) two distinct labels
    scores : (n,) decision values, larger for the positive class
    positive : label of the positive class; None for the larger one

    Examples
    --------
    >>> auroc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    return float(area_under_roc(*Ranking(y_true, scores, positive).counts()))


def auprc(y_true: Any, scores: Any, *, positive: Any = None) -> float:
    """Return the area under the precision-recall curve as average precision (a step function).

    Parameters
    ----------
    y_true : (n,) two distinct labels
    scores : (n,) decision values, larger for the positive class
    positive : label of the positive class; None for the larger one

    Examples
    --------
    >>> round(auprc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """
    return float(average_precision(*Ranking(y_true, scores, positive).counts()))


def accuracy(y_true: Any, scores: Any, *, threshold: float = 0.0, positive: Any = None) -> float:
    """Return the share of examples on the right side of the threshold.

    Parameters
    ----------
    y_true : (n,) two distinct labels
    scores : (n,) decision values
    threshold : scores from here up are called positive
    positive : label of the positive class; None for the larger one

    Examples
    --------
    >>> accuracy([-1, 1, 1], [-2.0, 0.5, -0.1])
    0.6666666666666666
    """
    return float(Ranking(y_true, scores, positive).summary(threshold)["accuracy"])


def curves(y_true: Any, scores: Any, *, positive: Any = None) -> Curves:
    """Return the ROC and the precision-recall curve.

    Parameters
    ----------
    y_true : (n,) two distinct labels
    scores : (n,) decision values, larger for the positive class
    positive : label of the positive class; None for the larger one

    Examples
    --------
    >>> curves([0, 1, 1], [0.2, 0.9, 0.2]).recall
    array([0.5, 1. ])
    """
    ranking = Ranking(y_true, scores, positive)
    tp, fp = ranking.counts()
    return Curves(ranking.values[ranking.ends], fp / ranking.n_negative, tp / ranking.n_positive, tp / (tp + fp))


def confusion(y_true: Any, scores: Any, *, threshold: float = 0.0, positive: Any = None) -> Confusion:
    """Return the counts at a threshold.

    Parameters
    ----------
    y_true : (n,) two distinct labels
    scores : (n,) decision values, larger for the positive class
    threshold : scores from here up are called positive
    positive : label of the positive class; None for the larger one

    Examples
    --------
    >>> found = confusion([-1, 1, 1], [-2.0, 0.5, -0.1])
    >>> found.true_positives, found.false_negatives, found.precision
    (1, 1, 1.0)
    """
    ranking = Ranking(y_true, scores, positive)
    called = ranking.values >= threshold
    hits, false = int((called & ranking.positives).sum()), int((called & ~ranking.positives).sum())
    return Confusion(float(threshold), hits, false, ranking.n_positive - hits, ranking.n_negative - false)


def confusion_at_precision(y_true: Any, scores: Any, precision: float, *, positive: Any = None) -> Confusion:
    """Return the counts at the threshold that finds most positives while keeping at least this precision.

    Parameters
    ----------
    y_true : (n,) two distinct labels
    scores : (n,) decision values, larger for the positive class
    precision : between 0 and 1, the smallest share of right calls among the calls
    positive : label of the positive class; None for the larger one

    Examples
    --------
    >>> found = confusion_at_precision([0, 1, 0, 1, 1], [-1.0, -0.5, 0.1, 0.7, 0.9], precision=0.75)
    >>> found.threshold, found.recall
    (-0.5, 1.0)
    """
    _check_share(precision)
    ranking = Ranking(y_true, scores, positive)
    tp, fp = ranking.counts()
    reached = np.flatnonzero(tp / (tp + fp) >= precision)
    if not len(reached):
        best = float(np.max(tp / (tp + fp)))
        raise ValueError(f"No threshold reaches precision {precision:g}; the highest here is {best:.4f}.")
    g = reached[-1]
    hits, false = int(tp[g]), int(fp[g])
    threshold = float(ranking.values[ranking.ends[g]])
    return Confusion(threshold, hits, false, ranking.n_positive - hits, ranking.n_negative - false)


def bootstrap_scores(
    y_true: Any,
    scores: Any,
    *,
    threshold: float = 0.0,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    positive: Any = None,
    random_state: int = 0,
    precision: float | None = None,
) -> dict[str, Interval]:
    """Return accuracy, auROC, auPRC, F1 and MCC with percentile intervals from a stratified bootstrap.

    The intervals speak of the finite test set; the model stays as it is.

    Parameters
    ----------
    y_true : (n,) two distinct labels
    scores : (n,) decision values, larger for the positive class
    threshold : scores from here up are called positive (for accuracy, F1 and MCC)
    n_resamples : how many test sets to draw, each class with its own size
    confidence : share of the resamples that the interval covers
    positive : label of the positive class; None for the larger one
    random_state : seed
    precision : where given, also the largest recall at this precision or better (0 where none has it)

    Returns
    -------
    dict with keys "accuracy", "auroc", "auprc", "f1", "mcc" (and "recall") and `Interval` values

    Examples
    --------
    >>> found = bootstrap_scores([-1, -1, 1, 1, 1], [-2.0, 0.3, 0.1, 1.0, 2.0])
    >>> found["accuracy"].value, found["accuracy"].low <= found["accuracy"].value <= found["accuracy"].high
    (0.8, True)
    """
    check_bootstrap(n_resamples, confidence)
    if precision is not None:
        _check_share(precision)
    ranking = Ranking(y_true, scores, positive)

    def measured(weights: Array | None = None) -> dict[str, Array]:
        recall = {} if precision is None else {"recall": _recall(*ranking.counts(weights), precision)}
        return {**ranking.summary(threshold, weights), **recall}

    drawn = [measured(weights) for weights in ranking.resamples(n_resamples, random_state)]
    tails = [(1.0 - confidence) / 2, (1.0 + confidence) / 2]
    found = {}
    for name, value in measured().items():
        low, high = np.quantile(np.concatenate([block[name] for block in drawn]), tails)
        found[name] = Interval(float(value), float(low), float(high))
    return found


def bootstrap_curves(
    y_true: Any,
    scores: Any,
    grid: Any,
    *,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    positive: Any = None,
    random_state: int = 0,
) -> dict[str, tuple[Array, Array]]:
    """Return pointwise bootstrap bands around the ROC and the precision-recall curve.

    Parameters
    ----------
    y_true : (n,) two distinct labels
    scores : (n,) decision values, larger for the positive class
    grid : (t,) rates between 0 and 1: false positive rates of the ROC curve, recalls of the other
    n_resamples, confidence, positive, random_state : as in `bootstrap_scores`

    Returns
    -------
    dict with keys "true_positive_rate" and "precision" and values (low, high), each (t,)

    Examples
    --------
    >>> bands = bootstrap_curves([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], [0.0, 0.5, 1.0])
    >>> bands["precision"][1]
    array([1., 1., 1.])
    """
    check_bootstrap(n_resamples, confidence)
    ranking, grid = Ranking(y_true, scores, positive), np.asarray(grid, dtype=np.float64)
    drawn: dict[str, list[Array]] = {"true_positive_rate": [], "precision": []}
    for weights in ranking.resamples(n_resamples, random_state):
        for tp, fp in zip(*ranking.counts(weights)):
            rate, recall = np.append(0.0, fp / fp[-1]), np.append(0.0, tp / tp[-1])
            drawn["true_positive_rate"].append(np.interp(grid, rate, recall))
            step = np.searchsorted(recall[1:], np.maximum(grid, recall[recall > 0][0]))
            drawn["precision"].append((tp / np.maximum(tp + fp, 1.0))[step])
    tails = [(1.0 - confidence) / 2, (1.0 + confidence) / 2]
    return {name: tuple(np.quantile(rows, tails, axis=0)) for name, rows in drawn.items()}


def _recall(tp: Array, fp: Array, precision: float) -> Array:
    """Return the largest recall with at least this precision, (...) for counts (..., g)."""
    reached = tp >= precision * (tp + fp)
    return np.where(reached, tp, 0.0).max(axis=-1) / tp[..., -1]


def _check_share(precision: float) -> None:
    if not 0.0 <= precision <= 1.0:
        raise ValueError(f"precision={precision!r} is not a share; expected a number between 0 and 1.")


def check_bootstrap(n_resamples: int, confidence: float) -> None:
    """Raise unless something is drawn and the interval covers a share of it."""
    if n_resamples < 1:
        raise ValueError(f"n_resamples={n_resamples!r} draws nothing; expected at least 1.")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence!r} is not a share; expected a number between 0 and 1.")
