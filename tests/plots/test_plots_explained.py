"""Tracks, texts, lattices, bars, histograms and the logos of importance hold the numbers that they draw."""

from __future__ import annotations

import re

import matplotlib
import numpy as np
import pytest
from matplotlib.patches import PathPatch
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave import plots
from kernelweave.cli.app import app
from kernelweave.interpret import Kmer, poim
from kernelweave.interpret.explain.stability import explanation_stability
from kernelweave.io import write
from kernelweave.plots.explained.logos import letter_importance
from kernelweave.plots.style import AGAINST, BLUE, GREY, ink, tint
from pages import ROOT

matplotlib.use("Agg")
X, Y = kw.datasets.make_splice(120, length=70, random_state=0)
MODEL = kw.KernelClassifier("wd:4").fit(X, Y)
TEXTS = ["how far is it", "it is far", "how are you", "you are here"]
WORDS = kw.Sequences.from_strings(TEXTS, "words", ids=list("abcd"))
TALK = kw.KernelClassifier(kw.NGram(2, cumulative=True)).fit(WORDS, [1, 0, 1, 0])
ARCS = [(0, 1, "rain", 0.75), (0, 1, "train", 0.25), (1, 2, "to", 0.5), (1, 3, "today", 0.5), (2, 3, "day", 1.0)]
OTHER = [(0, 1, "rain", 0.2), (0, 1, "train", 0.8), (1, 3, "today", 1.0)]
LATTICES = kw.Lattices.from_arcs([(ARCS, [3]), (OTHER, [3])])
HEARD = kw.KernelClassifier(kw.NGram(1), C=10.0).fit(LATTICES, [1, 0])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_letters_of_importance_are_the_importance_of_single_letters(k):
    expected = poim(MODEL, 1, "support").values.T
    found = poim(MODEL, k, "support")
    np.testing.assert_allclose(letter_importance(found), expected, rtol=1e-9, atol=1e-12)
    display = plots.LogoDisplay.from_poim(found, start=50, end=60, origin=60).plot()
    np.testing.assert_allclose(display.heights[0], expected[50:60], rtol=1e-9, atol=1e-12)
    assert display.starts == [-10]
    with pytest.raises(ValueError, match="no letter to draw"):
        plots.LogoDisplay.from_poim(found, start=70)


def test_a_track_stands_where_the_id_says():
    names = ["chr1:100-170", "chr2:30-100(-)", "other"]
    told = kw.explain(MODEL, kw.Sequences.from_strings(X[:3].to_strings(), "dna", ids=names))
    displays = [plots.LocusDisplay.from_explanation(told, row) for row in range(3)]
    assert [(d.places[0], d.places[-1]) for d in displays] == [(101, 170), (100, 31), (0, 69)]
    ax = displays[1].plot(start=10, end=20).ax_
    heights = {round(bar.get_x() + 0.45): bar.get_height() for bar in ax.patches}
    np.testing.assert_allclose([heights[90 - k] for k in range(10)], told.matrix()[1, 10:20])
    assert ax.get_xlabel() == "position on chr2"
    hues = {matplotlib.colors.to_hex(bar.get_facecolor()).upper() for bar in ax.patches}
    assert hues <= {BLUE, AGAINST}
    assert f"{told.decision[1]:+.2f}" in ax.get_title(loc="left")


def test_a_track_has_the_intervals_of_its_row():
    firm = explanation_stability(MODEL, X, Y, X[:2], n_samples=2, random_state=0)
    display = plots.LocusDisplay.from_stability(firm, 1).plot(origin=60, signals={"tract": (45, 60)})
    np.testing.assert_array_equal(display.low, firm.lower[0][70:, 0])
    np.testing.assert_array_equal(display.high, firm.upper[0][70:, 0])
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["tract", "90% of the bootstrap samples"]


def test_words_stand_on_the_colour_of_what_they_add():
    told = kw.explain(TALK, WORDS)
    display = plots.TextDisplay.from_explanation(told, [0, 3])
    found = re.findall(r'<span title="([^"]+)" style="background-color:(#\w+);[^"]*">([^<]+)</span>', display.html())
    values = np.concatenate([told.tracks[0].of(0)[:, 0], told.tracks[0].of(3)[:, 0]])
    assert [word for _, _, word in found] == [*TEXTS[0].split(), *TEXTS[3].split()]
    np.testing.assert_allclose([float(value) for value, _, _ in found], values, atol=5e-5)
    assert [colour for _, colour, _ in found] == [tint(value / np.abs(values).max()) for value in values]
    drawn = [text.get_text() for text in display.plot().ax_.texts]
    assert [text for text in drawn if text in " ".join(TEXTS).split()] == [*TEXTS[0].split(), *TEXTS[3].split()]
    assert display._repr_html_() == display.html()


def test_texts_are_escaped_and_broken_into_lines():
    rows = kw.Sequences.from_strings(["<b>&" * 30, "<b>d" * 20], "bytes")
    display = plots.TextDisplay.from_explanation(kw.explain(kw.KernelClassifier("ngram:2").fit(rows, [0, 1]), rows))
    assert "&lt;" in display.html()
    assert "<b>&" not in display.html()
    lines = list(display._lines(display.tokens[0], display.values[0]))
    assert [len(line) for line in lines] == [76, 44]
    assert (ink(tint(1.0)), ink(tint(0.0))) == ("#ffffff", "#000000")


def test_arcs_are_as_likely_as_the_paths_through_them():
    display = plots.LatticeDisplay.from_explanation(kw.explain(HEARD, LATTICES)).plot()
    assert dict(zip(display.words, display.chance)) == pytest.approx(
        {"rain": 0.75, "train": 0.25, "to": 0.5, "today": 0.5, "day": 0.5}
    )
    values = dict(zip(display.words, display.values))
    assert values["rain"] > 0 > values["train"]
    curves = [patch for patch in display.ax_.patches if isinstance(patch, PathPatch)]
    assert len(curves) == 2 * len(ARCS)  # an outline each
    blue, red, *_ = matplotlib.colors.to_rgb(BLUE), matplotlib.colors.to_rgb(AGAINST)
    hues = [curve.get_edgecolor()[:3] for curve in curves[1::2]]
    distance = [np.abs(np.subtract(hue, blue)).sum() < np.abs(np.subtract(hue, red)).sum() for hue in hues]
    assert distance[:2] == [True, False]
    assert [text.get_text() for text in display.ax_.texts] == display.words


def test_states_are_right_of_those_before_them():
    from kernelweave.plots.explained.lattices import placed

    x, y = placed(LATTICES[:1])
    assert x.tolist() == [0, 1, 2, 3]
    assert (x[LATTICES[:1].source] < x[LATTICES[:1].target]).all()
    wide = kw.Lattices.from_arcs([([(0, 1, "a", 1.0), (0, 2, "b", 1.0), (1, 3, "c", 1.0), (2, 3, "d", 1.0)], [3])])
    x, y = placed(wide)
    assert x.tolist() == [0, 1, 1, 2]
    assert len(set(y[1:3].tolist())) == 2


def test_bars_add_up():
    table = np.random.default_rng(0).normal(size=(30, 12))
    model = kw.KernelClassifier(kw.Linear() + kw.RBF(width=3.0)).fit(table, table[:, 3] > 0)
    told = kw.explain(model, table[:4])
    display = plots.PlacesDisplay.from_explanation(told, [0, 2], n=4).plot()
    for row, bars in zip((0, 2), display.bars):
        assert sum(value for _, value in bars) == pytest.approx(told.decision[row])
        assert [name for name, _ in bars][-2:] == ["9 others", "intercept"]
    assert any("RBF" in name for name, _ in plots.PlacesDisplay.from_explanation(told, [0], n=99).bars[0])


def test_histograms_count_every_row():
    scores = MODEL.decision_function(X)
    display = plots.ScoresDisplay.from_estimator(MODEL, X, Y, bins=10).plot()
    for label, counts in display.counts.items():
        assert counts.tolist() == np.histogram(scores[label == Y], display.edges)[0].tolist()
    three = kw.KernelClassifier("wd:2").fit(X[:60], np.arange(60) % 3)
    found = plots.ScoresDisplay.from_estimator(three, X[:60], np.arange(60) % 3, target=2)
    assert [int(counts.sum()) for counts in found.counts.values()] == [20, 20, 20]
    with pytest.raises(ValueError, match="target=None is not one"):
        plots.ScoresDisplay.from_estimator(three, X[:60], np.arange(60) % 3)


def test_no_kmer_says_again_what_a_better_one_says():
    display = plots.KmerDisplay.from_estimator(MODEL, n=12).plot(origin=60)
    for number, one in enumerate(display.kmers):
        for other in display.kmers[:number]:
            shift = one.position - other.position
            inside = shift >= 0 and other.kmer[shift : shift + len(one.kmer)] == one.kmer
            around = shift <= 0 and one.kmer[-shift : -shift + len(other.kmer)] == other.kmer
            assert not inside
            assert not around
    twice = [Kmer("CA", 3, 1.0), Kmer("GT", 3, -1.0), Kmer("A", 9, 0.5)]
    labels = [label.get_text() for label in plots.KmerDisplay(twice).plot().axes_[0].get_yticklabels()]
    assert labels == ["3", "", "9"]


def test_what_was_not_learned_is_grey_and_says_so():
    display = plots.DegreeWeightsDisplay.from_estimator(MODEL).plot()
    assert "not learned" in display.ax_.get_ylabel()
    assert {matplotlib.colors.to_hex(bar.get_facecolor()).upper() for bar in display.ax_.patches} == {GREY}


@pytest.mark.parametrize(
    ("kind", "made", "told", "message"),
    [
        (plots.LocusDisplay, HEARD, LATTICES, "A track is for"),
        (plots.TextDisplay, HEARD, LATTICES, "words of one view"),
        (plots.LatticeDisplay, TALK, WORDS, "Paths are drawn of lattices"),
    ],
)
def test_other_rows_are_refused(kind, made, told, message):
    with pytest.raises(ValueError, match=message):
        kind.from_explanation(kw.explain(made, told))


def test_the_command_draws_what_fits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    drawn = []
    for name in ("TextDisplay", "LatticeDisplay", "PlacesDisplay", "LocusDisplay"):
        monkeypatch.setattr(getattr(plots, name), "plot", _noting(getattr(plots, name).plot, name, drawn))
    table = kw.KernelClassifier(kw.Linear()).fit(np.eye(4), [0, 1, 0, 1])
    spectrum = kw.KernelClassifier("spectrum:3").fit(X, Y)
    for name, model in {"talk": TALK, "heard": HEARD, "long": spectrum, "table": table}.items():
        kw.save(model, f"{name}.kw")
    (tmp_path / "talk.tsv").write_text("".join(f"1\t{text}\n" for text in TEXTS))
    (tmp_path / "long.fa").write_text(f">long\n{X[0] * 3}\n")
    np.savetxt(tmp_path / "table.csv", np.eye(4), delimiter=",")
    write(tmp_path / "heard.kwlat", LATTICES[:1])
    for data in ("talk.tsv", "heard.kwlat", "table.csv", "long.fa"):
        done = CliRunner().invoke(app, ["explain", f"{data.split('.')[0]}.kw", data, "--plot", "out.svg"])
        assert done.exit_code == 0, done.output
    assert drawn == ["TextDisplay", "LatticeDisplay", "PlacesDisplay", "LocusDisplay"]


def _noting(plot, name, drawn):
    def noted(self, *given, **named):
        drawn.append(name)
        return plot(self, *given, **named)

    return noted


def test_every_display_is_on_the_page_of_pictures_with_one():
    text = (ROOT / "docs/pictures.md").read_text()
    parts = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", text, flags=re.DOTALL | re.MULTILINE))
    assert set(parts) == set(plots.__all__)
    for name, part in parts.items():
        (script,) = set(re.findall(r"sphx_glr_(plot_\w+)_\d{3}\.png", part))
        assert f"<gallery/{script}>" in part
        assert f"{name}." in (ROOT / f"examples/gallery/{script}.py").read_text()
