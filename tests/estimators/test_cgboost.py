"""The boosted estimators as a scikit-learn user meets them."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kernelweave as kw
from mixtures import KERNELS, NEW, REAL, THREE, N, X, Y
from oracles import boost

MODELS = {
    "classifier": (kw.CGBoostClassifier(KERNELS, tol=1e-6), Y),
    "l2": (kw.CGBoostClassifier(KERNELS, penalty="l2", tol=1e-6), Y),
    "nu": (kw.CGBoostClassifier(KERNELS, loss="nu_classification", nu=0.3, penalty="l2", tol=1e-6), Y),
    "three classes": (kw.CGBoostClassifier(KERNELS, tol=1e-6), THREE),
    "regressor": (kw.CGBoostRegressor(KERNELS, C=3.0, tol=1e-6), REAL),
    "nu regressor": (kw.CGBoostRegressor(KERNELS, loss="nu_regression", penalty="l2", nu=0.4, tol=1e-6), REAL),
    "novelty": (kw.CGBoostNovelty(KERNELS, nu=0.2, tol=1e-6), None),
}


@cache
def learned(name):
    """A fitted model, for tests that only look at it."""
    model, y = MODELS[name]
    return clone(model).fit(X, y)


@pytest.fixture(params=sorted(MODELS))
def model(request):
    return learned(request.param)


def values(model, rows, **options):
    return model.predict(rows, **options) if hasattr(model, "epsilon") else model.decision_function(rows, **options)


def staged(model, rows):
    return list((model.staged_predict if hasattr(model, "epsilon") else model.staged_decision_function)(rows))


def gram(model, rows=X, kept=X):
    """The columns of all kernels side by side, as the model scales them."""
    return np.hstack([kernel.gram(rows, kept) for kernel in model.kernels_])


def signs(y, label):
    return np.where(y == label, 1.0, -1.0)


# What was learned, and what proves it.


def test_the_objective_is_the_optimum_over_all_columns(model):
    kind = model.loss if hasattr(model, "loss") else "one_class"
    cost = np.full(N, getattr(model, "C", 1.0))
    goals = {"regressor": [REAL], "novelty": [np.ones(N)], "three": [signs(THREE, c) for c in range(3)]}
    key = "three" if len(model.intercept_) > 1 else model._task.replace("regression", "regressor")
    best = [
        boost.optimum(
            kind, gram(model), y, cost, model.penalty, False, "free", getattr(model, "epsilon", 0.0), model.nu
        )
        for y in goals.get(key, [signs(Y, "yes")])
    ]
    np.testing.assert_allclose(model.certificate_.primal, best, rtol=1e-5)
    assert np.all(model.certificate_.dual <= np.array(best) * (1 + 1e-9 * np.sign(best)) + 1e-9)
    assert model.converged_
    assert model.scanned_ == "all"
    assert model.duality_gap_ <= 1e-6
    assert set(model.stopped_by_) == {"TR2"}


def test_anyone_can_recompute_the_certificate():
    fitted = learned("classifier")
    u, a = fitted.certificate_.alpha[0], np.zeros(4 * N)
    a[fitted.columns_["kernel"] * N + fitted.columns_["example"]] = fitted.columns_["coefficient"]
    K, y = gram(fitted), signs(Y, "yes")
    assert abs(u.sum()) < 1e-9
    assert np.all(y * u > -1e-12)
    assert np.all(y * u < 1 + 1e-12)
    bound = y @ u / max(1.0, np.abs(K.T @ u).max())
    objective = np.abs(a).sum() + np.maximum(0, 1 - y * (K @ a + fitted.intercept_[0])).sum()
    assert bound == pytest.approx(fitted.dual_objective_)
    assert objective == pytest.approx(fitted.objective_)
    assert (objective - bound) / objective == pytest.approx(fitted.duality_gap_, abs=1e-9)


def test_outputs_are_the_sum_of_the_columns(model):
    outputs = np.tile(model.intercept_, (len(NEW), 1))
    for column in model.columns_:
        kernel, row = model.kernels_[column["kernel"]], X[[column["example"]]]
        outputs[:, column["output"]] += column["coefficient"] * kernel.gram(NEW, row)[:, 0]
    found = values(model, NEW)
    np.testing.assert_allclose(found if found.ndim == 2 else found[:, None], outputs, rtol=1e-8, atol=1e-8)
    parts = values(model, NEW, per_kernel=True)
    whole = parts.sum(axis=-1) + (model.intercept_ if parts.ndim == 3 else model.intercept_[0])
    np.testing.assert_allclose(whole, found, rtol=1e-8, atol=1e-8)


def test_columns_are_counted_and_only_their_rows_are_kept(model):
    counts = np.atleast_2d(model.n_columns_per_kernel_)
    assert counts.shape == (len(model.intercept_), len(KERNELS))
    assert counts.sum() == len(model.columns_)
    assert np.all(model.columns_["coefficient"] != 0)
    assert set(model.columns_["example"]) <= set(model.support_)
    np.testing.assert_array_equal(model.reference_, X[model.support_])
    used = model.columns_[model.columns_["output"] == 0]
    np.testing.assert_array_equal(counts[0], np.bincount(used["kernel"], minlength=4))


def test_the_1_norm_needs_few_columns():
    assert len(learned("classifier").columns_) < N / 2
    assert len(learned("l2").columns_) > 2 * N


def test_stages_end_in_the_model_and_agree_with_the_trace(model):
    stages = staged(model, NEW)
    np.testing.assert_allclose(stages[-1], values(model, NEW), rtol=1e-9, atol=1e-9)
    assert len(stages) == model.n_iter_
    if len(model.intercept_) == 1 and model._task == "classification":
        errors = [np.mean(labels != Y) for labels in model.staged_predict(X)]
        np.testing.assert_allclose(errors, model.trace_["train_error"], atol=2 / N)  # rows on the border may turn
        assert errors[-1] == pytest.approx(1 - model.score(X, Y))


def test_stages_of_many_rounds_are_the_same_in_parts(monkeypatch):
    whole = staged(learned("three classes"), NEW)
    monkeypatch.setattr("kernelweave.estimators.cgboost.base.ROUNDS_AT_ONCE", 3)
    np.testing.assert_allclose(staged(learned("three classes"), NEW), whole, rtol=1e-9, atol=1e-9)


def test_several_classes_are_two_class_models_on_one_pool():
    fitted = learned("three classes")
    for c in range(3):
        alone = clone(MODELS["three classes"][0]).fit(X, np.equal(THREE, c))
        assert alone.objective_ == pytest.approx(fitted.certificate_.primal[c], rel=1e-5)
    assert fitted.decision_function(NEW).shape == (40, 3)
    assert set(fitted.trace_["output"]) == {0.0, 1.0, 2.0}


def test_coefficients_of_one_sign():
    fitted = kw.CGBoostClassifier(KERNELS, positive=True).fit(X, Y)
    assert fitted.columns_["coefficient"].min() > 0
    assert fitted.converged_


# When to stop.


def test_tr3_keeps_the_best_round_of_given_rows():
    y = np.where(NEW[:, 0] + NEW[:, 1] ** 2 > 0.8, "yes", "no")
    fitted = kw.CGBoostClassifier(KERNELS, C=100.0, termination="TR3", patience=3).fit(X, Y, validation=(NEW, y))
    errors = fitted.trace_["validation_error"]
    assert fitted.score(NEW, y) == pytest.approx(1 - errors.min())
    assert len(fitted.stages_[0]) == errors.argmin() + 1
    assert fitted.converged_
    np.testing.assert_allclose(
        [np.mean(labels != y) for labels in fitted.staged_predict(NEW)], errors[: errors.argmin() + 1], atol=1e-12
    )


def test_rows_that_judge_are_no_training_rows_and_keep_the_classes():
    y = np.where(np.arange(N) < 8, "rare", "usual")
    models = [
        kw.CGBoostClassifier(KERNELS, validation_fraction=0.25, penalty="l2", random_state=seed).fit(X, y)
        for seed in (1, 1, 2)
    ]
    trained = [np.flatnonzero(model.certificate_.alpha[0]) for model in models]
    assert np.array_equal(models[0].columns_, models[1].columns_)
    assert not np.array_equal(trained[0], trained[2])
    for fitted in models:
        assert len(fitted.support_) <= 60
        assert np.isfinite(fitted.trace_["validation_error"]).all()
    regressor = kw.CGBoostRegressor(KERNELS, termination=("TR2", "TR3")).fit(X, REAL)
    assert np.isfinite(regressor.trace_["validation_error"]).all()
    assert len(np.unique(regressor.support_)) <= 64


def test_novelty_is_judged_by_labelled_rows():
    rows, y = np.vstack([NEW, NEW + 8]), np.repeat([1, -1], 40)
    fitted = kw.CGBoostNovelty([kw.RBF(width=3.0)], nu=0.1, termination=("TR3", "TR2")).fit(X, validation=(rows, y))
    assert np.mean(fitted.predict(rows) != y) == pytest.approx(fitted.trace_["validation_error"].min())


def test_few_rounds():
    fitted = kw.CGBoostClassifier(KERNELS, termination="TR4", max_iter=3, columns_per_round=2).fit(X, Y)
    assert (fitted.n_iter_, fitted.stopped_by_, fitted.converged_) == (3, ["TR4"], True)
    assert len(fitted.columns_) <= 4
    with pytest.warns(ConvergenceWarning, match="after 2 rounds; raise max_iter or tol"):
        short = kw.CGBoostClassifier(KERNELS, max_iter=2, columns_per_round=2).fit(X, Y)
    assert not short.converged_
    assert short.duality_gap_ > 1e-3
    assert kw.CGBoostClassifier(KERNELS, termination="TR1").fit(X, Y).stopped_by_[0] in ("TR1", "TR2")


def test_a_callback_can_stop_the_fit():
    with pytest.warns(ConvergenceWarning, match="Stopped early"):
        fitted = kw.CGBoostClassifier(KERNELS, callbacks=(lambda progress: progress.iteration == 2,)).fit(X, THREE)
    assert not fitted.converged_
    assert fitted.predict(NEW).shape == (40,)


def test_the_certificate_says_what_was_scanned():
    fitted = kw.CGBoostClassifier(KERNELS, candidates=10, strategy="regular", tol=1e-2, max_iter=50, termination="TR4")
    fitted.fit(X, Y)
    assert fitted.scanned_ == "all" or 0 < fitted.scanned_ < 4 * N
    assert kw.CGBoostClassifier(KERNELS, strategy="regular").fit(X, Y).scanned_ == "all"


def test_cheap_kernels_come_first_when_asked():
    backwards = KERNELS[::-1]
    kinds = {
        order: kw.CGBoostClassifier(backwards, kernel_order=order, termination="TR4", max_iter=2).fit(X, Y)
        for order in ("given", "cost")
    }
    assert set(kinds["cost"].columns_["kernel"]) == {3}
    assert set(kinds["given"].columns_["kernel"]) == {0}


# Files.


def test_files_and_pickles(model, tmp_path):
    kw.save(model, tmp_path / "model.kw")
    for copy in (kw.load(tmp_path / "model.kw"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(values(copy, NEW), values(model, NEW))
        np.testing.assert_array_equal(copy.columns_, model.columns_)
        assert copy.columns_.dtype == model.columns_.dtype
        np.testing.assert_array_equal(staged(copy, NEW)[0], staged(model, NEW)[0])
        assert (copy.scanned_, copy.stopped_by_) == (model.scanned_, model.stopped_by_)
        np.testing.assert_array_equal(copy.trace_["gap"], model.trace_["gap"])
