"""Objectives agree with LIBSVM (inside scikit-learn) on the same Gram matrices of real data."""

import gzip
from functools import cache

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import kernelweave as kw
from oracles import svm

SETS = ["ionosphere", "sonar", "heart_statlog", "wdbc"]
AGREE = 1e-5
TIGHT = 1e-6
EPSILON = 0.3
"""That of the plain-Python losses."""


@cache
def table(folder, name):
    with gzip.open(folder / "uci" / f"{name}.csv.gz", "rt") as lines:
        values = np.loadtxt(lines, delimiter=",", skiprows=1)
    return StandardScaler().fit_transform(values[:, :-1]), values[:, -1]


@pytest.fixture(params=SETS)
def data(request, shared_data):
    X, y = table(shared_data, request.param)
    return X, y, kw.RBF(gamma=1 / X.shape[1]).gram(X)


def spread(n, model):
    alpha = np.zeros(n)
    alpha[model.support_] = model.dual_coef_[0]
    return alpha


def agree(loss, K, y, cost, ours, alpha, b, total=0.0):
    """Both of our objectives are LIBSVM's objective (the dual one, from its coefficients, in plain Python).

    The primal objective of LIBSVM's coefficients is further off at large C, since it stores single precision; ours
    must not be worse.
    """
    objective = svm.dual(loss, K, y, cost, "free", total, alpha)
    assert ours.objective_ == pytest.approx(objective, rel=AGREE)
    assert ours.dual_objective_ == pytest.approx(objective, rel=AGREE)
    assert ours.duality_gap_ <= TIGHT
    assert ours.objective_ <= svm.primal(loss, K, y, cost, "free", total, alpha, b) + TIGHT * abs(objective)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_hinge(data, C):
    _, y, K = data
    theirs = SVC(C=C, kernel="precomputed", tol=TIGHT).fit(K, y)
    ours = kw.KernelClassifier("precomputed", C=C, tol=TIGHT).fit(K, y)
    agree("hinge", K, y, np.full(len(y), C), ours, spread(len(y), theirs), float(theirs.intercept_[0]))
    np.testing.assert_allclose(ours.decision_function(K), theirs.decision_function(K), atol=0.02)


@pytest.mark.parametrize("C", [1.0, 10.0])
def test_epsilon_insensitive(data, C):
    """The last feature from all the others."""
    X, _, _ = data
    target, rest = X[:, -1], X[:, :-1]
    K = kw.RBF(gamma=1 / rest.shape[1]).gram(rest)
    theirs = SVR(C=C, epsilon=EPSILON, kernel="precomputed", tol=TIGHT).fit(K, target)
    ours = kw.KernelRegressor("precomputed", C=C, epsilon=EPSILON, tol=TIGHT).fit(K, target)
    cost = np.full(len(target), C)
    agree("epsilon_insensitive", K, target, cost, ours, spread(len(target), theirs), float(theirs.intercept_[0]))
    np.testing.assert_allclose(ours.predict(K), theirs.predict(K), atol=0.02)


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_one_class(data, nu):
    """LIBSVM's coefficients add up to nu n, ours to 1: its whole problem is ours times nu n."""
    _, _, K = data
    n = len(K)
    theirs = OneClassSVM(nu=nu, kernel="precomputed", tol=TIGHT).fit(K)
    ours = kw.KernelNovelty("precomputed", nu=nu, tol=TIGHT).fit(K)
    scale = nu * n
    alpha, b = spread(n, theirs) / scale, float(theirs.intercept_[0]) / scale
    agree("one_class", K, np.zeros(n), np.full(n, 1 / scale), ours, alpha, b, total=1.0)
    np.testing.assert_allclose(ours.decision_function(K) * scale, theirs.decision_function(K), atol=0.02)


def test_kernels_and_rows_give_what_their_gram_gives(data):
    X, y, K = data
    rows = kw.KernelClassifier(kw.RBF(gamma=1 / X.shape[1]), tol=TIGHT).fit(X, y)
    gram = kw.KernelClassifier("precomputed", tol=TIGHT).fit(K, y)
    assert rows.objective_ == pytest.approx(gram.objective_, rel=1e-9)
    np.testing.assert_allclose(rows.decision_function(X), gram.decision_function(K), atol=1e-6)
