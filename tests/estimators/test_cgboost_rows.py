"""What boosted estimators take and give back: rows of all kinds, weights, scalings, files, threads, and bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from kernelweave.estimators.cgboost.holdout import draw
from mixtures import KERNELS, NEW, REAL, THREE, WEIGHT, N, X, Y

# What rows may be.


def test_sequences_lattices_views_frames_and_sparse_tables(tmp_path):
    sites, labels = kw.datasets.make_splice(60, random_state=0)
    heard = kw.Lattices.from_arcs(
        [([(0, 1, w, 0.8), (0, 1, "b", 0.2), (1, 2, "c", 1.0)], [2]) for w in np.where(labels > 0, "a", "d")]
    )
    views = kw.Views({"dna": sites, "table": X[:60]})
    tasks = [
        (sites, [kw.Spectrum(2), kw.WeightedDegree(5)]),
        (heard, [kw.NGram(1), kw.NGram(2)]),
        (views, [kw.Linear().on("table"), kw.WeightedDegree(4).on("dna")]),
        (sparse.csr_array(np.where(X[:60] > 0, X[:60], 0)), KERNELS),
        (pd.DataFrame(X[:60], columns=list("abc")), [kw.Linear().on("a"), kw.RBF(width=1.0).on(["b", "c"])]),
    ]
    for rows, kernels in tasks:
        fitted = kw.CGBoostClassifier(kernels, C=10.0).fit(rows, labels)
        assert fitted.converged_, kernels
        kw.save(fitted, tmp_path / "model.kw")
        np.testing.assert_array_equal(
            kw.load(tmp_path / "model.kw").decision_function(rows), fitted.decision_function(rows)
        )
    assert kw.CGBoostClassifier(["linear", "rbf:0.5"]).fit(X, Y).kernel_names_.tolist() == [
        "Linear()", "RBF(gamma=0.5)",
    ]  # fmt: skip


def test_precomputed_matrices_are_cut_with_their_rows():
    weight = np.where(np.arange(N) % 5 == 0, 0.0, 1.0)
    grams = [kw.RBF(width=2.0).gram(X), kw.RBF(width=2.0).gram(NEW, X)]
    by_rows = kw.CGBoostClassifier([kw.RBF(width=2.0)], tol=1e-8).fit(X, Y, weight, validation=(NEW, Y[:40]))
    given = kw.CGBoostClassifier([kw.Precomputed()], tol=1e-8).fit(grams[0], Y, weight, validation=(grams[1], Y[:40]))
    np.testing.assert_allclose(given.decision_function(grams[1]), by_rows.decision_function(NEW), atol=1e-6)
    np.testing.assert_allclose(given.trace_["validation_error"][-1], by_rows.trace_["validation_error"][-1])
    halved = kw.CGBoostClassifier([kw.Precomputed()], validation_fraction=0.5).fit(grams[0], Y)
    assert len(halved.support_) <= N // 2
    assert halved.decision_function(grams[1]).shape == (40,)
    views = kw.Views({"K": grams[0], "x": X})
    kernels = [kw.Linear().on("x"), kw.Precomputed().on("K")]
    both = kw.CGBoostClassifier(kernels, validation_fraction=0.5).fit(views, Y)
    assert both.decision_function(kw.Views({"K": grams[1], "x": NEW})).shape == (40,)
    with pytest.raises(ValueError, match="needs all rows of a precomputed matrix"):
        kw.CGBoostClassifier([kw.Precomputed()], normalize="variance").fit(grams[0], Y, weight)


def test_searches_cut_precomputed_matrices_that_are_named_by_a_text():
    matrix = kw.RBF(width=2.0).gram(X)
    by_text, by_kernel = (
        cross_val_score(kw.CGBoostClassifier([kernel]), matrix, Y, cv=3) for kernel in ("precomputed", kw.Precomputed())
    )
    np.testing.assert_array_equal(by_text, by_kernel)


def test_many_small_classes_share_the_rows_that_judge():
    twos, rows = np.arange(N) // 2, np.arange(N)
    held = draw(twos, rows, 0.2, np.random.RandomState(0))
    assert len(held) == N // 5
    assert len(set(twos[held])) == len(held)
    some = np.where(rows < 40, 0, rows)  # one class of 40 rows; all others have a single row, which stays
    assert (draw(some, rows, 0.2, np.random.RandomState(0)) < 40).all()
    early = kw.CGBoostClassifier([kw.RBF(width=2.0)], termination="TR3", patience=1).fit(X, twos)
    assert np.isfinite(early.trace_["validation_error"]).all()
    with pytest.raises(ValueError, match="less than one row"):
        draw(rows, rows, 0.2, np.random.RandomState(0))


def test_a_row_of_weight_zero_is_not_there():
    gone = np.arange(N) % 3 == 0
    fitted = kw.CGBoostRegressor(KERNELS, tol=1e-8).fit(X, REAL, np.where(gone, 0.0, WEIGHT))
    without = kw.CGBoostRegressor(KERNELS, tol=1e-8).fit(X[~gone], REAL[~gone], WEIGHT[~gone])
    assert fitted.objective_ == pytest.approx(without.objective_, rel=1e-7)
    assert not gone[fitted.columns_["example"]].any()
    assert not fitted.certificate_.alpha[0][gone].any()


def test_weights_and_class_weights_are_costs():
    double = kw.CGBoostClassifier(KERNELS, C=2.0, tol=1e-8).fit(X, Y, np.full(N, 0.5))
    single = kw.CGBoostClassifier(KERNELS, C=1.0, tol=1e-8).fit(X, Y)
    assert double.objective_ == pytest.approx(single.objective_, rel=1e-6)
    weights = {"yes": 3.0, "no": 0.5}
    named = kw.CGBoostClassifier(KERNELS, class_weight=weights, tol=1e-8).fit(X, Y)
    by_row = kw.CGBoostClassifier(KERNELS, tol=1e-8, normalize=None).fit(X, Y, [weights[label] for label in Y])
    same = kw.CGBoostClassifier(KERNELS, class_weight=weights, tol=1e-8, normalize=None).fit(X, Y)
    assert by_row.objective_ == pytest.approx(same.objective_, rel=1e-6)
    assert named.objective_ != pytest.approx(single.objective_, rel=1e-3)


@pytest.mark.parametrize("normalize", ["trace", "cosine", "variance", None])
def test_scalings(normalize):
    fitted = kw.CGBoostClassifier(KERNELS[:3], normalize=normalize).fit(X, Y)
    outputs = gram(fitted, NEW) @ _dense(fitted) + fitted.intercept_[0]
    np.testing.assert_allclose(fitted.decision_function(NEW), outputs, atol=1e-8)


def gram(model, rows):
    """The columns of all kernels side by side, as the model scales them."""
    return np.hstack([kernel.gram(rows, X) for kernel in model.kernels_])


def _dense(fitted):
    a = np.zeros(len(fitted.kernels_) * N)
    np.add.at(a, fitted.columns_["kernel"] * N + fitted.columns_["example"], fitted.columns_["coefficient"])
    return a


# Tools and threads.


def test_the_number_of_threads_changes_no_bit():
    one, two = (kw.CGBoostClassifier(KERNELS, penalty="l2", n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert np.array_equal(one.columns_, two.columns_)
    assert np.array_equal(one.decision_function(NEW), two.decision_function(NEW))


def test_a_second_fit_forgets_the_first():
    fitted = kw.CGBoostClassifier(KERNELS).fit(X, THREE)
    fitted.decision_function(NEW)
    fitted.fit(X, Y)
    np.testing.assert_allclose(
        fitted.decision_function(NEW), kw.CGBoostClassifier(KERNELS).fit(X, Y).decision_function(NEW)
    )


def test_pipelines_and_searches():
    search = GridSearchCV(make_pipeline(StandardScaler(), kw.CGBoostClassifier(KERNELS[:3])), {
        "cgboostclassifier__C": [0.1, 1.0], "cgboostclassifier__penalty": ["l1", "l2"],
    }, cv=2)  # fmt: skip
    assert search.fit(X, Y).best_score_ > 0.6
    assert cross_val_score(kw.CGBoostRegressor(KERNELS), X, REAL, cv=3).mean() > 0.5


def test_a_model_may_need_no_column(tmp_path):
    fitted = kw.CGBoostClassifier(KERNELS, C=1e-9).fit(X, Y)
    assert len(fitted.columns_) == len(fitted.support_) == 0
    kw.save(fitted, tmp_path / "model.kw")
    for copy in (fitted, kw.load(tmp_path / "model.kw")):
        np.testing.assert_array_equal(copy.decision_function(NEW), np.full(40, fitted.intercept_[0]))
        assert len(list(copy.staged_predict(NEW))) == fitted.n_iter_


def test_windows_of_long_sequences_can_be_scored():
    sites, labels = kw.datasets.make_splice(60, random_state=0)
    fitted = kw.CGBoostClassifier([kw.Spectrum(2), kw.WeightedDegree(4)]).fit(sites, labels)
    length = sites.shape[1]
    long = kw.Sequences.from_strings(["".join(sites.to_strings()[:2])], "dna")
    scores = np.concatenate([windows.scores for windows in kw.scan(fitted, long)])
    np.testing.assert_allclose(scores[[0, length]], fitted.decision_function(sites[:2]), atol=1e-9)


def test_it_says_after_how_many_rounds_a_fit_ended():
    for rounds, words in ((1, "after a round; raise max_iter"), (2, "after 2 rounds; raise max_iter")):
        with pytest.warns(ConvergenceWarning, match=words):
            kw.CGBoostClassifier(KERNELS, max_iter=rounds).fit(X, Y)


def test_it_says_how_columns_are_held():
    fitted = kw.CGBoostClassifier(KERNELS).fit(X, Y)
    assert fitted.memory_plan_.kind == "columns"
    assert len(fitted.memory_plan_.parts) == len(KERNELS)
    assert "Linear()" in fitted.memory_plan_.parts[0].why
    assert fitted.solver_ == "simplex"


# Bad input: one sentence each.

BAD = [
    ({"C": -1.0}, "C=-1.0 must be a positive number"),
    ({"nu": 1.5}, "nu=1.5 must be at most 1"),
    ({"penalty": "l3"}, "penalty='l3' is unknown; choose one of l1, l2"),
    ({"loss": "squared"}, "loss='squared' is unknown; choose one of hinge, nu_classification"),
    ({"kernel_order": "any"}, "kernel_order='any' is unknown; choose one of given, cost"),
    ({"termination": "TR9"}, "termination='TR9' is unknown; name one or several of TR1, TR2, TR3, TR4"),
    ({"termination": ()}, r"termination=\(\) is unknown"),
    ({"termination": 3}, "termination=3 is unknown"),
    ({"termination": "TR4"}, "TR4 ends a fit after max_iter rounds; set max_iter"),
    ({"columns_per_round": 0}, "columns_per_round=0 must be a positive integer or 'auto'"),
    ({"candidates": 1.5}, "candidates=1.5 must be a positive integer or 'auto' or None"),
    ({"patience": "long"}, "patience='long' must be a positive integer or 'auto'"),
    ({"strategy": "often"}, "strategy='often' is unknown; choose one of auto, stratified, regular, paper"),
    ({"validation_fraction": 1.0}, "validation_fraction=1.0 must lie between 0 and 1"),
    ({"validation_fraction": 1e-4}, "is less than one row; raise it"),
    ({"kernels": []}, "kernels is an empty list"),
    ({"kernels": kw.Linear()}, "kernels must be a list of kernels"),
    ({"normalize": "size"}, "normalize='size' is unknown"),
    ({"fit_intercept": "no"}, "fit_intercept='no' must be True, False or 'regularized'"),
    ({"memory_limit": 1000}, "raise it or train on fewer rows"),
    ({"loss": "nu_classification", "nu": 0.99}, "too large for classes of these weights"),
]


@pytest.mark.parametrize(("params", "sentence"), BAD)
def test_bad_parameters(params, sentence):
    with pytest.raises((ValueError, TypeError, MemoryError), match=sentence):
        kw.CGBoostClassifier(**{"kernels": KERNELS, **params}).fit(X, Y)


def test_bad_rows():
    fitted = kw.CGBoostClassifier(KERNELS)
    with pytest.raises(NotFittedError):
        fitted.decision_function(X)
    with pytest.raises(ValueError, match="validation must be a pair"):
        fitted.fit(X, Y, validation=X)
    with pytest.raises(ValueError, match="class 'maybe', which the training rows do not have"):
        fitted.fit(X, Y, validation=(X[:1], ["maybe"]))
    for rows, labels, sentence in (
        (X[:5], Y[:3], "X has 5 rows, but y has 3 entries"),
        (X[:5, :2], Y[:5], "X has 2 features"),
        (np.full((1, 3), np.nan), Y[:1], "row 0, column 0 is nan"),
    ):
        with pytest.raises(ValueError, match=rf"In validation=\(X, y\): .*{sentence}"):
            fitted.fit(X, Y, validation=(rows, labels))
    with pytest.raises(TypeError, match=r"In validation=\(X, y\): .*trained on a table of numbers"):
        kw.CGBoostRegressor(KERNELS).fit(X, REAL, validation=(["ACGT"], [1.0]))
    with pytest.raises(ValueError, match="Both validation rows and validation_fraction"):
        clone(fitted).set_params(validation_fraction=0.5).fit(X, Y, validation=(X, Y))
    with pytest.raises(ValueError, match="TR3 needs labelled validation rows"):
        kw.CGBoostNovelty(KERNELS, termination="TR3").fit(X)
    with pytest.raises(ValueError, match=r"must have the labels 1 .normal. and -1 .novel."):
        kw.CGBoostNovelty(KERNELS).fit(X, validation=(X, Y))
    with pytest.raises(ValueError, match=r"TR3 needs both normal .1. and novel .-1. validation rows"):
        kw.CGBoostNovelty(KERNELS, termination="TR3").fit(X, validation=(NEW, np.ones(40)))
    assert kw.CGBoostNovelty(KERNELS[2:3], nu=0.1).fit(X, validation=(NEW, np.ones(40))).converged_
    with pytest.raises(ValueError, match="of row 1 with itself is not finite"):
        kw.CGBoostClassifier([kw.Polynomial(4)], normalize=None).fit([[1.0], [1e90]], [0, 1])
    with pytest.raises(ValueError, match="X has 2 features"):
        fitted.fit(X, Y).predict(X[:, :2])


def test_what_verbose_tells_of_a_round_without_a_bound(caplog):
    with caplog.at_level("INFO", logger="kernelweave"):
        kw.CGBoostClassifier(KERNELS, termination="TR4", max_iter=2, strategy="stratified", verbose=1).fit(X, Y)
    told = caplog.messages
    assert len(told) == 2
    assert "no bound yet  columns 8  training error" in told[1]
    assert "inf" not in told[1]


def test_one_callback_wants_a_list():
    with pytest.raises(TypeError, match=r"callbacks=<built-in function print> is one function; give a list"):
        kw.CGBoostClassifier(KERNELS, callbacks=print).fit(X, Y)
