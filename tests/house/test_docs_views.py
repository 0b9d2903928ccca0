"""The path from a DataFrame to named views, a search, probabilities and weights runs as the manual has it."""

from __future__ import annotations

import numpy as np

from pages import examples


def test_the_examples_run_from_top_to_bottom():
    names = examples("docs/views.md", 4)
    best, rows, test = names["best"], names["rows"], names["test"]
    chances = best.predict_proba(rows.iloc[test])
    assert chances.shape == (80, 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert best.score(rows.iloc[test], names["label"][test]) > 0.8
    assert best[-1].kernel_names_.tolist() == ["clinic", "note", "site"]
    assert set(names["worth"].views) == {"clinic", "note", "site"}
    assert names["worth"].mean.max() > 0.05
