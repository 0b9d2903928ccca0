"""Planted sites have the letters of their motifs, where the truth says."""

from __future__ import annotations

import numpy as np
import pytest

import kernelweave as kw


def test_sites_are_planted_where_the_truth_says():
    X, y, truth = kw.datasets.make_enhancers(2000, length=90, site_rate=1.0, random_state=3, return_planted=True)
    again = kw.datasets.make_enhancers(2000, length=90, site_rate=1.0, random_state=3)
    assert np.array_equal(again[0].codes, X.codes)
    assert np.array_equal(again[1], y)
    assert (truth[y < 0] == 0).all()
    planted = (truth[y > 0] != 0).sum(axis=1)
    fixed = sum(int((matrix.max(axis=1) > 0.5).sum()) for matrix in kw.datasets.enhancer_motifs().values())
    assert set(planted.tolist()) == {fixed}
    assert (truth[y > 0] > 0).sum() / planted.sum() == pytest.approx(0.91, abs=0.01)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="length=10"):
        kw.datasets.make_enhancers(10, length=10)
    with pytest.raises(ValueError, match="site_rate=2"):
        kw.datasets.make_enhancers(10, site_rate=2)
