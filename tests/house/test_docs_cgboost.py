"""The examples of the manual's page on mixtures of kernels run as they stand, and find what the page says."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

from pages import examples


def test_the_examples_run_from_top_to_bottom(tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names = examples("docs/cgboost.md", 7)
    model, early = names["model"], names["early"]
    assert model.scanned_ == "all"
    assert model.score(names["X_new"], names["y_new"]) > 0.95
    assert model.n_columns_per_kernel_[1] < len(names["svm"].support_) / 2
    assert len(names["errors"]) == np.argmin(early.trace_["validation_error"]) + 1
    assert names["bound"] == pytest.approx(names["sure"].dual_objective_)
    assert names["sure"].duality_gap_ <= 1e-6
    assert (tmp_path / "sites.kw").stat().st_size > 0
    assert (tmp_path / "rounds.png").stat().st_size > 0
