"""Pictures of multiple kernel learning: weights, paths and convergence."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

import kernelweave as kw
from kernelweave.interpret import weight_stability
from kernelweave.plots import ConvergenceDisplay, KernelWeightsDisplay, WeightPathDisplay

matplotlib.use("Agg")

WIDTHS = [0.1, 1.0, 10.0]


@pytest.fixture(scope="module")
def stars():
    return kw.datasets.make_stars(80, distance=3.0, random_state=0)


@pytest.fixture(scope="module")
def model(stars):
    return kw.MKLClassifier(kw.RBF.grid(WIDTHS)).fit(*stars)


@pytest.fixture(scope="module")
def many(stars):
    X, _ = stars
    return kw.MKLClassifier(kw.RBF.grid(WIDTHS), norm=2).fit(X, np.arange(80) % 6)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as pyplot

    pyplot.close("all")


def bars(ax):
    return [patch.get_width() for patch in ax.patches]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_bars_are_the_weights_in_the_order_of_the_kernels(model):
    display = KernelWeightsDisplay.from_estimator(model).plot()
    np.testing.assert_allclose(bars(display.ax_), model.kernel_weights_)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == list(model.kernel_names_)
    assert display.ax_.yaxis_inverted()


def test_stability_is_drawn_as_intervals_with_the_share_of_refits(model, stars):
    found = weight_stability(model, *stars, n_bootstrap=4)
    ax = KernelWeightsDisplay.from_estimator(model, found, names=["a", "b", "c"]).plot().ax_
    segments = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(segments, np.column_stack([found.low, found.high]))
    assert texts(ax) == [*(f"{share:.0%}" for share in found.frequency), "selected"]
    assert ax.get_legend().get_texts()[0].get_text() == "95% of the bootstrap refits"


def test_few_classes_are_grouped_bars_and_many_a_heat_map(stars, many):
    X, _ = stars
    three = kw.MKLClassifier(kw.RBF.grid(WIDTHS), norm=2).fit(X, np.arange(80) % 3)
    grouped = KernelWeightsDisplay.from_estimator(three).plot().ax_
    np.testing.assert_allclose(bars(grouped), three.kernel_weights_.ravel())
    assert [text.get_text() for text in grouped.get_legend().get_texts()] == ["class 0", "class 1", "class 2"]
    mapped = KernelWeightsDisplay.from_estimator(many).plot().ax_
    np.testing.assert_allclose(mapped.collections[0].get_array().ravel(), many.kernel_weights_.T.ravel())
    assert mapped.get_xlabel() == "class"


def test_only_the_heaviest_kernels_are_shown_and_the_rest_is_named(model):
    display = KernelWeightsDisplay(["a", "b", "c", "d"], np.array([0.1, 0.5, 0.05, 0.35])).plot(top=2)
    assert bars(display.ax_) == [0.5, 0.35]
    assert "2 kernels of weight 0.1 or less are not shown" in display.ax_.get_xlabel()


def test_a_display_draws_into_axes_it_is_given(model, tmp_path):
    first = KernelWeightsDisplay.from_estimator(model).plot()
    second = KernelWeightsDisplay.from_estimator(model).plot(first.ax_, color="#D55E00")
    assert second.figure_ is first.figure_
    assert len(bars(first.ax_)) == 6
    first.figure_.savefig(tmp_path / "weights.png")


def test_a_path_shows_kernels_down_and_steps_across(model, stars):
    models = [kw.MKLClassifier(kw.RBF.grid(WIDTHS), C=C).fit(*stars) for C in (0.1, 1.0)] + [model]
    display = WeightPathDisplay.from_estimators(models, [0.1, 1, 2], parameter="C", scores={"error": [0.3, 0.2, 0.1]})
    curves, heat = display.plot().axes_
    np.testing.assert_allclose(heat.collections[0].get_array(), np.stack([m.kernel_weights_ for m in models]).T)
    np.testing.assert_array_equal(curves.get_lines()[0].get_ydata(), [0.3, 0.2, 0.1])
    assert (heat.get_xlabel(), curves.get_title(loc="left")) == ("C", "error")
    assert [label.get_text() for label in heat.get_xticklabels()] == ["0.1", "1", "2"]


def test_a_long_path_has_readable_labels():
    display = WeightPathDisplay(["a", "b"], np.arange(50), np.full((50, 2), 0.5), "step").plot()
    labels = [label.get_text() for label in display.axes_[0].get_xticklabels()]
    assert len(labels) <= 12
    assert labels[:2] == ["0", "5"]
    assert texts(display.axes_[0]) == []


def test_the_path_of_a_cross_validated_model(stars):
    model = kw.MKLClassifierCV(kw.RBF.grid(WIDTHS), Cs=[0.1, 1.0], norms=[1.0, 2.0], cv=2).fit(*stars)
    chosen = WeightPathDisplay.from_estimator(model)
    np.testing.assert_array_equal(chosen.weights, model.path_weights_[list(model.norms).index(model.norm_)])
    other = WeightPathDisplay.from_estimator(model, norm=2.0)
    np.testing.assert_array_equal(other.scores["cross-validated accuracy"], model.cv_scores_[1].mean(axis=1))
    with pytest.raises(ValueError, match="not among the norms"):
        WeightPathDisplay.from_estimator(model, norm=3.0)


def test_scores_over_many_powers_of_ten_get_a_logarithmic_axis():
    shape = (["a"], [1, 2], np.ones((2, 1)), "x")
    assert WeightPathDisplay(*shape, {"e": [1.0, 1e-5]}).plot().axes_[0].get_yscale() == "log"
    assert WeightPathDisplay(*shape, {"e": [1.0, 0.5]}).plot().axes_[0].get_yscale() == "linear"
    two = WeightPathDisplay(*shape, {"train": [1.0, 0.5], "test": [1.0, 0.7]}).plot().axes_[0]
    assert [text.get_text() for text in two.get_legend().get_texts()] == ["train", "test"]


def test_the_gap_over_time_with_the_papers_rule(stars):
    model = kw.MKLClassifier(kw.RBF.grid(WIDTHS), solver="silp", tol=1e-4).fit(*stars)
    display = ConvergenceDisplay.from_estimator(model).plot()
    lines = {line.get_label(): line for line in display.ax_.get_lines()}
    assert set(lines) == {"silp", "silp: |1 - S/theta|", "gap asked for"}
    finite = np.isfinite(model.trace_["gap"])
    np.testing.assert_allclose(lines["silp"].get_ydata(), np.maximum(model.trace_["gap"][finite], 1e-16))
    np.testing.assert_allclose(lines["silp"].get_xdata(), model.trace_["seconds"][finite])
    assert lines["gap asked for"].get_ydata()[0] == 1e-4
    assert display.ax_.get_yscale() == "log"


def test_several_models_by_name_and_several_outputs_under_one_name(model, many):
    display = ConvergenceDisplay.from_estimators({"two classes": model, "six": many})
    assert len(display.runs) == 7
    ax = display.plot(log_seconds=True).ax_
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["two classes", "six", "gap asked for"]
    assert ax.get_xscale() == "log"
    single = kw.KernelClassifier(tol=0.1).fit(*kw.datasets.make_stars(40, random_state=0))
    assert ConvergenceDisplay.from_estimators({"mkl": model, "svm": single}).tol is None


def test_what_cannot_be_drawn_gets_one_sentence(model, stars):
    with pytest.raises(TypeError, match="has no kernel weights"):
        KernelWeightsDisplay.from_estimator(kw.KernelClassifier())
    with pytest.raises(ValueError, match="3 kernels, but 1 names"):
        KernelWeightsDisplay.from_estimator(model, names=["a"])
    with pytest.raises(ValueError, match="kind='pie' is unknown"):
        KernelWeightsDisplay.from_estimator(model).plot(kind="pie")
    other = kw.MKLClassifier(kw.RBF.grid([1.0, 2.0])).fit(*stars)
    with pytest.raises(ValueError, match="belongs to another model"):
        KernelWeightsDisplay.from_estimator(model, weight_stability(other, *stars, n_bootstrap=1))
    with pytest.raises(ValueError, match="same kernels"):
        WeightPathDisplay.from_estimators([model, other], [1, 2])
    with pytest.raises(ValueError, match="a value for each model"):
        WeightPathDisplay.from_estimators([model], [1, 2])
    with pytest.raises(TypeError, match="has no path of weights"):
        WeightPathDisplay.from_estimator(model)
    with pytest.raises(TypeError, match="without trace_"):
        ConvergenceDisplay.from_estimators({"raw": kw.MKLClassifier()})
    with pytest.raises(ValueError, match="no model to draw"):
        ConvergenceDisplay.from_estimators({})
