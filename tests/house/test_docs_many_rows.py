"""The examples of the manual's page on very many rows run as they stand, and find what the page says."""

from __future__ import annotations

from pages import examples


def test_the_examples_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = examples("docs/many-rows.md", 6)
    assert names["model"].converged_
    assert names["exact"].approximation_errors_.max() <= 1e-3
    assert names["small"].memory_plan_.kind == "streamed"
    assert names["small"].converged_
    assert names["stream"].objective_ <= 1.01 * names["model"].objective_
    assert names["stream"].duality_gap_ < 0.05
