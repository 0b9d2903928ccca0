"""Reports by class and of probabilities agree with scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics

from kernelweave.interpret import bootstrap_scores, class_report, reliability

RNG = np.random.default_rng(0)
TRUE = RNG.integers(0, 4, 300)
SAID = np.where(RNG.random(300) < 0.6, TRUE, RNG.integers(0, 4, 300))


def test_scores_of_several_classes_are_those_of_scikit_learn():
    found = class_report(TRUE, SAID, n_resamples=300)
    np.testing.assert_array_equal(found.counts, metrics.confusion_matrix(TRUE, SAID))
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(TRUE, SAID)
    for ours, theirs in ((found.precision, precision), (found.recall, recall), (found.f1, f1)):
        np.testing.assert_allclose(ours, theirs)
    expected = {
        "accuracy": metrics.accuracy_score(TRUE, SAID), "mcc": metrics.matthews_corrcoef(TRUE, SAID),
        "balanced_accuracy": metrics.balanced_accuracy_score(TRUE, SAID), "f1_macro": f1.mean(),
    }  # fmt: skip
    for name, value in expected.items():
        assert found.scores[name].value == pytest.approx(value)
        assert found.scores[name].low < value < found.scores[name].high
    with pytest.raises(ValueError, match="The label 3 is not one of"):
        class_report(TRUE, SAID, [0, 1, 2])


def test_f1_and_mcc_of_two_classes_are_those_of_scikit_learn():
    y, f = TRUE > 1, SAID + 0.1 * RNG.normal(size=300) - 1.5
    found = bootstrap_scores(y, f, n_resamples=100)
    assert found["f1"].value == pytest.approx(metrics.f1_score(y, f >= 0))
    assert found["mcc"].value == pytest.approx(metrics.matthews_corrcoef(y, f >= 0))
    assert bootstrap_scores(y, -np.abs(f) - 1, n_resamples=10)["mcc"].value == 0.0


def test_reliability_measures_what_scikit_learn_measures():
    p = RNG.random(5000)
    y = RNG.random(5000) < p
    found = reliability(y, p)
    assert found.brier == pytest.approx(metrics.brier_score_loss(y, p))
    assert found.log_loss == pytest.approx(metrics.log_loss(y, p))
    assert found.error < 0.03
    assert reliability(y, p**3).error > 0.1
    assert found.counts.sum() == 5000
    for bad, words in (([0.5], "two vectors of one length"), ([2.0, 0.1], "between 0 and 1")):
        with pytest.raises(ValueError, match=words):
            reliability([0, 1], bad)
