"""Certificates of estimators: confirmed by the judge for every solver, loss, intercept, norm and form of the kernels.

`conftest` judges every fit; what is asserted here comes on top.
"""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import kernelweave as kw
from kernelweave.losses import LOSSES
from kernelweave.operators.gram import family
from kernelweave.operators.planner import family as plan_family
from kernelweave.operators.planner import values
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.svm import SVM_SOLVERS

N = 60
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
WEIGHT = rng.integers(0, 3, N).astype(float)
TARGETS = {
    "classification": np.sign(X[:, 0] + X[:, 1] ** 2 - 0.5 + 0.3 * rng.normal(size=N)),
    "regression": X[:, 0] + 0.1 * rng.normal(size=N),
    "novelty": None,
}
ONE = {"classification": kw.KernelClassifier, "regression": kw.KernelRegressor, "novelty": kw.KernelNovelty}
MANY = {"classification": kw.MKLClassifier, "regression": kw.MKLRegressor, "novelty": kw.MKLNovelty}
KERNELS = [kw.RBF(width=1.0), kw.RBF(width=10.0), kw.Linear()]
DNA, DNA_LABELS = kw.datasets.make_splice(N, random_state=0)


@pytest.fixture(autouse=True)
def quietly():
    """Runs that end at their limit warn, and are judged all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def one_kernel():
    for name, make in LOSSES.items():
        for solver in SVM_SOLVERS:
            loss = make()
            suits = loss.smooth if solver == "newton" else loss.boxed
            suits = loss.sparse and loss.task != "novelty" if solver == "active_set" else suits
            if suits:
                for intercept in (True,) if make.task == "novelty" else (True, "regularized", False):
                    yield name, solver, intercept


def many_kernels():
    for name, make in LOSSES.items():
        for solver, entry in MKL_SOLVERS.items():
            if entry.suits(make()):
                yield name, solver, min(2.0, entry.largest_p)


@pytest.mark.parametrize(("loss", "solver", "intercept"), list(one_kernel()))
def test_one_kernel(loss, solver, intercept):
    task = LOSSES[loss].task
    rows, kernel = {
        "dual_coordinate": (DNA, kw.WeightedDegree(4)),
        "interior_point": (X, kw.Linear()),
    }.get(solver, (X, kw.RBF(width=3.0)))
    given = {} if task == "novelty" else {"loss": loss, "C": 10.0, "fit_intercept": intercept}
    model = ONE[task](kernel, solver=solver, max_iter=300, **given)
    model.fit(rows, TARGETS[task], sample_weight=WEIGHT)
    assert model.certifies_ == "svm"
    assert model.converged_ == (model.duality_gap_ <= model.tol)


@pytest.mark.parametrize(("loss", "solver", "norm"), list(many_kernels()))
def test_many_kernels(loss, solver, norm):
    task = LOSSES[loss].task
    given = {} if task == "novelty" else {"loss": loss, "C": 10.0}
    kernels = kw.per_feature(kw.Linear(), X.shape[1]) if MKL_SOLVERS[solver].rank_one else KERNELS
    model = MANY[task](kernels, solver=solver, max_iter=40, **given)
    model = model.set_params(norm=norm) if "norm" in model.get_params() else model
    model.fit(X, TARGETS[task], sample_weight=WEIGHT)
    assert model.certifies_ == MKL_SOLVERS[solver].certifies
    assert model.converged_ == (model.duality_gap_ <= model.tol)


FORMS = {
    "stored": (KERNELS, X, "auto", "stored"),
    "rank_one": (kw.per_feature(kw.Linear(), 4) * 3, X, "auto", "rank_one"),
    "columns": (kw.per_feature(kw.Linear(), 4), X, "auto", "features"),
    "shared": (kw.RBF.grid([0.5, 2.0, 8.0, 32.0]), X, "50kB", "shared"),
    "recomputed": (KERNELS, X, "25kB", "recomputed"),
    "cached": ([*KERNELS, kw.Polynomial(2)], X, "10kB", "cached"),
    "positions": (kw.WeightedDegree(4).per_degree(), DNA, "auto", None),
    "features": ([kw.Spectrum(2), kw.Spectrum(3)], DNA, "auto", None),
    "matrices": (None, [kernel.gram(X) for kernel in KERNELS], "auto", "stored"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_every_form_of_kernel_values(form, C, monkeypatch):
    monkeypatch.setattr(values, "DOUBLE_UP_TO", 0.0)
    monkeypatch.setattr(values, "FEWEST_COLUMNS", 8)
    for module in (family, plan_family):
        monkeypatch.setattr(module, "DOUBLE_SUM", 0.0)
    kernels, rows, limit, kind = FORMS[form]
    y = DNA_LABELS if rows is DNA else TARGETS["classification"]
    model = kw.MKLClassifier(kernels, C=C, norm=2.0, memory_limit=limit, max_iter=60, n_jobs=1).fit(rows, y)
    assert kind is None or C > 1.0 or model.memory_plan_.kind == kind  # a large C may ask for double precision


MIXTURES = {
    "l1": kw.CGBoostClassifier(KERNELS),
    "l2": kw.CGBoostClassifier(KERNELS, penalty="l2"),
    "nu": kw.CGBoostRegressor(KERNELS, loss="nu_regression"),
    "novelty": kw.CGBoostNovelty(KERNELS, nu=0.3),
}


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("rule", ["TR2", "TR4"])
def test_mixtures(name, rule):
    model = clone(MIXTURES[name]).set_params(termination=rule, max_iter=5 if rule == "TR4" else -1)
    task = {"nu": "regression", "novelty": "novelty"}.get(name, "classification")
    assert model.fit(X, TARGETS[task]).certifies_ == "mixture"
