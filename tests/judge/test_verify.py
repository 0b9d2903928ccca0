from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
Y = X[:, 0] + X[:, 1] ** 2 > 0.5
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
REAL = np.sin(X[:, 0]) + 0.1 * rng.normal(size=90)
WEIGHT = rng.integers(0, 3, size=90).astype(float)
KERNELS = [kw.RBF(width=1.0), kw.RBF(width=10.0), kw.Linear()]
FITS = {
    "hinge": (kw.KernelClassifier(kw.RBF(width=2.0)), Y),
    "logistic, regularised": (
        kw.KernelClassifier(kw.RBF(width=2.0), loss="logistic", fit_intercept="regularized"),
        THREE,
    ),
    "huber": (kw.KernelRegressor(kw.RBF(width=2.0), loss="huber:0.3"), REAL),
    "novelty": (kw.KernelNovelty(kw.RBF(width=2.0), nu=0.2), None),
    "mkl": (kw.MKLClassifier(KERNELS, class_weight="balanced"), Y),
    "mkl, p = 2, three classes": (kw.MKLClassifier(KERNELS, norm=2.0, loss="squared_hinge"), THREE),
    "mkl, shared weights": (kw.MKLClassifier(KERNELS, shared_weights=True), THREE),
    "mkl, cross-validated": (kw.MKLClassifierCV(KERNELS, Cs=[0.5, 5.0], cv=2), Y),
    "smoothed": (kw.MKLClassifier(KERNELS, solver="smooth"), Y),
    "fixed weights": (kw.MKLClassifier(KERNELS, solver="uniform"), Y),
    "factorised": (kw.MKLClassifier(KERNELS, loss="logistic", norm=2.0, solver="svrg"), Y),
    "mkl regression": (kw.MKLRegressor(KERNELS, norm=4 / 3), REAL),
    "mkl novelty": (kw.MKLNovelty(KERNELS, nu=0.3), None),
    "mixture": (kw.CGBoostClassifier(KERNELS), Y),
    "mixture, 2-norm, three classes": (kw.CGBoostClassifier(KERNELS, penalty="l2", C=5.0), THREE),
    "mixture, nu": (kw.CGBoostClassifier(KERNELS, loss="nu_classification", nu=0.3), Y),
    "mixture, held-out rows": (kw.CGBoostClassifier(KERNELS, termination="TR3"), Y),
    "mixture regression": (kw.CGBoostRegressor(KERNELS, loss="nu_regression", penalty="l2", positive=True), REAL),
    "mixture novelty": (kw.CGBoostNovelty(KERNELS, nu=0.2), None),
}


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
@pytest.mark.parametrize("name", FITS)
def test_the_judge_confirms(name, weight):
    model, y = FITS[name]
    if name == "mixture, nu" and weight is not None:
        pytest.skip("nu must suit the weights of the classes")
    model.fit(X, y, sample_weight=weight)
    found = kw.verify(model, X, y, weight)
    assert found.confirmed, str(found)
    np.testing.assert_allclose(found.primal.sum(), model.objective_, rtol=1e-9)
    np.testing.assert_allclose(found.dual.sum(), model.dual_objective_, rtol=1e-9)


@pytest.mark.parametrize("attribute", ["dual_objective_", "alpha", "intercept"])
def test_a_forged_certificate_is_not_confirmed(attribute):
    model = kw.KernelClassifier(kw.RBF(width=2.0), C=10.0).fit(X, Y)
    if attribute == "alpha":
        model.certificate_.alpha[0, np.flatnonzero(model.certificate_.alpha[0])[0]] *= 1.5
    elif attribute == "intercept":
        model.certificate_.intercept[0] += 1.0
    else:
        model.duality_gap_ = -1e-3
    found = kw.verify(model, X, Y)
    assert not found.confirmed
    assert "NOT CONFIRMED" in str(found)


def test_other_data_are_not_what_was_certified():
    model = kw.KernelClassifier(kw.RBF(width=2.0), C=10.0).fit(X, Y)
    assert not kw.verify(model, X, ~Y).confirmed


@pytest.mark.parametrize("C", [100.0, 1e3])
def test_factorised_kernels_are_certified_for_the_kernels_asked_for(C):
    table = np.random.default_rng(0).normal(size=(150, 3))
    y = np.sin(2 * table[:, 0]) + np.random.default_rng(1).normal(size=150)
    kernels = [kw.RBF(width=50.0), kw.RBF(width=200.0)]
    model = kw.MKLRegressor(kernels, loss="squared", C=C, norm=2.0, solver="svrg").fit(table, y)
    exact = kw.MKLRegressor(kernels, loss="squared", C=C, norm=2.0, solver="lp", tol=1e-9).fit(table, y)
    assert model.dual_objective_ <= exact.objective_ * (1 + 1e-9)
    assert kw.verify(model, table, y).confirmed
    assert model.converged_ == (model.duality_gap_ <= model.tol)


def test_pipelines_strings_and_matrices():
    pipeline = make_pipeline(StandardScaler(), kw.KernelClassifier("rbf")).fit(X, Y)
    assert kw.verify(pipeline, X, Y).confirmed
    rows, y = kw.datasets.make_splice(60, random_state=0)
    model = kw.KernelClassifier(kw.WeightedDegree(5, shift=1), normalize="cosine").fit(rows, y)
    assert kw.verify(model, rows, y).confirmed
    K = X @ X.T
    assert kw.verify(kw.KernelClassifier("precomputed").fit(K, Y), K, Y).confirmed


def test_what_cannot_be_verified_is_told():
    with pytest.raises(TypeError, match="takes a fitted estimator of this library, not StandardScaler"):
        kw.verify(StandardScaler(), X, Y)
