"""Kernels that count k-mers wherever they stand: features and Gram matrices against plain strings."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels import Features, GappedKmer, Mismatch, Spectrum, parse
from kernelweave.kernels.strings import counting, counts
from kernelweave.kernels.strings.inexact import hamming, near
from oracles.kernels import gram
from oracles.strings import features

TOLERANCE = 1e-10
slow_start = settings(deadline=None, max_examples=60)
ROWS = st.lists(st.text("ACGTN", max_size=14), min_size=1, max_size=6)
STRANDS = st.booleans()
WEIGHT = st.sampled_from([0.0, 0.3, 1.0, 2.5])
CUMULATIVE = st.integers(1, 5).flatmap(
    lambda k: st.builds(
        Spectrum,
        st.just(k),
        st.just(True),
        st.none() | st.lists(WEIGHT, min_size=k, max_size=k),
        st.booleans(),
        STRANDS,
    )
)
SPECTRA = st.builds(Spectrum, st.integers(1, 6), binary=st.booleans(), reverse_complement=STRANDS) | CUMULATIVE
MISMATCHES = st.integers(1, 4).flatmap(lambda k: st.builds(Mismatch, st.just(k), st.integers(0, k - 1), STRANDS))
GAPPED = st.integers(1, 5).flatmap(lambda l: st.builds(GappedKmer, st.just(l), st.integers(1, l), STRANDS))
KERNELS = SPECTRA | MISMATCHES | GAPPED


def dna(rows):
    return Sequences.from_strings(rows, alphabet="dna", unknown="mask")


def decoded(kernel, X):
    table = kernel.features(X)
    names = kernel.names(table.indices, X.alphabet)
    ends = table.indptr.tolist()
    return [dict(zip(names[a:b], table.data[a:b].tolist())) for a, b in pairwise(ends)]


def inner(table, other):
    known = np.unique(np.concatenate([table.indices, other.indices]))
    dense = []
    for part in (table, other):
        dense.append(np.zeros((part.shape[0], len(known))))
        rows = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        dense[-1][rows, np.searchsorted(known, part.indices)] = part.data
    return dense[0] @ dense[1].T


@slow_start
@given(KERNELS, ROWS)
def test_features_are_those_of_the_strings(kernel, rows):
    assert isinstance(kernel, Features)
    for found, row in zip(decoded(kernel, dna(rows)), rows, strict=True):
        assert found == pytest.approx(features(kernel, row), abs=TOLERANCE)


@slow_start
@given(KERNELS, ROWS, ROWS, st.sampled_from([0, near.FEW_COLUMNS]))
def test_gram_matrices_are_those_of_the_strings(kernel, rows, others, few):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "FEW_COLUMNS", few)
        np.testing.assert_allclose(kernel.gram(dna(rows)), gram(kernel, rows), atol=TOLERANCE)
        np.testing.assert_allclose(kernel.gram(dna(rows), dna(others)), gram(kernel, rows, others), atol=TOLERANCE)
        np.testing.assert_allclose(kernel.diag(dna(rows)), np.diag(gram(kernel, rows)), atol=TOLERANCE)


@slow_start
@given(KERNELS, ROWS, ROWS)
def test_features_multiply_to_the_gram_matrix(kernel, rows, others):
    X, Y = dna(rows), dna(others)
    product = inner(kernel.features(X), kernel.features(Y))
    np.testing.assert_allclose(product, kernel.gram(X, Y), rtol=TOLERANCE, atol=TOLERANCE)


@slow_start
@given(KERNELS, ROWS)
def test_both_strands_are_one(kernel, rows):
    kernel.set_params(reverse_complement=True)
    X = dna(rows)
    assert (kernel.features(X) != kernel.features(X.reverse_complement())).nnz == 0


@slow_start
@given(KERNELS, ROWS)
def test_tables_are_sorted_and_hold_each_feature_once(kernel, rows):
    table = kernel.features(dna(rows))
    assert table.data.dtype == np.float64
    assert table.indices.dtype == np.int32
    for row in range(len(rows)):
        assert (np.diff(table.indices[table.indptr[row] : table.indptr[row + 1]]) > 0).all()
    assert table.indices.max(initial=0) < table.shape[1]


@pytest.mark.parametrize("both", [False, True])
def test_exact_kmers_are_the_spectrum(both, monkeypatch):
    X = random_rows(20, 60, "ACGT")
    spectrum = Spectrum(4, reverse_complement=both)
    monkeypatch.setattr(near, "FEW_COLUMNS", 0)
    for kernel in (Mismatch(4, 0, both), GappedKmer(4, 4, both)):
        assert np.array_equal(kernel.gram(X), spectrum.gram(X))
        assert (kernel.features(X) != spectrum.features(X)).nnz == 0


def random_rows(n, length, letters, alphabet="dna", seed=0):
    rng = np.random.default_rng(seed)
    rows = ["".join(rng.choice(list(letters), rng.integers(0, length + 1))) for _ in range(n)]
    return Sequences.from_strings(rows, alphabet=alphabet, unknown="mask")


LONG = [
    (Spectrum(4), 300, "ACGTN"),
    (Spectrum(10), 300, "ACGTN"),
    (Spectrum(6, cumulative=True, weights=[1, 0, 1, 2, 0.5, 3]), 150, "ACGTN"),
    (Mismatch(6, 1), 90, "ACGTN"),
    (Mismatch(8, 2), 60, "AC"),
    (GappedKmer(7, 4), 90, "ACGTN"),
    (GappedKmer(8, 6, reverse_complement=True), 90, "AC"),
]


@pytest.mark.parametrize(("kernel", "length", "letters"), LONG, ids=lambda value: repr(value))
def test_long_rows_and_many_rows(kernel, length, letters, monkeypatch):
    monkeypatch.setattr(counting, "COUNTED_ENTRIES", 1000)
    X = random_rows(40, length, letters)
    table = kernel.features(X)
    K = kernel.gram(X)
    np.testing.assert_allclose(K, inner(table, table), rtol=TOLERANCE)
    np.testing.assert_allclose(kernel.gram(X, X[:7]), K[:, :7], rtol=TOLERANCE)
    assert np.array_equal(K, K.T)


@pytest.mark.parametrize("kernel", [Spectrum(3), Spectrum(4, cumulative=True)], ids=repr)
def test_dense_and_sparse_products_agree(kernel, monkeypatch):
    X = random_rows(30, 80, "ACGTN")
    expected = kernel.gram(X), kernel.gram(X[:20], X[20:])
    for share in (-1.0, 2.0):
        monkeypatch.setattr(counts, "COMMON", share)
        assert np.array_equal(kernel.gram(X), expected[0])
        assert np.array_equal(kernel.gram(X[:20], X[20:]), expected[1])


@pytest.mark.parametrize("kernel", [Mismatch(5, 1), Mismatch(4, 3), GappedKmer(6, 3), GappedKmer(5, 5)], ids=repr)
@pytest.mark.parametrize(("letters", "alphabet"), [("ACGTN", "dna"), ("ACDEFW*", "protein")])
def test_pairs_and_patterns_agree(kernel, letters, alphabet, monkeypatch):
    X = random_rows(12, 30, letters, alphabet)
    monkeypatch.setattr(near, "FEW_COLUMNS", 0)
    found = []
    for cost in (0.0, np.inf):
        monkeypatch.setattr(hamming, "PAIR_COST", cost)
        found.append((kernel.gram(X), kernel.gram(X[:5], X)))
    assert np.array_equal(found[0][0], found[1][0])
    assert np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize(("letters", "k"), [("ACGT", 31), ("ACGT", 32), ("ACGT", 70)])
@pytest.mark.parametrize("both", [False, True])
def test_kmers_of_several_words_stay_exact(letters, k, both):
    rng = np.random.default_rng(0)
    motif = "".join(rng.choice(list(letters), k))
    rows = [motif + "N" + motif, motif, motif[1:] + "A", "T" + motif[1:], dna([motif]).reverse_complement()[0]]
    for kernel in (
        Spectrum(k, reverse_complement=both),
        Spectrum(k, reverse_complement=both, binary=True),
        Spectrum(k, cumulative=True, weights=np.linspace(0, 2, k), reverse_complement=both),
    ):
        np.testing.assert_allclose(kernel.gram(dna(rows)), gram(kernel, rows), rtol=TOLERANCE)


def test_long_windows_compare_over_several_words():
    letters = "ACDEFGHIKLMNPQRSTVWY"
    rng = np.random.default_rng(0)
    motif = "".join(rng.choice(list(letters), 20))
    near = motif[:3] + "A" + motif[4:15] + "AC" + motif[17:]
    X = Sequences.from_strings([motif, near, motif[::-1]], alphabet="protein")
    distance = sum(a != b for a, b in zip(motif, near))
    assert GappedKmer(20, 17).gram(X)[0, :2].tolist() == [1140.0, {3: 1.0, 2: 18.0}[distance]]
    assert Mismatch(20, 1).gram(X)[0].tolist() == [381.0, {3: 0.0, 2: 2.0}[distance], 0.0]


@pytest.mark.parametrize(
    ("kernel", "alphabet", "row", "names"),
    [
        (Spectrum(2), "bytes", "aé", ["a\udcc3", "é"]),
        (Spectrum(2), Alphabet.words(["the", "old", "cat"]), "the old cat", ["the old", "old cat"]),
        (
            GappedKmer(3, 2),
            Alphabet.words(["the", "old", "cat"]),
            "the old cat",
            ["the old .", "the . cat", ". old cat"],
        ),
        (Mismatch(2, 0), "rna", "ACGU", ["AC", "CG", "GU"]),
        (Spectrum(2, cumulative=True), "protein", "WY", ["W", "Y", "WY"]),
    ],
)
def test_names_in_other_alphabets(kernel, alphabet, row, names):
    X = Sequences.from_strings([row], alphabet=alphabet)
    assert kernel.names(kernel.features(X).indices, alphabet) == names


def test_wide_tables_have_wide_columns():
    X = Sequences.from_strings(["\U0001f600abcdefg" * 3], alphabet="bytes")
    kernel = Spectrum(7)
    table = kernel.features(X)
    assert table.indices.dtype == np.int64
    assert table.shape == (1, 256**7)
    assert "abcdefg" in kernel.names(table.indices, "bytes")
    assert kernel.gram(X)[0, 0] == (table.data**2).sum()


@pytest.mark.parametrize("kernel", [Spectrum(32), Mismatch(32, 1), GappedKmer(40, 31)], ids=repr)
def test_too_many_columns_name_the_remedy(kernel):
    X = dna(["ACGT" * 20])
    with pytest.raises(ValueError, match="more than 63-bit column numbers can hold; take shorter k-mers, or"):
        kernel.features(X)
    with pytest.raises(ValueError, match="63-bit column numbers"):
        kernel.names([0])
    assert kernel.gram(X)[0, 0] > 0


def test_too_many_features_for_a_letter_are_refused():
    with pytest.raises(ValueError, match=r"has 155117520 features for each letter of a row"):
        GappedKmer(30, 15).features(dna(["ACGT" * 10]))


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (Spectrum(2, weights=[1, 1]), "they need cumulative=True"),
        (Spectrum(2, True, weights=[1]), "must be 2 non-negative numbers"),
        (Spectrum(2, True, weights=[1, -1]), "must be 2 non-negative numbers"),
        (Mismatch(3, 3), "m=3 of Mismatch must be a whole number from 0 to k - 1, that is 2"),
        (Mismatch(3, -1), "m=-1 of Mismatch"),
        (Mismatch(3, True), "m=True of Mismatch"),
        (Mismatch(0, 0), "k=0 of Mismatch must be a positive integer"),
        (GappedKmer(3, 4), "k=4 of GappedKmer must be at most l=3"),
        (GappedKmer(0, 1), "l=0 of GappedKmer must be a positive integer"),
        (Mismatch(40, 1, True), "too many features for reverse_complement=True"),
    ],
    ids=repr,
)
def test_parameters_without_meaning_are_refused(kernel, sentence):
    with pytest.raises(ValueError, match=sentence):
        kernel.gram(dna(["ACGT"]))


@pytest.mark.parametrize("kernel", [Spectrum(2), Mismatch(2, 1), GappedKmer(3, 2)], ids=repr)
def test_bad_input_is_refused(kernel):
    np.testing.assert_array_equal(kernel.gram(["ACGT"]), kernel.gram(dna(["ACGT"])))
    for call in (kernel.gram, kernel.features):
        with pytest.raises(TypeError, match="compares sequences, but got"):
            call(np.eye(2))
    with pytest.raises(ValueError, match=r"'dna'.*'rna'"):
        kernel.gram(dna(["ACGA"]), Sequences.from_strings(["ACGA"], alphabet="rna"))
    with pytest.raises(ValueError, match="is not a feature of"):
        kernel.names([kernel.features(dna(["ACGT"])).shape[1]])
    with pytest.raises(TypeError, match="whole numbers"):
        kernel.names([0.5])
    with pytest.raises(ValueError, match="needs letters with a complement, such as dna or rna"):
        kernel.set_params(reverse_complement=True).features(Sequences.from_strings(["ACD"], alphabet="protein"))
    assert kernel.names([]) == []


@pytest.mark.parametrize("kernel", [Spectrum(2), Mismatch(2, 1, True), GappedKmer(3, 2, True)], ids=repr)
def test_no_rows_and_empty_rows(kernel):
    assert kernel.gram(dna([])).shape == (0, 0)
    assert kernel.gram(dna(["ACGT"]), dna([])).shape == (1, 0)
    assert kernel.features(dna([])).shape[0] == 0
    assert kernel.features(dna(["", "A", "NN"])).nnz == 0
    assert kernel.gram(dna(["", "A", "NNN"])).tolist() == [[0.0] * 3] * 3


def test_letters_that_are_their_own_partner(monkeypatch):
    monkeypatch.setattr(near, "FEW_COLUMNS", 0)
    alphabet = Alphabet("strong", "ACGTW", "TGCAW")
    X = Sequences.from_strings(["AWT", "AWA", "WWW", "ACWGT"], alphabet=alphabet)
    for kernel in (Mismatch(3, 1, True), GappedKmer(3, 1, True), GappedKmer(3, 3, True)):
        table = kernel.features(X)
        np.testing.assert_allclose(kernel.gram(X), inner(table, table))
        np.testing.assert_allclose(kernel.gram(X, X.reverse_complement()), inner(table, table))


def test_short_names():
    assert parse("mismatch:5,1") == Mismatch(5, 1)
    assert parse("gkm:11,7,reverse_complement=true") == GappedKmer(11, 7, reverse_complement=True)
    assert parse("spectrum:4,cumulative=true,binary=true") == Spectrum(4, cumulative=True, binary=True)
