"""What a report is about: a model, rows that it has not seen, and what it says of them, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelweave.data.kinds import convert, find, kind_of, n_rows
from kernelweave.estimators.outputs import chosen, decisions, probabilities
from kernelweave.interpret.parts import last_step
from kernelweave.report.html import clipped
from kernelweave.report.numbers import count

Array = np.ndarray
TWO, SEVERAL, NUMBERS, NOVELTY = "two", "several", "numbers", "novelty"
"""Tasks: one of two classes, one of several, a number, whether a row is like those of training."""


@dataclass(frozen=True)
class Subject:
    """A model and the rows that it is tried on.

    Attributes
    ----------
    model, core : as given, and the estimator at its end
    task : "two", "several", "numbers" or "novelty"
    X : n rows, a sample where there were many
    names : their ids, shortened
    y : (n,) labels or numbers, None where they are not known
    scores : (n,) or (n, classes) decision values, or predicted numbers
    calls : (n,) labels that the model gives, None for numbers
    chances : (n, classes) probabilities, None for a model that gives none
    classes : of the model, in its order; -1 and 1 for novelty, none for numbers
    threshold : decision values from here up are called the second of two classes
    total : rows that were given
    remarks : sentences about the rows
    """

    model: Any
    core: Any
    task: str
    X: Any
    names: list[str]
    y: Array | None
    scores: Array
    calls: Array | None
    chances: Array | None
    classes: list[Any]
    threshold: float = 0.0
    total: int = 0
    remarks: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def positive(self) -> Any:
        """The second of two classes."""
        return self.classes[-1]

    def prepared(self) -> Any:
        """Return the rows as the estimator compares them."""
        return self.core._new(self.X if self.model is self.core else self.model[:-1].transform(self.X))

    def called(self, label: Any) -> Array:
        """Return which rows belong to a class, or are called so where it is not known, (n,)."""
        known = self.calls if self.y is None else self.y
        assert known is not None
        return np.asarray(known == label)


def subject_of(model: Any, X: Any, y: Any, ids: Sequence[Any] | None, rows: int, random_state: int) -> Subject:
    """Score rows, a sample of them where there are many.

    Parameters
    ----------
    model : fitted estimator, or a pipeline that ends in one
    X, y : rows, and their labels or numbers or None
    ids : names of the rows; None for those that they carry, or their numbers
    rows : so many are scored at most
    random_state : seed of the sample
    """
    core = last_step(model)
    X = X if find(X) is not None or model is not core else convert(X, getattr(core, "_input", None))
    total = n_rows(X)
    if not total:
        raise ValueError("There are no rows to report on; hand in at least one.")
    y = _checked(y, total)
    ids = getattr(X, "ids", None) if ids is None else ids
    if ids is not None and len(ids) != total:
        raise ValueError(f"There are {len(ids)} ids for {total} rows.")
    remarks = []
    kept = np.arange(total)
    if total > rows:
        kept = np.sort(np.random.default_rng(random_state).choice(total, rows, replace=False))
        remarks.append(f"All numbers are of {count(rows, 'row')} drawn at random from the {total:,} that were given.")
    X = rows_of(X, kept) if total > rows or getattr(X, "row_kind", None) else X
    y = y if y is None else y[kept]
    names = [f"row {k}" if ids is None else clipped(ids[k]) for k in kept.tolist()]
    scores = np.asarray(decisions(model, X), dtype=np.float64)
    if scores.ndim > 1 and not hasattr(model, "decision_function"):
        raise ValueError(f"This {type(core).__name__} predicts {scores.shape[1]} numbers a row; a report is about one.")
    classes, task = _task(model, core)
    threshold = getattr(core, "threshold_", None)
    return Subject(
        model, core, task, X, names, _as_classes(y, classes, task), scores, chosen(model, scores),
        probabilities(model, scores), classes, 0.0 if threshold is None else threshold.value, total, remarks,
    )  # fmt: skip


def rows_of(X: Any, rows: Array) -> Any:
    """Return some rows of whatever rows a model takes: a container of a known kind, a DataFrame, a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return [X[k] for k in rows.tolist()] if isinstance(X, list) else kind_of(X).take(X, rows)


def _checked(y: Any, total: int) -> Array | None:
    if y is None:
        return None
    y = np.asarray(y)
    if y.ndim != 1 or len(y) != total:
        raise ValueError(f"y has the shape {y.shape}; expected one label or number for each of {total} rows.")
    return y


def _task(model: Any, core: Any) -> tuple[list[Any], str]:
    """Return the classes and the task of a model."""
    if not hasattr(model, "decision_function"):
        return [], NUMBERS
    if not hasattr(core, "classes_"):
        return [-1, 1], NOVELTY
    classes = core.classes_.tolist()
    return classes, TWO if len(classes) == 2 else SEVERAL


def _as_classes(y: Array | None, classes: list[Any], task: str) -> Array | None:
    """Return labels, or raise for those that the model does not know and for numbers that are none."""
    if y is None:
        return None
    if task == NUMBERS:
        if y.dtype.kind not in "biuf":
            raise ValueError(
                f"The targets of a regression must be finite numbers, but there are texts such as {str(y[0])!r}."
            )
        if not np.isfinite(y.astype(float)).all():
            raise ValueError("The targets of a regression must be finite numbers, but some are not.")
        return y.astype(np.float64)
    known = set(classes)
    strange = next((label for label in y.tolist() if label not in known), None)
    if strange is not None:
        listed = ", ".join(map(str, classes[:10]))
        raise ValueError(f"y has the label {strange!r}, but the model knows {listed}.")
    return y.astype(object)
