"""Whether the place of a letter matters: judged on a sample of the rows, with the labels where there are some.

Sequences of one length may be cut around a signal, so that position 30 means the same in each row, or they may be
windows of any content.  Nothing in their form tells.  So kernels for either case are compared: each is trained on one
half of a sample and scored on the other, both ways.  Without labels the letters themselves must tell: around a signal
some positions hold more information than chance leaves.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelweave.data.blocks import sample_rows
from kernelweave.kernels import Kernel

Array = np.ndarray
SAMPLE = 1200
"""Rows that kernels are compared on, the classes in equal shares."""
FEWEST = 24
"""Smaller samples say nothing about kernels."""
CLEARLY = 0.003
"""A kernel that stands later in the list must be better by this much."""
INFORMATIVE = 0.1
"""Bits above chance that a position of aligned rows holds."""


def compared(
    candidates: Mapping[str, tuple[Kernel, str | None]], X: Any, values: Array | None
) -> dict[str, float] | None:
    """Return how well each kernel separates or predicts rows it was not trained on, None where that cannot be told.

    Parameters
    ----------
    candidates : name: (kernel, its scaling)
    X : training rows
    values : (outputs, n) signs of classes, or numbers; None or constant where there is nothing to learn

    Returns
    -------
    name: mean of auROC and auPRC over the classes, or the correlation with the numbers
    """
    if values is None or values.min() == values.max():
        return None
    classes = bool(np.isin(values, (-1.0, 1.0)).all())
    y = (values[0] if len(values) == 1 else values.argmax(axis=0)) if classes else values[0]
    rows = balanced(y, SAMPLE) if classes else sample_rows(len(y), SAMPLE)
    half = halves(y[rows], classes)
    if len(rows) < FEWEST or any(len(np.unique(y[rows][half == side])) < 2 for side in (0, 1)):
        return None
    sample, labels = X[rows], y[rows]
    return {
        name: float(np.mean([_held_out(kernel, scaling, sample, labels, half == side, classes) for side in (0, 1)]))
        for name, (kernel, scaling) in candidates.items()
    }


def best(scores: Mapping[str, float], margins: Mapping[str, float] | None = None) -> str:
    """Return the name of the best score; a later one must be better by its margin, or by `CLEARLY`.

    Examples
    --------
    >>> best({"first": 0.90, "second": 0.902, "third": 0.95})
    'third'
    >>> best({"first": 0.90, "second": 0.95}, {"second": 0.1})
    'first'
    """
    chosen = next(iter(scores))
    for name, score in scores.items():
        if score > scores[chosen] + (margins or {}).get(name, CLEARLY):
            chosen = name
    return chosen


def balanced(y: Array, most: int) -> Array:
    """Return the numbers of some rows, rising: of each class as many as there are, or its share of so many.

    Examples
    --------
    >>> balanced(np.array([1, 1, 1, 1, 0, 1]), 4)
    array([0, 4, 5])
    """
    classes = np.unique(y)
    members = [np.flatnonzero(y == label) for label in classes]
    share = max(2, most // len(classes))
    return np.sort(np.concatenate([some[sample_rows(len(some), share)] for some in members]))


def halves(y: Array, classes: bool) -> Array:
    """Return 0 or 1 for each row, alternating within each class, or along the numbers."""
    order = np.argsort(y, kind="stable")
    half = np.empty(len(y), np.int64)
    half[order] = np.arange(len(y)) % 2
    if classes:
        for label in np.unique(y):
            rows = np.flatnonzero(y == label)
            half[rows] = np.arange(len(rows)) % 2
    return half


def _held_out(kernel: Kernel, scaling: str | None, X: Any, y: Array, held: Array, classes: bool) -> float:
    from sklearn.metrics import average_precision_score, roc_auc_score

    from kernelweave.estimators.one.classifier import KernelClassifier
    from kernelweave.estimators.one.regressor import KernelRegressor

    train, test = np.flatnonzero(~held), np.flatnonzero(held)
    spread = 1.0 if classes else float(y.std())
    model = (KernelClassifier if classes else KernelRegressor)(kernel, normalize=scaling, tol=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[train], y[train] / spread)
        scores = np.asarray(model.decision_function(X[test]) if classes else model.predict(X[test]))
    if not classes:
        return float(np.corrcoef(scores, y[test])[0, 1]) if scores.std() > 0 else 0.0
    known = model.classes_[1:] if scores.ndim == 1 else model.classes_
    columns = scores[:, None] if scores.ndim == 1 else scores
    each = [(y[test] == label, column) for label, column in zip(known, columns.T)]
    told = [(own, column) for own, column in each if 0 < own.sum() < len(own)]
    return float(np.mean([score(*one) for one in told for score in (roc_auc_score, average_precision_score)]))


def information(X: Any) -> Array:
    """Return how many bits each position of rows of one length holds, less what chance gives; (length,).

    The sum over letters of p log2(p / q), p the frequencies at the position and q those of all positions.

    Examples
    --------
    >>> from kernelweave.data import Sequences
    >>> information(Sequences.from_strings(["ACAT", "CTAG", "GGAC", "TATA"] * 25)).round(1)
    array([0. , 0. , 0.7, 0. ])
    """
    rows = X[sample_rows(X.shape[0], SAMPLE)]
    size = rows.alphabet.size
    codes = rows.codes.reshape(len(rows), -1)
    counts = np.stack([(codes == letter).sum(axis=0) for letter in range(size)]).astype(float)
    total = np.maximum(counts.sum(axis=0), 1.0)
    q = np.maximum(counts.sum(axis=1), 1e-300) / max(counts.sum(), 1.0)
    p = counts / total
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(p > 0, p * np.log2(p / q[:, None]), 0.0).sum(axis=0)
    return bits - (size - 1) / (2.0 * np.log(2.0) * total)


def is_informative(X: Any) -> bool:
    """Tell whether some position of rows of one length is far from what letters are elsewhere."""
    return bool(information(X).max(initial=0.0) > INFORMATIVE)
