"""A working set of kernels finds what all kernels at once find, and its certificate is about all of them."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import kernelweave as kw
from kernelweave.solvers.mkl.weights import hessian, working_set
from oracles import mkl

RNG = np.random.default_rng(0)
N, COLUMNS = 60, 8
X = RNG.normal(size=(N, COLUMNS))
SCORE = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * RNG.normal(size=N)
Y = np.where(SCORE > 0, 1, -1)
SUBSETS = [*range(COLUMNS), [0, 1], [1, 2], [2, 3, 4], [5, 6, 7], [0, 7]]
KERNELS = [kw.RBF(width=width).on(columns) for columns in SUBSETS for width in np.geomspace(0.1, 50.0, 8)]
GRAMS = np.stack([kernel.gram(X) for kernel in KERNELS])
TIGHT = 1e-5


@pytest.fixture(autouse=True)
def from_few_kernels_on(monkeypatch):
    """Let a working set begin at fewer kernels than these tests have."""
    monkeypatch.setattr(working_set, "MANY", 64)


def test_the_optimum_over_all_kernels_is_found_and_proved():
    model = kw.MKLClassifier(KERNELS, solver="hessian", tol=TIGHT).fit(X, Y)
    right = mkl.optimum("hinge", GRAMS, Y[None].astype(float), np.ones(N))
    assert len(KERNELS) > working_set.MANY == 64
    assert model.converged_
    assert model.objective_ == pytest.approx(right, rel=10 * TIGHT)
    assert model.dual_objective_ <= right * (1 + TIGHT)
    found = kw.verify(model, X, Y)
    assert found.confirmed
    assert found.gap <= 2 * TIGHT


@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        (kw.MKLClassifier(KERNELS, loss="logistic"), Y),
        (kw.MKLClassifier(KERNELS, shared_weights=True), np.digitize(SCORE, [-0.5, 0.5])),
        (kw.MKLRegressor(KERNELS, C=3.0), SCORE),
        (kw.MKLNovelty(KERNELS, nu=0.3), None),
    ],
    ids=["logistic", "three classes", "regression", "novelty"],
)
def test_it_agrees_with_all_kernels_at_once(estimator, target, monkeypatch):
    estimator.set_params(solver="hessian", tol=TIGHT)
    few = estimator.fit(X, target)
    objective = few.objective_
    assert few.converged_
    assert kw.verify(few, X, target).confirmed
    monkeypatch.setattr(working_set, "MANY", len(KERNELS))
    assert estimator.fit(X, target).objective_ == pytest.approx(objective, rel=5 * TIGHT)


def test_a_bound_holds_over_kernels_that_were_never_chosen(monkeypatch):
    monkeypatch.setattr(working_set, "FEWEST_NEW", 2)
    monkeypatch.setattr(working_set, "MOST_NEW", 2)
    model = kw.MKLClassifier(KERNELS, solver="hessian", tol=1e-3, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model.fit(X, Y)
    assert not model.converged_
    assert kw.verify(model, X, Y).gap == pytest.approx(model.duality_gap_, rel=1e-6)


def test_the_working_set_stays_bounded(monkeypatch):
    monkeypatch.setattr(working_set, "MOST", 24)
    model = kw.MKLClassifier(KERNELS, solver="hessian", tol=1e-4).fit(X, Y)
    assert model.converged_


def test_bits_do_not_depend_on_threads():
    one, two = (kw.MKLClassifier(KERNELS, solver="hessian", n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert np.array_equal(one.kernel_weights_, two.kernel_weights_)
    assert np.array_equal(one.dual_coef_, two.dual_coef_)


@pytest.mark.parametrize("solver", ["hessian", "level"])
def test_kernels_of_few_skewed_columns_on_many_rows(solver):
    """The Gram matrix of the free rows has a lower rank than there are rows."""
    rng = np.random.default_rng(1)
    rows = rng.lognormal(sigma=1.5, size=(800, 12))
    y = np.where(np.log(rows[:, :5]).sum(axis=1) + rng.normal(size=800) > 0, 1, -1)
    kernels = [kw.Linear().on([i, i + 1, i + 2]) for i in range(0, 12, 3)]
    model = kw.MKLClassifier(kernels, solver=solver).fit(rows, y)
    assert model.converged_
    assert kw.verify(model, rows, y).confirmed


def test_a_matrix_of_any_rank_is_factored():
    column = np.geomspace(1e-8, 1e8, 20)[:, None]
    K = column @ column.T - 1e-3 * np.eye(20)
    L = hessian._factor(K)[0]
    assert np.isfinite(L).all()
    assert (L.diagonal() > 0).all()
