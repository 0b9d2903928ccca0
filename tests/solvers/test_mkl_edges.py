"""The estimators with many kernels at the edges: little memory, threads, interruptions, odd data, wrong input."""

import logging
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kernelweave as kw
from kernelweave.operators.expansion import values as expansion_values
from kernelweave.operators.gram import dense, family, mixture
from kernelweave.solvers.svm.chunking import Chunking
from kernelweave.solvers.svm.smo import SMO

rng = np.random.default_rng(0)
N, NEW_N = 90, 30
X, NEW = rng.normal(size=(N, 4)), rng.normal(size=(NEW_N, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=N) > 0.8, 1, 0)
THREE = np.digitize(X[:, 0] + 0.3 * rng.normal(size=N), [-0.5, 0.5])
REAL = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=N)
KERNELS = [*kw.RBF.grid([0.5, 2.0, 20.0]), kw.RBF(width=2.0).on([0]), kw.Linear()]
MODELS = {
    "classifier": (kw.MKLClassifier(KERNELS), Y),
    "logistic": (kw.MKLClassifier(KERNELS, loss="logistic", norm=4 / 3), Y),
    "regressor": (kw.MKLRegressor(KERNELS), REAL),
    "novelty": (kw.MKLNovelty(KERNELS, nu=0.2), None),
}


def values(model, rows):
    return model.predict(rows) if hasattr(model, "epsilon") else model.decision_function(rows)


@pytest.mark.parametrize("how", ["trace", "cosine", "variance"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_constant_column_does_no_harm(how, fit_intercept):
    rows = np.column_stack([X, np.full(N, 3.0), np.zeros(N)])
    params = {"normalize": how, "fit_intercept": fit_intercept, "tol": 1e-6}
    kernels = kw.per_feature([kw.RBF(width=2.0), kw.Linear()], 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = kw.MKLClassifier(kernels, **params).fit(rows, Y)
    assert model.converged_
    assert np.abs(model.decision_function(rows)).max() < 1e3
    if fit_intercept:
        without = kw.MKLClassifier(kernels[:8], **params).fit(X, Y)
        assert model.objective_ == pytest.approx(without.objective_, rel=1e-5)


def test_kernels_that_are_nearly_the_same_get_a_warning():
    with pytest.warns(UserWarning, match=r"RBF\(width=2.0\) and RBF\(width=2.001\) are nearly the same kernel"):
        kw.MKLClassifier([kw.RBF(width=2.0), kw.RBF(width=2.001), kw.Linear()], norm=2.0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kw.MKLClassifier(KERNELS).fit(X, Y)


@pytest.mark.parametrize("memory_limit", ["auto", 4 * N * N, 4 * N * 70])
@pytest.mark.parametrize("name", ["classifier", "logistic", "novelty"])
def test_the_number_of_jobs_does_not_change_a_bit(name, memory_limit, monkeypatch):
    for module, size in ((dense, "TILE"), (family, "TILE"), (expansion_values, "NEW_ROWS")):
        monkeypatch.setattr(module, size, 32)
    for module in (family, mixture):
        monkeypatch.setattr(module, "STRIP", 8)
    model, y = MODELS[name]
    one, two = (clone(model).set_params(n_jobs=jobs, memory_limit=memory_limit).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.kernel_weights_, two.kernel_weights_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(values(one, NEW), values(two, NEW))
    assert one.objective_ == two.objective_


@pytest.mark.parametrize("name", ["classifier", "logistic", "regressor", "novelty"])
def test_little_memory_gives_the_same_objective(name):
    model, y = MODELS[name]
    roomy = clone(model).set_params(tol=1e-4).fit(X, y)
    for limit, kind in ((4 * N * N * 5, "shared"), (4 * N * N, "recomputed"), (4 * N * 70, "cached")):
        tight = clone(model).set_params(tol=1e-4, memory_limit=limit).fit(X, y)
        assert tight.memory_plan_.kind == kind
        assert tight.converged_
        assert tight.objective_ == pytest.approx(roomy.objective_, rel=2e-4)
    with pytest.raises(MemoryError, match=r"64 kernel columns of 90 rows take 23 kB, more than the memory_limit"):
        clone(model).set_params(memory_limit="10kB").fit(X, y)


def test_callbacks_hear_every_iteration_and_may_stop(caplog, capfd):
    heard: list = []
    with caplog.at_level(logging.INFO, logger="kernelweave"):
        model = kw.MKLClassifier(KERNELS, solver="silp", callbacks=(heard.append,), verbose=1).fit(X, Y)
    assert [progress.iteration for progress in heard] == list(range(1, model.n_iter_ + 1))
    assert [progress.gap for progress in heard] == model.trace_["gap"].tolist()
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith("held as ")
    assert sum(line.startswith("iteration ") for line in said) == model.n_iter_ > 1
    assert "gap" in said[-1]
    assert capfd.readouterr().out == ""
    with pytest.warns(ConvergenceWarning, match=r"Stopped early at a duality gap of .*: the best model so far is kept"):
        stopped = kw.MKLClassifier(KERNELS, tol=1e-9, callbacks=(lambda progress: True,)).fit(X, THREE)
    assert not stopped.converged_
    assert stopped.n_iter_ == 1
    assert stopped.decision_function(NEW).shape == (NEW_N, 3)
    with pytest.warns(ConvergenceWarning, match=r"The duality gap is .*, above tol=1e-09, after"):
        kw.MKLClassifier(KERNELS, tol=1e-9, max_iter=1).fit(X, Y)


@pytest.mark.parametrize("solver", ["auto", "silp", "silp_chunking", "smooth", "best_single"])
def test_ctrl_c_keeps_a_model_that_predicts(solver, monkeypatch):
    calls = iter(range(1000))
    for kind in (SMO, Chunking):

        def step(self, inner=kind.step):
            if next(calls) == 5:
                raise KeyboardInterrupt
            inner(self)

        monkeypatch.setattr(kind, "step", step)
    with pytest.warns(ConvergenceWarning, match=r"Stopped early at a duality gap of .*: the best model so far is kept"):
        model = kw.MKLClassifier(KERNELS, solver=solver, tol=1e-6).fit(X, Y)
    assert not model.converged_
    assert np.all(np.isfinite(model.decision_function(NEW)))
    assert model.kernel_weights_.shape == (len(KERNELS),)


@pytest.mark.parametrize("solver", ["smooth", "uniform", "best_single", "alignment"])
def test_another_problem_is_called_by_its_name(solver):
    model = kw.MKLClassifier(KERNELS, solver=solver).fit(X, Y)
    assert model.certifies_ == ("smoothed" if solver == "smooth" else "fixed weights")
    assert model.converged_
    assert model.score(X, Y) > 0.7


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_targets_that_nothing_can_tell_apart(loss):
    flat = np.ones((N, 4))
    for solver in ("auto", "silp", "silp_chunking", "level", "reduced_gradient", "lp", "smooth", "uniform"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = kw.MKLClassifier(KERNELS, loss=loss, solver=solver, max_iter=50).fit(flat, np.arange(N) % 2)
        assert np.all(np.isfinite(model.kernel_weights_)), solver
        assert model.duality_gap_ <= 1e-3, solver


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared"])
def test_a_target_that_is_constant_needs_no_kernel(loss):
    for solver in ("auto", "silp", "silp_chunking", "level", "reduced_gradient", "lp", "smooth", "alignment"):
        model = kw.MKLRegressor(KERNELS, loss=loss, solver=solver, max_iter=50).fit(X, np.full(N, 2.5))
        np.testing.assert_allclose(model.predict(NEW), 2.5, atol=0.1, err_msg=solver)
        assert model.predict(NEW, per_kernel=True).shape == (NEW_N, len(KERNELS))
        assert np.all(np.isfinite(model.kernel_weights_)), solver


@pytest.mark.parametrize(
    ("params", "error", "sentence"),
    [
        ({"kernels": []}, ValueError, r"kernels is an empty list; give at least one kernel\."),
        ({"kernels": kw.RBF(1.0)}, TypeError, r"kernels must be a list of kernels, for example"),
        ({"kernels": "rbf"}, TypeError, r"kernels must be a list of kernels, for example"),
        ({"kernels": 3}, TypeError, r"kernels must be a list of kernels, for example"),
        ({"kernels": [kw.RBF(1.0), 3]}, TypeError, r"kernel must be a Kernel, a text such as 'rbf' or a function, not"),
        ({"kernels": [kw.RBF(1.0), kw.Sigmoid()]}, ValueError, r"Sigmoid\(.*\) is not positive semi-definite; mult"),
        ({"norm": 0.5}, ValueError, r"norm=0\.5 must be at least 1"),
        ({"norm": float("nan")}, ValueError, r"norm=nan must be at least 1"),
        ({"norm": "two"}, ValueError, r"norm='two' must be at least 1"),
        ({"solver": "magic"}, ValueError, r"solver='magic' is unknown; choose one of auto, silp, "),
        ({"solver": "silp", "norm": 2.0}, ValueError, r"solver='silp' is for norm=1, not norm=2; use solver='lp'\."),
        ({"solver": "smooth", "loss": "logistic"}, ValueError, r"solver='smooth' is for the losses .*, not 'logistic'"),
        ({"solver": "smooth", "solver_params": {"smoothing": -1}}, ValueError, r"smoothing=-1 must be a positive"),
        ({"solver": "silp", "solver_params": {"q": 1}}, ValueError, r"solver_params=\{'q': 1\} do not fit solver"),
        ({"loss": "squared"}, ValueError, r"loss='squared' is for regression, not for classification"),
        ({"C": 0.0}, ValueError, r"C=0\.0 must be a positive number\."),
        ({"normalize": "zscore"}, ValueError, r"normalize='zscore' is unknown"),
        ({"memory_limit": "lots"}, ValueError, r"memory_limit='lots' is not a size"),
    ],
)  # fmt: skip
def test_each_wrong_parameter_has_its_sentence(params, error, sentence):
    with pytest.raises(error, match=sentence):
        kw.MKLClassifier(**{"kernels": KERNELS, **params}).fit(X, Y)


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_other_wrong_input_has_its_sentence():
    with pytest.raises(ValueError, match=r"solver='smooth' learns weights for each class"):
        kw.MKLClassifier(KERNELS, solver="smooth", shared_weights=True).fit(X, THREE)
    for how in ("trace", "variance", None):
        with pytest.raises(ValueError, match=r"Polynomial\(degree=9\) of row \d+ with itself is not finite; rescale"):
            kw.MKLClassifier([kw.Linear(), kw.Polynomial(9)], normalize=how).fit(1e40 * X, Y)
    with pytest.raises(ValueError, match=r"X has 90 rows, but y has 89 entries"):
        kw.MKLClassifier(KERNELS).fit(X, Y[1:])
    with pytest.raises(ValueError, match=r"nu=1\.5 must be at most 1"):
        kw.MKLNovelty(KERNELS, nu=1.5).fit(X)
    with pytest.raises(TypeError, match="trained on a table of numbers, but got Sequences"):
        kw.MKLClassifier(KERNELS).fit(X, Y).predict(kw.Sequences.from_strings(["ACGT"], alphabet="dna"))
