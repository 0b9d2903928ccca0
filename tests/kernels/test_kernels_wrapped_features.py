"""Kernels around kernels pass features and positions on."""

import numpy as np
import pytest

from kernelweave.data.strings.sequences import Sequences
from kernelweave.data.views import Views
from kernelweave.kernels import (
    RBF,
    Cosine,
    Features,
    GappedKmer,
    Linear,
    Mismatch,
    NGram,
    On,
    Scaled,
    Spectrum,
    Sum,
    WeightedDegree,
)
from kernelweave.kernels.abilities import Positional

TOLERANCE = 1e-12
DNA = Sequences.from_strings(["ACGTNACGGT", "", "ACGGTTTACG", "NNN", "TTTTT"], alphabet="dna", unknown="mask")
TEXT = Sequences.from_strings(["the cat", "a cat", "", "dog", "the dog"], alphabet="bytes")
VIEWS = Views({"dna": DNA, "text": TEXT})

CASES = [
    (Scaled(Spectrum(2), 0.25), DNA),
    (Cosine(Mismatch(3, 1)), DNA),
    (On(GappedKmer(3, 2), "dna"), VIEWS),
    (Sum([Spectrum(2), Spectrum(3, cumulative=True), Cosine(GappedKmer(4, 2))]), DNA),
    (Scaled(Cosine(On(Spectrum(3), "text")), 3.0), VIEWS),
    (Sum([On(Spectrum(2), "dna"), Scaled(On(Spectrum(3), "text"), 2.0)]), VIEWS),
]


@pytest.mark.parametrize(("kernel", "X"), CASES, ids=lambda value: repr(value))
def test_wrapped_features_multiply_to_the_gram_matrix(kernel, X):
    assert isinstance(kernel, Features)
    table = kernel.features(X)
    known, places = np.unique(table.indices, return_inverse=True)
    dense = np.zeros((table.shape[0], len(known)))
    dense[np.repeat(np.arange(table.shape[0]), np.diff(table.indptr)), places] = table.data
    np.testing.assert_allclose(dense @ dense.T, kernel.gram(X), atol=TOLERANCE)
    for row in range(table.shape[0]):
        assert (np.diff(table.indices[table.indptr[row] : table.indptr[row + 1]]) > 0).all()


def test_names_come_from_the_kernel_inside():
    kernel = Scaled(Cosine(On(Spectrum(3), "text")), 3.0)
    assert kernel.names(kernel.features(VIEWS).indices[:2], "bytes") == [" ca", "cat"]


def test_names_of_a_sum_say_which_part():
    kernel = Sum([On(Spectrum(2), "dna"), On(Spectrum(3), "text")])
    table = kernel.features(VIEWS)
    names = kernel.names(table.indices, ["dna", "bytes"])
    assert names[:3] == [(0, "AC"), (0, "CG"), (0, "GG")]
    assert names[table.indptr[2]] == (0, "AC")
    assert (1, "the") in names[: table.indptr[1]]
    assert Sum([Spectrum(1), Spectrum(2)]).names([0, 1, 7]) == [(0, "A"), (1, "AA"), (1, "AT")]


def test_a_sum_needs_features_of_every_part():
    with pytest.raises(TypeError, match=r"RBF\(\) has no explicit features"):
        Sum([On(Spectrum(2), "dna"), RBF()]).features(VIEWS)
    for kernel in (Scaled(RBF(), 2.0), On(RBF(), 0), Cosine(RBF())):
        assert not isinstance(kernel, Features)


LONG = Sequences.from_strings(["ACGGT" * 10, "GACGG" * 10, "ACG", "", "ACGGT" * 9 + "N"], unknown="mask")
WIDE = [
    Sum([Spectrum(31)] * 3),
    Sum([NGram(40), Spectrum(2), NGram(70, cumulative=True)]),
    Sum([Spectrum(2), Scaled(Sum([NGram(40), Cosine(Spectrum(1))]), 2.0)]),
]


@pytest.mark.parametrize("kernel", WIDE, ids=repr)
def test_a_sum_takes_several_words_where_63_bits_cannot_tell_its_features_apart(kernel):
    with pytest.raises(ValueError, match="more than 63-bit column numbers can hold"):
        kernel.features(LONG)
    found = kernel.rows(LONG)
    assert found.codes.shape[1] > 1
    known, places = np.unique(found.codes, axis=0, return_inverse=True)
    dense = np.zeros((len(LONG), len(known)))
    dense[np.repeat(np.arange(len(LONG)), np.diff(found.starts)), places.ravel()] = found.values
    np.testing.assert_allclose(dense @ dense.T, kernel.gram(LONG), rtol=TOLERANCE)
    for first, last in zip(found.starts[:-1], found.starts[1:]):
        lines = [tuple(line) for line in found.codes[first:last].tolist()]
        assert lines == sorted(set(lines))
    names = kernel.spell(known, kernel.alphabets(LONG))
    assert len({str(name) for name in names}) == len(known)
    letters = [name[1][1] if isinstance(name[1], tuple) else name[1] for name in names]
    assert all(any(text in row for row in LONG.to_strings()) for text in letters)


def test_a_sum_of_a_table_and_strings_has_the_features_of_both():
    views = Views({"dna": DNA, "x": np.arange(10.0).reshape(5, 2)})
    kernel = Sum([On(Linear(), "x"), On(Spectrum(2), "dna")])
    assert isinstance(kernel, Features)
    table = kernel.features(views).toarray()
    np.testing.assert_allclose(table @ table.T, kernel.gram(views), atol=TOLERANCE)
    assert kernel.names([0, 2, 3], kernel.alphabets(views)) == [(0, 0), (0, 1), (1, "AC")]


def test_positions_are_passed_on():
    inside = WeightedDegree(3)
    for kernel, factor in ((Scaled(inside, 4.0), 4.0), (On(inside, "dna"), 1.0), (Scaled(On(inside, "dna"), 0.5), 0.5)):
        assert isinstance(kernel, Positional)
        np.testing.assert_allclose(kernel.cells(5), factor * inside.cells(5))
        assert np.array_equal(kernel.shift_weights(), inside.shift_weights())
    assert not isinstance(Scaled(Spectrum(3), 4.0), Positional)
    assert not isinstance(Cosine(inside), Positional)
    with pytest.raises(ValueError, match="factor=0"):
        Scaled(inside, 0).cells(5)
