"""Public predictions of classifiers, regressors and novelty detectors, whatever they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from kernelweave.estimators.base import Array, Estimator
from kernelweave.estimators.calibration import has_probabilities, probabilities_of
from kernelweave.estimators.targets import Classes, Normal, Numbers


class Classifying(ClassifierMixin, Estimator):
    """Decision values and classes."""

    _learns = Classes()
    classes_: Array

    def decision_function(self, X: Any, per_kernel: bool = False) -> Array:
        """Return decision values: (rows,) for two classes (positive means the second), else (rows, classes).

        With ``per_kernel`` a last axis holds what each kernel contributes; with the intercept they add up.
        """
        if per_kernel:
            parts = np.moveaxis(self._contributions(X), 0, -1)
            return parts[:, 0] if len(self.classes_) == 2 else parts
        return self._decisions(X)

    def predict(self, X: Any) -> Array:
        """Return the class of each row."""
        return self._learns.predictions(self, self.decision_function(X))

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, (rows, classes), of a model with logistic loss or a calibration."""
        return probabilities_of(self, self._outputs(X))


class Regressing(RegressorMixin, Estimator):
    """Predicted numbers."""

    _learns = Numbers()

    def predict(self, X: Any, per_kernel: bool = False) -> Array:
        """Return the predicted value of each row; with ``per_kernel`` what each kernel contributes, (rows, m)."""
        return self._contributions(X)[:, :, 0].T if per_kernel else self._decisions(X)


class Detecting(OutlierMixin, Estimator):
    """How far rows lie inside or outside of what is normal."""

    _learns = Normal()
    fit_intercept = True
    loss = "one_class"
    offset_: Array

    def decision_function(self, X: Any, per_kernel: bool = False) -> Array:
        """Return how far each row lies inside (positive) or outside; with ``per_kernel`` each kernel's part."""
        return self._contributions(X)[:, :, 0].T if per_kernel else self._decisions(X)

    def score_samples(self, X: Any) -> Array:
        """Return the outputs before the level is taken off, (rows,)."""
        return self.decision_function(X) + self.offset_[0]

    def predict(self, X: Any) -> Array:
        """Return 1 for rows that look like training, -1 for novel ones; a row on the border is not novel."""
        return self._learns.predictions(self, self.decision_function(X))
