"""The examples of the README and of the manual run as they stand."""

from __future__ import annotations

import matplotlib
import pytest

from pages import examples


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_examples_run_from_top_to_bottom(page, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names = examples(page, 2)
    assert names["model"].duality_gap_ <= names["model"].tol
    assert (tmp_path / "splice.kw").stat().st_size > 0
