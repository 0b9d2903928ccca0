"""Measures of a two-class ranking: against scikit-learn, against the definition, and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import kernelweave as kw
from kernelweave.interpret import (
    accuracy,
    auprc,
    auroc,
    bootstrap_curves,
    bootstrap_scores,
    confusion_at_precision,
    curves,
    readable,
)
from kernelweave.interpret.ranking import Ranking


def sample(n=300, shift=1.0, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, 1, -1)
    return y, shift * y + rng.normal(size=n)


labelled = st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=2, max_size=40).filter(
    lambda rows: len({label for label, _ in rows}) == 2
)


@given(labelled)
def test_measures_agree_with_scikit_learn_ties_included(rows):
    y, scores = (np.array(column, dtype=float) for column in zip(*rows))
    assert auroc(y, scores) == pytest.approx(metrics.roc_auc_score(y, scores))
    assert auprc(y, scores) == pytest.approx(metrics.average_precision_score(y, scores))
    assert accuracy(y, scores, threshold=0.5) == pytest.approx(metrics.accuracy_score(y, scores >= 0.5))


@given(labelled)
def test_auroc_is_the_share_of_pairs_in_order(rows):
    y, scores = (np.array(column, dtype=float) for column in zip(*rows))
    pairs = scores[y == 1][:, None] - scores[y == 0]
    assert auroc(y, scores) == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)))


def test_the_positive_class_can_be_named():
    y, scores = sample()
    words = np.where(y == 1, "acceptor", "decoy")
    assert auroc(words, scores, positive="acceptor") == auroc(y, scores)
    assert auroc(words, scores) == pytest.approx(1 - auroc(y, scores))


def test_curves_are_those_of_scikit_learn():
    y, scores = sample()
    found = curves(y, scores)
    fpr, tpr, thresholds = metrics.roc_curve(y, scores, drop_intermediate=False)
    np.testing.assert_allclose(found.false_positive_rate, fpr[1:])
    np.testing.assert_allclose(found.true_positive_rate, tpr[1:])
    np.testing.assert_allclose(found.thresholds, thresholds[1:])
    precision, recall, _ = metrics.precision_recall_curve(y, scores)
    np.testing.assert_allclose(found.precision[::-1], precision[:-1])
    np.testing.assert_allclose(found.recall[::-1], recall[:-1])


def test_a_weighted_resample_equals_the_resample_written_out():
    y, scores = sample(60)
    ranking = Ranking(y, scores)
    weights = next(ranking.resamples(5, random_state=3))
    summary = ranking.summary(0.2, weights)
    for row, drawn in enumerate(weights.astype(int)):
        labels, values = np.repeat(ranking.positives, drawn), np.repeat(ranking.values, drawn)
        assert summary["auroc"][row] == pytest.approx(metrics.roc_auc_score(labels, values))
        assert summary["auprc"][row] == pytest.approx(metrics.average_precision_score(labels, values))
        assert summary["accuracy"][row] == pytest.approx(np.mean(labels == (values >= 0.2)))


def test_resamples_keep_the_size_of_each_class_whatever_the_blocks(monkeypatch):
    ranking = Ranking(*sample(50))
    whole = np.concatenate(list(ranking.resamples(7, random_state=1)))
    assert whole.shape == (7, 50)
    assert set(whole[:, ranking.positives].sum(axis=1)) == {ranking.n_positive}
    assert set(whole[:, ~ranking.positives].sum(axis=1)) == {ranking.n_negative}
    monkeypatch.setattr("kernelweave.interpret.ranking.BLOCK_CELLS", 150)
    assert [len(block) for block in ranking.resamples(7, random_state=1)] == [3, 3, 1]


def test_intervals_hold_the_value_widen_with_confidence_and_repeat_with_the_seed():
    y, scores = sample()
    narrow, wide = (bootstrap_scores(y, scores, confidence=c, random_state=5) for c in (0.5, 0.99))
    assert narrow == bootstrap_scores(y, scores, confidence=0.5, random_state=5)
    assert narrow != bootstrap_scores(y, scores, confidence=0.5, random_state=6)
    for name in ("accuracy", "auroc", "auprc"):
        assert wide[name].low < narrow[name].low <= narrow[name].value <= narrow[name].high < wide[name].high
    assert str(wide["auroc"]).startswith(f"{auroc(y, scores):.4f} [")


def test_the_auroc_interval_is_as_wide_as_theory_says():
    y, scores = sample(2000, shift=0.0)
    found = bootstrap_scores(y, scores, n_resamples=2000)["auroc"]
    n, m = (y == 1).sum(), (y == -1).sum()
    deviation = np.sqrt((n + m + 1) / (12 * n * m))  # of the Mann-Whitney statistic without any signal
    assert (found.high - found.low) == pytest.approx(2 * 1.96 * deviation, rel=0.1)


def test_bands_enclose_the_curves():
    y, scores = sample(400)
    grid = np.linspace(0, 1, 21)
    bands, points = bootstrap_curves(y, scores, grid), curves(y, scores)
    low, high = bands["true_positive_rate"]
    drawn = np.interp(grid, np.append(0, points.false_positive_rate), np.append(0, points.true_positive_rate))
    assert np.all((low <= drawn) & (drawn <= high))
    low, high = bands["precision"]
    step = np.searchsorted(points.recall, grid)
    assert np.mean((low <= points.precision[step]) & (points.precision[step] <= high)) > 0.9


def test_confusion_at_a_precision_finds_the_most_positives():
    y, scores = sample()
    found = confusion_at_precision(y, scores, 0.8)
    called = scores >= found.threshold
    assert metrics.confusion_matrix(y, np.where(called, 1, -1)).ravel().tolist() == [
        found.true_negatives,
        found.false_positives,
        found.false_negatives,
        found.true_positives,
    ]
    assert found.precision >= 0.8
    better = curves(y, scores).recall > found.recall
    assert np.all(curves(y, scores).precision[better] < 0.8)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: auroc([1, 1], [0.0, 1.0]), "y_true has 1 distinct labels"),
        (lambda: auroc([0, 1, 2], [0.0, 1.0, 2.0]), "y_true has 3 distinct labels"),
        (lambda: auroc([0, 1], [0.0, np.nan]), r"scores\[1\] is nan"),
        (lambda: auroc([0, 1], [0.0]), "two vectors of one length"),
        (lambda: auroc([0, 1], [0.0, 1.0], positive=3), "positive=3 is not among the labels"),
        (lambda: bootstrap_scores([0, 1], [0.0, 1.0], n_resamples=0), "n_resamples=0"),
        (lambda: bootstrap_scores([0, 1], [0.0, 1.0], confidence=95), "confidence=95"),
        (lambda: confusion_at_precision([0, 1], [0.0, 1.0], 80), "precision=80 is not a share"),
        (lambda: confusion_at_precision([1, 0], [0.0, 1.0], 0.9), "highest here is 0.5000"),
    ],
)
def test_bad_input_gets_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_what_can_be_read_off_a_model():
    X, y = kw.datasets.make_splice(60, random_state=0)
    both = kw.MKLClassifier([kw.WeightedDegree(3), kw.Spectrum(2)], norm=2.0).fit(X, y)
    assert readable(both) == {"positions", "strings"}
    assert readable(kw.KernelClassifier(kw.Spectrum(2).normalized()).fit(X, y)) == {"strings"}
    vector = kw.MKLClassifier([kw.Spectrum(2)], loss="logistic", norm=2.0, solver="svrg").fit(X, y)
    assert readable(vector) == {"features"}
    assert readable(kw.KernelClassifier(kw.Spectrum(2) * kw.Spectrum(1)).fit(X, y)) == set()


def test_errors_of_numbers_have_intervals():
    from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

    from kernelweave.interpret import bootstrap_errors

    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    said = y + 0.5 * rng.normal(size=200)
    found = bootstrap_errors(y, said, n_resamples=200)
    for name, measure in (("r2", r2_score), ("mae", mean_absolute_error), ("rmse", root_mean_squared_error)):
        rows = np.random.default_rng(1).integers(0, 200, (200, 200))
        low, high = np.quantile([measure(y[some], said[some]) for some in rows], [0.025, 0.975])
        assert found[name].value == pytest.approx(measure(y, said))
        assert found[name].low == pytest.approx(low, abs=0.03)
        assert found[name].high == pytest.approx(high, abs=0.03)
    assert np.isnan(bootstrap_errors([1.0, 1.0], [1.0, 2.0], n_resamples=5)["r2"].value)
    with pytest.raises(ValueError, match="two vectors of one length"):
        bootstrap_errors([1.0], [1.0, 2.0])
