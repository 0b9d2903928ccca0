"""Kernels on lattices: features and Gram matrices against sums over all paths, and against strings."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.data.lattices.rows import EPSILON, Lattices
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels import GappedKmer, GappyNGram, Mismatch, NGram, Spectrum
from kernelweave.kernels.strings.inexact import near
from kernelweave.kernels.strings.lattices import counts as lattice_counts
from kernelweave.kernels.strings.lattices import near as near_lattices
from oracles.rational import expected_features, inner, string_features

TOLERANCE = 1e-10
some = settings(deadline=None, max_examples=60)
LETTERS = Alphabet("abc", "abc")
MASKED = LETTERS.size
LABEL = st.sampled_from([EPSILON, 0, 0, 1, 1, 2, MASKED])
WEIGHT = st.sampled_from([0.25, 0.5, 1.5])
FINALS = st.dictionaries(st.integers(0, 7), st.sampled_from([0.5, 1.0, 2.0]), max_size=2)
ARCS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3), LABEL, WEIGHT), max_size=6)
SPINE = st.lists(st.tuples(LABEL, WEIGHT), max_size=5)
"""Labels and weights of a path through the states 0, 1, 2, .., the last of which is final."""


def lattice(spine, arcs, finals):
    path = [(i, i + 1, *step) for i, step in enumerate(spine)]
    return path + [(source, source + span, *step) for source, span, *step in arcs], {**finals, len(spine): 1.0}


ROWS = st.lists(st.builds(lattice, SPINE, ARCS, FINALS), min_size=1, max_size=3)
LATTICES = ROWS.map(lambda rows: Lattices.from_arcs(rows, LETTERS, strict=False))
UNTRIMMED = ROWS.map(lambda rows: Lattices.from_arcs(rows, LETTERS, strict=False, connect=False))
GRAMS = (
    st.builds(NGram, st.integers(1, 4), st.booleans())
    | st.builds(NGram, st.just(3), st.just(True), st.lists(st.sampled_from([0.0, 0.5, 2.0]), min_size=3, max_size=3))
    | st.builds(
        GappyNGram,
        st.integers(1, 4),
        st.sampled_from([0.3, 0.5, 1.0]),
        st.none() | st.integers(0, 3),
        st.booleans(),
    )
)
KERNELS = GRAMS | st.integers(1, 3).flatmap(lambda k: st.builds(Mismatch, st.just(k), st.integers(0, k - 1)))
STRING_KERNELS = [
    NGram(2),
    NGram(3, cumulative=True, weights=[1, 0, 2]),
    NGram(40, cumulative=True),
    Spectrum(3, reverse_complement=True),
    Spectrum(4, cumulative=True, reverse_complement=True),
    Spectrum(40, reverse_complement=True),
    GappyNGram(3),
    GappyNGram(3, 0.3, max_gap=2, cumulative=True),
    Mismatch(3, 1),
    Mismatch(4, 2, reverse_complement=True),
    Mismatch(7, 1),
    GappedKmer(4, 2),
    GappedKmer(5, 3, reverse_complement=True),
]


def by_letters(kernel, X):
    """Return letters -> value of each row."""
    found = kernel.counts(X)
    strings = [tuple(code for code in row if code >= 0) for row in kernel.letters(found.codes, X.alphabet).tolist()]
    return [dict(zip(strings[a:b], found.values[a:b].tolist())) for a, b in pairwise(found.starts.tolist())]


def test_where_no_length_has_weight_there_are_no_features():
    X = Lattices.from_arcs([([(0, 1, 0, 0.25)], {1: 1.0})] * 3, LETTERS)
    kernel = NGram(3, cumulative=True, weights=[0.0, 0.0, 0.0])
    assert by_letters(kernel, X) == [{}, {}, {}]
    assert not kernel.gram(X).any()


@some
@given(KERNELS, LATTICES | UNTRIMMED)
def test_features_are_sums_over_paths(kernel, X):
    for i, found in enumerate(by_letters(kernel, X)):
        assert found == pytest.approx(expected_features(kernel, X, i), rel=TOLERANCE, abs=TOLERANCE)


@some
@given(KERNELS, LATTICES, LATTICES, st.sampled_from([0, near.FEW_COLUMNS]))
def test_gram_matrices_are_sums_over_pairs_of_paths(kernel, X, Y, few):
    left = [expected_features(kernel, X, i) for i in range(len(X))]
    right = [expected_features(kernel, Y, i) for i in range(len(Y))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "FEW_COLUMNS", few)
        K = kernel.gram(X)
        np.testing.assert_allclose(K, [[inner(x, y) for y in left] for x in left], rtol=TOLERANCE, atol=TOLERANCE)
        values = [[inner(x, y) for y in right] for x in left]
        np.testing.assert_allclose(kernel.gram(X, Y), values, rtol=TOLERANCE, atol=TOLERANCE)
        np.testing.assert_allclose(kernel.diag(X), np.diag(K), rtol=TOLERANCE, atol=TOLERANCE)
    product = (kernel.features(X) @ kernel.features(Y).T).toarray()
    np.testing.assert_allclose(product, values, rtol=TOLERANCE, atol=TOLERANCE)


@some
@given(KERNELS, LATTICES)
def test_lattices_and_strings_stand_side_by_side(kernel, X):
    texts = ["abca", "", "cc"]
    Y = Sequences.from_strings(texts, alphabet=LETTERS)
    codes = [[LETTERS.letters.index(letter) for letter in text] for text in texts]
    wanted = [string_features(kernel, row, lambda code: code >= MASKED) for row in codes]
    expected = [[inner(expected_features(kernel, X, i), y) for y in wanted] for i in range(len(X))]
    np.testing.assert_allclose(kernel.gram(X, Y), expected, rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(kernel.gram(Y, X), np.transpose(expected), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("kernel", STRING_KERNELS, ids=repr)
def test_a_string_is_a_lattice_with_one_path(kernel, monkeypatch):
    monkeypatch.setattr(lattice_counts, "ARCS_AT_A_TIME", 20)
    monkeypatch.setattr(near_lattices, "LMERS_AT_A_TIME", 20)
    rng = np.random.default_rng(0)
    rows = [
        "",
        "N",
        "ACGTNACG",
        *("".join(rng.choice(list("ACGTN"), 12, p=[0.3, 0.2, 0.2, 0.2, 0.1])) for _ in "1234567"),
    ]
    rows += ["ACGT" * 11]
    X = Sequences.from_strings(rows, unknown="mask")
    Y = Lattices.from_sequences(X)
    K = kernel.gram(X)
    for other in (kernel.gram(Y), kernel.gram(X, Y), kernel.gram(Y, X)):
        np.testing.assert_allclose(other, K, rtol=TOLERANCE, atol=TOLERANCE)
    if "40" not in repr(kernel):
        left, right = kernel.features(X), kernel.features(Y)
        assert np.array_equal(left.indices, right.indices)
        assert np.array_equal(left.indptr, right.indptr)
        np.testing.assert_allclose(left.data, right.data, rtol=TOLERANCE)


def test_expected_counts_are_linear_in_the_weights():
    arcs = [(0, 1, "a", 0.5), (0, 1, None, 0.5), (1, 2, "b", 0.25), (1, 3, "c", 0.75), (2, 3, "a", 1.0)]
    X = Lattices.from_arcs([(arcs, [3])], LETTERS)
    Y = Lattices.from_arcs([(arcs, {3: 4.0})], LETTERS)
    for kernel in (NGram(2), GappyNGram(2), Mismatch(2, 1)):
        np.testing.assert_allclose(kernel.counts(Y).values, 4 * kernel.counts(X).values)
    assert by_letters(NGram(2), X) == [{(0, 1): 0.125, (1, 0): 0.25, (0, 2): 0.375}]
    assert by_letters(GappyNGram(2), X) == [{(0, 0): 0.0625, (0, 1): 0.125, (1, 0): 0.25, (0, 2): 0.375}]


def test_a_sausage_of_many_paths_costs_its_arcs():
    """Thirty slots of three words have 3^30 paths; expected counts of a product of independent slots are known."""
    arcs = [(i, i + 1, letter, 1 / 3) for i in range(30) for letter in "abc"]
    X = Lattices.from_arcs([(arcs, [30])], LETTERS)
    for found, times in ((by_letters(NGram(3), X)[0], 28), (by_letters(GappyNGram(3, 1.0), X)[0], 4060)):
        assert len(found) == 27
        np.testing.assert_allclose(list(found.values()), times / 27, rtol=TOLERANCE)


def test_codes_of_several_words_are_sorted_on_lattices():
    words = [f"w{i}" for i in range(5000)]
    alphabet = Alphabet.words(words)
    rng = np.random.default_rng(0)
    arcs = [(i, i + 1, words[w], 0.5) for i in range(9) for w in rng.integers(0, 5000, 2)]
    X = Lattices.from_arcs([(arcs, [9]), ([], [0])], alphabet)
    kernel = NGram(7, cumulative=True)
    found = kernel.counts(X)
    assert found.codes.shape[1] == 2
    rows = list(map(tuple, found.codes.tolist()))
    assert rows == sorted(set(rows))
    assert found.starts.tolist() == [0, len(rows), len(rows)]
    assert by_letters(kernel, X)[0] == pytest.approx(expected_features(kernel, X, 0), rel=TOLERANCE)
    one_best = X.one_best()
    assert set(by_letters(kernel, one_best)[0]) <= set(by_letters(kernel, X)[0])


@pytest.mark.parametrize("kernel", [NGram(2), Spectrum(2), GappyNGram(2), Mismatch(2, 1), GappedKmer(2, 1)], ids=repr)
def test_no_lattices_and_empty_lattices(kernel):
    X = Lattices.from_arcs([([], []), ([], [0]), ([(0, 1, "a", 1.0)], [1])], LETTERS)
    assert kernel.features(X).nnz == 0
    assert kernel.gram(X).tolist() == [[0.0] * 3] * 3
    assert kernel.gram(X[:0]).shape == (0, 0)
    assert kernel.gram(X, X[:0]).shape == (3, 0)


def test_presence_has_no_expectation():
    X = Lattices.from_arcs([([(0, 1, "a", 1.0)], [1])], LETTERS)
    with pytest.raises(ValueError, match=r"binary=True of NGram .* use binary=False, or the best path of each"):
        NGram(1, binary=True).gram(X)
    assert NGram(1, binary=True).gram(X.one_best()).tolist() == [[1.0]]


def test_other_alphabets_are_refused():
    X = Lattices.from_arcs([([(0, 1, "a", 1.0)], [1])], LETTERS)
    with pytest.raises(ValueError, match="different alphabets cannot be compared"):
        NGram(1).gram(X, Lattices.from_arcs([([(0, 1, "a", 1.0)], [1])], "bytes"))


def test_no_weights_count_nothing():
    X = Lattices.from_arcs([([(0, 1, "a", 1.0)], [1])], LETTERS)
    assert NGram(2, cumulative=True, weights=[0, 0]).gram(X).tolist() == [[0.0]]
