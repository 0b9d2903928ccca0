"""The estimators with many kernels as a scikit-learn user meets them."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from oracles import mkl
from oracles.losses import EPSILON

rng = np.random.default_rng(0)
N, NEW_N = 90, 30
X, NEW = rng.normal(size=(N, 4)), rng.normal(size=(NEW_N, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=N) > 0.8, 1, 0)
THREE = np.digitize(X[:, 0] + 0.3 * rng.normal(size=N), [-0.5, 0.5])
REAL = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=N)
WEIGHT = rng.uniform(0.2, 2.0, N)
SITES, SITE_LABELS = kw.datasets.make_splice(90, random_state=0)
KERNELS = [*kw.RBF.grid([0.5, 2.0, 20.0]), kw.RBF(width=2.0).on([0]), kw.Linear()]
M = len(KERNELS)
MODELS = {
    "classifier": (kw.MKLClassifier(KERNELS, tol=1e-4), Y),
    "three classes": (kw.MKLClassifier(KERNELS, tol=1e-4), THREE),
    "shared weights": (kw.MKLClassifier(KERNELS, norm=2.0, shared_weights=True, tol=1e-4), THREE),
    "logistic": (kw.MKLClassifier(KERNELS, loss="logistic", norm=4 / 3, tol=1e-4), Y),
    "regressor": (kw.MKLRegressor(KERNELS, epsilon=EPSILON, tol=1e-4), REAL),
    "novelty": (kw.MKLNovelty(KERNELS, nu=0.2, tol=1e-4), None),
}


@pytest.fixture(params=sorted(MODELS))
def model_and_y(request):
    model, y = MODELS[request.param]
    return clone(model), y


@pytest.fixture(name="model", params=sorted(MODELS))
def fitted_model(request):
    return learned(request.param)


@cache
def learned(name):
    """A fitted model, for tests that only look at it."""
    model, y = MODELS[name]
    return clone(model).fit(X, y)


def values(model, rows, **options):
    return model.predict(rows, **options) if hasattr(model, "epsilon") else model.decision_function(rows, **options)


def scaled_grams(weight=None):
    """Training matrices of weighted mean diagonal one."""
    share = np.full(N, 1 / N) if weight is None else weight / weight.sum()
    return np.stack([kernel.gram(X) / (share @ kernel.diag(X)) for kernel in KERNELS])


def in_full(model, output=0):
    alpha = np.zeros(N)
    alpha[model.support_] = model.dual_coef_[output]
    return alpha


def test_names_follow_the_last_fit():
    model = kw.MKLRegressor(["linear", "rbf:0.5"])
    assert not hasattr(model, "kernel_names_")
    assert len(model.fit(X, REAL).kernel_names_) == 2
    assert model.set_params(kernels=["linear"]).fit(X, REAL).kernel_names_.tolist() == ["Linear()"]


def test_weights_have_the_names_of_their_kernels(model):
    assert model.kernel_names_.tolist() == [repr(kernel) for kernel in KERNELS]
    per_class = getattr(model, "classes_", ()), getattr(model, "shared_weights", True)
    assert model.kernel_weights_.shape == ((3, M) if len(per_class[0]) == 3 and not per_class[1] else (M,))
    p = model.norm
    np.testing.assert_allclose((np.atleast_2d(model.kernel_weights_) ** p).sum(axis=1), 1.0, atol=1e-9)
    assert model.certifies_ == "mkl"
    assert model.memory_plan_.kind == "stored"
    assert model.converged_
    assert 0 <= model.duality_gap_ <= 1e-4


def test_the_parts_of_the_kernels_add_up(model):
    outputs, parts = values(model, NEW), values(model, NEW, per_kernel=True)
    assert parts.shape == (*outputs.shape, M)
    intercept = model.intercept_ if outputs.ndim == 2 else model.intercept_[0]
    np.testing.assert_allclose(parts.sum(axis=-1) + intercept, outputs, atol=1e-9)
    unused = np.flatnonzero(np.atleast_2d(model.kernel_weights_).max(axis=0) == 0)
    assert np.all(parts[..., unused] == 0)


def test_a_part_is_the_weighted_kernel_against_the_support():
    model = kw.MKLClassifier(KERNELS, norm=2.0).fit(X, Y)
    parts = model.decision_function(NEW, per_kernel=True)
    for k, kernel in enumerate(KERNELS):
        plain = kernel.gram(NEW, X) / kernel.diag(X).mean() @ in_full(model)
        np.testing.assert_allclose(parts[:, k], model.kernel_weights_[k] * plain, atol=1e-9)


@pytest.mark.parametrize("shared", [False, True])
def test_the_gap_can_be_recomputed_from_the_certificate(shared):
    p, cost = 2.0, 3.0 * WEIGHT
    model = kw.MKLClassifier(KERNELS, C=3.0, norm=p, shared_weights=shared, tol=1e-5)
    proof = model.fit(X, THREE, sample_weight=WEIGHT).certificate_
    signs = np.stack([np.where(label == THREE, 1.0, -1.0) for label in model.classes_])
    alpha = np.stack([in_full(model, output) for output in range(3)])
    assert proof.alpha.shape == (3, N)
    assert proof.beta.shape == (1 if shared else 3, M)
    groups = [[0, 1, 2]] if shared else [[0], [1], [2]]
    for i, group in enumerate(groups):
        told = "hinge", scaled_grams(WEIGHT), signs[group], cost
        primal = mkl.primal(*told, proof.beta[i], alpha[group], proof.intercept[group], "free", 0.0)
        dual = mkl.dual(*told, proof.alpha[group], p)
        assert primal == pytest.approx(proof.primal[i], rel=1e-8)
        assert dual == pytest.approx(proof.dual[i], rel=1e-8)
        assert (primal - dual) / primal <= 1e-5
    assert model.objective_ == pytest.approx(proof.primal.sum())
    assert model.dual_objective_ == pytest.approx(proof.dual.sum())


def test_several_classes_are_separate_fits():
    together = kw.MKLClassifier(KERNELS, tol=1e-6).fit(X, THREE)
    for output, label in enumerate(range(3)):
        alone = kw.MKLClassifier(KERNELS, tol=1e-6).fit(X, label == THREE)
        np.testing.assert_allclose(together.kernel_weights_[output], alone.kernel_weights_, atol=1e-7)
        np.testing.assert_allclose(together.decision_function(NEW)[:, output], alone.decision_function(NEW), atol=1e-6)
    assert set(together.trace_["output"]) == {0, 1, 2}
    np.testing.assert_array_equal(together.predict(NEW), together.decision_function(NEW).argmax(axis=1))


def test_shared_weights_cost_at_least_as_much_as_weights_of_their_own():
    own, shared = (kw.MKLClassifier(KERNELS, shared_weights=how, tol=1e-5).fit(X, THREE) for how in (False, True))
    assert shared.kernel_weights_.shape == (M,)
    assert shared.objective_ >= own.objective_ * (1 - 1e-5)
    signs = np.stack([np.where(label == THREE, 1.0, -1.0) for label in range(3)])
    best = mkl.optimum("hinge", scaled_grams(), signs, np.ones(N))
    assert shared.objective_ == pytest.approx(best, rel=1e-4)
    two = [kw.MKLClassifier(KERNELS, shared_weights=how).fit(X, Y) for how in (False, True)]
    np.testing.assert_array_equal(two[0].decision_function(NEW), two[1].decision_function(NEW))


def test_novelty_and_regression_reach_the_optimum():
    novelty = kw.MKLNovelty(KERNELS, nu=0.2, tol=1e-5).fit(X)
    best = mkl.optimum("one_class", scaled_grams(), np.zeros((1, N)), np.full(N, 1 / (0.2 * N)), total=1.0)
    assert novelty.objective_ == pytest.approx(best, rel=1e-4)
    assert np.mean(novelty.predict(X) == -1) <= 0.2 <= len(novelty.support_) / N
    np.testing.assert_allclose(novelty.score_samples(NEW), novelty.decision_function(NEW) + novelty.offset_)
    regressor = kw.MKLRegressor(KERNELS, epsilon=EPSILON, C=2.0, tol=1e-5).fit(X, REAL)
    best = mkl.optimum("epsilon_insensitive", scaled_grams(), REAL[None, :], np.full(N, 2.0))
    assert regressor.objective_ == pytest.approx(best, rel=1e-4)


def test_an_infinite_norm_is_the_plain_sum():
    many = kw.MKLClassifier(KERNELS, norm=np.inf, normalize=None, tol=1e-7).fit(X, Y)
    one = kw.KernelClassifier(sum(KERNELS[1:], KERNELS[0]), tol=1e-7).fit(X, Y)
    assert many.kernel_weights_.tolist() == [1.0] * M
    assert many.objective_ == pytest.approx(one.objective_, rel=1e-6)
    np.testing.assert_allclose(many.decision_function(NEW), one.decision_function(NEW), atol=1e-4)


@pytest.mark.parametrize("norm", [1.0, 2.0])
@pytest.mark.parametrize("normalize", ["trace", "cosine", "variance", None])
def test_one_kernel_is_the_machine_of_one_kernel(norm, normalize):
    kernel = kw.Polynomial(2)
    many = kw.MKLClassifier([kernel], norm=norm, normalize=normalize, tol=1e-7).fit(X, Y)
    one = kw.KernelClassifier(kernel, normalize=normalize, tol=1e-7).fit(X, Y)
    assert many.kernel_weights_.tolist() == [1.0]
    assert many.objective_ == pytest.approx(one.objective_, rel=1e-6)
    np.testing.assert_allclose(many.decision_function(NEW), one.decision_function(NEW), atol=1e-3)


def test_a_row_of_weight_two_is_two_rows(model_and_y):
    model, y = model_and_y
    weight = np.tile([1, 2, 0], N // 3)
    rows = np.repeat(np.arange(N), weight)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X[rows], None if y is None else y[rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=3e-4)
    np.testing.assert_allclose(values(weighted, NEW), values(repeated, NEW), atol=5e-2)
    assert not set(weighted.support_) & set(np.flatnonzero(weight == 0))


def test_class_weight_multiplies_the_cost_of_a_class():
    by_class = kw.MKLClassifier(KERNELS, class_weight={0: 0.5, 1: 3.0}).fit(X, Y)
    cost = np.where(Y, 3.0, 0.5)
    best = mkl.optimum("hinge", scaled_grams(), np.where(Y, 1.0, -1.0)[None, :], cost)
    assert by_class.objective_ == pytest.approx(best, rel=1e-3)


def test_views_each_have_their_kernels():
    blocks = {"shape": X[:, :2], "colour": X[:, 2:]}
    kernels = [kernel.on(view) for view in blocks for kernel in (kw.RBF(width=2.0), kw.Linear())]
    by_view = kw.MKLClassifier(kernels, tol=1e-5).fit(blocks, Y)
    columns = [kernel.on(part) for part in ([0, 1], [2, 3]) for kernel in (kw.RBF(width=2.0), kw.Linear())]
    by_column = kw.MKLClassifier(columns, tol=1e-5).fit(X, Y)
    np.testing.assert_allclose(by_view.kernel_weights_, by_column.kernel_weights_, atol=1e-6)
    assert by_view.kernel_names_[0] == "On(RBF(width=2.0), 'shape')"
    new = kw.Views({"colour": NEW[:, 2:], "shape": NEW[:, :2]})
    np.testing.assert_allclose(by_view.decision_function(new), by_column.decision_function(NEW), atol=1e-6)
    with pytest.raises(TypeError, match="trained on views named shape, colour, but the view 'colour' is missing"):
        by_view.predict({"shape": X[:, :2]})


def test_sequences_and_tables_together():
    rows = {"size": X, "dna": SITES}
    kernels = [kw.RBF(width=2.0).on("size"), kw.Spectrum(3).on("dna"), kw.WeightedDegree(6).on("dna")]
    model = kw.MKLClassifier(kernels).fit(rows, SITE_LABELS)
    assert model.kernel_weights_[0] < 0.5
    assert model.score(rows, SITE_LABELS) > 0.9


def test_frames_with_named_columns():
    frame = pd.DataFrame(X, columns=["age", "size", "weight", "dose"])
    kernels = [kw.RBF(width=1.0).on("age"), kw.RBF(width=1.0).on(["size", "dose"])]
    model = kw.MKLClassifier(kernels, tol=1e-6).fit(frame, Y)
    plain = kw.MKLClassifier([kw.RBF(width=1.0).on(0), kw.RBF(width=1.0).on([1, 3])], tol=1e-6).fit(X, Y)
    assert model.kernel_names_.tolist() == ["On(RBF(width=1.0), 'age')", "On(RBF(width=1.0), ['size', 'dose'])"]
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    assert model.predict(frame[["dose", "size", "age", "weight"]]).shape == (N,)
    whole = kw.MKLClassifier(KERNELS).fit(frame, Y)
    assert whole.feature_names_in_.tolist() == list(frame.columns)


@pytest.mark.parametrize("name", ["three classes", "regressor", "novelty"])
def test_sparse_tables_give_what_dense_ones_give(name):
    model, y = MODELS[name]
    thin, thin_new = np.where(np.abs(X) > 0.8, X, 0), np.where(np.abs(NEW) > 0.8, NEW, 0)
    full = clone(model).fit(thin, y)
    light = clone(model).fit(sparse.csr_array(thin), y)
    assert light.objective_ == pytest.approx(full.objective_, rel=2e-4)
    np.testing.assert_allclose(values(light, sparse.csr_array(thin_new)), values(full, thin_new), atol=2e-2)


def test_one_kernel_per_feature_finds_the_feature():
    y = np.where(np.abs(X[:, 2]) > 0.7, 1, 0)
    model = kw.MKLClassifier(kw.per_feature(kw.RBF.grid([0.5, 2.0]), 4), C=10.0).fit(X, y)
    assert model.kernel_names_[4] == "On(RBF(width=0.5), 2)"
    assert model.kernel_weights_[4:6].sum() > 0.5
    terms = kw.MKLClassifier(kw.per_feature(kw.Linear(), 4), tol=1e-6).fit(X, X[:, 1] > 0.1)
    assert terms.memory_plan_.kind == "rank_one"
    assert terms.kernel_weights_.argmax() == 1
    parts = terms.decision_function(NEW, per_kernel=True)
    np.testing.assert_allclose(parts.sum(axis=1) + terms.intercept_, terms.decision_function(NEW))


def test_without_kernels_a_few_are_chosen_and_texts_are_parsed():
    model = kw.MKLClassifier().fit(X, Y)
    assert len(model.kernel_names_) == 4
    assert model.kernel_names_[0] == "Linear()"
    by_text = kw.MKLClassifier(["rbf:0.5", "linear"]).fit(X, Y)
    by_object = kw.MKLClassifier([kw.RBF(0.5), kw.Linear()]).fit(X, Y)
    np.testing.assert_array_equal(by_text.decision_function(NEW), by_object.decision_function(NEW))


def test_grid_search_over_cost_and_norm():
    grid = {"C": [0.01, 5.0], "norm": [1.0, 4 / 3]}
    search = GridSearchCV(kw.MKLClassifier(KERNELS), grid, cv=3).fit(X, Y)
    assert search.best_params_["C"] == 5.0
    assert search.best_score_ > 0.7
    assert search.best_estimator_.kernel_weights_.shape == (M,)
    scaled = make_pipeline(StandardScaler(), kw.MKLRegressor(KERNELS, C=5.0))
    assert GridSearchCV(scaled, {"mklregressor__norm": [1.0, 4.0]}, cv=3).fit(X * 50 + 3, REAL).best_score_ > 0.5


def test_grid_search_on_sequences():
    kernels = [kw.Spectrum(2), kw.Spectrum(3), kw.WeightedDegree(4), kw.WeightedDegree(8)]
    grid = {"C": [0.1, 1.0], "norm": [1.0, 2.0]}
    search = GridSearchCV(kw.MKLClassifier(kernels), grid, cv=3).fit(SITES, SITE_LABELS)
    assert search.best_score_ > 0.75
    model = search.best_estimator_
    assert model.kernel_weights_[2:].sum() > model.kernel_weights_[:2].sum()
    assert model.decision_function(SITES[:5], per_kernel=True).shape == (5, 4)


def test_precomputed_matrices_are_cut_on_both_sides():
    gram = KERNELS[1].gram(X)
    by_gram = cross_val_score(kw.MKLClassifier([kw.Precomputed()]), gram, Y, cv=3)
    np.testing.assert_array_equal(by_gram, cross_val_score(kw.MKLClassifier([KERNELS[1]]), X, Y, cv=3))


def test_cross_validation_on_shared_operators_is_cross_validation():
    params = {"kernels": KERNELS, "normalize": None, "tol": 1e-5}
    model = kw.MKLClassifierCV(Cs=[0.1, 2.0], norms=[1.0, 2.0], cv=KFold(2), **params).fit(X, Y)
    for i, norm in enumerate([1.0, 2.0]):
        for j, C in enumerate([0.1, 2.0]):
            plain = cross_val_score(kw.MKLClassifier(C=C, norm=norm, **params), X, Y, cv=KFold(2))
            np.testing.assert_allclose(model.cv_scores_[i, j], plain)
    assert model.path_weights_.shape == (2, 2, M)
    chosen = kw.MKLClassifier(C=model.C_, norm=model.norm_, **params).fit(X, Y)
    assert model.objective_ == pytest.approx(chosen.objective_, rel=2e-5)


def test_a_loaded_model_is_the_same_to_the_last_bit(model, tmp_path):
    kw.save(model, tmp_path / "many.kw")
    loaded = kw.load(tmp_path / "many.kw")
    for options in ({}, {"per_kernel": True}):
        np.testing.assert_array_equal(values(loaded, NEW, **options), values(model, NEW, **options))
    np.testing.assert_array_equal(loaded.predict(NEW), model.predict(NEW))
    for name in ("kernel_weights_", "kernel_names_", "dual_coef_", "support_", "intercept_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.kernels == KERNELS
    assert loaded.memory_plan_ == model.memory_plan_
    assert loaded.duality_gap_ == model.duality_gap_
    np.testing.assert_array_equal(loaded.certificate_.beta, model.certificate_.beta)


def test_models_of_sequences_and_views_load_too(tmp_path):
    rows = {"size": X, "dna": SITES}
    for how in ("trace", "variance"):
        kernels = [kw.RBF(width=2.0).on("size"), kw.WeightedDegree(6).on("dna")]
        model = kw.MKLClassifier(kernels, normalize=how, fit_intercept=False).fit(rows, SITE_LABELS)
        kw.save(model, tmp_path / "views.kw")
        again = kw.load(tmp_path / "views.kw")
        np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
