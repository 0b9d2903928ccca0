"""Products through explicit sparse features are products with the kernel matrix, whatever the columns look like."""

import numpy as np
import pytest
from scipy import sparse

from kernelweave._numba.csr import CSR
from kernelweave.data import Alphabet, Sequences
from kernelweave.engines import Serial, Threads
from kernelweave.kernels import Features, GappedKmer, Linear, Mismatch, Polynomial, Spectrum, WeightedDegree
from kernelweave.operators import bind
from kernelweave.operators.base import DescentState
from kernelweave.operators.features import operator as features
from kernelweave.operators.features.operator import FeatureOperator
from kernelweave.operators.features.vocabulary import Vocabulary
from oracles.rows import sequences

EXACT = 1e-10
rng = np.random.default_rng(2)
KERNELS = [
    Spectrum(3),
    Spectrum(6, cumulative=True),
    Spectrum(4, binary=True, reverse_complement=True),
    Spectrum(20),
    Mismatch(4, 1),
    GappedKmer(3, 2),
    WeightedDegree(5),
    WeightedDegree(4, shift=2),
    Spectrum(3).normalized(),
    0.5 * Spectrum(2) + Mismatch(3, 1),
]


class Given(Features):
    """A kernel whose features are a table that is given."""

    def rows(self, X, dtype=np.float64):
        table = sparse.csr_array(X)
        return CSR(table.indices[:, None], table.data.astype(dtype), table.indptr)

    def n_features(self, X):
        return X.shape[1]


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=0, atol=EXACT * max(1.0, np.abs(wanted).max(initial=0.0)))


def check(operator, K):
    """Compare every way to ask for the matrix with the matrix."""
    n = len(K)
    close(operator.diag(), K.diagonal())
    for size in (1, max(1, n // 3), n):
        rows = rng.choice(n, size, replace=False)
        steps, start = rng.normal(size=size), rng.normal(size=n)
        out = start.copy()
        operator.add_to(out, rows, steps)
        close(out - start, K[:, rows] @ steps)
        close(operator.columns(rows), K[:, rows])
        inside = operator.submatrix(rows)
        close(inside, K[np.ix_(rows, rows)])
        assert np.array_equal(inside, inside.T)
    for rows in (None, np.sort(rng.choice(n, max(1, n // 2), replace=False))):
        inner = K if rows is None else K[np.ix_(rows, rows)]
        alpha = rng.normal(size=len(inner))
        for dtype, tolerance in ((np.float64, EXACT), (np.float32, 1e-4)):
            descent = operator.descent(rows, dtype)
            descent.start(alpha)
            scale = max(1.0, np.abs(inner).max()) * len(inner)
            np.testing.assert_allclose(descent.outputs(alpha), inner @ alpha, rtol=0, atol=tolerance * scale)
            close(descent.product(alpha) / scale, inner @ alpha / scale)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("masked", [0.0, 0.1])
def test_kernels(kernel, masked):
    X = sequences(30, 25, masked=masked)
    check(FeatureOperator(kernel, X, Threads(2)), kernel.gram(X))


def test_rows_of_any_length_and_rows_without_features():
    rows = ["ACGTACGTAA", "", "ACG", "AC", "TTTTT", "", "ACGTT"]
    for kernel in (Spectrum(3), Mismatch(3, 1), GappedKmer(2, 1)):
        X = Sequences.from_strings(rows, alphabet="dna")
        operator = FeatureOperator(kernel, X, Serial())
        check(operator, kernel.gram(X))
        assert operator.diag()[1] == 0
    empty = Sequences.from_strings(["", "A"], alphabet="dna")
    check(FeatureOperator(Spectrum(3), empty, Serial()), np.zeros((2, 2)))


@pytest.mark.parametrize("n", [1, 2])
def test_few_rows(n):
    X = sequences(n, 12)
    check(FeatureOperator(Spectrum(4), X, Serial()), Spectrum(4).gram(X))


def test_wide_column_spaces_are_searched():
    """4^16 columns: no table could number them, and it makes no difference."""
    kernel, X = Spectrum(16), sequences(40, 60)
    table = kernel.features(X)
    assert table.shape[1] > 2**24
    operator = FeatureOperator(kernel, X, Serial())
    assert operator.shared.width < table.nnz
    check(operator, kernel.gram(X))


def test_columns_that_occur_once_are_left_out():
    table = np.array([[1.0, 2.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0, 4.0], [5.0, 0.0, 0.0, 6.0, 0.0]])
    operator = FeatureOperator(Given(), table, Serial())
    assert operator.shared.width == 1
    np.testing.assert_array_equal(operator.shared.block.values, [1.0, 3.0, 5.0])
    np.testing.assert_array_equal(operator.shared.own, [4.0, 16.0, 36.0])
    check(operator, table @ table.T)


def test_nothing_in_common():
    operator = FeatureOperator(Given(), np.diag([1.0, 2.0, 3.0]), Serial())
    assert operator.shared.width == 0
    check(operator, np.diag([1.0, 4.0, 9.0]))


def test_a_row_may_move_twice_and_equal_rows_share_everything():
    table = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 3.0]])
    operator, out = FeatureOperator(Given(), table, Serial()), np.zeros(3)
    operator.add_to(out, np.array([0, 0, 2]), np.array([1.0, 1.0, -1.0]))
    close(out, table @ table.T @ [2.0, 0.0, -1.0])
    alone = FeatureOperator(Given(), np.diag([1.0, 2.0]), Serial())
    out = np.zeros(2)
    alone.add_to(out, np.array([1, 1]), np.array([1.0, 2.0]))
    close(out, [0.0, 12.0])
    close(alone.submatrix(np.array([1, 1])), np.full((2, 2), 4.0))


def test_negative_and_dense_features():
    table = rng.normal(size=(50, 7))
    check(FeatureOperator(Given(), table, Threads(3)), table @ table.T)


def test_the_same_bits_with_any_engine(monkeypatch):
    monkeypatch.setattr(features, "PART_ROWS", 16)
    monkeypatch.setattr(features, "GRAM_LINES", 4)
    X, rows, steps = sequences(90, 60), rng.choice(90, 40, replace=False), rng.normal(size=40)

    def everything(engine):
        operator, out = FeatureOperator(Spectrum(6), X, engine), np.zeros(90)
        operator.add_to(out, rows, steps)
        descent = operator.descent(rows, np.float32)
        descent.start(steps)
        return out, operator.columns(rows), operator.submatrix(rows), descent.outputs(steps), descent.product(steps)

    first, *others = map(everything, (Serial(), Threads(2), Threads(3)))
    for other in others:
        for a, b in zip(first, other):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("rows", [None, np.array([4, 1, 7, 8, 2])], ids=["all", "some"])
def test_a_pass_takes_exact_steps_one_row_after_the_other(rows):
    """The jitted pass is the plain one: best value in the box, output carried over to all rows that follow."""
    X = sequences(12, 20)
    K = Spectrum(2).gram(X) / 10
    operator = FeatureOperator(0.1 * Spectrum(2), X, Serial())
    inner = K if rows is None else K[np.ix_(rows, rows)]
    n = len(inner)
    p, fixed, pull, b = rng.normal(size=(1, n)), rng.normal(size=n), 0.7, 0.2
    low, high, ridge = -np.ones((1, n)), np.ones((1, n)), np.full(n, 0.3)
    v = rng.uniform(-1, 1, (1, n))
    alpha, outputs, total = v[0].copy(), np.zeros(n), 0.0
    order = rng.permutation(n)
    for i in order:
        outputs[i] = inner[i] @ alpha + fixed[i] + b + pull * total
        best = alpha[i] + (p[0, i] - outputs[i] - ridge[i] * alpha[i]) / (inner[i, i] + ridge[i] + pull)
        best = min(max(best, -1.0), 1.0)
        total += best - alpha[i]
        alpha[i] = best
    descent = operator.descent(rows, np.float64)
    descent.start(v[0])
    state = DescentState(p, ridge, 0.0, low, high, inner.diagonal() + ridge + pull, fixed, b, pull, v, np.zeros(n))
    moved = descent.sweep(order, state)
    assert moved == pytest.approx(total)
    np.testing.assert_allclose(v[0], alpha, atol=EXACT)
    np.testing.assert_allclose(state.outputs, outputs, atol=EXACT)
    np.testing.assert_allclose(descent.outputs(v[0]), inner @ alpha, atol=1e-9)


def test_numbers_of_codes_of_several_words():
    """Codes of any number of words are numbered as they come, found again, and listed in that order."""
    codes = rng.integers(0, 40, (20_000, 2)) * 2**57 + rng.integers(0, 3, (20_000, 2))
    known = Vocabulary(2)
    numbers = known.number(codes)
    seen: dict[tuple[int, int], int] = {}
    expected = [seen.setdefault(tuple(code), len(seen)) for code in codes.tolist()]
    np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_array_equal(known.codes(), list(seen))
    np.testing.assert_array_equal(known.find(codes[::-1]), expected[::-1])
    np.testing.assert_array_equal(known.find(codes + 1000), -1)


def test_n_grams_that_no_column_number_holds_keep_their_features():
    """12 letters of 64 take 72 bits: sparse tables refuse, the operator does not."""
    letters = [chr(48 + code) for code in range(64)]
    rows = ["".join(rng.choice(letters[:3], 30)) + letters[-1] * 13 for _ in range(25)]
    X = Sequences.from_strings(rows, alphabet=Alphabet("wide", letters))
    with pytest.raises(ValueError, match="63-bit column numbers"):
        Spectrum(12).features(X)
    operator = FeatureOperator(Spectrum(12), X, Serial())
    assert operator.shared.codes.shape == (operator.shared.width, 2)
    check(operator, Spectrum(12).gram(X))


@pytest.mark.parametrize(
    "kernel", [Linear(), 2.0 * Linear().on([0, 2]), Polynomial(2), Linear().normalized()], ids=repr
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_columns_of_a_table_are_features_too(kernel, form):
    X = np.round(rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.7), 2)
    check(bind(kernel, form(X), Serial(), need="features"), kernel.gram(X))
    assert isinstance(bind(kernel, form(np.tile(X, (5, 1))), Serial()), FeatureOperator)
    assert not isinstance(bind(kernel, form(X[:10]), Serial()), FeatureOperator)
