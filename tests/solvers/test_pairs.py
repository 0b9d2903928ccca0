"""The loops of sequential minimal optimisation: they end where numpy finds no pair that violates the conditions."""

from __future__ import annotations

import numpy as np
import pytest

from kernelweave.solvers.svm import pairs

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [2, 15, 16, 17, 511, 512, 513, 1100])
@pytest.mark.parametrize("copies", [1, 2])
def test_rows_of_every_number_reach_the_optimum(n, copies):
    """No pair violates the conditions by more than the tolerance, by numpy's own reckoning."""
    A = RNG.normal(size=(n, 4))
    K = np.exp(-np.square(A[:, None] - A[None]).sum(axis=2) / 4)
    low, high = np.full((copies, n), -1.0), np.full((copies, n), 1.0)
    p = RNG.normal(size=(copies, n))
    v, ridge = np.zeros((copies, n)), np.full(n, 0.1)
    gain = p.copy()
    _, violation = pairs.solve_pairs(K, K.diagonal().copy(), ridge, low, high, 1e-6, 10**6, v, gain)
    assert violation <= 1e-6
    np.testing.assert_allclose(gain, p - K @ v.sum(axis=0) - ridge * v, atol=1e-9)
    assert (v >= low).all()
    assert (v <= high).all()
    assert abs(v.sum()) < 1e-9
    assert gain[v < high].max() - gain[v > low].min() <= 1e-6 + 1e-9
