"""N-grams with gaps on strings: features, Gram matrices, and the three ways of counting against each other."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels import GappyNGram, NGram
from kernelweave.kernels.strings.gappy import counts as gappy_counts
from kernelweave.kernels.strings.gappy import windows as gappy_windows
from kernelweave.kernels.strings.lattices import counts as lattice_counts
from oracles.rational import inner, string_features

TOLERANCE = 1e-10
some = settings(deadline=None, max_examples=60)
ROWS = st.lists(st.text("ACGN", max_size=9), min_size=1, max_size=4)
KERNELS = st.builds(
    GappyNGram,
    st.integers(1, 4),
    st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    st.none() | st.integers(0, 4),
    st.booleans(),
)


def dna(rows):
    return Sequences.from_strings(rows, alphabet="dna", unknown="mask")


def decoded(kernel, X):
    table = kernel.features(X)
    names = kernel.names(table.indices, X.alphabet)
    return [dict(zip(names[a:b], table.data[a:b].tolist())) for a, b in pairwise(table.indptr.tolist())]


@some
@given(KERNELS, ROWS)
def test_features_and_gram_are_those_of_the_strings(kernel, rows):
    expected = [string_features(kernel, row) for row in rows]
    X = dna(rows)
    for found, wanted in zip(decoded(kernel, X), expected, strict=True):
        assert found == pytest.approx({"".join(gram): value for gram, value in wanted.items()}, abs=TOLERANCE)
    values = [[inner(x, y) for y in expected] for x in expected]
    np.testing.assert_allclose(kernel.gram(X), values, atol=TOLERANCE)
    np.testing.assert_allclose(kernel.diag(X), np.diag(values), atol=TOLERANCE)
    table = kernel.features(X)
    np.testing.assert_allclose((table @ table.T).toarray(), values, atol=TOLERANCE)


@some
@given(KERNELS, ROWS)
def test_ways_of_counting_agree(kernel, rows):
    X = dna(rows)
    found = kernel.counts(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gappy_windows, "MOST_AT_A_PLACE", 0)
        patch.setattr(gappy_counts, "LETTERS_AT_A_TIME", 5)
        others = kernel.counts(X), kernel.counts(Lattices.from_sequences(X))
    for other in others:
        assert np.array_equal(other.codes, found.codes)
        assert other.codes.dtype == found.codes.dtype
        assert np.array_equal(other.starts, found.starts)
        np.testing.assert_allclose(other.values, found.values, rtol=TOLERANCE)


def test_without_gaps_these_are_ngrams():
    X = dna(["ACGTNACG", "GATTACA"])
    for cumulative in (False, True):
        left, right = GappyNGram(3, 0.3, 0, cumulative).counts(X), NGram(3, cumulative).counts(X)
        assert np.array_equal(left.codes, right.codes)
        assert np.array_equal(left.values, right.values)


@pytest.mark.parametrize("decay", [0.01, 0.5, 0.97, 1.0])
def test_long_rows_keep_their_precision(decay):
    """The common factor of the weights falls below any number many times over in such rows."""
    rng = np.random.default_rng(0)
    X = dna(["".join(rng.choice(list("ACGTN"), 3000)), "ACG" + "N" * 400 + "T", "ACGT"])
    kernel = GappyNGram(3, decay, cumulative=True)
    found, wanted = kernel.features(X), kernel.features(Lattices.from_sequences(X))
    np.testing.assert_allclose(found.toarray(), wanted.toarray(), rtol=1e-9, atol=1e-270)
    if decay == 1.0:
        assert np.array_equal(found.data, np.round(found.data))
    row = dict(zip(kernel.names(found[[1]].indices), found[[1]].data))
    assert row.get("CGT", 0.0) == pytest.approx(decay**400, rel=1e-9, abs=1e-270)
    assert row.get("AGT", 0.0) == pytest.approx(decay**401, rel=1e-9, abs=1e-270)


def test_strings_of_several_words_stay_exact():
    X = Sequences.from_strings(["abcdefghij", "abcdefghi", "abcdefghj"], alphabet="bytes")
    kernel = GappyNGram(9, 0.5)
    found = kernel.counts(X)
    assert found.codes.shape[1] == 2
    names = kernel.names(found.codes, X.alphabet)
    assert dict(zip(names[:10], found.values)) == {
        "".join(gram): value for gram, value in string_features(kernel, "abcdefghij").items()
    }
    assert kernel.gram(X)[0].tolist() == [2 + 8 * 0.25, 1.0, 0.5]
    cumulative = GappyNGram(9, 0.5, cumulative=True)
    rows = [string_features(cumulative, text) for text in X.to_strings()]
    np.testing.assert_allclose(cumulative.gram(X), [[inner(x, y) for y in rows] for x in rows], rtol=TOLERANCE)


def test_many_letters_and_words():
    rng = np.random.default_rng(1)
    alphabet = Alphabet.words([f"w{i}" for i in range(3000)])
    rows = [[f"w{i}" for i in rng.choice(rng.integers(0, 3000, 20), 25)] for _ in range(3)]
    X = Sequences.from_tokens(rows, alphabet)
    for kernel in (GappyNGram(2, 0.5), GappyNGram(3, 0.5), GappyNGram(3, 0.5, max_gap=1)):
        expected = [string_features(kernel, row) for row in rows]
        np.testing.assert_allclose(kernel.gram(X), [[inner(x, y) for y in expected] for x in expected], rtol=TOLERANCE)


def test_no_rows_and_empty_rows():
    for kernel in (GappyNGram(2), GappyNGram(2, max_gap=1), GappyNGram(1)):
        assert kernel.gram(dna([])).shape == (0, 0)
        assert kernel.features(dna(["", "N"])).nnz == 0
    assert GappyNGram(2).features(dna(["A", "NA"])).nnz == 0


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (GappyNGram(0), "n=0 of GappyNGram must be a positive integer"),
        (
            GappyNGram(2, 0.0),
            "decay=0.0 of GappyNGram must be a number above 0 .* those of NGram",
        ),
        (GappyNGram(2, 1.5), "decay=1.5 of GappyNGram"),
        (GappyNGram(2, float("nan")), "decay=nan of GappyNGram"),
        (GappyNGram(2, "half"), "decay='half' of GappyNGram"),
        (GappyNGram(2, max_gap=-1), "max_gap=-1 of GappyNGram must be a non-negative integer or None"),
        (GappyNGram(2, max_gap=True), "max_gap=True of GappyNGram"),
    ],
    ids=repr,
)
def test_parameters_without_meaning_are_refused(kernel, sentence):
    with pytest.raises(ValueError, match=sentence):
        kernel.gram(dna(["ACGT"]))


def test_rows_with_too_many_ngrams_are_refused(monkeypatch):
    X = dna(["ACG", "ACGTACGTTTGACGT"])
    monkeypatch.setattr(gappy_counts, "MOST", 100)
    monkeypatch.setattr(lattice_counts, "MOST", 100)
    for rows in (X, Lattices.from_sequences(X)):
        with pytest.raises(ValueError, match="Row 1 has too many different strings to count; take shorter ones"):
            GappyNGram(5).counts(rows)
