"""Numbers at the ends of double precision: every fit gives a certificate that holds, or one sentence.

A trial draws rows, targets, weights, C and a tolerance at some extreme, fits, and lets the judge recompute the gap.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import kernelweave as kw

from .judging import refusal
from .stage import Outcome, Stage

ROWS, COLUMNS = 40, 3
SCALES = (1e-300, 1e-155, 1e-100, 1e-30, 1e-12, 1e-8, 1e-3, 1.0, 1e3, 1e8, 1e15, 1e30, 1e100, 1e154, 1e155, 1e300)
COSTS = (1e-300, 1e-30, 1e-12, 1e-6, 1e-2, 1.0, 1e2, 1e6, 1e12, 1e30, 1e300)
WEIGHTS = (1e-300, 1e-15, 1e-3, 1.0, 1e3, 1e15, 1e300)
TOLERANCES = (1e-12, 1e-6, 1e-3, 0.5)
WAYS = ("all rows", "one row", "one column", "offset", "equal rows", "constant column")
MARGIN = 1e-6
"""Share of the primal objective by which a gap may be larger than reported: rounding of sums."""


def trial(number: int, folder: Path) -> Outcome:
    """Fit at an extreme."""
    random = np.random.default_rng([22, number])
    choose = lambda among: among[int(random.integers(len(among)))]  # noqa: E731
    kind, model = _model(number, choose(COSTS), choose(TOLERANCES))
    X, y = _rows(random, choose(WAYS), choose(SCALES))
    weight = np.ones(ROWS)
    weight[: int(random.integers(ROWS))] = choose(WEIGHTS)
    given = weight if random.random() < 0.5 and "novelty" not in kind else None
    if "regressor" in kind:
        y = X[:, 0] * choose((1e-100, 1.0, 1e100))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            fitted = model.fit(X) if "novelty" in kind else model.fit(X, y, sample_weight=given)
            values = fitted.predict(X) if "regressor" in kind else fitted.decision_function(X)
        except Exception as error:
            return refusal(kind, error)
    return _judged(kind, fitted, np.asarray(values))


def _judged(kind: str, fitted: Any, values: np.ndarray) -> Outcome:
    """Say whether numbers are finite, and primal and dual in order."""
    gap, primal, dual = (np.asarray(getattr(fitted, name), float) for name in _REPORTED)
    if not np.isfinite(values).all():
        return Outcome(kind, "wrong", "predictions that are not finite")
    if np.isnan(gap).any() or np.isnan(primal).any() or np.isnan(dual).any():
        return Outcome(kind, "wrong", f"a certificate that is not a number: gap {gap}, {primal}, {dual}")
    finite = np.isfinite(primal) & np.isfinite(dual)
    slack = MARGIN * np.maximum(np.abs(primal), 1e-12)
    if (finite & (dual > primal + slack)).any():
        return Outcome(kind, "wrong", f"the bound {dual} lies above the objective {primal}")
    return Outcome(kind, "certified" if fitted.converged_ else "stopped early")


_REPORTED = ("duality_gap_", "objective_", "dual_objective_")


def _model(number: int, C: float, tol: float) -> tuple[str, Any]:
    kernels = (kw.Linear(), kw.RBF(width=1.0), kw.Polynomial(2))
    kernel = kernels[number // 5 % 3]
    several = [kw.Linear(), kw.RBF(width=1.0)]
    made = (
        ("classifier", kw.KernelClassifier(kernel, C=C, tol=tol)),
        ("regressor", kw.KernelRegressor(kernel, C=C, tol=tol)),
        ("novelty", kw.KernelNovelty(kernel, nu=0.2, tol=tol)),
        ("mkl classifier", kw.MKLClassifier(several, C=C, tol=tol)),
        ("mkl regressor", kw.MKLRegressor(several, C=C, tol=tol, loss="squared")),
    )
    return made[number % 5]


def _rows(random: np.random.Generator, way: str, scale: float) -> tuple[np.ndarray, np.ndarray]:
    X = random.normal(size=(ROWS, COLUMNS))
    y = np.where(X[:, 0] + 0.3 * random.normal(size=ROWS) > 0, 1, -1)
    y[:2] = -1, 1
    with np.errstate(all="ignore"):
        if way == "one row":
            X[0] *= scale
        elif way == "one column":
            X[:, 1] *= scale
        elif way == "offset":
            X += scale
        elif way == "equal rows":
            X[:] = X[0] * scale
        elif way == "constant column":
            X[:, 2] = scale
        else:
            X *= scale
    return X, y


def warm(folder: Path) -> None:
    """Compile what plain numbers need."""
    for number in range(15):
        X, y = _rows(np.random.default_rng(number), "all rows", 1.0)
        kind, model = _model(number, 1.0, 1e-3)
        model.fit(X) if "novelty" in kind else model.fit(X, y)


STAGE = Stage("numeric extremes", trial, goal=600, slice=10, minutes=6, warm=warm, seconds=60.0)
