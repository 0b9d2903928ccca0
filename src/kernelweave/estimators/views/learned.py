"""Learned kernels for other estimators: as a kernel, and as a step of a pipeline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from kernelweave.data.kinds import n_rows
from kernelweave.estimators.callbacks import CallbackSupportMixin, watched
from kernelweave.estimators.checks.inputs import new_rows
from kernelweave.kernels import Kernel, Sum, reference

Array = np.ndarray


def learned_kernel(model: Any, output: int = 0) -> Kernel:
    """Return the kernel that a fitted model learned: the sum of its kernels times their weights.

    It is called with rows like any function, ``kernel(X, Y)``, so that ``SVC(kernel=learned_kernel(model))`` works on
    tables; on other rows hand over ``kernel.gram(X)``.

    Parameters
    ----------
    model : fitted `MKLClassifier`, `MKLRegressor`, `MKLNovelty`, or an estimator with one kernel
    output : which output, where each class has its own weights

    Examples
    --------
    >>> import kernelweave as kw
    >>> from sklearn.svm import SVC
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = kw.MKLClassifier([kw.Linear(), kw.RBF()]).fit(X, y)
    >>> SVC(kernel=kw.learned_kernel(model)).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """
    core = model[-1] if hasattr(model, "steps") else model
    check_is_fitted(core, "expansion_")
    kernels = core._used_kernels
    weights = np.atleast_2d(getattr(core, "kernel_weights_", np.ones(len(kernels))))
    if not 0 <= output < len(weights):
        raise ValueError(f"output={output} does not exist; the model has {len(weights)} sets of kernel weights.")
    parts: list[Kernel] = [float(w) * kernel for w, kernel in zip(weights[output], kernels) if w > 0]
    if not parts:
        raise ValueError("Every kernel of this model has weight zero, so there is no kernel to return.")
    return parts[0] if len(parts) == 1 else Sum(parts)


class KernelTransformer(CallbackSupportMixin, TransformerMixin, BaseEstimator):
    """Learn kernel weights and return values of the learned kernel with the training rows.

    In a pipeline the next step is one that takes a kernel matrix: ``SVC(kernel="precomputed")``,
    ``KernelRidge(kernel="precomputed")``, `KernelPCA`.

    Parameters
    ----------
    estimator : what learns the weights, such as `MKLClassifier`
    output : which output, where each class has its own weights

    Attributes
    ----------
    estimator_ : the fitted estimator
    kernel_ : the learned kernel
    reference_ : the training rows

    Examples
    --------
    >>> import kernelweave as kw
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0]
    >>> step = kw.KernelTransformer(kw.MKLRegressor([kw.Linear(), kw.RBF()], C=100.0))
    >>> abs(make_pipeline(step, KernelRidge(kernel="precomputed", alpha=1e-6)).fit(X, y).predict(X).round(2))
    array([0., 1., 4., 9.])
    """

    def __init__(self, estimator: Any, output: int = 0):
        self.estimator = estimator
        self.output = output

    estimator_: Any
    kernel_: Kernel
    reference_: Any

    @watched
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the estimator and keep the training rows."""
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.kernel_ = learned_kernel(self.estimator_, self.output)
        rows = new_rows(self.estimator_, X, self.estimator_._used_kernels)
        self.reference_ = reference(self.estimator_._used_kernels, rows, np.arange(rows.shape[0]))
        return self

    def transform(self, X: Any) -> Array:
        """Return the values of the learned kernel with the training rows, (rows, training rows)."""
        check_is_fitted(self, "kernel_")
        return self.kernel_.gram(new_rows(self.estimator_, X, self.estimator_._used_kernels), self.reference_)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return a name for each training row, whose kernel values are the columns."""
        check_is_fitted(self, "kernel_")
        return np.array([f"row{number}" for number in range(n_rows(self.reference_))], dtype=object)
