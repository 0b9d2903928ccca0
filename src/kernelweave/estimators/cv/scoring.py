"""Scores of held-out outputs, by any scorer of scikit-learn.

A scorer asks an estimator what it says about rows.  Where folds share their operators there is no estimator for each
of them, only outputs; `HeldOut` says these, whatever rows it is asked about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from kernelweave.estimators.calibration import probabilities_by_loss
from kernelweave.losses import Loss

Array = np.ndarray
SHORT = {
    "auroc": "roc_auc", "auprc": "average_precision", "mcc": "matthews_corrcoef", "log_loss": "neg_log_loss",
    "mae": "neg_mean_absolute_error", "mse": "neg_mean_squared_error", "rmse": "neg_root_mean_squared_error",
}  # fmt: skip
"""Short names of scores, and what scikit-learn calls them."""
TWO_CLASSES = ("average_precision", "f1", "precision", "recall", "roc_auc")
"""Scores that ask which class is the positive one."""
USUAL = {
    "classification": "'accuracy', 'balanced_accuracy', 'auroc', 'auprc', 'mcc' or 'f1'",
    "regression": "'r2', 'mae' or 'rmse'",
}
"""Names that a message suggests."""


@dataclass(frozen=True)
class Score:
    """A score by name or as a callable, larger for better models.

    Parameters
    ----------
    scoring : a name that scikit-learn knows, a short one (auroc, auprc, mcc, log_loss, mae, mse, rmse), or a callable
        ``scorer(estimator, X, y)``; None is accuracy, or R2 for numbers
    task : "classification" or "regression"
    """

    scoring: Any
    task: str

    @property
    def name(self) -> str:
        """What the score is called."""
        if self.scoring is None:
            return "accuracy" if self.task == "classification" else "r2"
        return self.scoring if isinstance(self.scoring, str) else getattr(self.scoring, "__name__", str(self.scoring))

    @property
    def one_sided(self) -> bool:
        """Whether one of two classes is the positive one."""
        return SHORT.get(self.name, self.name) in TWO_CLASSES and not callable(self.scoring)

    @cached_property
    def scorer(self) -> Callable[..., float]:
        """The scorer of scikit-learn."""
        if callable(self.scoring):
            return self.scoring
        try:
            return get_scorer(SHORT.get(self.name, self.name))
        except (ValueError, TypeError):
            raise ValueError(
                f"scoring={self.scoring!r} is unknown; use a name such as {USUAL[self.task]}, another one of "
                "sklearn.metrics.get_scorer_names(), or a callable scorer(estimator, X, y)."
            ) from None

    def check(self, classes: Array | None) -> None:
        """Raise for a name that is unknown, and for one that is for two classes where there are more."""
        assert self.scorer is not None  # a name that is unknown raises
        if self.one_sided and classes is not None and len(classes) > 2:
            raise ValueError(
                f"scoring={self.scoring!r} is for two classes, and there are {len(classes)}; use 'accuracy', "
                "'balanced_accuracy', 'mcc' or 'f1_macro'."
            )

    def of_outputs(
        self, outputs: Array, loss: Loss, classes: Array | None, rows: Any, y: Array, weight: Array
    ) -> float:
        """Return the score of the outputs (rows, outputs) of a model; the second of two classes is positive."""
        if self.one_sided and classes is not None:
            y, classes = (y == classes[1]).astype(int), np.array([0, 1])
        return self.of_model(HeldOut.of(outputs, loss, classes), rows, y, weight)

    def of_model(self, model: Any, rows: Any, y: Array, weight: Array) -> float:
        """Return the score of a model on rows; weights are handed on where they differ."""
        some = {} if np.ptp(weight) == 0.0 else {"sample_weight": weight}
        return float(self.scorer(model, rows, y, **some))


class HeldOut(BaseEstimator):
    """What a model of one fold says about the rows that it did not see.

    Parameters
    ----------
    outputs : (rows, outputs)
    loss : of the model
    classes : of a classifier
    """

    def __init__(self, outputs: Array, loss: Loss, classes: Array | None = None):
        self.outputs, self.loss, self.classes = outputs, loss, classes

    @classmethod
    def of(cls, outputs: Array, loss: Loss, classes: Array | None) -> HeldOut:
        """Return the stand-in for a regressor, or for a classifier."""
        return HeldOutNumbers(outputs, loss) if classes is None else HeldOutClasses(outputs, loss, classes)

    def __sklearn_is_fitted__(self) -> bool:
        """Say that there is nothing to fit."""
        return True


class HeldOutClasses(ClassifierMixin, HeldOut):
    """Classes and decision values."""

    @property
    def classes_(self) -> Array:
        """The labels."""
        assert self.classes is not None
        return self.classes

    def decision_function(self, X: Any) -> Array:
        """Return the decision values of the held-out rows."""
        return self.outputs[:, 0] if len(self.classes_) == 2 else self.outputs

    def predict(self, X: Any) -> Array:
        """Return the classes of the held-out rows."""
        best = (self.outputs[:, 0] > 0).astype(int) if len(self.classes_) == 2 else self.outputs.argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the held-out rows, where the loss makes them."""
        return probabilities_by_loss(self.loss, self.outputs)


class HeldOutNumbers(RegressorMixin, HeldOut):
    """Predicted numbers."""

    def predict(self, X: Any) -> Array:
        """Return the numbers of the held-out rows."""
        return self.outputs[:, 0]
