"""Products through the normal vector of positioned k-mers are products with the kernel matrix, whatever the rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.data.strings.sequences import Sequences
from kernelweave.engines import Serial, Threads
from kernelweave.kernels import RBF, Spectrum, WeightedDegree
from kernelweave.operators import CachedColumns, DenseGram, bind
from kernelweave.operators.base import PrimalOperator
from kernelweave.operators.features.operator import FeatureOperator
from kernelweave.operators.kmers import positional
from kernelweave.operators.kmers.positional import PositionalOperator
from kernelweave.operators.kmers.prefixes import Spelling, spread
from kernelweave.operators.planner import task as planner
from oracles.rows import ALPHABETS, sequences
from oracles.weighted_degree import gram as slow_gram

EXACT = 1e-10
ENGINES = [Serial(), Threads(2), Threads(3)]
rng = np.random.default_rng(0)


def explicit(kernel, X, engine=ENGINES[1]):
    operator = bind(kernel, X, engine, need="features")
    assert isinstance(operator, PositionalOperator)
    return operator


def check(kernel, X, sizes=(1, None)):
    """Compare every way to ask for the matrix with the matrix; return the operator."""
    operator, K, n = explicit(kernel, X), kernel.gram(X), len(X)
    scale = EXACT * max(1.0, np.abs(K).max())
    np.testing.assert_allclose(operator.diag(), K.diagonal(), rtol=0, atol=scale)
    for size in sizes:
        rows = rng.choice(n, n if size is None else min(size, n), replace=False)
        steps, start = rng.normal(size=len(rows)), rng.normal(size=n)
        out = start.copy()
        operator.add_to(out, rows, steps)
        np.testing.assert_allclose(out, start + K[:, rows] @ steps, rtol=0, atol=scale * len(rows))
        np.testing.assert_allclose(operator.columns(rows), K[:, rows], rtol=0, atol=scale)
        np.testing.assert_allclose(operator.submatrix(rows), K[np.ix_(rows, rows)], rtol=0, atol=scale)
    return operator


@pytest.mark.parametrize("shift", [0, 1, 2, 3])
@pytest.mark.parametrize("masked", [0.0, 0.15])
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_alphabets_masks_and_shifts(alphabet, masked, shift):
    for degree in (1, 4, 12):
        check(WeightedDegree(degree, shift=shift), sequences(30, 24, alphabet, masked))


@pytest.mark.parametrize("degree", range(1, 26))
def test_degrees(degree):
    check(WeightedDegree(degree), sequences(25, 30))


@pytest.mark.parametrize(("degree", "length"), [(32, 50), (40, 40), (60, 70), (300, 310)])
@pytest.mark.parametrize("masked", [0.0, 0.02])
def test_k_mers_that_are_longer_than_a_word_of_63_bits(degree, length, masked):
    X = sequences(12, length, masked=masked)
    long = Sequences.concatenate([X, X[:2], X[5:7]])
    check(WeightedDegree(degree), long)
    check(WeightedDegree(degree, shift=1), long)


@pytest.mark.parametrize(
    "settings",
    [
        {"position_weights": np.linspace(0, 2, 24).tolist()},
        {"only": 3},
        {"only": 9},
        {"positions": (5, 11)},
        {"positions": (23, 24)},
        {"only": 2, "positions": (0, 9), "shift": 2},
        {"weights": [0, 0, 1, 0, 0, 0, 0, 2, 0, 0], "shift": 1},
        {"weights": [0.0] * 10},
    ],
    ids=repr,
)
def test_parts_and_weights(settings):
    for masked in (0.0, 0.1):
        check(WeightedDegree(10, **settings), sequences(20, 24, masked=masked))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_few_rows_and_few_letters(n, length):
    for degree in (1, 3, 9):
        check(WeightedDegree(degree, shift=1), sequences(n, length))
        check(WeightedDegree(degree), sequences(n, length, masked=0.5))


def test_rows_without_letters():
    operator = explicit(WeightedDegree(3), Sequences.from_strings(["", ""], alphabet="dna"))
    out = np.ones(2)
    operator.add_to(out, np.array([0, 1]), np.ones(2))
    np.testing.assert_array_equal(out, 1.0)
    np.testing.assert_array_equal(operator.diag(), 0.0)


def test_any_number_of_rows_moves():
    check(WeightedDegree(9, shift=1), sequences(40, 20), sizes=range(1, 41, 3))


def test_a_row_may_move_twice():
    X = sequences(15, 20)
    kernel = WeightedDegree(9)
    out = np.zeros(15)
    explicit(kernel, X).add_to(out, np.array([3, 3, 7]), np.array([1.0, 2.0, -1.0]))
    np.testing.assert_allclose(out, kernel.gram(X)[:, [3, 3, 7]] @ [1.0, 2.0, -1.0], atol=EXACT)


def test_equal_rows_read_the_same():
    X = sequences(30, 40)
    twice = Sequences.concatenate([X, X])
    check(WeightedDegree(20), twice)
    out = np.zeros(60)
    explicit(WeightedDegree(20), twice).add_to(out, np.arange(7), np.ones(7))
    np.testing.assert_allclose(out[:30], out[30:], rtol=1e-12)


@settings(max_examples=40)
@given(st.lists(st.text("ACN", min_size=9, max_size=9), min_size=1, max_size=6), st.integers(1, 9), st.integers(0, 3))
def test_agrees_with_the_formula(rows, degree, shift):
    kernel = WeightedDegree(degree, shift=shift)
    X = Sequences.from_strings(rows, alphabet="dna", unknown="mask")
    steps, out = np.arange(1.0, len(rows) + 1), np.zeros(len(rows))
    explicit(kernel, X, Serial()).add_to(out, np.arange(len(rows)), steps)
    np.testing.assert_allclose(out, np.array(slow_gram(kernel, rows)) @ steps, rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("masked", [0.0, 0.1])
def test_every_depth_of_the_table_gives_the_same(alphabet, masked, monkeypatch):
    """Expensive look-ups ask for small tables, expensive neighbours for large ones."""
    X = sequences(30, 30, alphabet, masked)
    kernel, depths = WeightedDegree(14, shift=1), set()
    index = explicit(kernel, X).rows.index
    for neighbour in (1e-9, 1.0, 1e3, 1e5, 1e7, 1e12):
        monkeypatch.setattr(positional, "NEIGHBOUR_COST", neighbour)
        depths.add(positional.table_depth(index, 30))
        check(kernel, X, sizes=(None,))
        check(WeightedDegree(14), X, sizes=(5,))
    assert depths == set(range(index.spelling.shallow, index.depth + 1))


@pytest.mark.parametrize("shift", [0, 2])
def test_the_same_bits_with_any_engine(shift, monkeypatch):
    monkeypatch.setattr(positional, "LOOKUP_ROWS", 40)
    monkeypatch.setattr(positional, "LINES_TOGETHER", 16)
    X, kernel = sequences(150, 60, masked=0.01), WeightedDegree(20, shift=shift)
    rows = rng.choice(150, 90, replace=False)
    steps = rng.normal(size=90)

    def everything(engine):
        operator, out = explicit(kernel, X, engine), np.zeros(150)
        operator.add_to(out, rows, steps)
        return out, operator.columns(rows), operator.submatrix(rows), operator.diag()

    first, *others = map(everything, ENGINES)
    for other in others:
        for a, b in zip(first, other):
            np.testing.assert_array_equal(a, b)


def test_without_a_kernel_pairs_are_summed_letter_by_letter():
    """A weighted sum of parts has weights of its own at each place; then the cells are all there is."""
    X = sequences(20, 24, masked=0.1)
    for shift in (0, 2):
        kernel = WeightedDegree(6, shift=shift, position_weights=np.linspace(0, 1, 24).tolist())
        whole = explicit(kernel, X)
        bare = PositionalOperator(None, whole.prepared, whole.rows, spread(kernel.cells(24), kernel.shift_weights()))
        rows, K = rng.choice(20, 11, replace=False), kernel.gram(X)
        np.testing.assert_allclose(bare.columns(rows), K[:, rows], atol=EXACT)
        np.testing.assert_allclose(bare.submatrix(rows), K[np.ix_(rows, rows)], atol=EXACT)
        np.testing.assert_allclose(bare.diag(), K.diagonal(), atol=EXACT)


def test_narrowed_to_some_rows_it_is_their_matrix():
    X, rows = sequences(30, 24, masked=0.05), np.array([3, 29, 0, 11, 12])
    for kernel in (WeightedDegree(10), WeightedDegree(10, shift=2)):
        out = np.zeros(5)
        explicit(kernel, X).narrowed(rows).add_to(out, np.array([4, 1]), np.array([1.0, -2.0]))
        np.testing.assert_allclose(out, kernel.gram(X[rows])[:, [4, 1]] @ [1.0, -2.0], atol=EXACT)


def test_scaled_selected_and_negative_steps():
    X = sequences(20, 24)
    check(3.5 * WeightedDegree(8), X)
    check(0.5 * (2 * WeightedDegree(8, shift=1)), X)


def test_symbols():
    """Bits of a letter, letters of a prefix; a mask that occurs takes a symbol of its own, another never matches."""
    for name, masked, bits, depth, shallow in [
        ("dna", False, 2, 8, 6), ("dna", True, 3, 5, 4), ("protein", True, 5, 3, 2), ("bytes", False, 8, 2, 1),
        ("bytes", True, 9, 1, 1),
    ]:  # fmt: skip
        X = sequences(3, 10, name, 0.5 if masked else 0.0)
        spelling = Spelling(X.alphabet, masked)
        assert (spelling.bits, spelling.depth, spelling.shallow) == (bits, depth, shallow)
        symbols = spelling.symbols(X.matrix)
        assert symbols.max() < 2**bits
        assert np.array_equal(symbols == spelling.mask, X.matrix == X.alphabet.mask)


def test_the_planner_uses_features_where_rows_are_many_and_they_fit(monkeypatch):
    monkeypatch.setattr(planner, "GRAM_UP_TO", 20)
    few, many = sequences(20, 40), sequences(70, 40)
    assert isinstance(bind(WeightedDegree(8), few, Serial()), DenseGram)
    assert isinstance(bind(WeightedDegree(8), many, Serial()), PositionalOperator)
    assert isinstance(bind(WeightedDegree(8), many, Serial(), need="values"), DenseGram)
    assert isinstance(bind(WeightedDegree(8), few, Serial(), need="features"), PositionalOperator)
    assert isinstance(bind(Spectrum(3), many, Serial()), FeatureOperator)
    assert isinstance(bind(WeightedDegree(8) + Spectrum(2), many, Serial()), FeatureOperator)
    assert isinstance(bind(RBF(gamma=1.0), rng.normal(size=(70, 3)), Serial()), DenseGram)


def test_only_k_mers_without_shifts_have_paths():
    X = sequences(20, 24)
    assert isinstance(explicit(WeightedDegree(8), X), PrimalOperator)
    assert not isinstance(explicit(WeightedDegree(8, shift=1), X), PrimalOperator)


def test_features_that_cannot_be_numbered_leave_the_matrix(monkeypatch):
    monkeypatch.setattr(planner, "GRAM_UP_TO", 20)
    kernel, X = WeightedDegree(40).normalized(), sequences(30, 50)
    assert isinstance(bind(Spectrum(40), X, Serial()), FeatureOperator)  # codes of several words
    assert isinstance(bind(kernel, X, Serial()), DenseGram)
    with pytest.raises(ValueError, match="more than 63-bit column numbers can hold"):
        bind(kernel, X, Serial(), need="features")


@pytest.mark.parametrize(
    ("kernel", "what", "limit"),
    [(WeightedDegree(8), "sorted k-mers of 200", 56_000), (Spectrum(6), "features of 200", 200_000)],
)
def test_features_that_do_not_fit_the_memory_leave_columns_of_the_matrix(kernel, what, limit, monkeypatch):
    """Beside the columns there are the counts of a spectrum, from which kernel values are made: they count, too."""
    monkeypatch.setattr(planner, "GRAM_UP_TO", 20)
    X = sequences(200, 60)
    assert isinstance(bind(kernel, X, Serial(), limit), CachedColumns)
    with pytest.raises(MemoryError, match=f"The {what} .* more than the memory_limit of {limit // 1000} kB"):
        bind(kernel, X, Serial(), limit, need="features")


def test_kernels_without_features_say_so():
    with pytest.raises(TypeError, match="no explicit features; use a solver that works on kernel values"):
        bind(RBF(gamma=1.0), rng.normal(size=(9, 2)), Serial(), need="features")
