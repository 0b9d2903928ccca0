"""Searches: the same scores as fits of their own, whole groups, every kind of score."""

import numpy as np
import pytest
from sklearn.metrics import make_scorer, matthews_corrcoef
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from kernelweave.estimators.cv.splits import splits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=120) > 0, 1, -1)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
REAL = np.sin(X[:, 0]) + 0.1 * X[:, 1]
SITES, SITE_LABELS = kw.datasets.make_splice(160, random_state=0)
FOLDS = list(KFold(4, shuffle=True, random_state=1).split(X))
RBF = kw.RBF(width=2.0)
MODELS = {
    "hinge": (kw.KernelClassifier(RBF, tol=1e-7), Y, "decision_function"),
    "logistic": (kw.KernelClassifier(RBF, loss="logistic", tol=1e-9), Y, "decision_function"),
    "features": (kw.KernelClassifier(kw.Linear(), loss="squared_hinge", tol=1e-8), Y, "decision_function"),
    "classes": (kw.KernelClassifier(RBF, tol=1e-7, class_weight="balanced"), THREE, "decision_function"),
    "numbers": (kw.KernelRegressor(RBF, loss="squared", tol=1e-9), REAL, "predict"),
    "many": (kw.MKLClassifier([RBF, kw.Linear()], normalize=None, norm=2.0, tol=1e-8), Y, "decision_function"),
    "many numbers": (kw.MKLRegressor([RBF, kw.Linear()], normalize=None, norm=2.0, tol=1e-8), REAL, "predict"),
}


@pytest.mark.parametrize("name", MODELS)
def test_shared_work_gives_what_fits_of_their_own_give(name):
    model, y, method = MODELS[name]
    found = kw.search(model, X, y, {"C": [5.0, 0.5]}, cv=FOLDS)
    alone = {C: cross_val_score(model.set_params(C=C), X, y, cv=FOLDS) for C in (5.0, 0.5)}
    for i, C in enumerate((5.0, 0.5)):
        scores = [found.cv_results_[f"split{j}_test_score"][i] for j in range(4)]
        np.testing.assert_allclose(scores, alone[C], atol=1e-4)
    best = max(alone, key=lambda C: alone[C].mean())
    assert found.best_params_ == {"C": best}
    expected = cross_val_predict(model.set_params(C=best), X, y, cv=FOLDS, method=method)
    np.testing.assert_allclose(found.out_of_fold_, expected, atol=5e-3)
    fitted = found.best_estimator_
    assert best == fitted.C
    assert fitted.objective_ == pytest.approx(model.set_params(C=best).fit(X, y).objective_, rel=1e-5)
    assert kw.verify(fitted, X, y).confirmed


def test_a_pipeline_is_fitted_for_each_fold_as_grid_search_does():
    model = make_pipeline(StandardScaler(), kw.KernelClassifier(RBF))
    grid = {"kernelclassifier__C": [0.1, 1.0]}
    found = kw.search(model, X * [1, 100, 1], Y, grid, cv=FOLDS, scoring="auroc")
    theirs = GridSearchCV(model, grid, cv=FOLDS, scoring="roc_auc").fit(X * [1, 100, 1], Y)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert found.best_params_ == theirs.best_params_
    assert np.isfinite(found.out_of_fold_).all()


def test_kernels_to_choose_from_are_bound_one_after_the_other():
    grid = {"kernel": ["spectrum:3", "wd:6"], "C": [0.1, 1.0]}
    found = kw.search(kw.KernelClassifier(normalize="trace"), SITES, SITE_LABELS, grid, cv=3, scoring="auroc")
    assert found.best_params_["kernel"] == "wd:6"
    assert len(found.cv_results_["params"]) == 4
    assert "wd:6" in str(found)


@pytest.mark.parametrize("scoring", ["auprc", "mcc", "f1", "balanced_accuracy", make_scorer(matthews_corrcoef)])
def test_any_score_of_two_classes_with_names(scoring):
    named = np.where(Y > 0, "yes", "no")
    found = kw.search(kw.KernelClassifier(RBF), X, named, {"C": [1.0]}, cv=FOLDS, scoring=scoring)
    plain = kw.search(kw.KernelClassifier(RBF), X, Y, {"C": [1.0]}, cv=FOLDS, scoring=scoring)
    assert found.best_score_ == plain.best_score_
    assert 0.3 < found.best_score_ <= 1.0


def test_log_loss_asks_for_probabilities():
    found = kw.search(kw.KernelClassifier(RBF, loss="logistic"), X, Y, cv=FOLDS, scoring="log_loss")
    assert -0.6 < found.best_score_ < 0.0
    with pytest.raises((AttributeError, ValueError), match="loss='logistic'"):
        kw.search(kw.KernelClassifier(RBF), X, Y, cv=FOLDS, scoring="log_loss")


def test_groups_are_never_on_both_sides():
    groups = np.repeat(np.arange(30), 4)
    found = kw.search(kw.KernelClassifier(RBF), X, Y, {"C": [1.0]}, cv=5, groups=groups)
    for train, test in found.folds_:
        assert not set(groups[train]) & set(groups[test])
    model = kw.MKLClassifierCV([RBF, kw.Linear()], Cs=[1.0], norms=[1.0], cv=3).fit(X, Y, groups=groups)
    assert model.cv_results_["mean_test_score"].shape == (1,)
    with pytest.raises(ValueError, match="5 folds need at least 5 groups, but there are 2"):
        splits(5, Y, np.arange(120) % 2)
    with pytest.raises(ValueError, match=r"groups has shape \(3,\)"):
        splits(5, Y, [1, 2, 3])


def test_halving_ends_with_all_rows_and_the_grids_choice():
    rows, labels = kw.datasets.make_splice(1800, random_state=0)
    grid = {"C": [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0]}
    model = kw.KernelClassifier("wd:6", normalize="trace", tol=1e-2)
    found = kw.search(model, rows, labels, grid, cv=3, scoring="accuracy", strategy="halving")
    assert found.rounds_ == [(200, 9), (600, 3), (1800, 1)]
    whole = kw.search(model, rows, labels, grid, cv=3, scoring="accuracy")
    assert found.best_score_ >= whole.best_score_ - 0.02
    assert np.isnan(found.cv_results_["mean_test_score"]).sum() == 8


def test_every_parameter_can_be_chosen_by_the_estimator_itself():
    kernels = kw.RBF.grid([0.5, 5.0])
    model = kw.MKLClassifierCV(
        kernels, Cs=[1.0], norms=[1.0], solver="smooth", grid={"smoothing": [0.1, 1.0]}, cv=3, scoring="auroc"
    ).fit(X, Y)
    assert set(model.best_params_) == {"C", "norm", "smoothing"}
    assert len(model.cv_results_["params"]) == 2
    assert model.cv_scores_.shape == (1, 1, 3)
    assert model.best_score_ == model.cv_results_["mean_test_score"][model.best_index_]
    numbers = kw.MKLRegressorCV(kernels, Cs=[0.1, 10.0], grid={"epsilon": [0.01, 0.5]}, cv=3).fit(X, REAL)
    assert numbers.best_params_["epsilon"] == 0.01
    plain = {name: numbers.best_params_[name] for name in ("C", "norm", "epsilon")}
    assert numbers.score(X, REAL) == pytest.approx(
        kw.MKLRegressor(kernels, **plain).fit(X, REAL).score(X, REAL), abs=0.01
    )


def test_cv_models_are_saved_with_their_results(tmp_path):
    model = kw.MKLRegressorCV(kw.RBF.grid([0.5, 5.0]), Cs=[1.0, 10.0], norms=[1.0], cv=3).fit(X, REAL)
    kw.save(model, tmp_path / "cv.kw")
    again = kw.load(tmp_path / "cv.kw")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.best_params_ == model.best_params_
    np.testing.assert_array_equal(again.cv_results_["param_C"], model.cv_results_["param_C"])


def test_intervals_hold_the_mean_over_folds():
    for name in ("hinge", "classes", "numbers"):
        model, y, _ = MODELS[name]
        found = kw.search(model, X, y, {"C": [1.0]}, cv=FOLDS)
        scores = kw.fold_scores(found, y, n_resamples=200)
        chosen = "r2" if name == "numbers" else "accuracy"
        assert scores[chosen].value == pytest.approx(found.best_score_)
        assert all(one.low <= one.value <= one.high for one in scores.values())
        assert scores[chosen].low < scores[chosen].high
    groups = np.arange(120) // 12
    found = kw.search(MODELS["hinge"][0], X, Y, {"C": [1.0]}, cv=3, groups=groups)
    assert kw.fold_scores(found, Y, n_resamples=200)["auroc"].low > 0.5


REFUSED = [
    ({"scoring": "goodness"}, "scoring='goodness' is unknown"),
    ({"strategy": "random"}, "strategy='random' is not one of grid, halving"),
    ({"factor": 1}, "factor=1 must be an integer of at least 2"),
    ({"grid": {"C": 1.0}}, r"grid\['C'\]=1.0 must be a list"),
    ({"grid": []}, "grid is an empty list"),
    ({"cv": 1}, "cv=1 must be at least 2 folds"),
    ({"groups": "genome"}, "groups='genome' is not one of chromosome, prefix, clusters"),
    ({"groups": "chromosome"}, "these rows have no ids"),
    ({"y": THREE, "scoring": "auroc"}, "is for two classes, and there are 3"),
    ({"model": kw.KernelNovelty()}, "for classifiers and regressors, not for KernelNovelty"),
    ({"model": kw.MKLClassifierCV()}, "chooses by itself"),
    ({"grid": {"nonsense": [1]}}, "nonsense"),
]


@pytest.mark.parametrize(("given", "words"), REFUSED)
def test_what_cannot_be_searched_gets_one_sentence(given, words):
    arguments = {"model": kw.KernelClassifier(RBF), "X": X, "y": Y, **given}
    with pytest.raises(ValueError, match=words):
        kw.search(**arguments)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", [True, "regularized"])
def test_folds_on_the_rows_that_count_are_certified_on_all(loss, intercept, monkeypatch):
    monkeypatch.setattr("kernelweave.estimators.cv.narrow.FEWEST", 100)
    monkeypatch.setattr("kernelweave.estimators.cv.narrow.SHARE", 1.0)
    monkeypatch.setattr("kernelweave.estimators.cv.narrow.NEARBY", 0.01)
    rows, labels = kw.datasets.make_splice(600, random_state=1)
    model = kw.KernelClassifier(
        "wd:4", normalize="trace", solver="dual_coordinate", tol=1e-6, loss=loss, fit_intercept=intercept
    )
    folds = list(KFold(3).split(labels))
    grid = {"C": [0.1, 10.0]}
    found = kw.search(model, rows, labels, grid, cv=folds, scoring="auroc")
    best = model.set_params(**found.best_params_)
    alone = cross_val_predict(best, rows, labels, cv=folds, method="decision_function")
    np.testing.assert_allclose(found.out_of_fold_, alone, atol=0.02)
    several = kw.search(model.set_params(n_jobs=2), rows, labels, grid, cv=folds, scoring="auroc")
    np.testing.assert_array_equal(several.out_of_fold_, found.out_of_fold_)


def test_a_parameter_in_other_letters_is_told_apart():
    with pytest.raises(ValueError, match=r"grid\['c'\] is no parameter of KernelClassifier; did you mean 'C'\?"):
        kw.search(kw.KernelClassifier(kw.Linear()), np.eye(20), np.arange(20) % 2, {"c": [1.0, 2.0]})
