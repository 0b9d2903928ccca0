"""Probabilities and thresholds for the model that a search has chosen, from what it said of rows it had not seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.estimators.calibration import Threshold, fit_calibration
from kernelweave.interpret.scores import confusion_at_precision
from kernelweave.selection.search import SearchResult

Array = np.ndarray


def calibrate(found: SearchResult, y: Any, method: str = "sigmoid") -> Any:
    """Give the chosen model probabilities, and return it: it has `predict_proba` from then on, also when it is saved.

    The calibration is cross-fitted: it is learned from the decision values of the folds' held-out rows.

    Parameters
    ----------
    found : what `kw.search` has returned for a classifier
    y : the labels that it was given
    method : "sigmoid" (Platt), "isotonic" (any rising shape, for a thousand rows and more) or "temperature"

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(200, random_state=0)
    >>> model = kw.calibrate(kw.search(kw.KernelClassifier("wd:8"), X, y, cv=3), y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """
    core, y, outputs, rows = _parts(found, y)
    classes = core.classes_[1:] if len(core.classes_) == 2 else core.classes_
    core.calibration_ = fit_calibration(method, outputs[rows], y[rows][:, None] == classes)
    return found.best_estimator_


def hold_precision(found: SearchResult, y: Any, precision: float) -> Any:
    """Give the chosen model a threshold for a wanted precision, and return it: `predict` keeps to it, also when saved.

    It is the threshold that finds most rows of the second class while this share of its calls is right, on the decision
    values of the folds' held-out rows.

    Parameters
    ----------
    found : what `kw.search` has returned for a classifier of two classes
    y : the labels that it was given
    precision : share of the calls of the second class that should be right

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(200, random_state=0)
    >>> model = kw.hold_precision(kw.search(kw.KernelClassifier("wd:8"), X, y, cv=3), y, 0.9)
    >>> model.threshold_.precision
    0.9
    """
    core, y, outputs, rows = _parts(found, y)
    if len(core.classes_) != 2:
        raise ValueError(f"A precision is held by a model of exactly two classes, not {len(core.classes_)}.")
    calls = confusion_at_precision(y[rows], outputs[rows, 0], precision, positive=core.classes_[1])
    core.threshold_ = Threshold(float(calls.threshold), float(precision), float(calls.recall))
    return found.best_estimator_


def _parts(found: SearchResult, y: Any) -> tuple[Any, Array, Array, Array]:
    """Return the classifier, the labels, the held-out outputs (n, outputs), and which rows have some."""
    if found.best_estimator_ is None or found.classes_ is None:
        raise ValueError("This needs a classifier that was fitted to all rows: search with refit=True.")
    model = found.best_estimator_
    y, outputs = np.asarray(y), found.out_of_fold_.reshape(len(found.out_of_fold_), -1)
    if len(y) != len(outputs):
        raise ValueError(f"y has {len(y)} labels, but the search was given {len(outputs)} rows.")
    return model[-1] if hasattr(model, "steps") else model, y, outputs, np.isfinite(outputs).all(axis=1)
