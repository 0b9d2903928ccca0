"""Kernels of l-mers by the patterns that l-mers share: their Gram matrix, without the features that occur once."""

from __future__ import annotations

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.engines import Serial
from kernelweave.operators.features.operator import FeatureOperator
from kernelweave.operators.features.patterns import listed, pattern_columns, patterns_of
from kernelweave.operators.planner import task as planner

rng = np.random.default_rng(0)
N = 60
TEXTS = ["".join(rng.choice(list("ACDEFGX"), rng.integers(2, 60))) for _ in range(N)]
X = kw.Sequences.from_strings(TEXTS, alphabet="protein", unknown="mask")
KERNELS = [
    kw.Mismatch(4, 1),
    kw.Mismatch(5, 2).normalized(),
    2.0 * kw.Mismatch(8, 1).normalized(),
    0.5 * kw.GappedKmer(6, 3),
    kw.GappedKmer(7, 5).normalized(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_shared_patterns_are_the_kernel(kernel):
    operator, K = FeatureOperator.bound(pattern_columns(kernel, X), Serial()), kernel.gram(X)
    alpha, out = rng.normal(size=N), np.zeros(N)
    operator.add_to(out, np.arange(N), alpha)
    np.testing.assert_allclose(out, K @ alpha, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(operator.diag(), K.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(operator.submatrix(np.arange(N)), K, rtol=1e-10, atol=1e-10)


def test_patterns_that_occur_once_are_not_listed():
    kernel = kw.Mismatch(8, 1)
    _, patterns = patterns_of(kernel, X)
    assert len(patterns.masks) == 1 + 8 + 28
    rows, alone = listed(X, patterns)
    windows = sum(max(0, len(text) - 7) for text in TEXTS)
    assert rows.entries < 0.5 * 37 * windows
    assert (alone > 0).any()


def test_other_kernels_have_no_patterns():
    for kernel in (kw.Spectrum(3), kw.Mismatch(3, 1) + kw.Mismatch(4, 1), kw.Mismatch(12, 1), kw.WeightedDegree(2)):
        assert patterns_of(kernel, X) is None


def test_a_model_is_that_of_kernel_values(monkeypatch):
    kernel, y = kw.Mismatch(6, 1).normalized(), np.where(rng.random(N) < 0.5, 1, -1)
    other = kw.KernelClassifier(kernel, tol=1e-6).fit(X, y)
    monkeypatch.setattr(planner, "GRAM_UP_TO", 10)
    model = kw.KernelClassifier(kernel, tol=1e-6).fit(X, y)
    assert (model.memory_plan_.kind, other.memory_plan_.kind) == ("patterns", "dense")
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-5)
    assert kw.verify(model, X, y).confirmed
