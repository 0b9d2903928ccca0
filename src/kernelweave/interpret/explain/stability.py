"""How firm an explanation is: intervals over models trained on resampled rows.

A bootstrap sample draws as many training rows as there are, with replacement.  Each of B samples costs one fit and one
explanation: B times what the model took.

A sample has 63 % of the rows, some of them twice, so that the decision values of its model are smaller as a whole, by a
tenth to a fifth.  That scale says nothing about places: what a model of a sample adds is multiplied so that it has the
root mean square, over all places of the rows, that the model of all rows has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from kernelweave.data.kinds import convert
from kernelweave.data.random import RandomState, check_count, generator
from kernelweave.interpret.explain.explanation import Explanation, Track
from kernelweave.interpret.explain.rows import explain
from kernelweave.kernels.base import Array


@dataclass(frozen=True)
class ExplanationStability:
    """Intervals of what places add.

    Attributes
    ----------
    explanation : by the model that was trained on all rows
    lower, upper : one array for each track of the explanation, (places, outputs): percentiles over the samples, brought
        to the scale of the explanation
    same_sign : the same, share of the samples in which a place adds with the sign that it has under all rows
    level : share of the samples between lower and upper
    n_samples : models that were trained
    """

    explanation: Explanation
    lower: tuple[Array, ...]
    upper: tuple[Array, ...]
    same_sign: tuple[Array, ...]
    level: float
    n_samples: int


def explanation_stability(
    estimator: Any,
    X: Any,
    y: Any,
    rows: Any,
    *,
    n_samples: int = 20,
    level: float = 0.9,
    random_state: RandomState = None,
) -> ExplanationStability:
    """Train models on bootstrap samples of the training rows and explain the same rows by each.

    Parameters
    ----------
    estimator : what is trained, by `clone`; it may be fitted already
    X, y : training rows and targets
    rows : rows to explain
    n_samples : models that are trained beside the one on all rows
    level : share of the samples that lies between the ends of the intervals
    random_state : seed, numpy generator or None

    Returns
    -------
    `ExplanationStability`

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(200, random_state=0)
    >>> found = explanation_stability(kw.KernelClassifier("wd:3"), X, y, X[:2], n_samples=5, random_state=0)
    >>> found.lower[0].shape, bool((found.lower[0] <= found.upper[0]).all())
    ((282, 1), True)
    """
    check_count("n_samples", n_samples, 2)
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} is not valid; expected a number between 0 and 1.")
    X, y, rng = convert(X), np.asarray(y), generator(random_state)
    told = explain(clone(estimator).fit(X, y), rows)
    each = [explain(resampled(estimator, X, y, rng), rows) for _ in range(n_samples)]
    scales = [factor(told, one) for one in each]
    lower, upper, signs = [], [], []
    for track in told.tracks:
        values = np.stack([scale * _matching(one, track) for scale, one in zip(scales, each)])
        low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
        lower.append(low)
        upper.append(high)
        signs.append((np.sign(values) == np.sign(track.values)).mean(axis=0))
    return ExplanationStability(told, tuple(lower), tuple(upper), tuple(signs), level, n_samples)


def factor(told: Explanation, other: Explanation) -> Array:
    """Return by what the numbers of another explanation of the same rows are multiplied to have the same scale.

    Returns
    -------
    (outputs,)
    """
    mine, theirs = (
        np.sqrt(sum(np.square(some.values).sum(axis=0) for some in one.tracks) + np.square(one.rest).sum(axis=(0, 1)))
        for one in (told, other)
    )
    return np.divide(mine, theirs, out=np.ones_like(mine), where=theirs > 0)


def resampled(estimator: Any, X: Any, y: Array, rng: np.random.Generator) -> Any:
    """Return a model of a bootstrap sample, in which each class keeps its number of rows."""
    chosen = np.sort(np.concatenate([rng.choice(some, len(some)) for some in _strata(y)]))
    return clone(estimator).fit(X[chosen], y[chosen])


def _strata(y: Array) -> list[Array]:
    """Return the rows of each class, so that none gets lost; targets that are numbers are one."""
    labels = np.unique(y)
    if y.dtype.kind == "f" and len(labels) > len(y) / 2:
        return [np.arange(len(y))]
    return [np.flatnonzero(y == label) for label in labels]


def _matching(told: Explanation, track: Track) -> Array:
    """Return what places of the same kind add under another model, zeros where it gives them nothing."""
    for other in told.tracks:
        if (other.unit, other.view, other.kernel) == (track.unit, track.view, track.kernel):
            return other.values
    return np.zeros_like(track.values)
