"""Kernels that are sums over pairs of l-mers by Hamming distance say so, and what they say is their Gram matrix."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.lmers import hamming_gram
from tests.oracles.lmers import ragged as rows

from kernelweave.kernels import Cosine, GappedKmer, Mismatch, Spectrum
from kernelweave.kernels.abilities import Hamming

KERNELS = [
    GappedKmer(5, 3),
    GappedKmer(5, 3, reverse_complement=True),
    GappedKmer(6, 4, reverse_complement=True),
    GappedKmer(8, 6, reverse_complement=True),
    Mismatch(6, 2),
    Mismatch(6, 1, reverse_complement=True),
    Mismatch(7, 1, reverse_complement=True),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_what_the_ability_says_is_the_kernel(kernel):
    X = rows(9)
    assert isinstance(kernel, Hamming)
    np.testing.assert_allclose(kernel.gram(X), hamming_gram(kernel, X), rtol=1e-12)


def test_other_kernels_do_not_have_the_ability():
    assert not isinstance(Spectrum(3), Hamming)
    assert not isinstance(Cosine(Spectrum(3)), Hamming)
