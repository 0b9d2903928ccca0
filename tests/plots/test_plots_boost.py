"""Pictures of boosted models: errors and columns by round."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

import kernelweave as kw
from kernelweave.plots import ConvergenceDisplay, KernelWeightsDisplay, RoundsDisplay

matplotlib.use("Agg")
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2))
Y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=120) > 0.7, "out", "in")
THREE = np.digitize(X[:, 0] + 0.3 * rng.normal(size=120), [-0.5, 0.5])
KERNELS = [kw.Linear(), kw.RBF(width=0.5)]


@pytest.fixture(scope="module", name="early")
def early_model():
    return kw.CGBoostClassifier(KERNELS, C=100.0, termination="TR3", validation_fraction=0.3).fit(X, Y)


def test_errors_and_columns_of_each_round(early):
    display = RoundsDisplay.from_estimator(early, names=["plane", "bumps"]).plot()
    np.testing.assert_array_equal(display.train_error, early.trace_["train_error"])
    np.testing.assert_array_equal(display.validation_error, early.trace_["validation_error"])
    assert display.kept == 1 + early.trace_["validation_error"].argmin() < early.n_iter_
    np.testing.assert_array_equal(display.columns[display.kept - 1], early.n_columns_per_kernel_)
    errors, columns = display.axes_
    assert errors.get_legend_handles_labels()[1] == ["training rows", "held-out rows", "round that is kept"]
    np.testing.assert_array_equal(errors.lines[1].get_ydata(), display.validation_error)
    assert [text.get_text() for text in columns.get_legend().get_texts()] == ["bumps", "plane"]
    heights = [bar.get_height() for bar in columns.containers[1]]
    assert heights == display.columns[:, 1].tolist()
    display.figure_.canvas.draw()


def test_many_kernels_and_no_held_out_rows():
    fitted = kw.CGBoostRegressor([kw.Linear(), *kw.RBF.grid(np.geomspace(0.1, 10, 9))], C=10.0).fit(X, X[:, 0] ** 2)
    display = RoundsDisplay.from_estimator(fitted).plot()
    errors, columns = display.axes_
    assert errors.get_ylabel() == "mean absolute error"
    assert errors.get_legend_handles_labels()[1] == ["training rows"]
    assert columns.get_legend_handles_labels()[1][-1] == "4 others"
    tops = np.sum([[bar.get_height() for bar in bars] for bars in columns.containers], axis=0)
    np.testing.assert_array_equal(tops, display.columns.sum(axis=1))


def test_several_classes_together_or_one_of_them():
    fitted = kw.CGBoostClassifier(KERNELS, C=10.0).fit(X, THREE)
    every = RoundsDisplay.from_estimator(fitted)
    np.testing.assert_array_equal(every.columns[-1], fitted.n_columns_per_kernel_.sum(axis=0))
    assert len(every.train_error) == fitted.n_iter_
    one = RoundsDisplay.from_estimator(fitted, target=1)
    np.testing.assert_array_equal(one.train_error, fitted.trace_["train_error"][fitted.trace_["output"] == 1])
    with pytest.raises(ValueError, match="target=7 is not a class of the model; choose one of 0, 1, 2"):
        RoundsDisplay.from_estimator(fitted, target=7)


def test_models_that_have_no_such_picture(early):
    with pytest.raises(TypeError, match="KernelClassifier has no rounds"):
        RoundsDisplay.from_estimator(kw.KernelClassifier())
    with pytest.raises(ValueError, match="this model has one sequence of rounds"):
        RoundsDisplay.from_estimator(early, target="in")
    with pytest.raises(TypeError, match="RoundsDisplay draws its columns"):
        KernelWeightsDisplay.from_estimator(early)
    short = kw.CGBoostClassifier(KERNELS, C=100.0, termination="TR4", max_iter=2, strategy="stratified").fit(X, Y)
    with pytest.raises(ValueError, match="was not certified while it was trained"):
        ConvergenceDisplay.from_estimator(short)
    sure = kw.CGBoostClassifier(KERNELS, strategy="regular").fit(X, Y)
    assert len(ConvergenceDisplay.from_estimator(sure).runs[0].gap) == sure.n_iter_
