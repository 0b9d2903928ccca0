"""Every script of the gallery runs as it stands, ends in a picture, and warns of nothing but what it is about."""

from __future__ import annotations

import runpy
import warnings

import matplotlib
import matplotlib.pyplot as plt
import pytest

from pages import ROOT

SCRIPTS = sorted((ROOT / "examples/gallery").glob("plot_*.py"))
ABOUT = {"plot_18_checkpoints": "Stopped early"}
"""Scripts that show a warning, and how it begins."""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_and_draws(script, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if script.stem in ABOUT:
            warnings.filterwarnings("ignore", message=ABOUT[script.stem])
        runpy.run_path(str(script), run_name="__main__")
    assert plt.get_fignums()
    plt.gcf().savefig(tmp_path / "picture.png")
    assert not [path for path in tmp_path.iterdir() if path.name != "picture.png"]
    plt.close("all")


def test_scripts_open_with_a_title_and_a_text():
    assert len(SCRIPTS) >= 24
    for script in SCRIPTS:
        _, title, line, empty, text, *_ = script.read_text().splitlines()
        assert title, script.name
        assert line == "=" * len(title), script.name
        assert not empty
        assert text, script.name
