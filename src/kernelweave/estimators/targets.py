"""What an estimator learns: classes, numbers, or what is normal.  Labels in, decision values and predictions out.

classification   one target of -1 and 1 for two classes, else one for each class against the rest; costs C s_i
regression       the numbers themselves; costs C s_i
novelty          every target is 1; costs s_i / (nu sum s), and the dual coefficients add up to 1
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from kernelweave.estimators.checks.inputs import positive, real_targets, row_weights, targets

Array = np.ndarray
Error = Callable[[Array], float]
BORDER = 1e-9
"""Decision values of novelty detection below this share of the level are rounding of zero: on the border."""
LARGEST_NU = 1.0 - 1e-9
"""With nu = 1 the dual coefficients must equal the costs, whose sum rounding may leave below 1: then none would do."""
NORMAL, NOVEL = 1, -1
LARGEST_COST = 1e100
"""Costs that add up to more overflow: objectives hold their square times a kernel value, which is 1e100 at most."""
MANY_CLASSES = 1000
"""Classes above which labels are rather numbers, and a fit takes a thousand times as long as it may seem."""


@dataclass(frozen=True)
class Targets:
    """Checked targets of some rows.

    Attributes
    ----------
    y : (n,) as given
    values : (outputs, n) what each output should be: signs, numbers, or ones
    cost : (n,) what an error of each row costs
    weight : (n,) sample weights
    total : what the dual coefficients of an output add up to under a free intercept
    """

    y: Array
    values: Array
    cost: Array
    weight: Array
    total: float = 0.0

    def __post_init__(self) -> None:
        """Raise where costs overflow in products with each other and with kernel values."""
        whole = float(self.cost.sum())
        if not whole <= LARGEST_COST:
            raise ValueError(
                f"C times the sample weights is {whole:.1g} in sum, too large for double precision; take a smaller C, "
                f"or weights that add up to at most {LARGEST_COST:g} / C."
            )


class TargetKind(ABC):
    """One kind of thing to learn; `model` is the estimator, for its parameters and its `classes_`."""

    task: str

    def check(self, model: Any) -> None:
        """Raise where a parameter has no meaning."""
        if "C" in model.get_params(deep=False):
            positive("C", model.C)

    @abstractmethod
    def read(self, model: Any, X: Any, y: Any, sample_weight: Any) -> Targets:
        """Return the targets of training rows; a classifier learns its `classes_` here."""

    @abstractmethod
    def again(self, model: Any, X: Any, y: Any, sample_weight: Any) -> Targets:
        """Return the targets of further rows for a model that knows its classes."""

    def costs(self, model: Any, y: Array, weight: Array) -> Array:
        """Return what an error of each row costs, in a fit to these rows alone."""
        return float(model.C) * weight

    @abstractmethod
    def decisions(self, model: Any, outputs: Array, intercept: float) -> Array:
        """Return decision values of outputs (rows, outputs)."""

    @abstractmethod
    def predictions(self, model: Any, decisions: Array) -> Array:
        """Return what is predicted from decision values."""

    @abstractmethod
    def error(self, values: Array, weight: Array) -> Error:
        """Return a function from outputs (n,) to the error that validation rows judge by."""


class Classes(TargetKind):
    """Labels of two or more classes."""

    task = "classification"

    def read(self, model: Any, X: Any, y: Any, sample_weight: Any) -> Targets:
        """Return signs, one row for two classes, else one for each class against the rest."""
        y = targets(X, y)
        check_classification_targets(y)
        weight = row_weights(sample_weight, X)
        model.classes_ = some_classes(y, weight)
        if len(model.classes_) > MANY_CLASSES:
            warnings.warn(
                f"y has {len(model.classes_):,} classes, each of which is told from the rest by a fit of its own; "
                "numbers are learned by a regressor.",
                UserWarning,
                stacklevel=2,
            )
        return self._targets(model, y, weight, _class_weights(model, y))

    def again(self, model: Any, X: Any, y: Any, sample_weight: Any) -> Targets:
        """Return signs of rows whose classes the model knows; they need not have all of them."""
        y, weight = targets(X, y), row_weights(sample_weight, X)
        new = np.flatnonzero(~np.isin(y, model.classes_))
        if len(new):
            raise ValueError(
                f"Row {new[0]} has the class {y[new[0]].tolist()!r}, which is not one of {model.classes_.tolist()!r}; "
                "name all classes at the first block: partial_fit(X, y, classes=...)."
            )
        if isinstance(model.class_weight, dict):
            each = np.array([model.class_weight.get(label, 1.0) for label in model.classes_.tolist()])
            return self._targets(model, y, weight, each[np.searchsorted(model.classes_, y)])
        return self._targets(model, y, weight, _class_weights(model, y))

    def costs(self, model: Any, y: Array, weight: Array) -> Array:
        """Return what an error of each row costs; weights of classes follow from these rows alone."""
        some_classes(y, weight)
        return float(model.C) * weight * _class_weights(model, y)

    def _targets(self, model: Any, y: Array, weight: Array, each: Array) -> Targets:
        C = float(model.get_params(deep=False).get("C", 1.0))
        return Targets(y, label_signs(y, model.classes_), C * weight * each, weight)

    def decisions(self, model: Any, outputs: Array, intercept: float) -> Array:
        """Return (rows,) for two classes, positive for the second; else (rows, classes)."""
        return outputs[:, 0] if len(model.classes_) == 2 else outputs

    def predictions(self, model: Any, decisions: Array) -> Array:
        """Return the class of each row; of two the second where a stored threshold, or else 0, is passed."""
        if decisions.ndim == 2:
            return model.classes_[decisions.argmax(axis=1)]
        stored = vars(model).get("threshold_")
        return model.classes_[(decisions > 0 if stored is None else decisions >= stored.value).astype(int)]

    def error(self, values: Array, weight: Array) -> Error:
        """Return the share of rows on the wrong side, as `predict` has it: an output of 0 is negative."""
        return lambda outputs: float(weight @ ((outputs > 0) != (values > 0)) / weight.sum())


class Numbers(TargetKind):
    """Real targets."""

    task = "regression"

    def read(self, model: Any, X: Any, y: Any, sample_weight: Any) -> Targets:
        """Return the numbers."""
        y, weight = real_targets(X, y), row_weights(sample_weight, X)
        return Targets(y, y[None, :], float(model.C) * weight, weight)

    again = read

    def decisions(self, model: Any, outputs: Array, intercept: float) -> Array:
        """Return the outputs, (rows,)."""
        return outputs[:, 0]

    def predictions(self, model: Any, decisions: Array) -> Array:
        """Return the decision values themselves."""
        return decisions

    def error(self, values: Array, weight: Array) -> Error:
        """Return the mean absolute error."""
        return lambda outputs: float(weight @ np.abs(outputs - values) / weight.sum())


class Normal(TargetKind):
    """No targets: all rows are examples of what is normal."""

    task = "novelty"

    def check(self, model: Any) -> None:
        """Raise unless nu is a share."""
        if positive("nu", model.nu) > 1:
            raise ValueError(f"nu={model.nu!r} must be at most 1: it bounds a fraction of the rows.")

    def read(self, model: Any, X: Any, y: Any, sample_weight: Any) -> Targets:
        """Return ones: every row is normal."""
        weight = row_weights(sample_weight, X)
        normal = np.full(len(weight), float(NORMAL))
        nu = min(float(model.nu), LARGEST_NU)
        return Targets(normal, normal[None, :], weight / (nu * weight.sum()), weight, 1.0)

    again = read

    def decisions(self, model: Any, outputs: Array, intercept: float) -> Array:
        """Return how far each row lies inside (positive) or outside, (rows,)."""
        values = outputs[:, 0]
        values[np.abs(values) <= BORDER * abs(intercept)] = 0.0
        return values

    def predictions(self, model: Any, decisions: Array) -> Array:
        """Return 1 for rows that look like training, -1 for novel ones; a row on the border is not novel."""
        return np.where(decisions >= 0, NORMAL, NOVEL)

    def error(self, values: Array, weight: Array) -> Error:
        """Return the share of rows on the wrong side; a row on the border is not novel."""
        return lambda outputs: float(weight @ ((outputs >= 0) != (values > 0)) / weight.sum())


def _class_weights(model: Any, y: Array) -> Array:
    """Return what the class of each row weighs, (n,)."""
    return np.ones(len(y)) if model.class_weight is None else compute_sample_weight(model.class_weight, y)


def some_classes(y: Array, weight: Array) -> Array:
    """Return the classes; fewer than two with a positive weight are an error."""
    classes, counts = np.unique(y), weight > 0
    heavy = classes if counts.all() else np.unique(y[counts])
    if len(heavy) < 2:
        raise ValueError(
            f"A classifier needs examples of at least two classes, but y has one class only: {heavy.tolist()[0]!r}."
        )
    return classes


def label_signs(y: Array, classes: Array) -> Array:
    """Return +1 / -1 targets: one row for two classes, else one for each class against the rest."""
    positive = classes[1:] if len(classes) == 2 else classes
    return np.stack([np.where(y == label, 1.0, -1.0) for label in positive])


def target_values(task: str, y: Any) -> Array | None:
    """Return what each output should be for labels that nobody checked yet, (outputs, n); None where there are none.

    Examples
    --------
    >>> target_values("classification", ["b", "a"])
    array([[ 1., -1.]])
    """
    if y is None or task == "novelty":
        return None
    y = np.asarray(y)
    return y[None].astype(float) if task == "regression" else label_signs(y, np.unique(y))
