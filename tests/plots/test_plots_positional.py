"""Pictures of weighted-degree models: weights by degree and position, importance and the best k-mers."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

import kernelweave as kw
from kernelweave.data.generators.splice import splice_signals
from kernelweave.interpret import Kmer, weights_by_degree, weights_by_position
from kernelweave.plots import DegreeWeightsDisplay, KmerDisplay, PoimDisplay, PositionWeightsDisplay

matplotlib.use("Agg")

LENGTH = 70
SIGNALS = splice_signals(LENGTH)
DEGREES = [kw.WeightedDegree(4, only=k) for k in range(1, 5)]
WINDOWS = [kw.WeightedDegree(3, positions=(a, min(a + 15, LENGTH))) for a in range(0, LENGTH, 15)]


@pytest.fixture(scope="module")
def sites():
    return kw.datasets.make_splice(120, length=LENGTH, positive_fraction=0.5, random_state=0)


@pytest.fixture(scope="module")
def refits(sites):
    """Fits by degree (with a kernel that knows no positions) and by window, each on three halves of the rows."""
    X, y = sites
    halves = [np.random.default_rng(r).permutation(len(y))[:60] for r in range(3)]
    degrees = kw.MKLClassifier([*DEGREES, kw.Spectrum(2)], norm=2)
    windows = kw.MKLClassifier(WINDOWS, norm=2)
    return {
        name: [kw.MKLClassifier(**model.get_params()).fit(X[rows], y[rows]) for rows in halves]
        for name, model in (("degrees", degrees), ("windows", windows))
    }


@pytest.fixture(scope="module")
def model(sites):
    return kw.KernelClassifier(kw.WeightedDegree(4)).fit(*sites)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as pyplot

    pyplot.close("all")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def heights(ax):
    return [patch.get_height() for patch in ax.patches]


def test_bars_by_degree_are_the_learned_shares(refits):
    one = refits["degrees"][0]
    display = DegreeWeightsDisplay.from_estimator(one).plot()
    np.testing.assert_allclose(heights(display.ax_), weights_by_degree(one).weights)
    assert display.other > 0
    assert f"other kernels have {display.other:.1%} of the weight" in display.ax_.get_xlabel()
    assert display.ax_.get_legend() is None


def test_several_fits_give_a_mean_and_an_interval(refits):
    rows = np.array([weights_by_degree(one).weights for one in refits["degrees"]])
    display = DegreeWeightsDisplay.from_estimators(refits["degrees"], confidence=0.5).plot()
    np.testing.assert_allclose(heights(display.ax_), rows.mean(axis=0))
    segments = np.array([segment[:, 1] for segment in display.ax_.collections[0].get_segments()])
    np.testing.assert_allclose(segments.T, np.quantile(rows, [0.25, 0.75], axis=0))
    assert legend(display.ax_) == ["50% of the fits"]


def test_positions_are_steps_over_the_windows_seen_from_the_origin(refits):
    one = refits["windows"][0]
    display = PositionWeightsDisplay.from_estimator(one).plot(signals=SIGNALS, origin=60)
    values, edges, _ = display.ax_.patches[-1].get_data()
    np.testing.assert_allclose(edges, np.array([0, 15, 30, 45, 60, 70]) - 60.5)
    found = weights_by_position(one)
    np.testing.assert_allclose(values * np.diff(edges), found.weights)
    assert legend(display.ax_) == ["branch point", "tract", "context", "exon"]
    assert "relative to 60" in display.ax_.get_xlabel()
    shaded = display.ax_.patches[0].get_bbox()
    assert (shaded.x0, shaded.x1) == (25 - 60.5, 39 - 60.5)


def test_positions_of_several_fits_have_a_band(refits):
    rows = np.array([weights_by_position(one).weights for one in refits["windows"]])
    display = PositionWeightsDisplay.from_estimators(refits["windows"]).plot()
    np.testing.assert_allclose(display.weights, rows.mean(axis=0))
    band = display.ax_.patches[0].get_data()
    np.testing.assert_allclose(band.values * 15, np.append(display.high[:-1], display.high[-1] * 1.5))
    assert (display.low <= display.weights).all()
    assert legend(display.ax_) == ["95% of the fits"]
    assert display.ax_.get_xlabel() == "position"


def test_a_display_is_drawn_where_asked_and_as_often_as_asked(refits, model):
    from matplotlib import pyplot

    _, ax = pyplot.subplots()
    for display in (
        DegreeWeightsDisplay.from_estimator(refits["degrees"][0]),
        PositionWeightsDisplay.from_estimator(refits["windows"][0]),
    ):
        assert display.plot(ax).ax_ is ax
        assert display.plot().ax_ is not ax
    _, axes = pyplot.subplots(2, 1)
    for pair in (PoimDisplay.from_estimator(model), KmerDisplay.from_estimator(model)):
        assert pair.plot(axes).axes_ is axes
        assert pair.plot().figure_ is not axes[0].figure


def test_importance_is_a_map_with_its_maximum_above(model):
    display = PoimDisplay.from_estimator(model, k=2).plot(signals=SIGNALS, origin=60)
    curve, heat = display.axes_
    np.testing.assert_allclose(heat.images[0].get_array(), display.poim.values)
    np.testing.assert_allclose(curve.lines[-1].get_ydata(), display.poim.by_position)
    assert curve.lines[-1].get_xdata()[0] == -60
    assert [label.get_text() for label in heat.get_yticklabels()] == display.poim.kmers
    low, high = heat.images[0].get_clim()
    assert low == -high == -np.abs(display.poim.values).max()
    assert heat.get_xlim() == curve.get_xlim() == (-60.5, 8.5)


def test_of_many_kmers_the_most_important_are_mapped(model):
    display = PoimDisplay.from_estimator(model, k=3).plot(top=10)
    heat = display.axes_[1]
    largest = np.sort(np.abs(display.poim.values).max(axis=1))[::-1][:10]
    np.testing.assert_allclose(np.sort(np.abs(heat.images[0].get_array()).max(axis=1))[::-1], largest)
    assert heat.get_ylabel() == "10 of 64 k-mers"


def test_kmers_stand_at_their_places_beside_their_weights():
    given = [Kmer("TCA", 58, 0.5), Kmer("G", 62, -0.25), Kmer("C", 59, 0.125)]
    display = KmerDisplay(given).plot(signals={"near": (55, 60), "far": (0, 5)}, origin=60)
    places, weights = display.axes_
    assert [text.get_text() for text in places.texts] == ["TCA", "C", "G"]
    assert [label.get_text() for label in places.get_yticklabels()] == ["-2", "-1", "2"]
    spans = [collection.get_segments()[0][:, 0].tolist() for collection in places.collections]
    assert spans == [[-2.5, 0.5], [-1.5, -0.5], [1.5, 2.5]]
    assert legend(places) == ["near"]
    np.testing.assert_allclose(weights.collections[1].get_offsets(), [[0.5, 0], [0.125, 1], [-0.25, 2]])
    hues = weights.collections[1].get_facecolors()
    assert (hues[0] == hues[1]).all()
    assert (hues[0] != hues[2]).any()


def test_what_cannot_be_drawn_is_told(refits, model):
    for display in (DegreeWeightsDisplay, PositionWeightsDisplay):
        with pytest.raises(ValueError, match="There is no model to draw"):
            display.from_estimators([])
        with pytest.raises(ValueError, match="between 0 and 1"):
            display.from_estimators([model], confidence=1.0)
    with pytest.raises(ValueError, match="differ in their longest k-mers"):
        DegreeWeightsDisplay.from_estimators([model, refits["windows"][0]])
    with pytest.raises(ValueError, match="differ in their windows"):
        PositionWeightsDisplay.from_estimators([model, refits["windows"][0]])
    with pytest.raises(ValueError, match="There is no k-mer to draw"):
        KmerDisplay([]).plot()


def test_weights_that_were_not_learned_are_not_drawn_as_if_they_were(sites, refits):
    prior = kw.KernelClassifier(kw.WeightedDegree(3)).fit(*sites)
    for display in (DegreeWeightsDisplay, PositionWeightsDisplay):
        assert "as given, not learned" in display.from_estimator(prior).plot().ax_.get_ylabel()
        assert "not learned" not in display.from_estimator(refits["windows"][0]).plot().ax_.get_ylabel()
    assert not weights_by_degree(prior).learned
    assert weights_by_position(refits["windows"][0]).learned
