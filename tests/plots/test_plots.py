"""Displays: computed once, drawn many times, and a clear word where matplotlib is missing."""

from __future__ import annotations

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from kernelweave.interpret import auprc, auroc
from kernelweave.plots import CurvesDisplay

matplotlib.use("Agg")


@pytest.fixture
def ranked():
    rng = np.random.default_rng(2)
    y = np.where(rng.random(200) < 0.3, 1, -1)
    return y, y + rng.normal(size=200)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as pyplot

    pyplot.close("all")


def test_both_panels_carry_the_curves_their_bands_and_their_numbers(ranked):
    display = CurvesDisplay.from_scores(*ranked, name="mine", n_resamples=100).plot()
    roc, precision_recall = display.axes_
    line = roc.get_lines()[0]
    np.testing.assert_array_equal(line.get_ydata()[1:], display.curves.true_positive_rate)
    assert line.get_xdata()[0] == line.get_ydata()[0] == 0
    assert (roc.get_xlabel(), precision_recall.get_xlabel()) == ("false positive rate", "recall")
    for ax, area in ((roc, auroc(*ranked)), (precision_recall, auprc(*ranked))):
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels[0].startswith("mine\n")
        assert f"{area:.3f} [" in labels[0]
        assert labels[1:] == ["95% bootstrap band", "guessing"]


def test_the_reference_of_the_second_panel_is_the_share_of_positives(ranked):
    display = CurvesDisplay.from_scores(*ranked, n_resamples=10).plot()
    assert display.prevalence == pytest.approx(np.mean(ranked[0] == 1))
    assert list(display.axes_[1].get_lines()[-1].get_ydata()) == [display.prevalence] * 2


def test_two_models_share_one_picture(ranked, tmp_path):
    y, scores = ranked
    first = CurvesDisplay.from_scores(y, scores, name="first", n_resamples=10).plot()
    second = CurvesDisplay.from_scores(y, -scores, name="second", n_resamples=10).plot(first.axes_, color="#D55E00")
    assert second.figure_ is first.figure_
    assert len(first.axes_[0].get_lines()) == 3
    first.figure_.savefig(tmp_path / "both.png")
    assert (tmp_path / "both.png").stat().st_size > 0


def test_from_estimator_takes_the_second_class_as_positive(ranked):
    y, scores = ranked
    words = np.where(y == 1, "a", "b")
    X = scores[:, None]
    model = LogisticRegression().fit(X, words)
    display = CurvesDisplay.from_estimator(model, X, words, n_resamples=10)
    assert display.name == "LogisticRegression"
    assert display.scores["auroc"].value == pytest.approx(auroc(y, scores))
    many = LogisticRegression().fit(X, np.arange(200) % 3)
    with pytest.raises(ValueError, match="has 3 classes; these curves need exactly two"):
        CurvesDisplay.from_estimator(many, X, words)


def test_without_matplotlib_numbers_work_and_drawing_names_the_extra():
    script = """
import sys
sys.modules["matplotlib"] = None
from kernelweave.plots import CurvesDisplay
display = CurvesDisplay.from_scores([0, 1], [0.0, 1.0], n_resamples=5)
try:
    display.plot()
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "kernelweave[plots]" in done.stdout
