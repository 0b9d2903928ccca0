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


def test_log_odds_are_those_of_the_slow_twin():
    X, _ = kw.datasets.make_enhancers(6, length=45, random_state=1)
    letters, rows = kw.datasets.enhancer_log_odds(X, site_rate=0.6)
    for row, codes in enumerate(X.matrix):
        expected, total = np.zeros(45), 0.0
        for matrix in kw.datasets.enhancer_motifs().values():
            n, weights, worths = 45 - len(matrix) + 1, [], []
            for turned in (matrix, matrix[::-1, ::-1]):
                for start in range(n):
                    own = [np.log(turned[k, codes[start + k]] / 0.25) for k in range(len(matrix))]
                    weights.append(0.6 / (2 * n) * np.exp(sum(own)))
                    worths.append((start, own))
            whole = 0.4 + sum(weights)
            total += np.log(whole)
            for weight, (start, own) in zip(weights, worths):
                expected[start : start + len(own)] += weight / whole * np.array(own)
        np.testing.assert_allclose(letters[row], expected, rtol=1e-9, atol=1e-12)
        assert rows[row] == pytest.approx(total)


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="length=10"):
        kw.datasets.make_enhancers(10, length=10)
    with pytest.raises(ValueError, match="site_rate=2"):
        kw.datasets.make_enhancers(10, site_rate=2)
