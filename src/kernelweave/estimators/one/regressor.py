"""Regression with one kernel."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import RegressorMixin

from kernelweave.estimators.inputs import real_targets, row_weights
from kernelweave.estimators.one.base import INTERCEPTS, Array, KernelEstimator
from kernelweave.solvers.problems import Problem


class KernelRegressor(RegressorMixin, KernelEstimator):
    """Support vector regression and kernel least squares, with a certificate.

    Minimises ``1/2 |w|^2 + C sum_i s_i loss(f(x_i), y_i)``.

    Parameters
    ----------
    kernel : Kernel, or a text such as "rbf:0.5"; None for an RBF that follows the scale of the data
    C : cost of an error
    loss : "epsilon_insensitive" or "squared"
    epsilon : half-width of the tube in which errors are free
    solver : "auto", "smo", "chunking", "dual_coordinate" (kernels with explicit features) or "newton"

    The other parameters and the fitted attributes are those of `KernelClassifier`.

    Examples
    --------
    >>> import numpy as np, kernelweave as kw
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = kw.KernelRegressor(kw.RBF(width=1.0), C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> round(model.score(X, np.sin(X[:, 0])), 2)
    1.0
    """

    _task = "regression"

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        epsilon: float = 0.1,
        solver: str = "auto",
        solver_params: dict[str, Any] | None = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        fit_intercept: bool | str = True,
        normalize: str | None = None,
        engine: Any = None,
        n_jobs: int | None = None,
        memory_limit: float | str = "auto",
        callbacks: tuple = (),
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.C = C
        self.loss = loss
        self.epsilon = epsilon
        self.solver = solver
        self.solver_params = solver_params
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.normalize = normalize
        self.engine = engine
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X and their real targets y (n,), weighted by sample_weight (n,)."""
        X, loss = self._rows(X), self._loss()
        y = real_targets(X, y)
        weight = row_weights(sample_weight, X)
        operator = self._bind(X, weight)
        self._solve([Problem(operator, loss, y, self.C * weight, INTERCEPTS[self.fit_intercept])], X)
        return self

    def predict(self, X: Any) -> Array:
        """Return the predicted value of each row."""
        return self._outputs(X)[:, 0]
