"""Whether probabilities keep their word: of the rows that get 0.8, are eight in ten positive?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

Array = np.ndarray
LEAST = 1e-15
"""A probability of zero counts as this in the log loss."""


@dataclass(frozen=True)
class Reliability:
    """Probabilities against shares, in bins of about equally many rows.

    Attributes
    ----------
    predicted, observed : (bins,) mean probability and share of positive rows
    counts : (bins,) rows
    error : mean of ``|observed - predicted|`` over the rows (expected calibration error)
    brier : mean squared difference of probability and label
    log_loss : mean negative logarithm of the probability of the label
    """

    predicted: Array
    observed: Array
    counts: Array
    error: float
    brier: float
    log_loss: float


def reliability(y_true: Any, probability: Any, *, positive: Any = None, bins: int = 10) -> Reliability:
    """Return how probabilities of the positive class compare with what was true.

    Parameters
    ----------
    y_true : (n,) two distinct labels
    probability : (n,) of the positive class
    positive : label of the positive class; None for the larger one
    bins : at most so many, of about equally many rows; rows of one probability are in one bin

    Examples
    --------
    >>> found = reliability([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75], bins=2)
    >>> found.observed.tolist(), found.error, found.brier
    ([0.0, 1.0], 0.25, 0.0625)
    """
    labels, p = np.asarray(y_true), np.asarray(probability, dtype=float)
    if labels.shape != p.shape or p.ndim != 1 or not len(p):
        raise ValueError(
            f"y_true has shape {labels.shape} and probability {p.shape}; expected two vectors of one length."
        )
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("Probabilities must lie between 0 and 1.")
    if bins < 1:
        raise ValueError(f"bins={bins!r} must be at least 1.")
    true = labels == (np.unique(labels)[-1] if positive is None else positive)
    edges = np.unique(np.quantile(p, np.linspace(0, 1, bins + 1)[1:-1]))
    place = np.searchsorted(edges, p, side="right")
    counts = np.bincount(place, minlength=len(edges) + 1)
    used = np.flatnonzero(counts)
    predicted = np.bincount(place, p, minlength=len(counts))[used] / counts[used]
    observed = np.bincount(place, true, minlength=len(counts))[used] / counts[used]
    error = float(counts[used] @ np.abs(observed - predicted) / len(p))
    q = np.clip(p, LEAST, 1.0 - LEAST)
    loss = float(-(xlogy(true, q) + xlogy(~true, 1.0 - q)).mean())
    return Reliability(predicted, observed, counts[used], error, float(((p - true) ** 2).mean()), loss)
