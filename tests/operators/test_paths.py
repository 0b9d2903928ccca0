"""The normal vector along the paths of rows: what is written is what is read, level by level and node by node."""

import numpy as np
import pytest

from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.engines import Serial, Threads
from kernelweave.kernels import WeightedDegree
from kernelweave.operators import bind
from kernelweave.operators.kmers import levels, paths, prefixes
from kernelweave.operators.kmers.levels import direct_depth, folded
from kernelweave.operators.kmers.nodes import SharedNodes
from kernelweave.operators.kmers.paths import Paths
from oracles.rows import ALPHABETS, mask, sequences

rng = np.random.default_rng(1)
EXACT = 1e-10


def bound(kernel, X, engine=None):
    return bind(kernel, X, engine or Serial(), need="features")


def check(kernel, X, dtype=np.float64, tolerance=EXACT):
    """Compare reading with the matrix product, from all rows and from a few of them."""
    descent, K, n = bound(kernel, X).descent(None, dtype), kernel.gram(X), len(X)
    scale = tolerance * max(1.0, np.abs(K).max())
    for alpha in (rng.normal(size=n), np.where(np.arange(n) % 3 == 0, rng.normal(size=n), 0.0), np.zeros(n)):
        descent.start(alpha)
        np.testing.assert_allclose(descent.outputs(alpha), K @ alpha, rtol=0, atol=scale * n)
        np.testing.assert_allclose(descent.product(alpha), K @ alpha, rtol=0, atol=EXACT * max(1.0, K.max()) * n)
    return descent


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 8, 13, 20, 25])
@pytest.mark.parametrize("masked", [0.0, 0.1])
def test_reading_is_the_matrix_product(degree, masked):
    for n in (2, 15, 60):
        check(WeightedDegree(degree), sequences(n, 30, masked=masked))


@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("masked", [0.0, 0.1])
def test_alphabets(alphabet, masked):
    check(WeightedDegree(6), sequences(40, 20, alphabet, masked))


@pytest.mark.parametrize("letters", ["A", "AB", "ABC"])
def test_small_alphabets_fold_more_levels(letters):
    """One bit a letter: three levels are one group, and a write changes one, two or four entries."""
    rows = ["".join(rng.choice(list(letters), 15)) for _ in range(40)]
    X = Sequences.from_strings(rows, alphabet=Alphabet("few", letters))
    check(WeightedDegree(9), X)
    check(WeightedDegree(9), mask(X, 0.1, rng))


@pytest.mark.parametrize(("degree", "length"), [(32, 50), (60, 60)])
def test_k_mers_that_are_longer_than_a_word_of_63_bits(degree, length):
    X = sequences(12, length, masked=0.01)
    check(WeightedDegree(degree), Sequences.concatenate([X, X[:3]]))


@pytest.mark.parametrize("entries", [0.01, 40.0, 1e9])
@pytest.mark.parametrize("bits", [0, 2, 4, 6])
def test_every_split_between_addresses_and_nodes_gives_the_same(entries, bits, monkeypatch):
    monkeypatch.setattr(levels, "ENTRIES_A_ROW", entries)
    monkeypatch.setattr(levels, "MOST_DIRECT", 1e6)
    monkeypatch.setattr(levels, "FOLDED_BITS", bits)
    for masked in (0.0, 0.1):
        X = sequences(30, 20, masked=masked)
        descent = check(WeightedDegree(7), X)
        assert (descent.paths.letters.depth == 1) == (entries < 1)
        check(WeightedDegree(7, only=4), X)
        check(WeightedDegree(7, positions=(3, 9)), X)
        check(WeightedDegree(7, position_weights=np.linspace(0, 2, 20).tolist()), X)


def test_single_precision_is_near():
    check(WeightedDegree(20), sequences(80, 60), np.float32, 1e-6)
    X = sequences(200, 100, masked=0.01)
    K = WeightedDegree(20).gram(X) / 100
    alpha = rng.normal(size=200)
    descent = bound(0.01 * WeightedDegree(20), X).descent(None, np.float32)
    descent.start(alpha)
    assert descent.vector[0][0].dtype == np.float32
    np.testing.assert_allclose(descent.outputs(alpha), K @ alpha, atol=1e-4)


@pytest.mark.parametrize("masked", [0.0, 0.1])
def test_what_no_other_row_has_stays_with_its_row(masked):
    """Far-apart rows share no long k-mer: all of those weights are in `own`; of equal rows, nothing is."""
    kernel, X = WeightedDegree(20), sequences(1, 60, masked=masked)
    alone = bound(kernel, X).descent(None, np.float64)
    assert [len(values) for values in alone.paths.values] == [0, 0]
    np.testing.assert_allclose(alone.own, kernel.diag(X) - alone.paths.held)
    assert alone.own[0] > 0
    equal = bound(kernel, Sequences.concatenate([X, X])).descent(None, np.float64)
    np.testing.assert_allclose(equal.own, 0.0, atol=1e-12)


def test_nodes_are_the_long_k_mers_that_rows_share():
    """Counted by hand: rows with the same k-mers at a place make one node, its extent in letters, its rows."""
    rows = ["ACGTACGT", "ACGTACGA", "ACGTTTTT", "GGGGGGGG"]
    operator = bound(WeightedDegree(8), Sequences.from_strings(rows, alphabet="dna"))
    shared = SharedNodes(operator.rows.symbols, operator.rows.spelling, 8, Serial())
    assert shared.depth == 1
    half = shared.halves[0]
    first = np.flatnonzero(half.position == 0)
    assert sorted(zip(half.low[first].tolist(), half.high[first].tolist())) == [(1, 4), (4, 7)]
    assert sorted(members(half, node) for node in first) == [[0, 1], [0, 1, 2]]
    assert not any(3 in members(half, node) for half in shared.halves for node in range(len(half.low)))


def members(half, node):
    return [i for i in range(len(half.starts) - 1) if node in half.nodes[half.starts[i] : half.starts[i + 1]]]


def test_kernels_of_other_weights_share_the_nodes():
    X = sequences(40, 25)
    shared, alpha = bound(WeightedDegree(9), X).rows.shared, rng.normal(size=40)
    for kernel in (WeightedDegree(9), WeightedDegree(9, only=7), WeightedDegree(9, positions=(4, 5))):
        made = Paths(shared, kernel.cells(25))
        own = kernel.diag(X) - made.held
        got = made.outputs(made.vector(alpha, np.float64)) + own * alpha
        np.testing.assert_allclose(got, kernel.gram(X) @ alpha, atol=1e-9)


def test_a_part_of_the_rows_has_paths_of_its_own():
    X, kernel = sequences(60, 30, masked=0.05), WeightedDegree(12)
    rows = np.sort(rng.choice(60, 21, replace=False))
    alpha = rng.normal(size=21)
    descent = bound(kernel, X).descent(rows, np.float64)
    descent.start(alpha)
    np.testing.assert_allclose(descent.outputs(alpha), kernel.gram(X[rows]) @ alpha, atol=1e-9)


def test_the_same_bits_with_any_engine(monkeypatch):
    monkeypatch.setattr(paths, "PATH_ROWS", 16)
    X, alpha = sequences(100, 60), rng.normal(size=100)

    def everything(engine):
        descent = bound(WeightedDegree(15), X, engine).descent(None, np.float32)
        descent.start(alpha)
        return (
            descent.outputs(alpha),
            descent.product(alpha),
            descent.own,
            *(half.nodes for half in descent.paths.halves),
        )

    first, *others = map(everything, (Serial(), Threads(2), Threads(3)))
    for other in others:
        for a, b in zip(first, other):
            np.testing.assert_array_equal(a, b)


def test_how_many_levels_are_addressed():
    assert direct_depth(100_000, 141, 20, 2) == 8
    assert direct_depth(100_000, 141, 5, 2) == 5
    assert direct_depth(100_000, 3, 5, 2) == 3
    assert direct_depth(1, 141, 20, 9) == 1
    assert direct_depth(10**9, 1000, 20, 2) == 9


def test_folded_groups_cover_every_level_once():
    for bits, depth in [(1, 7), (2, 5), (2, 6), (3, 4), (5, 3), (9, 1)]:
        groups = folded(11, depth, bits)
        levels = [k for first, last, _ in groups[:-1] for k in range(first, last + 1)]
        assert levels == list(range(1, depth + 1))
        assert groups[0, 2] == 0
        assert np.array_equal(np.diff(groups[:, 2]), 11 << (bits * groups[:-1, 1]))


@pytest.mark.parametrize("copies", [2, 40])
@pytest.mark.parametrize("n_letters", [2, 4, 20])
def test_words_that_agree_in_all_packed_letters_are_sorted_by_the_rest(copies, n_letters):
    """Few ties are sorted by moving rows, many by counting: either way as a stable sort of whole words would."""
    own = np.random.default_rng(copies)
    whole, bits = 70, max(1, int(n_letters - 1).bit_length())
    letters = 63 // bits
    symbols = np.tile(own.integers(n_letters, size=(5, whole), dtype=np.uint8), (copies, 1))
    symbols[:, letters:] = own.integers(n_letters, size=(5 * copies, whole - letters), dtype=np.uint8)
    symbols = np.concatenate([symbols, symbols[::3]])
    keys = prefixes.pack(np.ascontiguousarray(symbols[:, :letters].T), bits)
    order, rank, lcp = (np.empty(len(symbols), np.int32) for _ in range(3))
    prefixes.sort_words(symbols, keys, 0, letters, whole, bits, 1 << bits, order, rank, lcp)
    np.testing.assert_array_equal(order, np.lexsort(symbols.T[::-1]))
    np.testing.assert_array_equal(rank[order], np.arange(len(order)))
    differ = symbols[order[1:]] != symbols[order[:-1]]
    np.testing.assert_array_equal(lcp[1:], np.where(differ.any(axis=1), differ.argmax(axis=1), whole))
