"""Tables over all words of four letters: products with matrices of Hamming distances, and the other strand."""

from __future__ import annotations

import numpy as np
import pytest

from kernelweave._numba import walsh

RNG = np.random.default_rng(0)
COMPLEMENT = np.array([3, 2, 1, 0])


def digits(words, letters):
    return np.stack([(words >> 2 * place) & 3 for place in range(letters - 1, -1, -1)], axis=-1)


def distances(words, others, letters):
    return (digits(words, letters)[:, None] != digits(others, letters)[None]).sum(axis=2)


@pytest.mark.parametrize("letters", range(1, 7))
def test_a_product_is_that_with_the_whole_matrix(letters):
    words, h = np.arange(4**letters), RNG.normal(size=letters + 1)
    x, H = RNG.normal(size=4**letters), h[distances(words, words, letters)]
    table = x.copy()
    walsh.multiply(table, letters, walsh.spectrum(h, letters) / 4.0**letters)
    np.testing.assert_allclose(table, H @ x, rtol=1e-10, atol=1e-10 * np.abs(H @ x).max())
    energy = walsh.power(x.copy(), letters) @ walsh.spectrum(h, letters)
    assert energy == pytest.approx(x @ H @ x, rel=1e-10)


@pytest.mark.parametrize("letters", [7, 8, 9])
def test_tables_larger_than_the_cache(letters):
    words, values = RNG.integers(0, 4**letters, 60), RNG.normal(size=60)
    h, asked = RNG.normal(size=letters), RNG.integers(0, 4**letters, 50)
    table = np.zeros(4**letters)
    np.add.at(table, words, values)
    walsh.multiply(table, letters, walsh.spectrum(h, letters) / 4.0**letters)
    wanted = np.append(h, 0.0)[distances(asked, words, letters)] @ values
    np.testing.assert_allclose(table[asked], wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("letters", range(1, 8))
def test_the_other_strand_is_added(letters):
    words, x = np.arange(4**letters), RNG.normal(size=4**letters)
    turned = COMPLEMENT[digits(words, letters)[:, ::-1]] @ 4 ** np.arange(letters - 1, -1, -1)
    table = x.copy()
    walsh.add_other_strand(table, letters, COMPLEMENT)
    np.testing.assert_array_equal(table, x + x[turned])
