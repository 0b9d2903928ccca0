"""Scores by a sweep over positions, against kernel values."""

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.engines import Serial, Threads
from kernelweave.operators.expansion import positional
from kernelweave.operators.expansion.positional import running
from kernelweave.operators.expansion.rows import RowExpansion
from kernelweave.operators.kmers import sweep
from kernelweave.operators.kmers.prefixes import spread
from kernelweave.operators.kmers.set import PositionalSet
from kernelweave.operators.kmers.sweep import sweep_scores

AMINO = "ACDEFGHIKLMNPQRSTVWY"


def rows(n, letters, length, seed=0, alphabet="dna"):
    rng = np.random.default_rng(seed)
    return kw.Sequences.from_strings(
        ["".join(rng.choice(list(letters), length)) for _ in range(n)], alphabet=alphabet, unknown="mask"
    )


@pytest.mark.parametrize("degree", [1, 3, 9, 20, 40])
@pytest.mark.parametrize(
    ("letters", "alphabet"), [("ACGT", "dna"), ("AC", "dna"), ("ACGTN", "dna"), (AMINO, "protein")]
)
def test_scores_are_sums_of_kernel_values(letters, alphabet, degree):
    kernel = kw.WeightedDegree(degree)
    kept, new = rows(60, letters, 30, 1, alphabet), rows(90, letters, 30, 2, alphabet)
    coef = np.random.default_rng(3).normal(size=60)
    sums = running(spread(kernel.cells(30), kernel.shift_weights()))[0]
    flat = [np.ascontiguousarray(X.codes.reshape(len(X), -1).T) for X in (kept, new)]
    found = sweep_scores(*flat, kept.alphabet.size, sums, coef)
    np.testing.assert_allclose(found, kernel.gram(new, kept) @ coef, rtol=1e-11, atol=1e-10)


def test_equal_rows_and_no_rows():
    kernel = kw.WeightedDegree(6)
    kept = rows(5, "ACGT", 12)
    same = kept[[0, 0, 1, 1, 4]]
    sums = running(spread(kernel.cells(12), kernel.shift_weights()))[0]
    flat = [np.ascontiguousarray(X.codes.reshape(len(X), -1).T) for X in (same, kept)]
    coef = np.array([1.0, 2.0, -1.0, 0.5, 3.0])
    np.testing.assert_allclose(sweep_scores(*flat, 4, sums, coef), kernel.gram(kept, same) @ coef)
    assert sweep_scores(flat[0], flat[1][:, :0], 4, sums, coef).shape == (0,)
    np.testing.assert_array_equal(sweep_scores(flat[0][:, :0], flat[1], 4, sums, np.zeros(0)), np.zeros(5))


@pytest.mark.parametrize("kernels", [[kw.WeightedDegree(7)], kw.WeightedDegree(5).per_degree()])
def test_models_sweep_many_new_rows(kernels, monkeypatch):
    """Blocks of any size, several outputs, weights of many kernels."""
    kept, new = rows(40, "ACGT", 25, 4), rows(300, "ACGTN", 25, 5)
    rng = np.random.default_rng(6)
    weights, coef = rng.uniform(size=(2, len(kernels))), rng.normal(size=(2, 40))
    model = RowExpansion.weighted(kernels, kept, weights, coef)
    grams = np.stack([kernel.gram(new, kept) for kernel in kernels])
    expected = np.einsum("om,mnk,ok->no", weights, grams, coef)
    for smallest in (16, 1 << 14):
        monkeypatch.setattr(sweep, "SMALLEST_BLOCK", smallest)
        monkeypatch.setattr(sweep, "KEPT_TIMES", 1)
        swept = model.scores(new, Serial())
        np.testing.assert_allclose(swept, expected, rtol=1e-10, atol=1e-10)
        assert np.array_equal(swept, model.scores(new, Threads(2)))
    monkeypatch.setattr(positional, "SORTED_IN", 0)
    np.testing.assert_allclose(model.scores(new, Serial()), swept, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("by_position", [False, True])
@pytest.mark.parametrize(
    ("letters", "alphabet"), [("ACGT", "dna"), ("AC", "dna"), ("ACGTN", "dna"), (AMINO, "protein")]
)
def test_energies_of_all_kernels_in_one_sweep(letters, alphabet, by_position):
    """Masked letters are in no k-mer: there the products give the energies."""
    X, kernel = rows(70, letters, 24, 4, alphabet), kw.WeightedDegree(9)
    X = X[np.r_[np.arange(70), np.zeros(5, int), np.ones(3, int)]]
    kernels = kernel.per_position(5, 24, by_degree=True) if by_position else kernel.per_degree()
    operators = PositionalSet(kernels, kernels[0].prepare(X), Serial())
    alpha = np.random.default_rng(5).normal(size=len(X)) * (np.arange(len(X)) % 4 > 0)
    expected = [alpha @ kernel.gram(X) @ alpha for kernel in kernels]
    np.testing.assert_allclose(operators.energies(alpha), expected, rtol=1e-11, atol=1e-10)
    assert not operators.energies(np.zeros(len(X))).any()
