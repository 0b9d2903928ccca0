"""The one-kernel estimators as a scikit-learn user meets them."""

import logging

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from kernelweave.engines import Serial
from kernelweave.operators.expansion import cross
from kernelweave.operators.gram import cached, dense
from oracles import svm

rng = np.random.default_rng(0)
N, M = 150, 40
X, NEW = rng.normal(size=(N, 4)), rng.normal(size=(M, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=N) > 0.8, 1, 0)
THREE = np.digitize(X[:, 0] + 0.3 * rng.normal(size=N), [-0.5, 0.5])
REAL = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=N)
WEIGHT = rng.uniform(0.2, 2.0, N)
SITES, SITE_LABELS = kw.datasets.make_splice(120, random_state=0)
KERNEL = kw.RBF(gamma=0.3)
TIGHT = 1e-7
MODELS = {
    "classifier": (kw.KernelClassifier(KERNEL, tol=TIGHT), Y),
    "three classes": (kw.KernelClassifier(KERNEL, tol=TIGHT), THREE),
    "logistic": (kw.KernelClassifier(KERNEL, loss="logistic", tol=TIGHT), Y),
    "regressor": (kw.KernelRegressor(KERNEL, tol=TIGHT), REAL),
    "squared": (kw.KernelRegressor(KERNEL, loss="squared", tol=TIGHT), REAL),
    "novelty": (kw.KernelNovelty(KERNEL, nu=0.2, tol=TIGHT), None),
}


@pytest.fixture(params=sorted(MODELS))
def model_and_y(request):
    model, y = MODELS[request.param]
    return clone(model), y


def values(model, rows):
    return model.predict(rows) if hasattr(model, "epsilon") else model.decision_function(rows)


def test_the_gap_can_be_recomputed_from_the_certificate():
    model = kw.KernelClassifier(KERNEL, C=2.0, tol=1e-5).fit(X, THREE, sample_weight=WEIGHT)
    proof, K, cost = model.certificate_, KERNEL.gram(X), 2.0 * WEIGHT
    assert proof.alpha.shape == (3, N)
    for output, label in enumerate(model.classes_):
        y = np.where(label == THREE, 1.0, -1.0)
        alpha = np.zeros(N)
        alpha[model.support_] = model.dual_coef_[output]
        primal = svm.primal("hinge", K, y, cost, "free", 0.0, alpha, proof.intercept[output])
        dual = svm.dual("hinge", K, y, cost, "free", 0.0, proof.alpha[output])
        assert primal == pytest.approx(proof.primal[output])
        assert dual == pytest.approx(proof.dual[output])
        assert (primal - dual) / primal <= 1e-5
    assert model.objective_ == pytest.approx(proof.primal.sum())
    assert model.dual_objective_ == pytest.approx(proof.dual.sum())
    assert model.duality_gap_ == pytest.approx(max((proof.primal - proof.dual) / proof.primal))
    assert model.converged_


def test_several_classes_are_separate_fits_on_one_operator():
    together = kw.KernelClassifier(KERNEL, tol=TIGHT).fit(X, THREE)
    outputs = together.decision_function(NEW)
    assert outputs.shape == (M, 3)
    for output, label in enumerate([0, 1, 2]):
        alone = kw.KernelClassifier(KERNEL, tol=TIGHT).fit(X, label == THREE)
        np.testing.assert_allclose(outputs[:, output], alone.decision_function(NEW), atol=1e-10)
    np.testing.assert_array_equal(together.predict(NEW), outputs.argmax(axis=1))
    assert set(together.trace_["output"]) == {0, 1, 2}


def test_labels_may_be_text():
    named = kw.KernelClassifier(KERNEL).fit(X, np.array(["no", "yes"])[Y])
    plain = kw.KernelClassifier(KERNEL).fit(X, Y)
    assert named.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(named.predict(NEW) == "yes", plain.predict(NEW) == 1)
    np.testing.assert_array_equal(named.predict(NEW) == "yes", named.decision_function(NEW) > 0)


def test_class_weight_multiplies_the_cost_of_a_class():
    by_class = kw.KernelClassifier(KERNEL, tol=TIGHT, class_weight={0: 0.5, 1: 3.0}).fit(X, Y)
    by_row = kw.KernelClassifier(KERNEL, tol=TIGHT).fit(X, Y, sample_weight=np.where(Y, 3.0, 0.5))
    np.testing.assert_array_equal(by_class.decision_function(NEW), by_row.decision_function(NEW))
    balanced = kw.KernelClassifier(KERNEL, tol=TIGHT, class_weight="balanced").fit(X, Y)
    share = N / (2 * np.bincount(Y))
    same = kw.KernelClassifier(KERNEL, tol=TIGHT).fit(X, Y, sample_weight=share[Y])
    assert balanced.objective_ == pytest.approx(same.objective_)


def test_a_row_of_weight_two_is_two_rows(model_and_y):
    model, y = model_and_y
    weight = np.tile([1, 2, 0], N // 3)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(N), weight)
    repeated = clone(model).fit(X[rows], None if y is None else y[rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    np.testing.assert_allclose(values(weighted, NEW), values(repeated, NEW), atol=2e-3)
    assert not set(weighted.support_) & set(np.flatnonzero(weight == 0))


def test_grid_search_reaches_into_the_kernel():
    grid = {"C": [0.1, 10.0], "kernel__gamma": [0.001, 0.3]}
    search = GridSearchCV(kw.KernelClassifier(kw.RBF(gamma=1.0)), grid, cv=3).fit(X, Y)
    assert search.best_params_ == {"C": 10.0, "kernel__gamma": 0.3}
    assert search.best_estimator_.kernel_ == kw.RBF(gamma=0.3)
    assert search.best_score_ > 0.8


def test_sequences_go_through_model_selection():
    model = kw.KernelClassifier(kw.WeightedDegree(8))
    assert cross_val_score(model, SITES, SITE_LABELS, cv=3, scoring="roc_auc").mean() > 0.8
    train, test, y_train, y_test = train_test_split(SITES, SITE_LABELS, random_state=0)
    fitted = model.fit(train, y_train)
    assert roc_auc_score(y_test, fitted.decision_function(test)) > 0.8
    with pytest.raises(ValueError, match=r"trained on the alphabet 'dna', but the input has 'protein'\."):
        fitted.predict(kw.Sequences.from_strings(["MKV"], alphabet="protein"))
    with pytest.raises(TypeError, match="trained on sequences or lattices, but the input is a table"):
        fitted.predict(NEW)


def test_texts_in_a_list_are_sequences():
    texts = SITES.to_strings()
    from_list = kw.KernelClassifier(kw.Spectrum(3)).fit(texts, SITE_LABELS)
    direct = kw.KernelClassifier(kw.Spectrum(3)).fit(SITES, SITE_LABELS)
    np.testing.assert_array_equal(from_list.decision_function(texts[:7]), direct.decision_function(SITES[:7]))


def test_pipelines_and_calibrated_probabilities():
    shifted = X * [1, 100, 0.01, 5] + 7
    pipeline = make_pipeline(StandardScaler(), kw.KernelClassifier(KERNEL)).fit(shifted, Y)
    assert pipeline.score(shifted, Y) > 0.8
    calibrated = CalibratedClassifierCV(kw.KernelClassifier(KERNEL), cv=3).fit(X, Y)
    chance = calibrated.predict_proba(X)
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    assert np.all((chance >= 0) & (chance <= 1))
    assert roc_auc_score(Y, chance[:, 1]) > 0.85


def test_named_views_come_as_views_dicts_and_frames():
    kernel = kw.RBF(gamma=0.5).on("a") + kw.Linear().on("b")
    blocks = {"a": X[:, [0]], "b": X[:, [1]]}
    expected = kw.KernelClassifier("precomputed").fit(
        kw.RBF(gamma=0.5).gram(X[:, [0]]) + kw.Linear().gram(X[:, [1]]), Y
    )
    frame = pd.DataFrame({"a": X[:, 0], "unused": X[:, 2], "b": X[:, 1]})
    for rows in (blocks, kw.Views(blocks), frame):
        model = kw.KernelClassifier(kernel).fit(rows, Y)
        assert model.objective_ == pytest.approx(expected.objective_, rel=1e-8)
        assert model.predict(rows).shape == (N,)
    mixed = {"size": X[:120], "dna": SITES}
    model = kw.KernelClassifier(KERNEL.on("size") + kw.WeightedDegree(5).on("dna")).fit(mixed, SITE_LABELS)
    assert model.score(mixed, SITE_LABELS) > 0.9
    with pytest.raises(TypeError, match=r"trained on views named size, dna, but the view 'dna' is missing"):
        model.predict({"size": X[:120]})


def test_views_that_no_kernel_selects_are_not_asked_for(tmp_path):
    rows = {"a": X[:, [0]], "notes": ["some text"] * N, "b": X[:, [1]]}
    for model in (
        kw.KernelClassifier(KERNEL.on("a") + kw.Linear().on(["b"])),
        kw.MKLClassifier([KERNEL.on("a"), kw.Linear().on("b")]),
        kw.CGBoostClassifier([KERNEL.on("a"), kw.Linear().on("b")]),
    ):
        model.fit(rows, Y)
        kw.save(model, tmp_path / "model.kw")
        new = {"b": rows["b"][:7], "a": rows["a"][:7]}
        assert np.array_equal(kw.load(tmp_path / "model.kw").predict(new), model.predict(rows)[:7])
        assert model.reference_.names == ("a", "b")


def test_columns_by_number_and_frames_as_tables():
    some = kw.KernelClassifier(KERNEL.on([0, 2]), tol=TIGHT).fit(X, Y)
    alone = kw.KernelClassifier(KERNEL, tol=TIGHT).fit(X[:, [0, 2]], Y)
    np.testing.assert_allclose(some.decision_function(NEW), alone.decision_function(NEW[:, [0, 2]]), atol=1e-9)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = kw.KernelClassifier(KERNEL).fit(frame, Y)
    assert model.feature_names_in_.tolist() == list("abcd")


def test_precomputed_is_cut_on_both_sides_by_cross_validation():
    for kernel in ("precomputed", kw.Precomputed()):
        by_gram = cross_val_score(kw.KernelClassifier(kernel), KERNEL.gram(X), Y, cv=4)
        np.testing.assert_array_equal(by_gram, cross_val_score(kw.KernelClassifier(KERNEL), X, Y, cv=4))


def test_sparse_tables_give_what_dense_ones_give(model_and_y):
    model, y = model_and_y
    thin, thin_new = np.where(np.abs(X) > 0.8, X, 0), np.where(np.abs(NEW) > 0.8, NEW, 0)
    full = clone(model).fit(thin, y)
    for form in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix):
        light = clone(model).fit(form(thin), y)
        np.testing.assert_allclose(values(light, form(thin_new)), values(full, thin_new), atol=1e-5)
        np.testing.assert_allclose(values(light, thin_new), values(full, thin_new), atol=1e-5)


POLY = kw.Polynomial(2)


def explicitly(how, weight):
    """The normalised Gram matrices of training and new rows, by the textbook."""
    K, K_new = POLY.gram(X), POLY.gram(NEW, X)
    d, d_new, share = K.diagonal(), POLY.diag(NEW), weight / weight.sum()
    if how == "trace":
        return K / (share @ d), K_new / (share @ d)
    if how == "cosine":
        return K / np.sqrt(np.outer(d, d)), K_new / np.sqrt(np.outer(d_new, d))
    mean, grand = K @ share, share @ K @ share
    size = share @ (d - 2 * mean + grand)
    return (K - mean - mean[:, None] + grand) / size, (K_new - mean - (K_new @ share)[:, None] + grand) / size


@pytest.mark.parametrize("how", ["trace", "cosine", "variance"])
@pytest.mark.parametrize("fit_intercept", [True, False, "regularized"])
def test_new_rows_are_normalised_as_training_rows_were(how, fit_intercept):
    for weight in (np.ones(N), WEIGHT):
        K, K_new = explicitly(how, weight)
        params = {"C": 0.5, "tol": 1e-8, "fit_intercept": fit_intercept}
        by_hand = kw.KernelClassifier("precomputed", **params).fit(K, Y, weight)
        model = kw.KernelClassifier(POLY, normalize=how, **params).fit(X, Y, weight)
        assert model.objective_ == pytest.approx(by_hand.objective_, rel=1e-6)
        np.testing.assert_allclose(model.decision_function(NEW), by_hand.decision_function(K_new), atol=2e-3)


def test_a_limit_of_iterations_warns_with_the_gap():
    with pytest.warns(ConvergenceWarning, match=r"The duality gap is [0-9.e-]+, above tol=1e-09, after 1 iteration;"):
        model = kw.KernelClassifier(KERNEL, C=100, tol=1e-9, max_iter=1).fit(X, Y)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert 1e-9 < model.duality_gap_ < np.inf


@pytest.mark.parametrize("by_key", [False, True])
def test_a_callback_or_ctrl_c_stops_and_keeps_the_model(by_key):
    seen = []

    def callback(progress):
        seen.append(progress)
        if by_key:
            raise KeyboardInterrupt
        return True

    with pytest.warns(ConvergenceWarning, match=r"Stopped early at a duality gap of .*: the best model so far is kept"):
        model = kw.KernelClassifier(KERNEL, tol=1e-12, callbacks=(callback,)).fit(X, THREE)
    assert model.decision_function(NEW).shape == (M, 3)
    assert np.isfinite(model.duality_gap_)
    assert seen[0].iteration == 1
    assert seen[0].primal >= seen[0].dual


def test_callbacks_hear_every_iteration():
    heard: list = []
    model = kw.KernelClassifier(KERNEL, callbacks=(heard.append, lambda progress: None), tol=1e-6).fit(X, Y)
    assert [progress.iteration for progress in heard] == list(range(1, model.n_iter_ + 1))
    assert [progress.gap for progress in heard] == model.trace_["gap"].tolist()


def test_verbose_logs_and_silence_is_silent(caplog, capfd):
    with caplog.at_level(logging.INFO, logger="kernelweave"):
        kw.KernelClassifier(KERNEL).fit(X, Y)
        assert not caplog.records
        model = kw.KernelClassifier(KERNEL, verbose=1).fit(X, Y)
    assert caplog.records[0].getMessage() == f"held as {model.memory_plan_}"
    assert len(caplog.records) == 1 + model.n_iter_
    assert "gap" in caplog.records[-1].getMessage()
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("memory_limit", ["auto", 4 * N * 64])
def test_the_number_of_jobs_does_not_change_a_bit(model_and_y, memory_limit, monkeypatch):
    tiles, parts = ((dense, "TILE"), (cached, "COLUMN_ROWS")), ((dense, "PART_ROWS"), (cached, "PART_ROWS"))
    for room, name in (*tiles, *parts, (cross, "NEW_ROWS")):
        monkeypatch.setattr(room, name, 16)
    model, y = model_and_y
    one, two, own = (
        clone(model).set_params(memory_limit=memory_limit, **how).fit(X, y)
        for how in ({"n_jobs": 1}, {"n_jobs": 2}, {"engine": Serial()})
    )
    for other in (two, own):
        np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
        np.testing.assert_array_equal(values(one, NEW), values(other, NEW))
        assert one.objective_ == other.objective_


def test_little_memory_gives_the_same_model(model_and_y):
    model, y = model_and_y
    roomy = clone(model).set_params(tol=1e-5).fit(X, y)
    tight = clone(model).set_params(tol=1e-5, memory_limit=4 * N * 70).fit(X, y)
    assert tight.converged_
    assert tight.objective_ == pytest.approx(roomy.objective_, rel=2e-5)
    with pytest.raises(MemoryError, match=r"64 kernel columns of 150 rows take 38\.4 kB, more than the memory_limit"):
        clone(model).set_params(memory_limit="10kB").fit(X, y)


def test_nu_bounds_the_share_outside():
    for nu in (0.05, 0.3, 0.9):
        model = kw.KernelNovelty(KERNEL, nu=nu, tol=TIGHT).fit(X)
        assert np.mean(model.predict(X) == -1) <= nu <= len(model.support_) / N
        np.testing.assert_allclose(model.score_samples(NEW), model.decision_function(NEW) + model.offset_)
    assert kw.KernelNovelty(KERNEL, nu=0.1).fit(X).predict([[9.0] * 4]).tolist() == [-1]


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"C": -1.0}, r"C=-1\.0 must be a positive number\."),
        ({"C": 0}, r"C=0 must be a positive number\."),
        ({"C": "big"}, r"C='big' must be a positive number\."),
        ({"C": float("nan")}, r"C=nan must be a positive number\."),
        ({"tol": 0.0}, r"tol=0\.0 must be a positive number\."),
        ({"sigma": -2}, r"sigma=-2 must be a positive number\."),
        ({"max_iter": 0}, r"max_iter=0 must be a positive integer, or -1 for the solver's own limit\."),
        ({"max_iter": 2.5}, r"max_iter=2\.5 must be a positive integer, or -1 for the solver's own limit\."),
        ({"fit_intercept": "maybe"}, r"fit_intercept='maybe' must be True, False or 'regularized'\."),
        ({"loss": "log"}, r"loss='log' is unknown; choose one of hinge, logistic, squared_hinge, smooth_hinge\."),
        ({"loss": "squared"}, r"loss='squared' is for regression, not for classification; choose one of hinge, "),
        ({"solver": "magic"}, r"solver='magic' is unknown; choose one of auto, smo, chunking, dual_coord"),
        ({"solver": "chunking", "solver_params": {"q": 3}}, r"solver_params=\{'q': 3\} do not fit solver='chunking'"),
        ({"normalize": "zscore"}, r"normalize='zscore' is unknown; choose one of trace, cosine, variance or None\."),
        ({"n_jobs": 0}, r"n_jobs=0 has no meaning"),
        ({"engine": "gpu"}, r"engine='gpu' is unknown"),
        ({"memory_limit": "lots"}, r"memory_limit='lots' is not a size"),
        ({"kernel": kw.Sigmoid()}, r"Sigmoid\(.*\) is not positive semi-definite; a support vector machine needs"),
    ],
)
def test_each_wrong_parameter_has_its_sentence(params, sentence):
    with pytest.raises(ValueError, match=sentence):
        kw.KernelClassifier(**{"kernel": KERNEL, **params}).fit(X, Y)


def test_each_wrong_input_has_its_sentence():
    model = kw.KernelClassifier(KERNEL)
    with pytest.raises(TypeError, match=r"kernel must be a Kernel, a text such as 'rbf' or a function, not int\."):
        kw.KernelClassifier(3).fit(X, Y)
    with pytest.raises(ValueError, match=r"at least two classes, but y has one class only: 1\."):
        model.fit(X, np.ones(N, dtype=int))
    with pytest.raises(ValueError, match=r"X has 150 rows, but y has 149 entries"):
        model.fit(X, Y[1:])
    with pytest.raises(ValueError, match="contains NaN"):
        model.fit(np.where(X > 2, np.nan, X), Y)
    with pytest.raises(ValueError, match=r"Every sample weight is zero|at least one non-zero number"):
        model.fit(X, Y, sample_weight=np.zeros(N))
    with pytest.raises(ValueError, match="The view 'b' contains NaN or infinity"):
        kw.KernelClassifier(KERNEL.on("b")).fit({"a": X, "b": np.full((N, 1), np.inf)}, Y)
    with pytest.raises(ValueError, match=r"epsilon=-1 must be a non-negative number\."):
        kw.KernelRegressor(KERNEL, epsilon=-1).fit(X, REAL)
    with pytest.raises(ValueError, match=r"y must be finite, but row 3 holds nan"):
        kw.KernelRegressor(KERNEL).fit(X, np.where(np.arange(N) == 3, np.nan, REAL))
    with pytest.raises(ValueError, match=r"y must be numbers for regression, but holds texts such as 'high'\."):
        kw.KernelRegressor(KERNEL).fit(X, np.array(["high"] * N))
    with pytest.raises(ValueError, match=r"nu=1\.5 must be at most 1"):
        kw.KernelNovelty(KERNEL, nu=1.5).fit(X)
    with pytest.raises(TypeError, match="trained on a table of numbers, but got Sequences"):
        model.fit(X, Y).predict(SITES)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_coordinate_descent_on_the_columns_of_a_table(form):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 6))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=120) > 0, 1, -1)
    options = {"C": 0.5, "fit_intercept": "regularized", "tol": 1e-8}
    one = kw.KernelClassifier(kw.Linear(), solver="dual_coordinate", **options).fit(form(X), y)
    other = kw.KernelClassifier(kw.Linear(), solver="smo", **options).fit(form(X), y)
    assert one.duality_gap_ <= 1e-8
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-6)
    np.testing.assert_allclose(one.decision_function(form(X)), other.decision_function(form(X)), atol=1e-3)
