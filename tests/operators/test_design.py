"""Explicit features of several kernels side by side: their numbers are those of the kernel matrices."""

import numpy as np
import pytest
from scipy import sparse

import kernelweave as kw
from kernelweave._numba.csr import CSR
from kernelweave._numba.rows import dense_add, dense_dot, row_add, row_dot
from kernelweave.engines import Serial, Threads
from kernelweave.kernels import Features
from kernelweave.kernels.base import Kernel
from kernelweave.operators import Task, choose
from kernelweave.operators.base import DesignMatrix, HasDesign, Operator, OperatorSet, Restrictable
from kernelweave.operators.features.design.maps import column_map

rng = np.random.default_rng(3)
EXACT, ROUNDED = 1e-10, 3e-6
FINE = 1e-8


class Columns(Kernel, Features):
    """Inner product of some columns, each times a factor: a kernel of the columns of a table."""

    kind = "columns"

    def __init__(self, start=0, stop=None, factor=1.0):
        self.start, self.stop, self.factor = start, stop, factor

    def rows(self, X, dtype=np.float64):
        table = self.prepare(X).astype(dtype)
        return CSR(table.indices[:, None], table.data, table.indptr) if sparse.issparse(table) else table

    def n_features(self, X):
        return self.prepare(X).shape[1]

    def prepare(self, X):
        table = self.factor * X[:, self.start : self.stop]
        return sparse.csr_array(table) if sparse.issparse(table) else table

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
THIN = sparse.random_array((N, 40), density=0.2, format="csr", random_state=rng)
STRINGS = texts(N)
FIXED = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), 9)) for _ in range(N)])
MIXED = kw.Views({"table": TABLE, "dna": STRINGS, "thin": THIN})
CASES = {
    "dense": ([Columns(0, 5), Columns(5, 12, 0.3), Columns(0, 1)], TABLE),
    "places": ([kw.WeightedDegree(3), kw.Spectrum(2)], FIXED),
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
    return kernels, X, grams, choose(Task(kernels, X, Serial(), tol=FINE, need="design"))[0]


def test_it_keeps_the_contracts(case):
    kernels, X, _, bound = case
    assert isinstance(bound, OperatorSet)
    assert isinstance(bound, Restrictable)
    assert isinstance(bound, HasDesign)
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
    few = rows[:5]
    expected = grams[:, few][:, :, few] @ alpha[few]
    np.testing.assert_allclose(bound.each_inside(few, alpha[few]), expected, rtol=EXACT, atol=EXACT)


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
    bound, plan = choose(Task(kernels, X, Serial(), tol=1e-3, need="design"))
    assert plan.kind == "design"
    assert "float32" in plan.why
    assert bound.design.part(0).values.dtype == np.float32
    alpha = rng.normal(size=N)
    np.testing.assert_allclose(bound.energies(alpha), np.einsum("i,kij,j->k", alpha, grams, alpha), rtol=ROUNDED)


def test_single_precision_is_not_for_large_numbers():
    table = TABLE.copy()
    table[1, 2] = 2.0**24 + 1  # no row of the sample that decides at first
    for limit in ("auto", 20_000):
        bound, plan = choose(Task([Columns(), Columns(2, 3)], table, Serial(), limit, need="design"))
        assert "float64" in plan.why
        assert bound.design.part(0).values.dtype == np.float64
        assert bound.design.streamed == (limit != "auto")


def test_counts_stay_single_at_fine_tolerances():
    bound, plan = choose(Task([kw.Spectrum(2)], STRINGS, Serial(), tol=FINE, need="design"))
    assert "float32" in plan.why
    assert bound.design.part(0).values.dtype == np.float32
    assert bound.design.width == 16


def streamed(kernels, X, engine=None, tol=FINE):
    """Bind with a limit that is too small for all rows, but not for what the columns need."""
    size = choose(Task(kernels, X, Serial(), tol=tol, need="design")).plan.bytes
    bound, plan = choose(Task(kernels, X, engine or Serial(), 0.75 * size, tol, need="design"))
    assert plan.kind == "streamed"
    assert bound.design.streamed
    assert len(bound.design.parts) > 1
    return bound


def test_rows_made_afresh_give_the_same_numbers(case):
    kernels, X, _, bound = case
    ours = streamed(kernels, X)
    alpha, w, rows = rng.normal(size=N), rng.normal(size=bound.design.width), np.array([140, 3, 77])
    np.testing.assert_array_equal(ours.design.outputs(w), bound.design.outputs(w))
    np.testing.assert_allclose(ours.design.correlate(alpha), bound.design.correlate(alpha), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.design.squares(), bound.design.squares(), rtol=1e-12)
    np.testing.assert_array_equal(ours.diagonals(), bound.diagonals())
    np.testing.assert_array_equal(ours.each_inside(rows, alpha[rows]), bound.each_inside(rows, alpha[rows]))
    weights = np.ones(bound.m)
    np.testing.assert_allclose(
        ours.combined(weights).columns(rows), bound.combined(weights).columns(rows), rtol=1e-12, atol=1e-12
    )
    for i, some in enumerate(ours.design.parts):
        part = ours.design.part(i)
        expected = bound.design.taken(np.arange(some.start, some.stop)).part(0)
        for mine, theirs in zip(arrays(part), arrays(expected), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def arrays(part):
    return part.arrays() if isinstance(part, CSR) else (part.values,)


def test_same_bits_on_two_threads(case):
    kernels, X, _, bound = case
    alpha, w = rng.normal(size=N), rng.normal(size=bound.design.width)
    two = choose(Task(kernels, X, Threads(2), tol=FINE, need="design"))[0]
    for ours, theirs in ((two, bound), (streamed(kernels, X, Threads(2)), streamed(kernels, X))):
        np.testing.assert_array_equal(ours.design.correlate(alpha), theirs.design.correlate(alpha))
        np.testing.assert_array_equal(ours.design.outputs(w), theirs.design.outputs(w))


def test_rows_mapped_from_disk(tmp_path):
    np.save(tmp_path / "table.npy", TABLE)
    STRINGS.save(tmp_path / "rows.kwseq")
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    opened = kw.Sequences.open(tmp_path / "rows.kwseq")
    for kernels, X, same in (
        ([Columns(0, 5), Columns(2)], mapped, TABLE),
        ([kw.Spectrum(3), kw.NGram(2)], opened, STRINGS),
        ([kw.Spectrum(3).on("dna"), Columns().on("t")], kw.Views({"dna": opened, "t": mapped}), None),
    ):
        X, same = X, kw.Views({"dna": STRINGS, "t": TABLE}) if same is None else same
        expected, ours = choose(Task(kernels, same, Serial(), need="design"))[0], streamed(kernels, X, tol=1e-3)
        alpha = rng.normal(size=N)
        np.testing.assert_allclose(ours.energies(alpha), expected.energies(alpha), rtol=1e-12)


def test_rows_that_turn_out_longer_than_judged_are_made_afresh():
    judged = np.unique(np.linspace(0, N - 1, 64).astype(int))
    long = np.setdiff1d(np.arange(N), judged)
    rows = [""] * N
    for i in range(N):
        rows[i] = "".join(rng.choice(list("ACGT"), 400 if i in long else 8))
    X, kernels = kw.Sequences.from_strings(rows), [kw.Spectrum(3)]
    bound, plan = choose(Task(kernels, X, Serial(), 160_000, need="design"))
    assert plan.kind == "streamed"
    alpha = rng.normal(size=N)
    np.testing.assert_allclose(bound.energies(alpha), [alpha @ kernels[0].gram(X) @ alpha], rtol=EXACT)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_along_one_row(dtype):
    row, w = rng.normal(size=37).astype(dtype), rng.normal(size=37)
    expected = row.astype(float) @ w
    columns = np.arange(37, dtype=np.uint32)[::-1].copy()
    assert dense_dot(row, w) == pytest.approx(expected, rel=1e-13)
    assert row_dot(columns, row[::-1].copy(), w, 0.0) == pytest.approx(expected, rel=1e-13)
    dense, sparse_ = w.copy(), w.copy()
    dense_add(row, 0.3, dense)
    row_add(columns, row[::-1].copy(), 0.3, sparse_)
    np.testing.assert_allclose(dense, w + 0.3 * row.astype(float), rtol=1e-13)
    np.testing.assert_array_equal(dense, sparse_)


def test_what_does_not_fit_is_refused_with_the_estimate():
    with pytest.raises(
        MemoryError,
        match=r"features of 150 rows, 16 of them at a time, take .* more than the memory_limit of 2 kB; raise",
    ):
        choose(Task([Columns()], TABLE, Serial(), 2000, need="design"))
    with pytest.raises(TypeError, match="has no explicit features; wrap it in IncompleteCholesky"):
        choose(Task([kw.RBF(1.0)], TABLE, Serial(), need="design"))


def test_new_rows_of_another_kind():
    design = choose(Task([kw.Spectrum(2)], STRINGS, Serial(), need="design"))[0].design
    with pytest.raises(ValueError, match="alphabet"):
        design.maps[0].scores(kw.Sequences.from_strings(["ab"], alphabet="auto"), np.ones((1, design.width)))
    with pytest.raises(ValueError, match=r"must have the shape \(outputs, 16\), not \(16,\)"):
        design.maps[0].scores(STRINGS, np.ones(16))
    narrow = column_map(Columns(), None, 12)
    with pytest.raises(ValueError, match="was trained on 12 features, but X has 7"):
        narrow.scores(TABLE[:, :7], np.ones((1, 12)))


def test_dense_and_sparse_rows_score_alike():
    w = rng.normal(size=(3, 40))
    thin, thick = (
        choose(Task([Columns()], X, Serial(), tol=FINE, need="design"))[0].design.maps[0]
        for X in (THIN, THIN.toarray())
    )
    expected = THIN.toarray() @ w.T
    for X in (THIN, THIN.toarray()):
        np.testing.assert_allclose(thick.scores(X, w), expected, rtol=EXACT, atol=EXACT)
        np.testing.assert_allclose(thin.scores(X, w[:, thin.codes[:, 0]]), expected, rtol=EXACT, atol=EXACT)


def test_features_that_no_training_row_has_weigh_nothing():
    one = column_map(kw.Spectrum(1), np.array([[0], [2]]), 2)
    new = kw.Sequences.from_strings(["AACC", "TTT", "G", ""])
    np.testing.assert_array_equal(one.scores(new, np.array([[1.0, 5.0]])), [[2.0], [0.0], [5.0], [0.0]])
