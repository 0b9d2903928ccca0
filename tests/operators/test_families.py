"""Many kernels on the same rows: every way to hold them gives the numbers of the plain Gram matrices."""

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.engines import Serial, Threads
from kernelweave.kernels.vector.table import SquaredDistance
from kernelweave.operators import Task, choose
from kernelweave.operators.base import OnDemand, Operator, OperatorSet, Restrictable, product
from kernelweave.operators.expansion import values
from kernelweave.operators.expansion.base import Share
from kernelweave.operators.expansion.rows import RowExpansion
from kernelweave.operators.expansion.values import SupportRows
from kernelweave.operators.gram import family as family_module
from kernelweave.operators.gram import mixture as mixture_module
from kernelweave.operators.gram.family import SharedSet, StoredSet
from kernelweave.operators.gram.mixture import Family, Mixture
from kernelweave.operators.gram.rank_one import RankOneSet, rank_one_vectors
from kernelweave.operators.planner.family import RankOne
from oracles.planning import Sizes, first_fitting

N = 90
SINGLE = 2e-6
"""Relative accuracy of values that are kept in float32."""

rng = np.random.default_rng(0)
X, NEW = rng.normal(size=(N, 5)), rng.normal(size=(35, 5))
KERNELS = [
    *kw.RBF.grid([0.5, 2.0, 10.0]),
    kw.Linear(),
    kw.RBF(width=1.0).on(2),
    0.3 * kw.Polynomial(2),
    kw.Polynomial(3).normalized(),
    kw.Laplacian(gamma=0.4),
    2.5 * kw.RBF(width=4.0).on(2),
    kw.Linear().on([0, 1]) + kw.RBF(width=3.0),
]
M = len(KERNELS)
GRAMS = np.stack([kernel.gram(X) for kernel in KERNELS])
WEIGHTS = np.where(np.arange(M) % 3 == 0, 0.0, rng.uniform(size=M))
"""Zero for the first kernel, whose base the next ones share."""
COLUMNS = [kernel * factor for kernel, factor in zip(kw.per_feature(kw.Linear(), 5), rng.uniform(0.5, 2.0, 5))]
FEW = X[:12]
"""So few rows that kernel values take no longer than columns."""


def shared(stored, columns=None):
    def make(kernels, rows, engine):
        made = Family(kernels)
        return SharedSet(made, made.prepare(rows), len(rows), engine, stored, columns)

    return make


def stored(dtype):
    def make(kernels, rows, engine):
        made = Family(kernels)
        return StoredSet(made, made.prepare(rows), len(rows), engine, dtype)

    return make


def rank_one(stored):
    def make(kernels, rows, engine):
        made = Family(kernels)
        vectors = rank_one_vectors(made, made.prepare(rows), len(rows))
        assert vectors is not None
        return RankOneSet(vectors, engine, stored)

    return make


MATRICES = {
    "stored 64": (stored(np.float64), 1e-12),
    "stored 32": (stored(np.float32), SINGLE),
    "shared": (shared(True), SINGLE),
    "recomputed": (shared(False), SINGLE),
    "cached": (shared(False, 70), SINGLE),
}
SETS = {
    **{name: (make, KERNELS, accuracy) for name, (make, accuracy) in MATRICES.items()},
    "rank one": (rank_one(True), COLUMNS, 1e-12),
    "rank one, no matrix": (rank_one(False), COLUMNS, 1e-12),
}


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    """Cut the ninety rows into several tiles and those into strips, as thousands of rows would be."""
    monkeypatch.setattr(family_module, "TILE", 32)
    monkeypatch.setattr(family_module, "STRIP", 12)
    monkeypatch.setattr(mixture_module, "STRIP", 12)


@pytest.fixture(params=sorted(SETS))
def case(request):
    """A set, its Gram matrices, weights and the accuracy relative to the largest kernel value."""
    make, kernels, accuracy = SETS[request.param]
    grams = np.stack([kernel.gram(X) for kernel in kernels])
    weights = WEIGHTS if kernels is KERNELS else np.array([0.0, 0.5, 0.2, 0.0, 1.0])
    return make(kernels, X, Serial()), grams, weights, accuracy * np.abs(grams).max()


def sparse_alpha():
    return np.where(rng.uniform(size=N) < 0.6, rng.normal(size=N), 0.0)


def test_energies(case):
    operators, grams, _, accuracy = case
    assert isinstance(operators, OperatorSet)
    assert (operators.m, operators.n) == grams.shape[:2]
    for alpha in (sparse_alpha(), np.zeros(N), np.eye(N)[3], np.ones(N)):
        wanted = np.einsum("i,kij,j->k", alpha, grams, alpha)
        np.testing.assert_allclose(operators.energies(alpha), wanted, rtol=0, atol=accuracy * np.abs(alpha).sum() ** 2)


def test_each_add_to_adds(case):
    operators, grams, _, accuracy = case
    rows = rng.permutation(N)[:50]
    steps = rng.normal(size=50)
    out = np.arange(grams.shape[0] * N, dtype=float).reshape(-1, N)
    before = out.copy()
    operators.each_add_to(out, rows, steps)
    np.testing.assert_allclose(out - before, grams[:, :, rows] @ steps, rtol=0, atol=100 * accuracy)
    operators.each_add_to(before, np.empty(0, dtype=int), np.empty(0))
    np.testing.assert_array_equal(before.ravel(), np.arange(before.size))


def test_combined(case):
    operators, grams, weights, accuracy = case
    total = np.tensordot(weights, grams, 1)
    made = operators.combined(weights)
    rows = rng.permutation(N)[:40]
    assert made.n == N
    np.testing.assert_allclose(made.diag(), total.diagonal(), rtol=0, atol=10 * accuracy)
    np.testing.assert_allclose(made.columns(rows), total[:, rows], rtol=0, atol=10 * accuracy)
    np.testing.assert_allclose(made.submatrix(rows), total[np.ix_(rows, rows)], rtol=0, atol=10 * accuracy)
    alpha = sparse_alpha()
    np.testing.assert_allclose(product(made, alpha), total @ alpha, rtol=0, atol=200 * accuracy)


def test_one_kernel_at_a_time(case):
    operators, grams, _, accuracy = case
    for k, K in enumerate(grams):
        one = np.eye(len(grams))[k]
        np.testing.assert_allclose(operators.combined(one).columns(np.arange(N)), K, rtol=0, atol=accuracy)


def test_combined_submatrix_and_diagonals(case):
    operators, grams, weights, accuracy = case
    total = np.tensordot(weights, grams, 1)
    for rows in (rng.permutation(N)[:70], np.array([4]), np.arange(N)):
        made = operators.combined_submatrix(weights, rows)
        assert made.dtype == np.float64
        np.testing.assert_allclose(made, total[np.ix_(rows, rows)], rtol=0, atol=10 * accuracy)
        np.testing.assert_array_equal(made, made.T)
    np.testing.assert_allclose(operators.diagonals(), grams.diagonal(axis1=1, axis2=2), rtol=0, atol=accuracy)


@pytest.mark.parametrize("name", sorted(SETS))
def test_the_same_bits_with_one_and_two_threads(name):
    make, kernels, _ = SETS[name]
    one, two = (make(kernels, X, engine) for engine in (Serial(), Threads(2)))
    alpha, rows, weights = sparse_alpha(), np.arange(0, N, 2), np.linspace(0, 1, len(kernels))
    np.testing.assert_array_equal(one.energies(alpha), two.energies(alpha))
    np.testing.assert_array_equal(one.combined_submatrix(weights, rows), two.combined_submatrix(weights, rows))
    outs = [np.zeros((len(kernels), N)) for _ in range(2)]
    for operators, out in zip((one, two), outs):
        operators.each_add_to(out, rows, alpha[rows])
    np.testing.assert_array_equal(*outs)
    np.testing.assert_array_equal(*(operators.combined(weights).columns(rows) for operators in (one, two)))


def test_cached_columns_when_the_first_kernel_of_a_group_has_no_weight():
    """The groups of those that have weight come in another order then, and each must get its own rows."""
    kernels = [kw.RBF(width=1.0).on(0), kw.RBF(width=1.0).on([1, 2]), kw.RBF(width=5.0).on(0)]
    operators = shared(False, 70)(kernels, X, Serial())
    weights = np.array([0.0, 0.4, 0.6])
    total = 0.4 * kernels[1].gram(X) + 0.6 * kernels[2].gram(X)
    made = operators.combined(weights)
    np.testing.assert_allclose(made.columns(np.arange(N)), total, rtol=0, atol=SINGLE)
    np.testing.assert_allclose(made.diag(), 1.0)


def test_a_grid_of_widths_computes_its_distances_once(monkeypatch):
    calls = []
    inner = SquaredDistance.block

    def block(self, A, B, dtype=np.float64):
        calls.append(1)
        return inner(self, A, B, dtype)

    monkeypatch.setattr(SquaredDistance, "block", block)
    monkeypatch.setattr(family_module, "TILE", N)
    grid = kw.RBF.grid(np.geomspace(0.1, 100, 10))
    for make, _ in MATRICES.values():
        calls.clear()
        operators = make(grid, X, Serial())
        operators.energies(np.ones(N))
        assert len(calls) == 1
    operators = shared(True)(grid, X, Serial())
    calls.clear()
    operators.combined(np.ones(10))
    operators.each_add_to(np.zeros((10, N)), np.arange(N), np.ones(N))
    assert not calls
    shares = [Share(k, np.arange(N), np.ones((N, 1))) for k in range(10)]
    SupportRows(grid, shares, X).scores(NEW, Serial())
    assert len(calls) == 1


def test_four_hundred_single_feature_kernels_are_forty_groups():
    each = kw.per_feature(kw.RBF.grid(np.geomspace(0.1, 100, 10)), 40)
    made = Family(each)
    assert len(each) == 400
    assert made.members == [list(range(10 * column, 10 * column + 10)) for column in range(40)]
    with_all = Family([*each, *kw.RBF.grid([1.0, 2.0]), kw.Linear(), 3.0 * kw.Polynomial(2), kw.Linear().on(0)])
    assert with_all.members[40:] == [[400, 401], [402, 403], [404]]
    scaled = Family([2.0 * kernel for kernel in each])
    assert scaled.members == made.members


def test_kernels_that_share_nothing_stay_apart():
    assert Family([kw.Laplacian(1.0), kw.RBF(1.0), kw.Linear().normalized()]).members == [[0], [1], [2]]
    assert Family([kw.Spectrum(2), kw.Spectrum(3)]).members == [[0], [1]]


def test_the_planner_chooses_by_memory():
    assert first_fitting(Sizes(455, 403, 62, limit="4GB", need="parts"))[1].kind == "tabulated"
    assert first_fitting(Sizes(200, 403, 62, limit="4GB", need="parts"))[1].kind == "stored"
    assert first_fitting(Sizes(60, 8, 4, limit="1GB", need="parts"))[0].dtype == np.float64
    assert first_fitting(Sizes(2000, 50, 5, limit="4GB", need="parts"))[1].kind == "shared"
    assert first_fitting(Sizes(2000, 20, 20, limit="4GB", need="parts"))[0].dtype == np.float32
    assert first_fitting(Sizes(2000, 20, 2, limit="4GB", tol=1e-8, need="parts"))[0].dtype == np.float64
    assert first_fitting(Sizes(20_000, 10, 1, limit="4GB", need="parts"))[1].kind == "shared"
    assert first_fitting(Sizes(20_000, 10, 1, limit="2GB", need="parts"))[1].kind == "recomputed"
    assert first_fitting(Sizes(20_000, 10, 1, limit="500MB", need="parts"))[1].kind == "cached"


@pytest.mark.parametrize("groups", [400, 62, 40, 10])
def test_four_hundred_kernels_on_five_thousand_rows_are_not_stored(groups):
    chosen = first_fitting(Sizes(5000, 400, groups, limit="4GB", need="parts"))[1]
    assert chosen.kind == {400: "recomputed", 10: "shared"}.get(groups, "tabulated")
    assert chosen.bytes <= 4e9
    assert chosen.why.startswith(f"400 Gram matrices would take {80.2 if chosen.kind == 'tabulated' else 40.1} GB")


def test_every_plan_keeps_within_the_limit_and_says_why():
    for limit in (1e6, 1e7, 1e8, 1e9, 1e10):
        for m, groups in ((1, 1), (10, 1), (10, 10), (400, 40)):
            chosen = first_fitting(Sizes(3000, m, groups, limit=limit, need="parts"))[1]
            assert chosen.bytes <= limit
            assert chosen.kind in ("stored", "shared", "tabulated", "recomputed", "cached")
            assert "take" in chosen.why
    with pytest.raises(MemoryError, match="64 kernel columns of 3000 rows take 768 kB, more than the memory_limit"):
        choose(Sizes(3000, 10, 1, limit="100kB", need="parts"))


def test_binding_follows_the_plan():
    for limit, kind in (
        ("1GB", "stored"),
        (4 * 4 * N * N, "recomputed"),
        (4 * 80 * N, "cached"),
        (7 * 4 * N * N, "shared"),
    ):
        kernels = kw.RBF.grid(np.geomspace(0.1, 10, 12)) + kw.per_feature(kw.RBF.grid([1.0, 2.0]), 4)
        operators, chosen = choose(Task(kernels, X, Serial(), limit, need="parts"))
        assert chosen.kind == kind
        assert isinstance(operators, StoredSet if kind == "stored" else SharedSet)
        weights = np.linspace(0, 1, len(kernels))
        wanted = sum(w * kernel.gram(X) for w, kernel in zip(weights, kernels))
        made = operators.combined(weights)
        assert isinstance(made, Operator) or kind != "cached"
        np.testing.assert_allclose(made.columns(np.arange(N)), wanted, rtol=1e-5)


def test_kernels_of_rank_one_are_held_as_vectors():
    operators, chosen = choose(Task(COLUMNS, FEW, Serial(), need="parts"))
    assert chosen.kind == "rank_one"
    assert isinstance(operators, RankOneSet)
    assert "5 kernels of rank one are one vector each" in chosen.why
    assert choose(Task([*COLUMNS, kw.RBF(1.0)], FEW, Serial(), need="parts"))[1].kind == "stored"
    assert choose(Task([kw.Linear().on([0, 1])], FEW, Serial(), need="parts"))[1].kind == "stored"
    assert choose(Task(kw.per_feature(kw.Polynomial(1), 5), FEW, Serial(), need="parts"))[1].kind == "stored"
    assert RankOne().bytes(Sizes(1000, 100, limit="1MB", need="parts")) == 8 * 1000 * 100


def test_tables_of_few_columns_are_held_by_them():
    operators, chosen = choose(Task(COLUMNS, X, Serial(), need="parts"))
    assert chosen.kind == "features"
    alpha = rng.normal(size=N)
    np.testing.assert_allclose(operators.energies(alpha), [alpha @ k.gram(X) @ alpha for k in COLUMNS], rtol=1e-10)


def test_a_mixture_is_the_weighted_sum():
    made = Mixture(KERNELS, WEIGHTS)
    np.testing.assert_allclose(made.gram(X), np.tensordot(WEIGHTS, GRAMS, 1), rtol=1e-12)
    wanted = sum(w * kernel.gram(NEW, X) for w, kernel in zip(WEIGHTS, KERNELS))
    np.testing.assert_allclose(made.gram(NEW, X), wanted, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(made.diag(X), made.gram(X).diagonal(), rtol=1e-12)
    assert made.definite
    assert not Mixture([kw.RBF(1.0), kw.Sigmoid(1.0)], [0.5, 0.5]).definite
    np.testing.assert_array_equal(Mixture(KERNELS, np.zeros(M)).gram(X), np.zeros((N, N)))


def test_a_mixture_does_not_touch_kernels_without_weight():
    made = Mixture([kw.RBF(1.0), kw.Precomputed()], [1.0, 0.0])
    np.testing.assert_allclose(made.gram(X), kw.RBF(1.0).gram(X))


@pytest.mark.parametrize("engine", [Serial(), Threads(2)], ids=["serial", "threads"])
def test_new_rows_against_kept_ones(engine, monkeypatch):
    monkeypatch.setattr(values, "NEW_ROWS", 16)
    monkeypatch.setattr(values, "KEPT_ROWS", 40)
    coef = rng.normal(size=(M, N, 3))
    shares = [Share(k, np.arange(N), part) for k, part in enumerate(coef)]
    expansion = RowExpansion(KERNELS, X, shares, 3)
    wanted = np.stack([kernel.gram(NEW, X) @ part for kernel, part in zip(KERNELS, coef)])
    np.testing.assert_allclose(expansion.contributions(NEW, engine), wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(expansion.scores(NEW, engine), wanted.sum(axis=0), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize(
    "make", [stored(np.float64), stored(np.float32), shared(True), shared(False), shared(False, 70), shared(False, 20)]
)
def test_fewer_rows_of_the_same_kernels(make):
    rows = np.arange(1, N, 2)
    every = make(KERNELS, X, Serial())
    assert isinstance(every, Restrictable)
    some = every.restricted(rows)
    wanted, alpha = GRAMS[:, rows][:, :, rows], sparse_alpha()[rows]
    assert (some.n, some.m) == (len(rows), M)
    atol = SINGLE * np.abs(GRAMS).max() * np.abs(alpha).sum()
    combined = product(some.combined(WEIGHTS), alpha)
    np.testing.assert_allclose(combined, np.tensordot(WEIGHTS, wanted, 1) @ alpha, rtol=0, atol=M * atol)
    inside = some.each_inside(np.arange(len(rows)), alpha)
    np.testing.assert_allclose(inside, wanted @ alpha, rtol=0, atol=atol)


def test_a_sum_on_many_rows_is_made_on_demand(monkeypatch):
    monkeypatch.setattr(family_module, "ON_DEMAND_FROM", N)
    made = shared(True)(KERNELS, X, Serial()).combined(WEIGHTS)
    assert isinstance(made, OnDemand)
    assert "gram" not in made.__dict__
    wanted = np.tensordot(WEIGHTS, GRAMS, 1)
    np.testing.assert_allclose(made.restricted(np.arange(9)).gram, wanted[:9, :9], atol=M * SINGLE * wanted.max())
    alpha = sparse_alpha()
    np.testing.assert_allclose(made.fresh_product(alpha), wanted @ alpha, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_exponentials_of_one_number_are_looked_up(dtype):
    kernels = [*kw.RBF.grid(np.geomspace(0.02, 200.0, 9)), kw.Linear(), *(0.7 * kw.RBF(width=w) for w in (0.3, 3.0))]
    weights = rng.uniform(size=len(kernels))
    made = Mixture(kernels, weights)
    assert [curve is not None for curve in made._active()[2]] == [True, False]
    far = np.vstack([NEW, 1e4 + NEW[:1]])
    for A, B in ((X, X), (far, X)):
        wanted = sum(w * kernel.gram(A, B) for w, kernel in zip(weights, kernels))
        left = made.prepare(A)
        values = made.block(left, left if A is B else made.prepare(B), dtype)
        assert values.dtype == dtype
        accuracy = 1e-6 if dtype == np.float32 else 1e-11
        np.testing.assert_allclose(
            values, wanted, rtol=0.1 * accuracy if dtype == np.float64 else accuracy, atol=accuracy
        )


def test_rates_too_far_apart_have_no_table():
    kernels = kw.RBF.grid(np.geomspace(1e-9, 1e9, 6))
    made = Mixture(kernels, np.ones(6))
    assert made._active()[2] == [None]
    np.testing.assert_allclose(made.gram(X), sum(kernel.gram(X) for kernel in kernels), rtol=1e-12)
