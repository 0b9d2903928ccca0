"""What a search leaves behind, in the names of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

Array = np.ndarray
Setting = dict[str, Any]


def results_table(settings: Sequence[Setting], scores: Array) -> dict[str, Any]:
    """Return settings and their scores (settings, folds) as `cv_results_` of scikit-learn has them.

    Examples
    --------
    >>> found = results_table([{"C": 1.0}, {"C": 2.0}], np.array([[0.5, 0.7], [0.8, 0.8]]))
    >>> found["mean_test_score"], found["rank_test_score"], found["param_C"]
    (array([0.6, 0.8]), array([2, 1]), array([1., 2.]))
    """
    table: dict[str, Any] = {"params": list(settings)}
    for name in dict.fromkeys(name for setting in settings for name in setting):
        table[f"param_{name}"] = _column([setting.get(name) for setting in settings])
    for fold, column in enumerate(scores.T):
        table[f"split{fold}_test_score"] = column.copy()
    mean = scores.mean(axis=1)
    ranks = rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min").astype(int)
    return {**table, "mean_test_score": mean, "std_test_score": scores.std(axis=1), "rank_test_score": ranks}


def best_of(scores: Array, settings: Sequence[Setting], folds: int) -> int:
    """Return the number of the setting with the best mean score (settings, folds), the first of equals."""
    mean = scores.mean(axis=1)
    if np.isnan(mean).all():
        raise ValueError(
            f"No setting has a score: on some of {folds} folds it is undefined for every one; take fewer folds, or "
            "another score."
        )
    return int(np.nanargmax(mean))


def _column(values: list[Any]) -> Array:
    """Return values as numbers or texts, or as they print."""
    if all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values):
        return np.array(values, dtype=float)
    return np.array([value if isinstance(value, str) else repr(value) for value in values])
