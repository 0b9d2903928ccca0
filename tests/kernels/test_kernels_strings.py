import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels import RBF, Spectrum, WeightedDegree
from kernelweave.kernels.base import take
from oracles.kernels import gram

LETTERS = st.text("ACGTN", max_size=14)
slow_start = settings(deadline=None, max_examples=60)


def dna(rows):
    return Sequences.from_strings(rows, alphabet="dna", unknown="mask")


@slow_start
@given(st.lists(LETTERS, min_size=1, max_size=6), st.lists(LETTERS, max_size=4), st.integers(1, 6), st.booleans())
def test_spectrum_agrees_with_its_twin(rows, others, k, cumulative):
    kernel = Spectrum(k, cumulative)
    assert kernel.gram(dna(rows)).tolist() == gram(kernel, rows)
    assert kernel.gram(dna(rows), dna(others)).tolist() == gram(kernel, rows, others)
    assert kernel.diag(dna(rows)).tolist() == [gram(kernel, [row])[0][0] for row in rows]


@slow_start
@given(st.data())
def test_taken_rows_give_the_sub_matrix(data):
    rows = data.draw(st.lists(LETTERS, min_size=1, max_size=6))
    chosen = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1), max_size=6))
    kernel = Spectrum(2, cumulative=True)
    A = kernel.prepare(dna(rows))
    part = take(A, np.array(chosen, int))
    assert np.array_equal(kernel.block(part, A), kernel.block(A, A)[np.array(chosen, int)])


@pytest.mark.parametrize(("letters", "k"), [("ACGT", 27), ("ACGT", 28), ("ACGT", 60), ("ACDEFGHIKLMPQRSTVWYZ", 40)])
@pytest.mark.parametrize("cumulative", [False, True])
def test_kmers_that_do_not_fit_one_number_stay_exact(letters, k, cumulative):
    rng = np.random.default_rng(0)
    motif = "".join(rng.choice(list(letters), k))
    first, last = motif[1:] + letters[0], letters[-1] + motif[1:]  # differ from the motif at one end only
    rows = [motif + motif, motif, first, last, last + motif]
    kernel = Spectrum(k, cumulative)
    X = Sequences.from_strings(rows, alphabet=Alphabet("letters", letters))
    assert kernel.gram(X).tolist() == gram(kernel, rows)
    assert kernel.gram(X[:2], X[2:]).tolist() == gram(kernel, rows[:2], rows[2:])


@pytest.mark.parametrize("size", [10, 300, 70000])
def test_words_of_any_alphabet_size(size):
    alphabet = Alphabet.words([f"w{i}" for i in range(size)])
    rows = [[0, size - 1, 0, size - 1], [size - 1, 0, size - 1, 5]]
    X = Sequences.from_tokens([[f"w{i}" for i in row] for row in rows], alphabet)
    assert Spectrum(2).gram(X).tolist() == [[5.0, 3.0], [3.0, 3.0]]
    assert Spectrum(4).gram(X).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_masked_letters_match_nothing():
    X = dna(["ANA", "ANA", "NNN"])
    assert Spectrum(1).gram(X).tolist() == [[4.0, 4.0, 0.0], [4.0, 4.0, 0.0], [0.0, 0.0, 0.0]]


def test_no_rows_at_all():
    assert Spectrum(2).gram(dna(["ACG"]), dna(["ACG"])[:0]).shape == (1, 0)
    assert Spectrum(2).gram(dna([])).shape == (0, 0)


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (Spectrum(0), "k=0 of Spectrum must be a positive integer"),
        (Spectrum(2.0), "k=2.0 of Spectrum"),
    ],
    ids=repr,
)
def test_parameters_without_meaning_are_refused(kernel, sentence):
    with pytest.raises(ValueError, match=sentence):
        kernel.gram(dna(["ACGT"]))


@pytest.mark.parametrize("kernel", [Spectrum(2), WeightedDegree(2)], ids=repr)
def test_what_is_no_sequence_is_refused(kernel):
    with pytest.raises(TypeError, match="compares sequences, but got"):
        kernel.gram(np.eye(2))
    with pytest.raises(TypeError, match="compares rows of numbers, but got Sequences"):
        RBF().gram(dna(["ACGT"]))


@pytest.mark.parametrize("kernel", [Spectrum(2), WeightedDegree(2)], ids=repr)
def test_different_alphabets_are_refused(kernel):
    with pytest.raises(ValueError, match=r"'dna'.*'rna'"):
        kernel.gram(dna(["ACGA"]), Sequences.from_strings(["ACGA"], alphabet="rna"))
