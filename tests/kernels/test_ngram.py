"""N-grams of words, tokens and characters: counts, codes of several words, names."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels import Features, GappyNGram, Mismatch, NGram, Spectrum
from kernelweave.kernels.strings.numbering import Numbering
from oracles.rational import inner, string_features

TOLERANCE = 1e-10
some = settings(deadline=None, max_examples=40)
WORDS = Alphabet.words(["a", "bee", "cat", "dog"])
TEXTS = st.lists(st.lists(st.sampled_from(["a", "bee", "cat", "dog", "unknown"]), max_size=9), min_size=1, max_size=4)
NGRAMS = st.builds(NGram, st.integers(1, 4), st.booleans(), binary=st.booleans()) | st.builds(
    NGram, st.just(3), st.just(True), st.lists(st.sampled_from([0.0, 0.5, 2.0]), min_size=3, max_size=3), st.booleans()
)
LONG = [NGram(40), NGram(40, cumulative=True), Spectrum(40, reverse_complement=True), GappyNGram(32, max_gap=0)]


def decoded(kernel, X):
    """Return name -> value of each row."""
    found = kernel.counts(X)
    names = kernel.names(found.codes, X.alphabet)
    return [dict(zip(names[a:b], found.values[a:b].tolist())) for a, b in pairwise(found.starts.tolist())]


def rising(counts):
    """Return whether the codes of each row are sorted and come once."""
    rows = [list(map(tuple, counts.codes[a:b].tolist())) for a, b in pairwise(counts.starts.tolist())]
    return all(row == sorted(set(row)) for row in rows)


@some
@given(NGRAMS, TEXTS)
def test_features_and_gram_are_those_of_the_words(kernel, rows):
    X = Sequences.from_tokens(rows, WORDS, unknown="mask")
    expected = [string_features(kernel, row, lambda word: word == "unknown") for row in rows]
    assert isinstance(kernel, Features)
    assert kernel.kind == "strings"
    for found, wanted in zip(decoded(kernel, X), expected, strict=True):
        assert found == pytest.approx({" ".join(gram): value for gram, value in wanted.items()}, abs=TOLERANCE)
    values = [[inner(x, y) for y in expected] for x in expected]
    np.testing.assert_allclose(kernel.gram(X), values, atol=TOLERANCE)
    table = kernel.features(X)
    np.testing.assert_allclose((table @ table.T).toarray(), values, atol=TOLERANCE)


def test_is_the_spectrum_by_another_name():
    X = Sequences.from_strings(["ACGTNAC", "GATTACA", ""], unknown="mask")
    for options in ({}, {"cumulative": True}, {"cumulative": True, "weights": [1, 0, 3]}, {"binary": True}):
        left, right = NGram(3, **options).counts(X), Spectrum(3, **options).counts(X)
        assert np.array_equal(left.codes, right.codes)
        assert np.array_equal(left.values, right.values)
    assert NGram(3) != Spectrum(3)
    assert repr(NGram(3, cumulative=True)) == "NGram(3, cumulative=True)"
    assert NGram(2).set_params(n=5).longest == 5


@some
@given(st.integers(1, 5), st.integers(1, 5), st.booleans(), st.data())
def test_numbers_and_letters_are_one_to_one(size, longest, cumulative, data):
    numbering = Numbering.of(size, longest, cumulative)
    codes = data.draw(st.lists(st.integers(0, numbering.columns - 1), max_size=8))
    letters = numbering.spelled(np.array(codes, np.int64).reshape(-1, 1))
    assert numbering.numbered(letters)[:, 0].tolist() == codes
    assert letters.max(initial=0) < size


@some
@given(st.sampled_from([2, 4, 256, 70000]), st.lists(st.integers(1, 70), max_size=6), st.integers(0, 2**32 - 1))
def test_long_codes_and_letters_are_one_to_one(size, lengths, seed):
    numbering = Numbering.of(size, 70, True)
    assert numbering.columns is None
    rng = np.random.default_rng(seed)
    letters = np.full((len(lengths), 70), -1, np.int32)
    for row, length in zip(letters, lengths):
        row[:length] = rng.integers(0, size, length)
    codes = numbering.numbered(letters)
    assert (codes >= 0).all()
    assert np.array_equal(numbering.spelled(codes), letters)


@pytest.mark.parametrize("kernel", LONG, ids=repr)
def test_ngrams_of_several_words_stay_exact(kernel):
    rng = np.random.default_rng(0)
    motif = "".join(rng.choice(list("ACGT"), 41))
    X = Sequences.from_strings([motif, motif[:-1] + "A", motif + motif], alphabet="dna")
    found = kernel.counts(X)
    assert found.codes.shape[1] > 1
    assert rising(found)
    assert rising(kernel.counts(Lattices.from_sequences(X)))
    rows = decoded(kernel, X)
    expected = [[sum(v * y.get(name, 0) for name, v in x.items()) for y in rows] for x in rows]
    np.testing.assert_allclose(kernel.gram(X), expected, rtol=TOLERANCE)
    letters = kernel.letters(found.codes, X.alphabet)
    assert letters.shape == (len(found.values), kernel.longest)
    names = kernel.names(found.codes, X.alphabet)
    assert ["".join("ACGT"[code] for code in row if code >= 0) for row in letters.tolist()] == names
    for name in names:
        assert len(name) == kernel.longest or kernel.cumulative


def test_every_window_of_a_long_row_is_found():
    text = "the quick brown fox jumps over the lazy dog, the quick brown fox"
    X = Sequences.from_strings([text], alphabet="bytes")
    windows = [text[i : i + 10] for i in range(len(text) - 9)]
    assert decoded(NGram(10), X) == [{gram: float(windows.count(gram)) for gram in windows}]
    every = {text[i : i + n] for n in range(1, 11) for i in range(len(text) - n + 1)}
    assert set(decoded(NGram(10, cumulative=True), X)[0]) == every


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (NGram(0), "n=0 of NGram must be a positive integer"),
        (NGram(True), "n=True of NGram"),
        (NGram(2, weights=[1, 1]), "weights of NGram are for strings of several lengths; they need cumulative=True"),
        (NGram(2, True, [1, 2, 3]), "of NGram must be 2 non-negative numbers"),
    ],
    ids=repr,
)
def test_parameters_without_meaning_are_refused(kernel, sentence):
    with pytest.raises(ValueError, match=sentence):
        kernel.gram(Sequences.from_strings(["ACGT"]))


def test_bad_input_is_refused():
    X = Sequences.from_strings(["ACGT" * 20])
    with pytest.raises(TypeError, match=r"NGram compares sequences, but got .*; make them with Sequences"):
        NGram(2).gram(np.eye(2))
    with pytest.raises(ValueError, match="63-bit column numbers can hold; take shorter k-mers, or use its Gram matrix"):
        NGram(40).features(X)
    codes = NGram(40).counts(X).codes
    with pytest.raises(ValueError, match=r"The code \[1, 0\] is not a feature of NGram\(40\)"):
        NGram(40).names(np.array([[1, 0]]))
    with pytest.raises(ValueError, match="is not a feature"):
        NGram(40).names(codes + 2**62)
    with pytest.raises(TypeError, match="whole numbers in 2 columns"):
        NGram(40).names(np.zeros((1, 3), int))
    with pytest.raises(TypeError, match="whole numbers in 2 columns"):
        NGram(40).names(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="is not a feature of"):
        NGram(2).names(np.array([[16]]))
    with pytest.raises(ValueError, match="63-bit column numbers"):
        Mismatch(40, 1).counts(X)


def test_mismatches_are_spelled():
    X = Sequences.from_strings(["ACG"])
    found = Mismatch(3, 1).counts(X)
    letters = Mismatch(3, 1).letters(found.codes, "dna")
    assert ["".join("ACGT"[code] for code in row) for row in letters] == Mismatch(3, 1).names(found.codes[:, 0])
