"""The pool of columns: the same numbers as the Gram matrices, however a kernel is held."""

import numpy as np
import pytest
from scipy import sparse

from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.strings.sequences import Sequences
from kernelweave.engines import Serial, Threads
from kernelweave.kernels import RBF, Laplacian, Linear, NGram, Polynomial, Precomputed, Sigmoid, Spectrum
from kernelweave.operators.columns import pool as columns_pool
from kernelweave.operators.columns import sources as column_sources
from kernelweave.operators.columns.pool import ColumnPool
from kernelweave.operators.columns.sources import ComputedColumns, Embedded, FeatureColumns, Stored
from kernelweave.operators.planner import columns as plan_columns
from kernelweave.operators.planner import task as plan_task

rng = np.random.default_rng(0)
N = 47
TABLE = rng.normal(size=(N, 4))
LETTERS = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(N)]
DNA = Sequences.from_strings(LETTERS, alphabet="dna")
KERNELS = [Linear(), Polynomial(2), RBF(width=2.0), RBF(width=5.0), Sigmoid(gamma=0.3), Laplacian(gamma=0.2)]
INPUTS = {
    "table": (KERNELS, TABLE),
    "sparse": (KERNELS[:5], sparse.csr_array(np.where(TABLE > 0, TABLE, 0.0))),
    "sequences": ([Spectrum(2), Spectrum(3).normalized()], DNA),
    "lattices": ([NGram(2), NGram(3)], Lattices.from_sequences(DNA)),
    "precomputed": ([Precomputed()], TABLE @ TABLE.T),
}
SOURCES = {
    "as planned": (),
    "made each time": ((plan_columns, "STORE_UP_TO", 0.0), (plan_columns, "STORE_NARROW", 0.0)),
    "through features": ((plan_task, "GRAM_UP_TO", 0),),
}
ROWS = np.array([46, 3, 3, 20, 0, 11])


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Cut small data into many parts, so that every seam between tiles is crossed."""
    for name, size in {"NEW_ROWS": 6, "KEPT_ROWS": 5, "COLUMNS_TOGETHER": 7, "PART_ROWS": 9}.items():
        monkeypatch.setattr(column_sources, name, size)
    monkeypatch.setattr(columns_pool, "NEW_ROWS", 6)


@pytest.fixture(params=[(source, name) for source in SOURCES for name in INPUTS], ids=" of ".join)
def case(request, monkeypatch):
    source, name = request.param
    for module, constant, value in SOURCES[source]:
        monkeypatch.setattr(module, constant, value)
    kernels, X = INPUTS[name]
    return ColumnPool(kernels, X, Threads(2), "1GB"), [kernel.gram(X) for kernel in kernels]


def u_of(share):
    u = rng.normal(size=N)
    u[rng.random(N) > share] = 0.0
    return u


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_scores_are_products_with_gram_columns(case, share):
    pool, grams = case
    u = u_of(share)
    for rows in (None, ROWS, np.array([], np.int64)):
        found = pool.scan(range(pool.m), u, rows)
        for k, gram in enumerate(grams):
            wanted = gram @ u if rows is None else gram[rows] @ u
            scale = 1 + np.abs(gram).max() * np.abs(u).sum()
            assert np.abs(found[k] - wanted).max(initial=0.0) <= 1e-12 * scale
            assert np.abs(pool.scores(k, u, rows) - wanted).max(initial=0.0) <= 1e-12 * scale


def test_columns_are_gram_columns_and_lie_one_after_the_other(case):
    pool, grams = case
    for k, gram in enumerate(grams):
        found = pool.columns(k, ROWS)
        assert found.flags.f_contiguous
        assert np.abs(found - gram[:, ROWS]).max() <= 1e-12 * np.abs(gram).max()


def test_columns_on_new_rows():
    pool = ColumnPool(KERNELS, TABLE, Threads(2))
    new = rng.normal(size=(13, 4))
    other = pool.against(new)
    for k, kernel in enumerate(KERNELS):
        np.testing.assert_allclose(other.columns(k, ROWS), kernel.gram(new, TABLE[ROWS]), rtol=1e-12, atol=1e-12)


def test_the_same_bits_at_any_number_of_threads():
    u = u_of(0.5)
    found = [ColumnPool(KERNELS, TABLE, engine).scan(range(6), u) for engine in (Serial(), Threads(2), Threads(3))]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_counts_tell_what_was_scored_and_what_was_made():
    pool = ColumnPool([RBF(width=1.0), RBF(width=3.0)], TABLE, Serial())
    assert isinstance(pool.source[0], Stored)
    pool.scores(0, u_of(1.0), np.arange(10))
    pool.scores(0, u_of(1.0), np.arange(5, 12))
    assert pool.scored.tolist() == [17, 0]
    assert pool.made.tolist() == [12, 0]
    pool.scan([0, 1], u_of(1.0))
    assert pool.scored.tolist() == [17 + N, N]
    assert pool.made.tolist() == [N, N]


def test_a_small_memory_limit_keeps_no_matrix():
    pool = ColumnPool(KERNELS[2:], TABLE, Serial(), 8 * N * 20)
    assert all(isinstance(source, ComputedColumns) for source in pool.source.values())
    assert 0 < pool.capacity <= 20
    assert all("made when scored" in part.why for part in pool.plan.parts)


def test_sparse_features_hold_strings(monkeypatch):
    monkeypatch.setattr(plan_task, "GRAM_UP_TO", 0)
    pool = ColumnPool([Spectrum(2)], DNA, Serial())
    assert isinstance(pool.source[0], FeatureColumns)
    pool.scores(0, u_of(1.0))
    assert pool.made.tolist() == [0]


def test_order_by_cost():
    assert ColumnPool([RBF(width=1.0), Polynomial(2), Linear()], TABLE, Serial()).by_cost() == [2, 1, 0]


def test_few_features_are_used_instead_of_values():
    pool = ColumnPool([Linear(), Linear() * 2.0, RBF(width=1.0)], TABLE, Serial())
    assert [isinstance(pool.source[k], Embedded) for k in range(3)] == [True, True, False]
    pool.scan(range(3), u_of(1.0))
    assert pool.made.tolist() == [0, 0, N]


def test_columns_are_multiplied_by_the_scale_of_their_row(case):
    plain, grams = case
    scale, u = np.linspace(0.5, 3.0, N), u_of(0.7)
    pool = ColumnPool(plain.kernels, plain.X, Threads(2), "1GB", scale)
    kernels = range(len(grams))
    np.testing.assert_allclose(pool.scan(kernels, u), [scale * (K.T @ u) for K in grams], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(pool.scan(kernels, u, ROWS), pool.scan(kernels, u)[:, ROWS], rtol=1e-9, atol=1e-9)
    for k in kernels:
        np.testing.assert_allclose(pool.columns(k, ROWS), grams[k][:, ROWS] * scale[ROWS], rtol=1e-9, atol=1e-9)
        expected = plain.against(plain.X[:9]).columns(k, ROWS) * scale[ROWS]
        np.testing.assert_allclose(pool.against(plain.X[:9]).columns(k, ROWS), expected, rtol=1e-12)
