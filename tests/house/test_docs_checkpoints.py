"""The examples of the manual's page on checkpoints run as they stand, and find what the page says."""

from __future__ import annotations

from pages import examples


def test_the_examples_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = examples("docs/checkpoints.md", 2)
    assert names["before"] <= 1e-4
    assert names["model"].duality_gap_ <= 1e-6
    assert (tmp_path / "fit.kwc").stat().st_size > 0
