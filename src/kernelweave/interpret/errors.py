"""How far predicted numbers are from the true ones, with the uncertainty of a finite test set.

    R2 = 1 - sum (f_i - y_i)^2 / sum (y_i - mean y)^2      MAE = mean |f_i - y_i|      RMSE = sqrt(mean (f_i - y_i)^2)

A bootstrap resample is a vector of integer weights of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.interpret.ranking import BLOCK_CELLS, Array
from kernelweave.interpret.scores import Interval, check_bootstrap


def bootstrap_errors(
    y_true: Any, y_predicted: Any, *, n_resamples: int = 1000, confidence: float = 0.95, random_state: int = 0
) -> dict[str, Interval]:
    """Return R2, mean absolute and root mean square error with percentile intervals from a bootstrap of the rows.

    Parameters
    ----------
    y_true, y_predicted : (n,) numbers
    n_resamples : how many test sets to draw
    confidence : share of the resamples that an interval covers
    random_state : seed

    Returns
    -------
    dict with keys "r2", "mae", "rmse" and `Interval` values; R2 is nan where all true numbers are the same

    Examples
    --------
    >>> found = bootstrap_errors([1.0, 2.0, 3.0], [1.0, 2.0, 4.0], n_resamples=50)
    >>> found["r2"].value, round(found["mae"].value, 3), found["mae"].low
    (0.5, 0.333, 0.0)
    """
    check_bootstrap(n_resamples, confidence)
    true, said = (np.asarray(values, dtype=np.float64) for values in (y_true, y_predicted))
    if true.shape != said.shape or true.ndim != 1 or not len(true):
        raise ValueError(
            f"y_true has shape {true.shape} and y_predicted {said.shape}; expected two vectors of one length."
        )
    n, rng, drawn = len(true), np.random.default_rng(random_state), list[dict[str, Array]]()
    size = max(1, BLOCK_CELLS // n)
    for start in range(0, n_resamples, size):
        weights = rng.multinomial(n, np.full(n, 1 / n), size=min(size, n_resamples - start)).astype(float)
        drawn.append(_measured(true, said - true, weights))
    tails = [(1.0 - confidence) / 2, (1.0 + confidence) / 2]
    found = {}
    for name, value in _measured(true, said - true, np.ones((1, n))).items():
        low, high = np.quantile(np.concatenate([block[name] for block in drawn]), tails)
        found[name] = Interval(float(value[0]), float(low), float(high))
    return found


def _measured(true: Array, error: Array, weights: Array) -> dict[str, Array]:
    """Return the measures for weights (resamples, n) whose lines add up to n."""
    n = len(true)
    square, centred = weights @ error**2, true - true.mean()
    spread = weights @ centred**2 - (weights @ centred) ** 2 / n
    r2 = 1.0 - np.divide(square, spread, out=np.full(len(weights), np.nan), where=spread > 0)
    return {"r2": r2, "mae": weights @ np.abs(error) / n, "rmse": np.sqrt(square / n)}
