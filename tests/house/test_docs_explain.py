"""The examples of the page on explanations run as they stand."""

from __future__ import annotations

import matplotlib

from pages import examples


def test_the_examples_run_from_top_to_bottom(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names = examples("docs/explain.md", 1)
    assert names["told"].matrix().shape == (5, 141)


def test_the_examples_on_variants_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(examples("docs/variants.md", 1)["effects"]) == 9


def test_the_example_on_pictures_runs(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    examples("docs/pictures.md", 1)
    assert (tmp_path / "scores.pdf").stat().st_size > 1000


def test_the_example_on_reports_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples("docs/report.md", 1)
    assert "Ten rows, explained" in (tmp_path / "report.html").read_text()
