"""What fitted models say of rows: decision values, and the calls and probabilities that these stand for.

Rows are scored once; whoever needs labels or probabilities as well takes them from the decision values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.estimators.calibration import probabilities_of

Array = np.ndarray


def decisions(model: Any, X: Any) -> Array:
    """Return decision values, (m,) or (m, classes), or the predicted numbers of a regressor."""
    found: Array = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    return found


def chosen(model: Any, scores: Array) -> Array | None:
    """Return the label that decision values stand for, as the model's `predict` does; None for a regressor."""
    if not hasattr(model, "decision_function"):
        return None
    if not hasattr(model, "classes_"):
        return np.where(scores >= 0, 1, -1)
    core = model[-1] if hasattr(model, "steps") else model
    labels: Array = core._learns.predictions(core, scores)
    return labels


def probabilities(model: Any, scores: Array) -> Array | None:
    """Return the probabilities that decision values stand for, (m, classes); None for a model that gives none."""
    if not hasattr(model, "predict_proba"):
        return None
    core = model[-1] if hasattr(model, "steps") else model
    return probabilities_of(core, scores.reshape(len(scores), -1))
