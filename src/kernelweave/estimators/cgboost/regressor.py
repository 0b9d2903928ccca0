"""Regression by sparse mixtures of kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from kernelweave.estimators.cgboost.base import CGBoostEstimator, Error
from kernelweave.estimators.cgboost.holdout import Held
from kernelweave.estimators.inputs import new_rows, real_targets, row_weights
from kernelweave.estimators.one.base import Array


class CGBoostRegressor(RegressorMixin, CGBoostEstimator):
    """Sparse mixture of kernels for regression, one coefficient for each kernel and training row, with a certificate.

    Minimises ``R(a) + C sum_i s_i max(0, |f(x_i) - y_i| - epsilon)``; errors in the trace and of "TR3" are
    mean absolute ones.

    Parameters
    ----------
    kernels : list of kernels (or texts such as "rbf:0.5") by falling priority; None for a linear kernel and Gaussians
        of three widths
    loss : "epsilon_insensitive", or "nu_regression", which learns the width of the tube such that about a share `nu` of
        the rows lies outside
    epsilon : half-width of the tube in which errors are free
    nu : in (0, 1], for "nu_regression"
    The other parameters and the attributes are those of `CGBoostClassifier`.

    Examples
    --------
    >>> import numpy as np, kernelweave as kw
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = kw.CGBoostRegressor([kw.Linear(), kw.RBF(width=1.0)], C=10.0).fit(X, X[:, 0] + np.sin(X[:, 0]))
    >>> model.score(X, X[:, 0] + np.sin(X[:, 0])) > 0.99
    True
    """

    _task = "regression"
    _kinds = ("epsilon_insensitive", "nu_regression")

    def __init__(
        self,
        kernels: Any = None,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        epsilon: float = 0.1,
        nu: float = 0.5,
        penalty: str = "l1",
        positive: bool = False,
        termination: Any = "TR2",
        validation_fraction: float | None = None,
        patience: int | str = "auto",
        columns_per_round: int | str = "auto",
        stratified: bool | str = "auto",
        kernel_order: str = "given",
        candidates: int | str | None = "auto",
        tol: float = 1e-3,
        max_iter: int = -1,
        fit_intercept: bool | str = True,
        normalize: str | None = "trace",
        engine: Any = None,
        n_jobs: int | None = None,
        memory_limit: float | str = "auto",
        callbacks: tuple = (),
        verbose: int = 0,
        random_state: Any = 0,
    ):
        self.kernels = kernels
        self.C = C
        self.loss = loss
        self.epsilon = epsilon
        self.nu = nu
        self.penalty = penalty
        self.positive = positive
        self.termination = termination
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.columns_per_round = columns_per_round
        self.stratified = stratified
        self.kernel_order = kernel_order
        self.candidates = candidates
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.normalize = normalize
        self.engine = engine
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.callbacks = callbacks
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, validation: Any = None) -> Self:
        """Learn from the rows of X and their real targets y (n,), weighted by sample_weight (n,).

        ``validation=(X, y)`` are rows that judge the rounds, in place of `validation_fraction`.
        """
        X = self._rows(X)
        y = real_targets(X, y)
        weight = row_weights(sample_weight, X)
        fraction = self._fraction(validation)
        held = self._given_judges(validation)
        training = self._split(X, np.zeros(len(y)), y, weight, held, fraction)
        kept, weight, held = y[training.rows], weight[training.rows], training.held
        errors = [(_off(kept, weight), None if held is None else _off(held.y, held.weight))]
        self._boost(X, training, [kept], self.C * weight, weight, errors)
        return self

    def _judges(self, X: Any, y: Any) -> Held:
        """Return validation rows, checked."""
        X = new_rows(self, X, self._given_kernels())
        y = real_targets(X, y)
        return Held(X, y, np.ones(len(y)))

    def predict(self, X: Any, per_kernel: bool = False) -> Array:
        """Return the predicted value of each row; with ``per_kernel`` what each kernel contributes, (rows, m)."""
        return self._contributions(X)[:, :, 0].T if per_kernel else self._outputs(X)[:, 0]

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predicted values after each round; the last ones are those of `predict`."""
        for outputs in self._staged_outputs(X):
            yield outputs[:, 0]


def _off(y: Array, weight: Array) -> Error:
    """Return the mean absolute error."""
    return lambda outputs: float(weight @ np.abs(outputs - y) / weight.sum())
