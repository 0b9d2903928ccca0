"""Certificates of kernels that a solver saw rounded or factorised: they hold for the kernels that were asked for."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kernelweave as kw
from kernelweave.estimators.fitting import honest_gap
from kernelweave.estimators.mkl.base import MKLEstimator
from kernelweave.estimators.proof import feasible
from kernelweave.losses import make_loss
from kernelweave.operators.gram import family
from kernelweave.operators.planner import family as plan_family
from kernelweave.operators.planner import values
from kernelweave.solvers.problems import Problem

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 4))
Y = np.sign(X[:, 0] + X[:, 1] ** 2 - 0.5 + 0.3 * rng.normal(size=240))
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
KERNELS = [kw.RBF(width=w) for w in (0.5, 4.0, 32.0, 256.0)]


@pytest.fixture
def single(monkeypatch):
    """Hold every matrix of kernel values in single precision, as large ones are."""
    monkeypatch.setattr(values, "DOUBLE_UP_TO", 0.0)
    for module in (family, plan_family):
        monkeypatch.setattr(module, "DOUBLE_SUM", 0.0)


FITS = {
    "p = 2": {"norm": 2.0},
    "p = 1": {},
    "silp": {"solver": "silp"},
    "silp_chunking": {"solver": "silp_chunking"},
    "level": {"solver": "level"},
    "reduced_gradient": {"solver": "reduced_gradient", "max_iter": 30},
    "smoothed": {"solver": "smooth", "max_iter": 200},
    "fixed weights": {"solver": "uniform"},
    "stopped": {"solver": "silp", "max_iter": 2},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("limit", ["auto", "600kB", "200kB"])
@pytest.mark.parametrize("name", FITS)
def test_values_in_single_precision_are_proved_in_double(name, limit, single):
    model = kw.MKLClassifier(KERNELS, C=1e4, memory_limit=limit, n_jobs=1, **FITS[name]).fit(X, Y)
    found = kw.verify(model, X, Y)
    assert found.confirmed, str(found)
    np.testing.assert_allclose(found.primal.sum(), model.objective_, rtol=1e-8)
    assert model.converged_ == (model.duality_gap_ <= model.tol)


def test_without_the_proof_the_certificate_would_be_false(single, monkeypatch):
    monkeypatch.setattr(MKLEstimator, "_proved", lambda self, results, problems, X: results)
    model = kw.MKLClassifier(KERNELS, C=1e4, norm=2.0, n_jobs=1).fit(X, Y)
    assert not kw.verify(model, X, Y).confirmed


def test_what_rounding_opens_is_closed_in_double_precision(single):
    model = kw.MKLClassifier(KERNELS, C=1e4, norm=2.0, tol=1e-5, n_jobs=1).fit(X, Y)
    assert model.converged_
    assert kw.verify(model, X, Y).gap <= 1e-5


def test_a_gap_that_single_precision_leaves_open_names_the_memory_limit(single, monkeypatch):
    hold = MKLEstimator._hold

    def cramped(self, rows, tol, table=None):
        if tol == 0.0:
            raise MemoryError
        return hold(self, rows, tol, table)

    monkeypatch.setattr(MKLEstimator, "_hold", cramped)
    with pytest.warns(ConvergenceWarning, match="raise memory_limit, within which kernel values are held in single"):
        kw.MKLClassifier(KERNELS, C=1e4, norm=2.0, tol=1e-5, n_jobs=1).fit(X, Y)


def test_shared_weights_and_chosen_parameters_are_proved(single):
    for model in (
        kw.MKLClassifier(KERNELS, C=1e4, shared_weights=True, n_jobs=1),
        kw.MKLClassifierCV(KERNELS, Cs=[1e4], norms=[2.0], cv=2, n_jobs=1),
        kw.MKLClassifierCV([kw.RBF(width=50.0), kw.RBF(width=200.0)], Cs=[1e3], norms=[2.0], cv=2, n_jobs=1,
                           loss="logistic", solver="svrg"),
    ):  # fmt: skip
        found = kw.verify(model.fit(X, THREE), X, THREE)
        assert found.confirmed, str(found)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["smo", "chunking", "newton"])
@pytest.mark.parametrize("steps", [2, -1])
def test_one_kernel_is_proved_in_double_also_where_it_was_stopped(solver, steps, single):
    loss = "logistic" if solver == "newton" else "hinge"
    model = kw.KernelClassifier(kw.RBF(width=50.0), C=1e4, solver=solver, loss=loss, max_iter=steps).fit(X, Y)
    assert kw.verify(model, X, Y).confirmed


@pytest.mark.parametrize("limit", ["auto", "200kB"])
@pytest.mark.parametrize("weights", ["learned", "fixed"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:The memory_limit")
def test_features_in_single_precision_are_proved_in_double(limit, weights):
    kernels = [kw.Linear(), kw.Fourier(kw.RBF(width=2.0), 40), kw.Nystrom(kw.RBF(width=20.0), 30)]
    model = kw.MKLClassifier(
        kernels, C=1e3, loss="squared_hinge", norm=2.0, solver="svrg", memory_limit=limit, max_iter=40, n_jobs=1,
        solver_params={"weights": weights},
    ).fit(X * 1.1, Y)  # fmt: skip
    found = kw.verify(model, X * 1.1, Y)
    assert found.confirmed, str(found)


REAL = X[:, 0] + 0.1 * rng.normal(size=240)
EXTREMES = {
    "hinge, p = 2": (kw.MKLClassifier(KERNELS, norm=2.0), Y),
    "hinge, p = 1": (kw.MKLClassifier(KERNELS), Y),
    "epsilon": (kw.MKLRegressor(KERNELS), REAL),
    "squared, one kernel": (kw.KernelRegressor(KERNELS[1], loss="squared"), REAL),
    "hinge, one kernel": (kw.KernelClassifier(KERNELS[1]), Y),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [1e-15, 1e-12, 1e9])
@pytest.mark.parametrize("name", EXTREMES)
def test_no_dual_lies_above_the_primal_at_extreme_costs(name, C):
    model, y = EXTREMES[name]
    model = clone(model).set_params(C=C, max_iter=100).fit(X[:60], y[:60])
    found = kw.verify(model, X[:60], y[:60])
    assert found.confirmed, str(found)
    assert model.dual_objective_ <= model.objective_ * (1 + 1e-9)


def test_a_dual_point_is_put_back_into_its_constraints():
    problem = Problem(None, make_loss("hinge", "classification"), Y[:50], np.full(50, 1e-12))
    alpha = 1e-12 * Y[:50] * np.linspace(-1e-7, 1 + 1e-7, 50)
    found = feasible(problem, alpha)
    assert abs(math.fsum(found)) <= 1e-16 * np.abs(found).sum()
    assert ((found * Y[:50] >= 0) & (found * Y[:50] <= 1e-12)).all()
    moved = np.abs(found - alpha).sum()
    assert moved <= 2 * abs(math.fsum(alpha)) + 1e-18


def test_a_gap_below_zero_is_not_told_as_zero():
    assert honest_gap(-1e-15) == 0.0
    assert honest_gap(-6e-7) == 6e-7
