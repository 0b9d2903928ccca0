"""What every operator promises: it is the kernel matrix of its rows, whatever it stores and wherever work runs."""

import numpy as np
import pytest

from kernelweave.data.strings.sequences import Sequences
from kernelweave.engines import Serial, Threads
from kernelweave.kernels import RBF, GappedKmer, Polynomial, Precomputed, Spectrum, WeightedDegree
from kernelweave.kernels.abilities import Features, Hamming, Positional
from kernelweave.operators import CachedColumns, DenseGram, Operator, bind, product
from kernelweave.operators.base import AtOnce, Dense, Linadd, PrimalOperator, Rounded
from kernelweave.operators.expansion import cross
from kernelweave.operators.features import operator as features
from kernelweave.operators.features.operator import FeatureOperator
from kernelweave.operators.gram import cached, dense
from kernelweave.operators.kmers import positional, tables
from kernelweave.operators.kmers.positional import PositionalOperator
from kernelweave.operators.kmers.tables import TableOperator

rng = np.random.default_rng(0)
N, M = 53, 17
TABLE, NEW = rng.normal(size=(N, 4)), rng.normal(size=(M, 4))
LETTERS = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(N + M)]
DNA = Sequences.from_strings(LETTERS, alphabet="dna")
ROOT = rng.normal(size=(N + M, 5))
KERNELS = {
    "rbf": (RBF(gamma=0.3), TABLE, NEW),
    "sum": (RBF(gamma=0.3) + Polynomial(2) * 0.1, TABLE, NEW),
    "sequences": (WeightedDegree(4), DNA[:N], DNA[N:]),
    "long k-mers": (WeightedDegree(9) * 0.5, DNA[:N], DNA[N:]),
    "shifts": (WeightedDegree(8, shift=2), DNA[:N], DNA[N:]),
    "counts": (Spectrum(3), DNA[:N], DNA[N:]),
    "l-mers": (GappedKmer(5, 3), DNA[:N], DNA[N:]),
    "l-mers of both strands": (GappedKmer(6, 4, reverse_complement=True), DNA[:N], DNA[N:]),
    "precomputed": (Precomputed(), ROOT[:N] @ ROOT[:N].T, ROOT[N:] @ ROOT[:N].T),
}
STORES = {
    "dense 64": lambda k, X, engine: DenseGram(k, k.prepare(X), engine, np.float64),
    "dense 32": lambda k, X, engine: DenseGram(k, k.prepare(X), engine, np.float32),
    "cached 64": lambda k, X, engine: CachedColumns(k, k.prepare(X), engine, 5, np.float64),
    "cached 32": lambda k, X, engine: CachedColumns(k, k.prepare(X), engine, 11, np.float32),
    "cached all": lambda k, X, engine: CachedColumns(k, k.prepare(X), engine, 1000, np.float64),
    "k-mers": lambda k, X, engine: bind(k, X, engine, need="features"),
    "k-mers in tries": lambda k, X, engine: bind(k, X, engine, need="features").through("trie"),
    "features": lambda k, X, engine: FeatureOperator(k, X, engine),
    "tables": lambda k, X, engine: TableOperator.of(k, X, engine),
}
NEEDS = {"tables": Hamming, "k-mers": Positional, "k-mers in tries": Positional, "features": Features}
"""What a store asks of the kernel."""
CASES = [(s, name) for s in STORES for name in KERNELS if isinstance(KERNELS[name][0], NEEDS.get(s, object))]
ROWS = np.array([0, 52, 7, 7, 31, 8, 9, 10, 11, 12, 13, 14, 15, 50, 3, 2])
ENGINES = {"one thread": Serial(), "two": Threads(2), "three": Threads(3)}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Cut small data into many parts, so that every seam between tiles is crossed."""
    monkeypatch.setattr(dense, "TILE", 16)
    monkeypatch.setattr(dense, "PART_ROWS", 20)
    monkeypatch.setattr(cached, "PART_ROWS", 20)
    monkeypatch.setattr(dense, "LINES_TOGETHER", 3)
    monkeypatch.setattr(cached, "COLUMN_ROWS", 16)
    monkeypatch.setattr(cached, "COLUMNS_TOGETHER", 4)
    monkeypatch.setattr(cross, "NEW_ROWS", 6)
    monkeypatch.setattr(cross, "KEPT_ROWS", 5)
    monkeypatch.setattr(positional, "LOOKUP_ROWS", 20)
    monkeypatch.setattr(tables, "LOOKUP_ROWS", 20)
    monkeypatch.setattr(positional, "LINES_TOGETHER", 5)
    monkeypatch.setattr(features, "PART_ROWS", 20)
    monkeypatch.setattr(features, "GRAM_LINES", 3)


@pytest.fixture(params=CASES, ids=" of ".join)
def case(request):
    store, name = request.param
    kernel, X, _ = KERNELS[name]
    return STORES[store](kernel, X, Threads(2)), kernel.gram(X)


def close(operator, got, wanted):
    exact = operator.columns(ROWS[:1]).dtype == np.float64
    scale = np.abs(wanted).max()
    np.testing.assert_allclose(got, wanted, rtol=0, atol=(1e-12 if exact else 1e-6) * scale)


def test_it_is_an_operator(case):
    operator, K = case
    assert isinstance(operator, Operator)
    assert operator.n == len(K) == N
    assert isinstance(operator, Dense) == isinstance(operator, DenseGram)


@pytest.mark.parametrize(("store", "name"), CASES)
def test_abilities(store, name):
    kernel, X, _ = KERNELS[name]
    operator = STORES[store](kernel, X, Serial())
    explicit = store in ("k-mers", "features")
    assert isinstance(operator, PrimalOperator) == (explicit and (store, name) != ("k-mers", "shifts"))
    assert isinstance(operator, PositionalOperator) == (store == "k-mers")
    assert isinstance(operator, Linadd) == (store in ("k-mers", "k-mers in tries", "features"))
    assert isinstance(operator, AtOnce) == (store == "tables")
    assert isinstance(operator, Rounded) == (store not in NEEDS)


def test_diagonal(case):
    operator, K = case
    assert operator.diag().dtype == np.float64
    close(operator, operator.diag(), K.diagonal())


def test_columns(case):
    operator, K = case
    close(operator, operator.columns(ROWS), K[:, ROWS])
    assert operator.columns(ROWS[:0]).shape == (N, 0)


def test_submatrix(case):
    operator, K = case
    got = operator.submatrix(ROWS)
    close(operator, got, K[np.ix_(ROWS, ROWS)])
    assert got.flags.c_contiguous


def test_add_to_adds_in_double_precision(case):
    operator, K = case
    steps, start = rng.normal(size=len(ROWS)), rng.normal(size=N)
    out = start.copy()
    operator.add_to(out, ROWS, steps)
    stored = operator.columns(ROWS).astype(float)
    np.testing.assert_allclose(out, start + stored @ steps, rtol=1e-12, atol=1e-12)
    close(operator, out - start, K[:, ROWS] @ steps)
    before = out.copy()
    operator.add_to(out, ROWS[:0], steps[:0])
    np.testing.assert_array_equal(out, before)


def test_product_reads_only_what_counts(case):
    operator, K = case
    alpha = np.where(np.arange(N) % 3 == 0, rng.normal(size=N), 0.0)
    before = getattr(operator, "computed", 0)
    got = product(operator, alpha)
    assert getattr(operator, "computed", 0) - before <= np.count_nonzero(alpha)
    close(operator, got, K @ alpha)


def test_exact_product_is_double_whatever_is_stored(case):
    operator, K = case
    if not isinstance(operator, Rounded):
        pytest.skip("works in double precision only")
    alpha = np.where(np.arange(N) % 3 == 0, rng.normal(size=N), 0.0)
    exact = operator.exact_product(alpha)
    assert (exact is None) == (operator.columns(ROWS[:1]).dtype == np.float64)
    if exact is not None:
        np.testing.assert_allclose(exact, K @ alpha, rtol=1e-12, atol=1e-12)
        some = np.flatnonzero((alpha != 0.0) | (np.arange(N) % 5 == 0))
        np.testing.assert_allclose(operator.exact_product(alpha, some), (K @ alpha)[some], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_products_with_new_rows(name):
    kernel, X, new = KERNELS[name]
    K_new = kernel.gram(new, X)
    for steps in (rng.normal(size=len(ROWS)), rng.normal(size=(len(ROWS), 3))):
        start = rng.normal(size=(M, *steps.shape[1:]))
        made = [start.copy() for _ in ENGINES]
        for out, engine in zip(made, ENGINES.values()):
            cross.add_products(out, kernel, kernel.prepare(new), kernel.prepare(X), ROWS, steps, engine)
            np.testing.assert_array_equal(out, made[0])
        np.testing.assert_allclose(made[0], start + K_new[:, ROWS] @ steps, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("store", "name"), CASES)
def test_the_same_bits_on_any_number_of_threads(store, name):
    kernel, X, _ = KERNELS[name]
    steps = rng.normal(size=len(ROWS))

    def everything(engine):
        operator = STORES[store](kernel, X, engine)
        out = np.zeros(N)
        operator.add_to(out, ROWS, steps)
        return [operator.columns(ROWS), operator.submatrix(ROWS), operator.diag(), out]

    first, *others = (everything(engine) for engine in ENGINES.values())
    for other in others:
        for a, b in zip(first, other):
            np.testing.assert_array_equal(a, b)


def test_no_new_rows_are_no_error():
    kernel = RBF(gamma=0.3)
    rows = kernel.prepare(TABLE)
    out = np.zeros(0)
    cross.add_products(out, kernel, kernel.prepare(NEW[:0]), rows, ROWS, np.ones(len(ROWS)), Serial())
    assert out.shape == (0,)
