"""Examples in the order of their scores: what every measure of a two-class ranking is read from.

With examples sorted by falling score and equal scores taken together, group g ends with

    tp_g = weight of the positive examples so far      fp_g = weight of the negative examples so far

    auROC     = sum_g (fp_g - fp_{g-1}) (tp_g + tp_{g-1}) / (2 P N)       ties count one half
    auPRC     = sum_g (tp_g - tp_{g-1}) / P * tp_g / (tp_g + fp_g)        average precision, no interpolation
    accuracy  = weight of the examples on the right side of the threshold / (P + N)
    F1, MCC   = from the four counts at the threshold, see `f1_of` and `mcc_of`

A bootstrap resample is a vector of integer weights, drawn within each class: all resamples share one sorting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray

TINY = 1e-300
"""Floor of what divides and may be zero."""
BLOCK_CELLS = 4_000_000
"""Numbers that one block of resamples may hold: 32 MB in float64."""


class Ranking:
    """Examples sorted by falling score, ready to be weighed in many ways.

    Parameters
    ----------
    y_true : (n,) two distinct labels
    scores : (n,) finite decision values, larger for the positive class
    positive : label of the positive class; None for the larger one
    """

    def __init__(self, y_true: Any, scores: Any, positive: Any = None):
        positives, values = _checked(y_true, scores, positive)
        self.order = order = np.argsort(-values, kind="stable")
        self.positives = positives[order]
        self.values = values[order]
        self.ends = np.append(np.flatnonzero(np.diff(self.values)), len(values) - 1)
        self.n_positive = int(positives.sum())
        self.n_negative = len(values) - self.n_positive

    def counts(self, weights: Array | None = None) -> tuple[Array, Array]:
        """Return tp and fp at the end of each group of equal scores, (..., g) for weights (..., n)."""
        weights = np.ones(len(self.values)) if weights is None else weights
        tp = np.cumsum(weights * self.positives, axis=-1)[..., self.ends]
        fp = np.cumsum(weights * ~self.positives, axis=-1)[..., self.ends]
        return tp, fp

    def resamples(self, n_resamples: int, random_state: int, groups: Array | None = None) -> Iterator[Array]:
        """Yield blocks of bootstrap weights, (block, n), in the order of the scores.

        Each class is drawn anew with its own size; where examples belong to `groups` (n,), whole groups are drawn.
        """
        rng = np.random.default_rng(random_state)
        rows = max(1, BLOCK_CELLS // len(self.values))
        drawn = None if groups is None else np.unique(groups[self.order], return_inverse=True)[1]
        for start in range(0, n_resamples, rows):
            size = min(rows, n_resamples - start)
            if drawn is not None:
                many = int(drawn.max()) + 1
                yield rng.multinomial(many, np.full(many, 1 / many), size=size)[:, drawn].astype(float)
                continue
            weights = np.empty((size, len(self.values)))
            for members, n in ((self.positives, self.n_positive), (~self.positives, self.n_negative)):
                weights[:, members] = rng.multinomial(n, np.full(n, 1 / n), size=size)
            yield weights

    def summary(self, threshold: float, weights: Array | None = None) -> dict[str, Array]:
        """Return accuracy, auroc, auprc, f1 and mcc, each of shape (...) for weights (..., n)."""
        tp, fp = self.counts(weights)
        positive, negative = tp[..., -1], fp[..., -1]
        above = int(np.count_nonzero(self.values[self.ends] >= threshold))
        hits, false = (tp[..., above - 1], fp[..., above - 1]) if above else (0.0 * positive, 0.0 * negative)
        return {
            "accuracy": (hits - false + negative) / (positive + negative),
            "auroc": area_under_roc(tp, fp),
            "auprc": average_precision(tp, fp),
            "f1": f1_of(hits, false, positive),
            "mcc": mcc_of(hits, false, positive, negative),
        }


def f1_of(hits: Array, false: Array, positive: Array) -> Array:
    """Return the harmonic mean of precision and recall; 0 where nothing is called right."""
    return 2.0 * hits / np.maximum(hits + false + positive, TINY)


def mcc_of(hits: Array, false: Array, positive: Array, negative: Array) -> Array:
    """Return Matthews' correlation of calls and labels; 0 where all calls, or all labels, are the same."""
    called, left = hits + false, positive + negative - hits - false
    scale = np.sqrt(called * left * positive * negative)
    return np.where(scale > 0, (hits * (negative - false) - false * (positive - hits)) / np.maximum(scale, TINY), 0.0)


def area_under_roc(tp: Array, fp: Array) -> Array:
    """Return the area below tp/P over fp/N, (...) for counts (..., g)."""
    widths = np.diff(fp, axis=-1, prepend=0.0)
    heights = tp - np.diff(tp, axis=-1, prepend=0.0) / 2
    return (widths * heights).sum(axis=-1) / (tp[..., -1] * fp[..., -1])


def average_precision(tp: Array, fp: Array) -> Array:
    """Return the mean precision over the steps of recall, (...) for counts (..., g)."""
    gained = np.diff(tp, axis=-1, prepend=0.0)
    precision = tp / np.maximum(tp + fp, 1.0)
    return (gained * precision).sum(axis=-1) / tp[..., -1]


def _checked(y_true: Any, scores: Any, positive: Any) -> tuple[Array, Array]:
    """Return which examples are positive, and the scores as float64."""
    labels, values = np.asarray(y_true), np.asarray(scores, dtype=np.float64)
    if labels.ndim != 1 or values.ndim != 1 or len(labels) != len(values):
        raise ValueError(
            f"y_true has shape {labels.shape} and scores {values.shape}; expected two vectors of one length."
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(f"scores[{bad[0]}] is {values[bad[0]]}; expected finite numbers.")
    classes = np.unique(labels)
    if len(classes) != 2:
        raise ValueError(f"y_true has {len(classes)} distinct labels; expected exactly two.")
    if positive is not None and positive not in classes:
        raise ValueError(f"positive={positive!r} is not among the labels {classes.tolist()}.")
    return labels == (classes[1] if positive is None else positive), values
