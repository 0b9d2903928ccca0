"""Weights and repeated rows: the same problem, solved once."""

import numpy as np
import pytest
import scipy.sparse

import kernelweave as kw
from kernelweave.estimators.checks.distinct import distinct_rows, row_codes
from kernelweave.estimators.targets import Targets

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=40) > 0, 1.0, -1.0)
WEIGHT = RNG.integers(0, 4, size=40).astype(float)
NEW = RNG.normal(size=(20, 3))
MODELS = [
    kw.KernelClassifier(kw.RBF(), C=10.0),
    kw.KernelClassifier(kw.RBF(), loss="logistic"),
    kw.KernelRegressor(kw.RBF()),
    kw.KernelNovelty(kw.RBF(), nu=0.3),
    kw.MKLClassifier(kw.RBF.grid([0.1, 1.0, 10.0]), norm=2.0),
    kw.MKLClassifier([kw.Linear(), kw.Polynomial(2)], solver="svrg", loss="logistic", norm=2.0),
    kw.MKLClassifierCV(kw.RBF.grid([0.1, 1.0]), Cs=(0.1, 1.0), cv=2),
]


def values(model, rows):
    return model.predict(rows) if isinstance(model, kw.KernelRegressor) else model.decision_function(rows)


def targets(y, weight):
    return Targets(y, y[None, :], 2.0 * weight, weight)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("model", MODELS[:-1], ids=repr)
def test_weights_are_repetitions_at_any_tolerance(model, sparse):
    order = RNG.permutation(int(WEIGHT.sum()))
    again = np.repeat(np.arange(40), WEIGHT.astype(int))[order]
    make = scipy.sparse.csr_array if sparse else np.asarray
    weighted = model.set_params(tol=0.05).fit(make(X), Y, sample_weight=WEIGHT)
    ours, gap = values(weighted, NEW), weighted.duality_gap_
    repeated = model.fit(make(X[again]), Y[again])
    np.testing.assert_allclose(ours, values(repeated, NEW), rtol=1e-9, atol=1e-12)
    assert gap == repeated.duality_gap_


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_every_row_has_its_share_of_the_certificate(model):
    rows, y = np.vstack([X, X[:15]]), np.append(Y, Y[:15])
    weight = RNG.integers(0, 3, size=55).astype(float)
    fitted = model.set_params(tol=1e-4).fit(rows, y, sample_weight=weight)
    found = kw.verify(fitted, rows, y, sample_weight=weight)
    assert found.confirmed, found
    assert fitted.certificate_.alpha.shape[1] == 55


def test_rows_that_differ_in_the_target_stay_apart():
    rows = np.array([[1.0, 0.0], [1.0, -0.0], [1.0, 0.0], [2.0, 0.0]])
    found = distinct_rows(rows, targets(np.array([1.0, 1.0, -1.0, 1.0]), np.array([1.0, 2.0, 1.0, 0.0])))
    assert sorted(found.targets.weight.tolist()) == [1.0, 3.0]
    assert sorted(found.targets.cost.tolist()) == [2.0, 6.0]
    assert found.group[0] == found.group[1] != found.group[2]
    assert found.group[3] == -1


def test_plain_rows_are_left_as_they_are():
    found = distinct_rows(X, targets(Y, np.ones(40)))
    assert found.X is X
    assert found.group is None
    matrix = X @ X.T
    assert distinct_rows(np.vstack([matrix, matrix]), targets(np.ones(80), np.ones(80)), gram=True).group is None


def test_codes_of_dense_and_sparse_rows_agree():
    dense = RNG.integers(-1, 2, size=(30, 6)).astype(float)
    sparse = scipy.sparse.csr_array(dense)
    np.testing.assert_array_equal(row_codes(dense), row_codes(sparse))
    assert len(np.unique(row_codes(dense))) == len(np.unique(dense, axis=0))


def test_a_fold_of_weightless_rows_is_refused():
    weight = np.where(np.arange(40) < 20, 0.0, 1.0)
    folds = [(np.arange(20, 40), np.arange(20))]
    with pytest.raises(ValueError, match="fold 0 holds out has a weight of zero"):
        kw.MKLClassifierCV(cv=folds).fit(X, Y, sample_weight=weight)
