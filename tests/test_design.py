"""Explicit features of several kernels side by side: their numbers are those of the kernel matrices."""

import numpy as np
import pytest
from scipy import sparse

import kernelweave as kw
from kernelweave.engines import Serial, Threads
from kernelweave.kernels.base import Kernel
from kernelweave.operators.base import DesignMatrix, Explicit, Operator, OperatorSet, Restrictable
from kernelweave.operators.design_maps import column_map
from kernelweave.operators.design_set import bind_design

rng = np.random.default_rng(3)
EXACT, ROUNDED = 1e-10, 3e-6
FINE = 1e-8


class Columns(Kernel):
    """Inner product of some columns, each times a factor: a kernel that is its own embedding."""

    def __init__(self, start=0, stop=None, factor=1.0):
        self.start, self.stop, self.factor = start, stop, factor

    def embedding(self, X, dtype=np.float64):
        return (self.factor * X[:, self.start : self.stop]).astype(dtype)

    def prepare(self, X):
        return self.embedding(X)

    def block(self, A, B, dtype=np.float64):
        values = A @ B.T
        return np.asarray(values.toarray() if sparse.issparse(values) else values, dtype)

    def diagonal(self, A):
        return np.asarray((A * A).sum(axis=1)).ravel()


def texts(n, seed=0):
    letters = np.random.default_rng(seed)
    return kw.Sequences.from_strings(
        ["".join(letters.choice(list("ACGT"), letters.integers(0, 60))) for _ in range(n)], alphabet="dna"
    )


N = 150
TABLE = rng.normal(size=(N, 12))
THIN = sparse.random_array((N, 40), density=0.2, format="csr", rng=rng)
STRINGS = texts(N)
MIXED = kw.Views({"table": TABLE, "dna": STRINGS, "thin": THIN})
CASES = {
    "dense": ([Columns(0, 5), Columns(5, 12, 0.3), Columns(0, 1)], TABLE),
    "sparse table": ([Columns(0, 25), Columns(25, 40, 2.0)], THIN),
    "strings": ([kw.Spectrum(2), kw.NGram(3).normalized(), 0.5 * kw.Spectrum(12)], STRINGS),
    "mixed": (
        [kw.Spectrum(3).on("dna"), Columns().on("table"), Columns(3, 30).on("thin"), kw.NGram(1).on("dna")],
        MIXED,
    ),
}


@pytest.fixture(params=CASES, scope="module")
def case(request):
    kernels, X = CASES[request.param]
    grams = np.stack([kernel.gram(X) for kernel in kernels])
    return kernels, X, grams, bind_design(kernels, X, Serial(), tol=FINE)[0]


def test_it_keeps_the_contracts(case):
    kernels, X, _, bound = case
    assert isinstance(bound, OperatorSet)
    assert isinstance(bound, Restrictable)
    assert isinstance(bound, Explicit)
    assert isinstance(bound.design, DesignMatrix)
    assert isinstance(bound.combined(np.ones(len(kernels))), Operator)
    assert bound.design.dense == (X is TABLE)
    assert bound.design.parts == [slice(0, N)]


def test_products_are_those_of_the_kernel_matrices(case):
    _, _, grams, bound = case
    alpha = rng.normal(size=N) * (rng.random(N) < 0.5)
    rows = np.flatnonzero(alpha)
    w = bound.design.correlate(alpha)
    np.testing.assert_allclose(bound.design.outputs(w), grams.sum(axis=0) @ alpha, rtol=EXACT, atol=EXACT)
    np.testing.assert_allclose(bound.energies(alpha), np.einsum("i,kij,j->k", alpha, grams, alpha), rtol=EXACT)
    out = np.ones((bound.m, N))
    bound.each_add_to(out, rows, alpha[rows])
    np.testing.assert_allclose(out, 1.0 + grams @ alpha, rtol=EXACT, atol=EXACT)
    expected = grams[:, rows][:, :, rows] @ alpha[rows]
    np.testing.assert_allclose(bound.each_inside(rows, alpha[rows]), expected, rtol=EXACT, atol=EXACT)


def test_lengths_of_rows(case):
    _, _, grams, bound = case
    diagonals = np.einsum("kii->ki", grams)
    np.testing.assert_allclose(bound.diagonals(), diagonals, rtol=EXACT)
    expected = np.stack([diagonals.mean(axis=1), diagonals.max(axis=1)], axis=1)
    np.testing.assert_allclose(bound.design.squares(), expected, rtol=EXACT)


def test_weighted_sums(case):
    _, _, grams, bound = case
    weights = np.arange(bound.m, dtype=float)
    expected, rows = np.tensordot(weights, grams, 1), np.array([3, 149, 7, 0])
    operator = bound.combined(weights)
    np.testing.assert_allclose(operator.diag(), expected.diagonal(), rtol=EXACT)
    np.testing.assert_allclose(operator.columns(rows), expected[:, rows], rtol=EXACT, atol=EXACT)
    np.testing.assert_allclose(
        bound.combined_submatrix(weights, rows), expected[np.ix_(rows, rows)], rtol=EXACT, atol=EXACT
    )
    out = np.ones(N)
    operator.add_to(out, rows, np.array([1.0, -2.0, 0.5, 3.0]))
    np.testing.assert_allclose(out, 1.0 + expected[:, rows] @ [1.0, -2.0, 0.5, 3.0], rtol=EXACT, atol=EXACT)


def test_some_of_the_rows(case):
    _, _, grams, bound = case
    rows, alpha = np.array([5, 2, 140, 77]), np.array([1.0, -1.0, 2.0, 0.25])
    some = bound.restricted(rows)
    np.testing.assert_allclose(
        some.energies(alpha), np.einsum("i,kij,j->k", alpha, grams[:, rows][:, :, rows], alpha), rtol=EXACT
    )
    assert some.design.width == bound.design.width


def test_scores_of_new_rows(case):
    kernels, X, _, bound = case
    new = X[::-3]
    weights = rng.normal(size=(2, bound.design.width))
    for kernel, one, a, b in zip(kernels, bound.design.maps, bound.design.offsets[:-1], bound.design.offsets[1:]):
        alone = np.zeros((2, bound.design.width))
        alone[:, a:b] = weights[:, a:b]
        expected = np.stack([bound.design.outputs(w) for w in alone], axis=1)[::-3]
        again = column_map(kernel, one.codes, one.width)
        np.testing.assert_allclose(one.scores(new, weights[:, a:b]), expected, rtol=EXACT, atol=EXACT)
        np.testing.assert_array_equal(again.scores(new, weights[:, a:b], Threads(2)), one.scores(new, weights[:, a:b]))


def test_single_precision_is_chosen_by_tolerance(case):
    kernels, X, grams, _ = case
    bound, plan = bind_design(kernels, X, Serial(), tol=1e-3)
    assert plan.kind == "explicit"
    assert plan.dtype == bound.design.part(0).values.dtype == np.float32
    alpha = rng.normal(size=N)
    np.testing.assert_allclose(bound.energies(alpha), np.einsum("i,kij,j->k", alpha, grams, alpha), rtol=ROUNDED)
