"""How well classes are told apart, two or more: counts of who is taken for whom, and what is read from them.

    n_cd      rows of class c that are called d;    n_c. its rows,  n_.d the calls,  n all rows

    accuracy  = sum_c n_cc / n                 balanced accuracy = mean_c n_cc / n_c.
    macro F1  = mean_c 2 n_cc / (n_c. + n_.c)
    MCC       = (n sum_c n_cc - sum_c n_c. n_.c) / sqrt((n^2 - sum_c n_c.^2) (n^2 - sum_c n_.c^2))      (Gorodkin 2004)

A bootstrap resample of rows, each class with its own size, is a multinomial draw of each line of counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.interpret.scores import Interval

Array = np.ndarray
MEASURES = ("accuracy", "balanced_accuracy", "f1_macro", "mcc")


@dataclass(frozen=True)
class ClassReport:
    """Who is taken for whom, by class and in all.

    Attributes
    ----------
    labels : (k,)
    counts : (k, k) rows of a class (line) that were called another (column)
    scores : "accuracy", "balanced_accuracy", "f1_macro", "mcc" with their bootstrap intervals
    """

    labels: Array
    counts: Array
    scores: dict[str, Interval]

    @property
    def recall(self) -> Array:
        """Share of the rows of each class that are called so, (k,)."""
        return _share(np.diag(self.counts), self.counts.sum(axis=1))

    @property
    def precision(self) -> Array:
        """Share of the calls of each class that are right, (k,); 0 where there are none."""
        return _share(np.diag(self.counts), self.counts.sum(axis=0))

    @property
    def f1(self) -> Array:
        """Harmonic mean of the two, (k,)."""
        return _share(2 * np.diag(self.counts), self.counts.sum(axis=0) + self.counts.sum(axis=1))


def class_report(
    y_true: Any, y_said: Any, labels: Sequence[Any] | Array | None = None, *, n_resamples: int = 1000,
    confidence: float = 0.95, random_state: int = 0,
) -> ClassReport:  # fmt: skip
    """Return who is taken for whom, with scores and percentile intervals from a stratified bootstrap.

    Parameters
    ----------
    y_true, y_said : (n,) labels, and what a model calls the rows
    labels : the classes in the order of the table; None for those of both, sorted
    n_resamples : how many test sets to draw, each class with its own size
    confidence : share of the resamples that an interval covers
    random_state : seed

    Examples
    --------
    >>> found = class_report(["a", "a", "b", "c"], ["a", "b", "b", "c"], n_resamples=50)
    >>> found.counts.tolist(), found.recall.tolist(), found.scores["accuracy"].value
    ([[1, 1, 0], [0, 1, 0], [0, 0, 1]], [0.5, 1.0, 1.0], 0.75)
    """
    true, said = np.asarray(y_true), np.asarray(y_said)
    labels = np.unique(np.concatenate([true, said])) if labels is None else np.asarray(labels)
    every = np.concatenate([true, said])
    strange = every[~np.isin(every, labels)]
    if len(strange):
        raise ValueError(f"The label {strange.tolist()[0]!r} is not one of {labels.tolist()}.")
    counts = count_classes(true, said, labels)
    value, draws = measures_of(counts), measures_of(drawn_counts(counts, n_resamples, random_state))
    tails = [(1.0 - confidence) / 2, (1.0 + confidence) / 2]
    scores = {name: Interval(float(value[name]), *map(float, np.quantile(draws[name], tails))) for name in MEASURES}
    return ClassReport(labels, counts, scores)


def count_classes(true: Array, said: Array, labels: Array) -> Array:
    """Return how many rows of each class are called each, (k, k)."""
    place = {label: number for number, label in enumerate(labels.tolist())}
    counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(counts, ([place[one] for one in true.tolist()], [place[one] for one in said.tolist()]), 1)
    return counts


def drawn_counts(counts: Array, n_resamples: int, random_state: int) -> Array:
    """Return bootstrap resamples of counts, (resamples, k, k), each class with its own size."""
    rng, sizes = np.random.default_rng(random_state), counts.sum(axis=1)
    lines = [rng.multinomial(n, line / max(n, 1), size=n_resamples) if n else np.zeros((n_resamples, len(line)), int)
             for n, line in zip(sizes, counts)]  # fmt: skip
    return np.stack(lines, axis=1)


def measures_of(counts: Array) -> dict[str, Array]:
    """Return the measures of counts (..., k, k); classes without rows count for none of the means."""
    rows, calls = counts.sum(axis=-1).astype(float), counts.sum(axis=-2).astype(float)
    right, n = np.diagonal(counts, axis1=-2, axis2=-1).astype(float), counts.sum(axis=(-1, -2)).astype(float)
    there = rows > 0
    both = (rows * calls).sum(axis=-1)
    scale = np.sqrt((n**2 - (rows**2).sum(axis=-1)) * (n**2 - (calls**2).sum(axis=-1)))
    return {
        "accuracy": right.sum(axis=-1) / n,
        "balanced_accuracy": _share(right, rows).sum(axis=-1) / there.sum(axis=-1),
        "f1_macro": np.where(there, _share(2 * right, rows + calls), 0.0).sum(axis=-1) / there.sum(axis=-1),
        "mcc": _share(n * right.sum(axis=-1) - both, scale),
    }


def _share(part: Array, whole: Array) -> Array:
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=np.asarray(whole) > 0)
