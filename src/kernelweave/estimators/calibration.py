"""Probabilities from decision values, and thresholds, as learned from rows that a model has not seen.

    sigmoid       p = 1 / (1 + exp(-(a f + b)))                          (Platt 1999, with his targets)
    temperature   p = 1 / (1 + exp(-f / T)), of several classes softmax(f / T)      (Guo et al. 2017)
    isotonic      p = the best rising step function, straight between its steps     (Zadrozny and Elkan 2002)

Of several classes, sigmoid and isotonic are one against the rest, divided by the sum over the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from kernelweave.losses import Loss

Array = np.ndarray
METHODS = ("sigmoid", "temperature", "isotonic")
COOLEST, HOTTEST = -7.0, 7.0
"""Logarithms of the temperatures among which the best is searched."""


@dataclass(frozen=True)
class Calibration:
    """How decision values become probabilities.

    Attributes
    ----------
    method : "sigmoid", "temperature" or "isotonic"
    x, y : for each output an array: slope and offset of a sigmoid, or the corners of a step function; of a temperature
        the one number in x
    """

    method: str
    x: list[Array]
    y: list[Array]

    def check(self, outputs: int) -> None:
        """Raise unless all numbers are finite and fit a model of so many outputs."""
        whole = len(self.x) == len(self.y) == (1 if self.method == "temperature" else outputs)
        if self.method not in METHODS or not whole:
            raise ValueError(f"a calibration by {self.method!r} does not fit {outputs} outputs")
        for x, y in zip(self.x, self.y):
            fits = isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.shape == y.shape and x.ndim == 1
            if not fits or not len(x) or not (np.isfinite(x).all() and np.isfinite(y).all()):
                raise ValueError("the numbers of a calibration are not finite")
            if self.method == "isotonic" and ((np.diff(x) < 0).any() or y.min() < 0 or y.max() > 1):
                raise ValueError("a calibration does not rise from 0 to 1")
            if self.method == "temperature" and not x[0] > 0:
                raise ValueError("a temperature is not positive")

    def probabilities(self, outputs: Array) -> Array:
        """Return the probability of each class, (n, classes), of outputs (n, outputs)."""
        if self.method == "temperature":
            if outputs.shape[1] > 1:
                return softmax(outputs / self.x[0][0], axis=1)
            return _of_two(expit(outputs[:, 0] / self.x[0][0]))
        each = np.stack([self._own(f, x, y) for f, x, y in zip(outputs.T, self.x, self.y)], axis=1)
        if each.shape[1] == 1:
            return _of_two(each[:, 0])
        total = each.sum(axis=1, keepdims=True)
        return np.where(total > 0, each / np.maximum(total, np.finfo(float).tiny), 1.0 / each.shape[1])

    def _own(self, f: Array, x: Array, y: Array) -> Array:
        return expit(x[0] * f + y[0]) if self.method == "sigmoid" else np.interp(f, x, y)


@dataclass(frozen=True)
class Threshold:
    """From which decision value on rows are called positive, and what that was for.

    Attributes
    ----------
    value : the smallest decision value of a positive call
    precision : share of right calls that was asked for
    recall : share of the positive rows that were found with it, on rows that the model had not seen
    """

    value: float
    precision: float
    recall: float


def fit_calibration(method: str, outputs: Array, true: Array) -> Calibration:
    """Return the calibration of held-out outputs (n, outputs); `true` (n, outputs) says which are of the class."""
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not one of {', '.join(METHODS)}.")
    if method == "temperature":
        return Calibration(method, [np.array([_temperature(outputs, true)])], [np.zeros(1)])
    pairs = [(_sigmoid if method == "sigmoid" else _steps)(f, t) for f, t in zip(outputs.T, true.T)]
    return Calibration(method, [x for x, _ in pairs], [y for _, y in pairs])


def _of_two(second: Array) -> Array:
    return np.stack([1.0 - second, second], axis=1)


def _sigmoid(f: Array, true: Array) -> tuple[Array, Array]:
    from scipy.optimize import minimize  # not imported where a model only predicts

    positive, negative = float(true.sum()), float((~true).sum())
    target = np.where(true, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
    scale = max(float(np.abs(f).max(initial=0.0)), np.finfo(float).tiny)

    def loss(ab: Array) -> tuple[float, Array]:
        z = ab[0] * f / scale + ab[1]
        error = expit(z) - target
        return float((np.logaddexp(0.0, z) - target * z).sum()), np.array([error @ f / scale, error.sum()])

    a, b = minimize(loss, np.array([1.0, np.log((positive + 1.0) / (negative + 1.0))]), jac=True, method="BFGS").x
    return np.array([a / scale]), np.array([b])


def _steps(f: Array, true: Array) -> tuple[Array, Array]:
    from sklearn.isotonic import IsotonicRegression

    found = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(f, true.astype(float))
    return np.asarray(found.X_thresholds_, dtype=float), np.asarray(found.y_thresholds_, dtype=float)


def _temperature(outputs: Array, true: Array) -> float:
    from scipy.optimize import minimize_scalar

    scale = max(float(np.abs(outputs).mean()), np.finfo(float).tiny)

    def loss(log: float) -> float:
        z = outputs / (scale * np.exp(log))
        if z.shape[1] == 1:
            return float(np.logaddexp(0.0, np.where(true, -z, z)).sum())
        return float((np.logaddexp.reduce(z, axis=1) - z[true]).sum())

    return float(scale * np.exp(minimize_scalar(loss, bounds=(COOLEST, HOTTEST), method="bounded").x))


def probabilities_by_loss(loss: Loss, outputs: Array) -> Array:
    """Return the probability of each class, (n, classes), from the outputs (n, outputs) of a logistic loss.

    Of two classes the second has ``1 / (1 + exp(-f))``; of several, each has that of its own output, divided by the
    sum over the classes.

    Examples
    --------
    >>> from kernelweave.losses import make_loss
    >>> probabilities_by_loss(make_loss("logistic", "classification"), np.array([[0.0]]))
    array([[0.5, 0.5]])
    """
    if loss.name != "logistic":
        raise AttributeError(
            f"Outputs of a model with loss={loss.name!r} are not probabilities; train with loss='logistic', or "
            "calibrate the model: kw.calibrate(kw.search(model, X, y), y)."
        )
    own = expit(outputs)
    if outputs.shape[1] == 1:
        return np.concatenate([expit(-outputs), own], axis=1)
    return own / own.sum(axis=1, keepdims=True)


def probabilities_of(model: Any, outputs: Array) -> Array:
    """Return the probabilities of outputs (n, outputs): by the calibration of a model, else by its logistic loss."""
    found = vars(model).get("calibration_")
    return probabilities_by_loss(model._loss(), outputs) if found is None else found.probabilities(outputs)


def has_probabilities(model: Any) -> bool:
    """Tell whether a classifier has a logistic loss or a calibration; if not, say what to do."""
    loss = getattr(model, "loss", None)
    if "calibration_" in vars(model) or (isinstance(loss, str) and loss.partition(":")[0] == "logistic"):
        return True
    raise AttributeError(
        f"A {type(model).__name__} with loss={loss!r} has no probabilities; train with loss='logistic', or calibrate "
        "it: kw.calibrate(kw.search(model, X, y), y)."
    )
