"""What sample weights mean to boosted estimators: as many equal rows, with both norms, down to none."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import kernelweave as kw
from mixtures import KERNELS, NEW, REAL, THREE, WEIGHT, N, X, Y
from oracles import boost

REPEATED = {
    "hinge": (kw.CGBoostClassifier(KERNELS), THREE),
    "nu classification": (kw.CGBoostClassifier(KERNELS, loss="nu_classification", nu=0.3), Y),
    "tube": (kw.CGBoostRegressor(KERNELS), REAL),
    "nu regression": (kw.CGBoostRegressor(KERNELS, loss="nu_regression"), REAL),
    "novelty": (kw.CGBoostNovelty(KERNELS, nu=0.3), REAL),
}


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("name", sorted(REPEATED))
def test_a_weight_means_as_many_equal_rows(name, penalty):
    model, y = REPEATED[name]
    model, times = clone(model).set_params(penalty=penalty, tol=1e-9), np.arange(N) % 4
    weighted = clone(model).fit(X, y, times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    if penalty == "l2":  # the 1-norm may have many optima
        outputs = [
            (m.decision_function if hasattr(m, "decision_function") else m.predict) for m in (weighted, repeated)
        ]
        np.testing.assert_allclose(outputs[0](NEW), outputs[1](NEW), rtol=1e-4, atol=1e-4)


def test_the_certificate_of_the_2_norm_counts_weights():
    """1/2 sum a_j^2 / s_i and its dual, from nothing but what the fitted model shows."""
    fitted = kw.CGBoostClassifier(KERNELS, penalty="l2", C=2.0, tol=1e-9).fit(X, Y, WEIGHT)
    K = np.hstack([kernel.gram(X) for kernel in fitted.kernels_])
    y, s = np.where(Y == "yes", 1.0, -1.0), np.tile(WEIGHT, len(KERNELS))
    a, u = np.zeros(len(s)), fitted.certificate_.alpha[0]
    a[fitted.columns_["kernel"] * N + fitted.columns_["example"]] = fitted.columns_["coefficient"]
    objective = a @ (a / s) / 2 + 2.0 * WEIGHT @ np.maximum(0, 1 - y * (K @ a + fitted.intercept_[0]))
    bound = y @ u - (K.T @ u) @ (s * (K.T @ u)) / 2
    assert fitted.objective_ == pytest.approx(objective, rel=1e-9)
    assert bound <= fitted.dual_objective_ * (1 + 1e-9)  # which may take a multiple of u
    best = boost.optimum("hinge", K * np.sqrt(s), y, 2.0 * WEIGHT, "l2", False, "free", 0.0, 0.5)
    assert objective == pytest.approx(best, rel=1e-6)
    assert bound == pytest.approx(best, rel=1e-6)


def test_rounds_are_judged_by_what_a_weighted_model_predicts():
    y = np.where(NEW[:, 0] + NEW[:, 1] ** 2 > 0.8, "yes", "no")
    model = kw.CGBoostClassifier(
        KERNELS, penalty="l2", validation_fraction=None, termination=("TR2", "TR3"), patience=2
    )
    fitted = model.set_params(columns_per_round=4).fit(X, Y, 4 * WEIGHT**2, validation=(NEW, y))
    stages = [np.mean(labels != y) for labels in fitted.staged_predict(NEW)]
    np.testing.assert_allclose(stages, fitted.trace_["validation_error"][: len(stages)], atol=1e-12)
    assert len(set(stages)) > 1
    assert fitted.score(NEW, y) == pytest.approx(1 - fitted.trace_["validation_error"].min())


def test_a_weight_of_nearly_zero_is_nearly_zero():
    """With the 2-norm, a row goes as its weight does: there is no jump at the end."""
    gone = np.arange(N) % 3 == 0
    nearly, without = (
        kw.CGBoostRegressor(KERNELS, penalty="l2", tol=1e-9).fit(X, REAL, np.where(gone, least, WEIGHT))
        for least in (1e-9, 0.0)
    )
    assert nearly.objective_ == pytest.approx(without.objective_, rel=1e-6)
    np.testing.assert_allclose(nearly.predict(NEW), without.predict(NEW), atol=1e-3)
