"""Regression with many kernels."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import RegressorMixin

from kernelweave.estimators.inputs import real_targets, row_weights
from kernelweave.estimators.mkl.streaming import StreamingRegressor
from kernelweave.estimators.one.base import INTERCEPTS, Array
from kernelweave.solvers.mkl.problem import MKLProblem


class MKLRegressor(RegressorMixin, StreamingRegressor):
    """Support vector regression or least squares on a learned combination of kernels, with a certificate.

    Parameters
    ----------
    kernels : list of kernels (or texts such as "rbf:0.5"); None for a linear kernel and Gaussians of three widths
    C : cost of an error
    loss : "epsilon_insensitive" or "squared"
    norm : p; 1 selects few kernels, larger values spread the weight
    epsilon : half-width of the tube in which errors are free
    The other parameters and the attributes are those of `MKLClassifier`.

    Examples
    --------
    >>> import numpy as np, kernelweave as kw
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = kw.MKLRegressor(kw.RBF.grid([0.01, 1.0, 100.0]), C=10.0).fit(X, np.sin(X[:, 0]))
    >>> int(model.kernel_weights_.argmax())
    1
    """

    _task = "regression"

    def __init__(
        self,
        kernels: Any = None,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        norm: float = 1.0,
        epsilon: float = 0.1,
        solver: str = "auto",
        solver_params: dict[str, Any] | None = None,
        tol: float = 1e-3,
        max_iter: int = -1,
        fit_intercept: bool | str = True,
        normalize: str | None = "trace",
        engine: Any = None,
        n_jobs: int | None = None,
        memory_limit: float | str = "auto",
        callbacks: tuple = (),
        verbose: int = 0,
    ):
        self.kernels = kernels
        self.C = C
        self.loss = loss
        self.norm = norm
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
        X = self._rows(X)
        self._loss()
        y = real_targets(X, y)
        weight = row_weights(sample_weight, X)
        operators = self._bind_all(X, weight)
        self._keep_all(self._solve_all(self._problems(operators, y, self._costs(y, weight))), X, operators)
        return self

    def _problems(self, operators: Any, y: Array, cost: Array) -> list[MKLProblem]:
        """Return the problem to solve."""
        return [self._problem(operators, y[None, :], cost, INTERCEPTS[self.fit_intercept])]

    def predict(self, X: Any, per_kernel: bool = False) -> Array:
        """Return the predicted value of each row; with ``per_kernel`` what each kernel contributes, (rows, m)."""
        return self._contributions(X)[:, :, 0].T if per_kernel else self._outputs(X)[:, 0]
