"""`verify`: from a fitted model and its training data to a recomputed certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kernelweave.estimators.base import Estimator
from kernelweave.estimators.cgboost.base import CGBoostEstimator
from kernelweave.estimators.cgboost.holdout import cut, matrices
from kernelweave.estimators.inputs import new_rows
from kernelweave.estimators.mkl.base import MKLEstimator
from kernelweave.estimators.targets import Targets
from kernelweave.judge import machines, mixtures
from kernelweave.judge.report import Verification
from kernelweave.kernels.approximate.embedding import Approximation
from kernelweave.kernels.approximate.landmarks import Landmarks
from kernelweave.kernels.base import Kernel
from kernelweave.kernels.compose import On
from kernelweave.operators.expansion.features import FeatureExpansion

Array = np.ndarray


def verify(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Verification:
    """Recompute the certificate of a fitted model from its kernels and training data, in double precision.

    Nothing that a solver computed is used but the points themselves: the classifier, its kernel weights and
    intercepts, and the dual point of ``certificate_``.  Kernel values are computed afresh, tile by tile, so memory
    stays small; time grows as rows times support vectors times kernels.

    Parameters
    ----------
    model : a fitted estimator of this library
    X, y, sample_weight : what it was fitted to

    Returns
    -------
    Verification : primal, dual, gap, how far the dual point is from feasible, and which problem they are about

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_stars(100, random_state=0)
    >>> model = kw.MKLClassifier(kw.RBF.grid([0.1, 1.0, 10.0])).fit(X, y)
    >>> found = kw.verify(model, X, y)
    >>> found.confirmed, found.gap <= 1e-3
    (True, True)
    """
    core = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(core, Estimator):
        raise TypeError(f"verify takes a fitted estimator of this library, not {type(core).__name__}.")
    check_is_fitted(core, "certificate_")
    X = model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X
    X = new_rows(core, X, core._used_kernels)
    targets = core._learns.again(core, X, y, sample_weight)
    if isinstance(core, CGBoostEstimator):
        return _mixture(core, X, targets)
    return _machine(core, X, targets)


def _machine(model: Any, X: Any, targets: Targets) -> Verification:
    many, proof = isinstance(model, MKLEstimator), model.certificate_
    chosen = vars(model).get("C_", 1.0)  # of a model that chose C itself, whose targets know no C
    task = machines.Task(
        targets.values, chosen * targets.cost, model._loss(), model._norm() if many else 1.0, model._intercept(),
        targets.total,
    )  # fmt: skip
    beta = np.ones((len(proof.primal), 1)) if proof.beta is None else proof.beta
    certifies = model.certifies_ if many else "svm"
    smoothing = float(model.trace_["smoothing"][-1]) if certifies == "smoothed" else 0.0
    if isinstance(model.expansion_, FeatureExpansion):
        values = model.expansion_.contributions(X, model._engine()).sum(axis=0).T
        blocks = [np.split(row, model.coef_offsets_[1:-1]) for row in model.coef_]
        squares = np.array([[float(np.einsum("i,i->", w, w)) for w in row] for row in blocks])
        point = machines.Point(proof.alpha, proof.intercept, beta, None, np.ascontiguousarray(values), squares)
    else:
        coef = np.zeros(proof.alpha.shape)
        coef[:, model.support_] = model.dual_coef_
        point = machines.Point(proof.alpha, proof.intercept, beta, coef)
    asked = zip(model._used_kernels, model._kernel_list.on(X, targets.weight))
    kernels = [asked_for(kernel, given) for kernel, given in asked]
    return machines.judge(task, point, kernels, X, certifies, smoothing, float(model.duality_gap_))


def _mixture(model: Any, X: Any, targets: Targets) -> Verification:
    rows, outputs, m = model.training_rows_, len(targets.values), len(model.kernels_)
    cost = targets.weight if model._learns.task == "novelty" else targets.cost
    coef = np.zeros((outputs, m, len(cost)))
    lines = model.columns_
    coef[lines["output"], lines["kernel"], lines["example"]] = lines["coefficient"]
    scale = np.sqrt(targets.weight[rows])
    problems = [
        mixtures.Mixture(model.loss, line[rows], cost[rows], scale, model, model._intercept())
        for line in targets.values
    ]
    given = matrices(model.kernels_, X)
    return mixtures.judge(
        problems, model.certificate_.alpha[:, rows], coef[:, :, rows], model.intercept_, list(model.kernels_),
        cut(X, rows, rows, given), float(model.duality_gap_),
    )  # fmt: skip


def asked_for(kernel: Kernel, given: Kernel) -> Kernel:
    """Return the kernel that the user's problem is about: a factorisation that a solver made stands for its kernel."""
    if any(isinstance(leaf.kernel, Approximation) for leaf in given.leaves()):
        return kernel
    if isinstance(kernel, On) and isinstance(kernel.kernel, Landmarks):
        return On(kernel.kernel.kernel, kernel.columns)
    return kernel.kernel if isinstance(kernel, Landmarks) else kernel
