"""`verify`: from a fitted model and its training data to a recomputed certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from kernelweave.estimators.base import Estimator
from kernelweave.estimators.cgboost.base import SAMPLED, CGBoostEstimator
from kernelweave.estimators.cgboost.holdout import cut, matrices
from kernelweave.estimators.checks.inputs import new_rows
from kernelweave.estimators.feature_models import asked_for
from kernelweave.estimators.mkl.base import FACTORISED, MKLEstimator
from kernelweave.estimators.planning.stored import loaded
from kernelweave.estimators.targets import Targets
from kernelweave.judge import machines, mixtures
from kernelweave.judge.products import Products
from kernelweave.judge.report import Verification
from kernelweave.operators.expansion.features import FeatureExpansion

Array = np.ndarray


def verify(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Verification:
    """Recompute the certificate of a fitted model from its kernels and training data, in double precision.

    Nothing that a solver computed is used but the points themselves: the classifier, its kernel weights and
    intercepts, and the dual point of ``certificate_``.  Kernel values are computed afresh, tile by tile within the
    ``memory_limit`` of the model; time grows as rows times support vectors times kernels.

    Parameters
    ----------
    model : a fitted estimator of this library
    X, y, sample_weight : what it was fitted to

    Returns
    -------
    Verification : primal, dual, gap, how far the dual point is from feasible, which problem they are about, and a
        verdict, which may be that double precision cannot tell

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
    X = new_rows(core, loaded(X, core.memory_limit), core._used_kernels)
    if vars(core).get("certifies_") == SAMPLED:
        raise ValueError(
            f"This certificate is about {core.scanned_} columns that were drawn while fitting and are not kept, so "
            "that it cannot be verified; fit with candidates=None."
        )
    if core.certificate_.alpha.shape[1] != X.shape[0]:
        if core.certificate_.alpha.shape[1] == 0:
            raise ValueError("A model that learned from a stream has no certificate; call certify(X, y) first.")
        fitted = core.certificate_.alpha.shape[1]
        raise ValueError(f"X has {X.shape[0]} rows, but the model was fitted to {fitted}; verify takes the same rows.")
    targets = core._learns.again(core, X, y, sample_weight)
    found = (_mixture if isinstance(core, CGBoostEstimator) else _machine)(core, X, targets)
    return replace(found, claims=(float(core.objective_), float(core.dual_objective_)), tol=float(core.tol))


def _machine(model: Any, X: Any, targets: Targets) -> Verification:
    many, proof = isinstance(model, MKLEstimator), model.certificate_
    chosen = vars(model).get("C_", 1.0)  # of a model that chose C itself, whose targets know no C
    task = machines.Task(
        targets.values, chosen * targets.cost, model._loss(), model._norm() if many else 1.0, model._intercept(),
        targets.total,
    )  # fmt: skip
    beta = np.ones((len(proof.primal), 1)) if proof.beta is None else proof.beta
    certifies = model.certifies_ if many else "svm"
    smoothing = _smoothing(model.trace_, len(beta)) if certifies == "smoothed" else np.zeros(len(beta))
    if isinstance(model.expansion_, FeatureExpansion):
        values = model.expansion_.contributions(X, model._engine()).sum(axis=0).T
        blocks = [np.split(row, model.coef_offsets_[1:-1]) for row in model.coef_]
        squares = np.array([[float(np.einsum("i,i->", w, w)) for w in row] for row in blocks])
        point = machines.Point(proof.alpha, proof.intercept, beta, None, np.ascontiguousarray(values), squares)
    else:
        coef = np.zeros(proof.alpha.shape)
        coef[:, model.support_] = model.dual_coef_
        point = machines.Point(proof.alpha, proof.intercept, beta, coef)
    kernels = model._used_kernels if certifies == FACTORISED else asked_for(model, X, targets.weight)
    certifies = "mkl" if certifies == FACTORISED else certifies
    products = Products(kernels, X, model.memory_limit)
    return machines.judge(task, point, products, certifies, smoothing, float(model.duality_gap_))


def _smoothing(trace: Any, problems: int) -> Array:
    """Return the smoothing of each problem: that of the last line about it."""
    if problems == 1:
        return trace["smoothing"][-1:]
    return np.array([trace["smoothing"][trace["output"] == o][-1] for o in range(problems)])


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
    products = Products(model.kernels_, cut(X, rows, rows, given), model.memory_limit)
    return mixtures.judge(
        problems, model.certificate_.alpha[:, rows], coef[:, :, rows], model.intercept_, products,
        float(model.duality_gap_),
    )  # fmt: skip
