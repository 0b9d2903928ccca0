"""Many kernels through their features: the numbers of their kernel matrices, and the same machine."""

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.engines import Serial, Threads
from kernelweave.operators.base import OperatorSet, PrimalOperator, Restrictable
from kernelweave.operators.features.set import FeatureSet
from kernelweave.operators.planner import task as planner

rng = np.random.default_rng(11)
LETTERS = kw.Alphabet("letters", "abcdef")
KERNELS = [
    kw.NGram(1),
    kw.NGram(2),
    0.3 * kw.NGram(3, cumulative=True),
    kw.GappyNGram(2).normalized(),
    kw.Mismatch(3, 1),
]
N = 60
EXACT = 1e-10


def texts(n):
    return kw.Sequences.from_strings(
        ["".join(rng.choice(list("abcdef"), rng.integers(0, 40))) for _ in range(n)], alphabet=LETTERS
    )


X = texts(N)
GRAMS = np.stack([kernel.gram(X) for kernel in KERNELS])
SET = FeatureSet.of(KERNELS, X, Serial())


def test_it_keeps_the_contracts():
    assert isinstance(SET, OperatorSet)
    assert isinstance(SET, Restrictable)
    assert isinstance(SET.combined(np.ones(5)), PrimalOperator)


def test_energies_products_and_diagonals():
    alpha = rng.normal(size=N) * (rng.random(N) < 0.5)
    rows = np.flatnonzero(alpha)
    np.testing.assert_allclose(SET.energies(alpha), np.einsum("i,kij,j->k", alpha, GRAMS, alpha), rtol=EXACT)
    np.testing.assert_allclose(
        SET.each_inside(rows, alpha[rows]), GRAMS[:, rows][:, :, rows] @ alpha[rows], rtol=EXACT, atol=EXACT
    )
    out = np.ones((5, N))
    SET.each_add_to(out, rows, alpha[rows])
    np.testing.assert_allclose(out, 1.0 + GRAMS @ alpha, rtol=EXACT, atol=EXACT)
    np.testing.assert_allclose(SET.diagonals(), np.einsum("kii->ki", GRAMS), rtol=EXACT)


@pytest.mark.parametrize("weights", [np.full(5, 0.2), np.array([0.0, 0.7, 0.0, 0.3, 0.0]), np.zeros(5)])
def test_weighted_sums(weights):
    expected = np.tensordot(weights, GRAMS, 1)
    operator = SET.combined(weights)
    alpha = rng.normal(size=N)
    np.testing.assert_allclose(operator.columns(np.arange(N)), expected, rtol=EXACT, atol=EXACT)
    np.testing.assert_allclose(operator.diag(), expected.diagonal(), rtol=EXACT)
    np.testing.assert_allclose(operator.descent(None, np.float64).product(alpha), expected @ alpha, atol=1e-8)
    rows = np.array([3, 50, 7])
    np.testing.assert_allclose(SET.combined_submatrix(weights, rows), expected[rows][:, rows], rtol=EXACT, atol=EXACT)


def test_some_of_the_rows():
    rows = np.array([5, 2, 40, 41, 9])
    part = SET.restricted(rows)
    assert (part.n, part.m) == (5, 5)
    np.testing.assert_allclose(
        part.combined(np.ones(5)).columns(np.arange(5)), GRAMS.sum(0)[rows][:, rows], rtol=EXACT, atol=EXACT
    )


def test_the_same_machine_as_from_kernel_matrices(monkeypatch):
    """Weights, objective and predictions, on one thread and on two."""
    y = np.where(kw.NGram(2).features(X)[:, [7]].toarray().ravel() > 0, "yes", "no")
    given = {"kernels": [kw.NGram(n) for n in (1, 2, 3)], "C": 2.0, "tol": 1e-6}
    stored = kw.MKLClassifier(**given).fit(X, y)
    monkeypatch.setattr(planner, "GRAM_UP_TO", 10)
    ours, threads = (kw.MKLClassifier(**given, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert ours.memory_plan_.kind == "features"
    assert "features of 3 kernels take" in ours.memory_plan_.why
    assert ours.converged_
    assert ours.objective_ == pytest.approx(stored.objective_, rel=3e-6)
    new = texts(25)
    np.testing.assert_allclose(ours.decision_function(new), stored.decision_function(new), atol=5e-3)
    np.testing.assert_array_equal(ours.decision_function(new), threads.decision_function(new))
    np.testing.assert_allclose(ours.kernel_weights_, stored.kernel_weights_, atol=5e-3)


def test_same_bits_on_two_threads():
    alpha = rng.normal(size=N)
    two = FeatureSet.of(KERNELS, X, Threads(2))
    np.testing.assert_array_equal(two.energies(alpha), SET.energies(alpha))
    np.testing.assert_array_equal(
        two.combined_submatrix(np.ones(5), np.arange(N)), SET.combined_submatrix(np.ones(5), np.arange(N))
    )


@pytest.mark.parametrize("cost", [0.3, 1.0, 3.0])
def test_rows_that_a_kernel_does_not_see_do_not_stop_the_search(shared_data, cost):
    """Utterances of one word have no bigrams: all weight on bigrams makes their rows of the kernel matrix zero."""
    rows = kw.read(shared_data / "lattice" / "fisher_dev.plf.tsv.gz")
    given = {"kernels": [kw.NGram(n) for n in (1, 2, 3)], "C": cost, "normalize": "cosine", "tol": 1e-4, "max_iter": 60}
    ours, theirs = (kw.MKLClassifier(**given, solver=s).fit(rows.X[:300], rows.y[:300]) for s in ("hessian", "silp"))
    assert ours.converged_
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=2e-4)
