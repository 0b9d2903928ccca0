"""The examples of the manual's page on lattices run as they stand, and find what the page says."""

from __future__ import annotations

from pages import examples


def test_the_examples_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = examples("docs/lattices.md", 7)
    X, y = names["X"], names["y"]
    assert names["model"].score(X[200:], y[200:]) > names["best"].score(X[200:].one_best(), y[200:])
    assert names["orders"].converged_
    assert names["both"].converged_
    values = names["values"]
    assert max(abs(v - values[0]).max() for v in values) < 1e-6
    assert (tmp_path / "calls.kw").stat().st_size > 0
