"""Logos stack letters to the sums that they stand for; maps order rows; pictures come from the shell."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from typer.testing import CliRunner

import kernelweave as kw
from kernelweave.cli.app import app
from kernelweave.interpret.motifs.find import Motif
from kernelweave.plots import ExplanationMapDisplay, LogoDisplay

matplotlib.use("Agg")
X, Y = kw.datasets.make_splice(120, length=70, random_state=0)
MODEL = kw.KernelClassifier("wd:4").fit(X, Y)
TOLD = kw.explain(MODEL, X[:20])


def spans(ax, place):
    """The lowest and highest point of the letters of a place."""
    (collection,) = ax.collections
    boxes = [path.get_extents() for path in collection.get_paths()]
    inside = [box for box in boxes if abs((box.x0 + box.x1) / 2 - place) < 0.3]
    return min(box.y0 for box in inside), max(box.y1 for box in inside)


def test_letters_are_as_high_as_what_they_add():
    display = LogoDisplay.from_explanation(TOLD, [3, 5], start=50, end=66, origin=60).plot()
    assert len(display.axes_) == 2
    values = TOLD.matrix()[3, 50:66]
    for place, value in enumerate(values, -10):
        low, high = spans(display.axes_[0], place)
        assert (high if value > 0 else low) == pytest.approx(value, rel=1e-6)
        assert (low if value > 0 else high) == pytest.approx(0.0, abs=1e-9)
    assert f"{TOLD.decision[3]:+.2f}" in display.axes_[0].get_title(loc="left")


def test_motifs_are_as_high_as_their_information():
    counts = np.array([[40, 0, 0, 0], [10, 10, 10, 10], [0, 20, 20, 0]])
    motif = Motif("A..", counts, np.ones(3), tuple("ACGT"), 40, 1.5, ())
    display = LogoDisplay.from_motifs([motif]).plot()
    shares = motif.frequencies
    bits = 2 + (shares * np.log2(shares)).sum(axis=1)
    for place in (1, 3):
        assert spans(display.axes_[0], place)[1] == pytest.approx(bits[place - 1], rel=1e-6)
    np.testing.assert_allclose(display.heights[0].sum(axis=1), bits)


def test_a_map_has_the_best_rows_on_top():
    display = ExplanationMapDisplay.from_explanation(TOLD).plot(origin=60)
    assert (np.diff(display.decision) <= 0).all()
    best = int(np.argmax(TOLD.decision))
    assert np.array_equal(display.values[0], TOLD.matrix()[best])
    assert display.ax_.get_xlim() == (-60.5, 9.5)


def test_what_has_no_letters_is_not_drawn():
    linear = kw.KernelClassifier(kw.Linear()).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="letters of one view"):
        LogoDisplay.from_explanation(kw.explain(linear, np.eye(4)))
    with pytest.raises(ValueError, match="1 to 12 logos"):
        LogoDisplay.from_explanation(TOLD, range(13))
    with pytest.raises(ValueError, match="1 to 12 logos"):
        LogoDisplay.from_motifs([])
    with pytest.raises(ValueError, match="no row was explained"):
        ExplanationMapDisplay.from_explanation(kw.explain(MODEL, X[:0]))


def test_the_command_draws(tmp_path):
    kw.save(MODEL, str(tmp_path / "wd.kw"))
    for n, name in ((3, "few.svg"), (20, "many.png")):
        (tmp_path / "rows.fa").write_text("".join(f">r{i}\n{text}\n" for i, text in enumerate(X[:n])))
        given = ["explain", str(tmp_path / "wd.kw"), str(tmp_path / "rows.fa"), "--plot", str(tmp_path / name)]
        result = CliRunner().invoke(app, given)
        assert result.exit_code == 0, result.output
        assert (tmp_path / name).stat().st_size > 1000
    result = CliRunner().invoke(app, [*given, "--mutate"])
    assert "--plot draws instead of a table" in result.output
