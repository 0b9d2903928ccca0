import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import kernelweave as kw
from kernelweave._numba import jit
from kernelweave._numba.bits import bit_planes, popcount, reversed_bits, trailing_zeros
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels import WeightedDegree, build, describe, parse
from kernelweave.kernels.abilities import Features, Positional
from kernelweave.kernels.base import take
from kernelweave.kernels.positional.windows import Windows
from oracles.weighted_degree import cell, gram, shared

TOLERANCE = 1e-10
SIGNS = np.array([1, -1] * 15)
sometimes = settings(max_examples=60)
rng = np.random.default_rng(0)


def dna(rows):
    return Sequences.from_strings(rows, alphabet="dna", unknown="mask")


def texts(n, length, letters="ACGT"):
    return ["".join(rng.choice(list(letters), length)) for _ in range(n)]


@st.composite
def cases(draw, longest=14):
    """Draw a kernel with any mix of its parameters, and rows of the length it fits."""
    length = draw(st.integers(0, longest))
    row = st.text(draw(st.sampled_from(["A", "AC", "ACN", "ACGTN"])), min_size=length, max_size=length)
    degree = draw(st.integers(1, 6))
    weight = st.floats(0, 4)
    window = None
    if length and draw(st.booleans()):
        start = draw(st.integers(0, length - 1))
        window = (start, draw(st.integers(start + 1, length)))
    kernel = WeightedDegree(
        degree,
        shift=draw(st.integers(0, 4)),
        weights=draw(st.none() | st.lists(weight, min_size=degree, max_size=degree)),
        position_weights=draw(st.none() | st.lists(weight, min_size=length, max_size=length)),
        only=draw(st.none() | st.integers(1, degree)),
        positions=window,
    )
    return kernel, draw(st.lists(row, min_size=1, max_size=4)), draw(st.lists(row, min_size=1, max_size=4))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE)


@sometimes
@given(cases())
def test_agrees_with_its_twin(case):
    kernel, rows, others = case
    K = kernel.gram(dna(rows))
    close(K, gram(kernel, rows))
    close(kernel.gram(dna(rows), dna(others)), gram(kernel, rows, others))
    assert np.array_equal(K, K.T)
    assert np.array_equal(kernel.gram(dna(rows), dna(rows)), K)
    assert np.array_equal(kernel.diag(dna(rows)), np.diag(K))


@sometimes
@given(cases())
def test_cells_are_the_weights_of_the_formula(case):
    kernel, rows, _ = case
    length = len(rows[0])
    expected = [[cell(kernel, length, i, k) for k in range(1, kernel.degree + 1)] for i in range(length)]
    close(kernel.cells(length), np.reshape(expected, (length, kernel.degree)))
    assert isinstance(kernel, Positional)


@pytest.mark.parametrize("length", [63, 64, 65, 141])
@pytest.mark.parametrize("settings", [{}, {"shift": 2}, {"shift": 66}, {"positions": (40, 63)}], ids=repr)
@pytest.mark.parametrize("degree", [3, 70])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_many_words(length, settings, degree, weighted):
    rows = texts(1, length, "AAAAAAACN")
    rows.append(rows[0][:-2] + "AA")
    settings = {**settings, "position_weights": rng.random(length) if weighted else None}
    kernel = WeightedDegree(degree, **settings)
    close(kernel.gram(dna(rows)), gram(kernel, rows))


@pytest.mark.parametrize("size", [1, 2, 5, 200, 300, 70000])
def test_alphabets_of_any_size(size):
    alphabet = Alphabet.words([f"w{i}" for i in range(size)])
    rows = [[0, size - 1, 0, size - 1], [size - 1, 0, size - 1, size - 1]]
    X = Sequences.from_tokens([[f"w{i}" for i in row] for row in rows], alphabet)
    same = 4.0 if size == 1 else 1.0
    assert WeightedDegree(1).gram(X).tolist() == [[4.0, same], [same, 4.0]]


def test_masked_letters_match_nothing():
    X = dna(["ANA", "ANA", "NNN"])
    assert WeightedDegree(2, weights=[1, 1]).gram(X).tolist() == [[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("kernel", [WeightedDegree(4), WeightedDegree(4, shift=2)], ids=repr)
def test_values_do_not_depend_on_the_block_they_are_made_in(kernel):
    A = kernel.prepare(dna(texts(300, 30)))
    K = kernel.block(A, A)
    for rows in (np.array([7, -1, 7]), np.arange(300) % 7 == 0, slice(10, 290, 3), slice(5, 6), slice(0, 0)):
        assert np.array_equal(kernel.block(take(A, rows), A), K[rows])
        assert np.array_equal(kernel.block(A, take(A, rows)), K[:, rows])
        assert np.array_equal(kernel.diagonal(take(A, rows)), np.diag(K)[rows])
    assert np.array_equal(kernel.block(A, A, np.float32), K.astype(np.float32))


@pytest.mark.parametrize("shift", [1, 3, 10, 40])
def test_gram_matrices_with_shifts_are_positive_semi_definite(shift):
    X = dna([*texts(60, 24, "AC"), "AC" * 12, "CA" * 12, "A" * 24])  # periodic rows are the hard ones
    for kernel in (WeightedDegree(3, shift=shift), WeightedDegree(3, shift=shift, position_weights=np.arange(24.0))):
        assert np.linalg.eigvalsh(kernel.gram(X)).min() > -1e-9
    length = 50
    apart = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    band = np.append(WeightedDegree(1, shift=shift).shift_weights(), np.zeros(length))[np.minimum(apart, shift + 1)]
    assert np.linalg.eigvalsh(band).min() >= 0.5


@sometimes
@given(cases())
def test_parts_add_up_to_the_whole(case):
    kernel, rows, _ = case
    X = dna(rows)
    whole = kernel.gram(X)
    close(sum((part.gram(X) for part in kernel.per_degree()), np.zeros_like(whole)), whole)
    if kernel.shift == 0 and rows[0]:
        for by_degree in (False, True):
            parts = kernel.per_position(3, len(rows[0]), by_degree)
            close(sum((part.gram(X) for part in parts), np.zeros_like(whole)), whole)


@sometimes
@given(cases())
def test_pair_degrees_before_they_are_weighed(case):
    kernel, rows, others = case
    A, B = kernel.prepare(dna(rows)), kernel.prepare(dna(others))
    degrees = kernel.pair_degrees(A, B)
    assert degrees.shape == (len(rows), len(others), kernel.degree)
    close(degrees @ kernel.degree_weights(), kernel.block(A, B))


def test_pair_degrees_of_many_rows_are_counts():
    rows = texts(140, 70, "AACG")
    kernel = WeightedDegree(5, only=2)
    A = kernel.prepare(dna(rows))
    degrees = kernel.pair_degrees(A[:2], A)
    assert degrees.tolist() == [[shared(x, y, 5) for y in rows] for x in rows[:2]]


@jit
def _bits(word):
    return popcount(word), trailing_zeros(word), reversed_bits(word)


@given(st.integers(0, 2**64 - 1))
def test_bits_of_a_word(number):
    ones, zeros, turned = _bits(np.uint64(number))
    assert ones == number.bit_count()
    assert zeros == (64 if number == 0 else (number & -number).bit_length() - 1)
    assert turned == int(f"{number:064b}"[::-1], 2)


def test_bit_planes_spell_the_letters():
    planes = bit_planes(np.array([[2, 255, 1]], np.uint8), 4, 255)
    assert planes.tolist() == [[[0b100, 0b001, 0b101]]]


@sometimes
@given(cases(longest=8))
def test_features_are_the_kernel(case):
    kernel, rows, others = case
    F, G = kernel.features(dna(rows)), kernel.features(dna(others))
    assert F.has_canonical_format
    assert (F.data != 0).all()
    used, compact = np.unique(np.concatenate([F.indices, G.indices]), return_inverse=True)
    for table, columns in ((F, compact[: F.nnz]), (G, compact[F.nnz :])):
        table.indices = columns
        table.resize(table.shape[0], max(1, len(used)))
    close((F @ G.T).toarray(), gram(kernel, rows, others))
    close((F @ F.T).toarray(), gram(kernel, rows))
    assert isinstance(kernel, Features)


def test_features_are_named_by_kmer_and_position():
    kernel = WeightedDegree(2, weights=[1, 1], positions=(1, 3))
    F = kernel.features(dna(["ACG", "TNG"]))
    assert kernel.names(F.indices) == [("C", 1), ("CG", 1), ("G", 2), ("G", 2)]
    assert F.shape == (2, 3 * 20)
    shifted = WeightedDegree(1, shift=1)
    assert shifted.names(shifted.features(dna(["CG"])).indices) == [("C", 0), ("G", 0), ("G", 1)]
    words = Alphabet.words(["to", "be"])
    X = Sequences.from_strings(["be to"], alphabet=words)
    assert WeightedDegree(2, only=2).names(WeightedDegree(2, only=2).features(X).indices, words) == [("be to", 0)]
    with pytest.raises(ValueError, match="non-negative integers"):
        kernel.names([-1])


def test_features_have_fixed_columns_up_to_63_bits():
    kernel = WeightedDegree(20)
    F = kernel.features(dna(texts(2, 141)))
    assert F.shape == (2, 141 * (4**21 - 4) // 3)
    assert kernel.names(F.indices[-1:])[0][1] == 140
    with pytest.raises(ValueError, match="more than 63-bit column numbers can hold"):
        WeightedDegree(40).features(dna(["ACGT" * 10]))


@pytest.mark.parametrize(
    "kernel",
    [
        WeightedDegree(20, shift=3),
        WeightedDegree(3, weights=[1, 0.5, 2], only=2, positions=(3, 9)),
        WeightedDegree(2, position_weights=np.array([1.0, 0.5])),
    ],
    ids=repr,
)
def test_prints_and_is_read_again(kernel):
    assert parse(repr(kernel)) == kernel
    assert build(describe(kernel)) == kernel
    assert clone(kernel) == kernel


def test_short_texts():
    assert parse("wd:20,shift=3") == WeightedDegree(20, shift=3)
    assert parse("wd:20,only=3") == WeightedDegree(20, only=3)


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (WeightedDegree(-1), "degree=-1 of WeightedDegree must be a positive integer"),
        (WeightedDegree(True), "degree=True of WeightedDegree"),
        (WeightedDegree(2, weights=[1.0]), "must be 2 non-negative numbers, one for each length"),
        (WeightedDegree(2, weights=[1.0, -1.0]), "must be 2 non-negative numbers"),
        (WeightedDegree(2, shift=-1), "shift=-1 of WeightedDegree must be a non-negative integer"),
        (WeightedDegree(2, shift=1.5), "shift=1.5 of WeightedDegree"),
        (WeightedDegree(2, position_weights=[1.0]), "must be 4 non-negative numbers, one for each letter of a row"),
        (WeightedDegree(2, position_weights=[1, 1, 1, np.nan]), "must be 4 non-negative numbers"),
        (WeightedDegree(2, only=3), "only=3 of WeightedDegree must be a length up to the degree, 2"),
        (WeightedDegree(2, only=0), "only=0 of WeightedDegree must be a positive integer"),
        (WeightedDegree(2, positions=(2, 2)), r"positions=\(2, 2\) of WeightedDegree must be \(start, stop\)"),
        (WeightedDegree(2, positions=3), "positions=3 of WeightedDegree must be"),
        (WeightedDegree(2, positions=(2, 5)), r"positions=\(2, 5\) of WeightedDegree leave the 4 letters"),
    ],
    ids=repr,
)
def test_parameters_without_meaning_are_refused(kernel, sentence):
    with pytest.raises(ValueError, match=sentence):
        kernel.gram(dna(["ACGT"]))


def test_rows_of_different_length_are_named():
    for act in (WeightedDegree(2).gram, WeightedDegree(2).per_position().unrolled):
        with pytest.raises(ValueError, match="row 0 has 3 letters and row 2 has 4"):
            act(dna(["ACG", "ACT", "ACGT"]))
    with pytest.raises(ValueError, match="one side has 3 letters a row and the other 4"):
        WeightedDegree(2).gram(dna(["ACG"]), dna(["ACGT"]))


def test_no_rows_at_all():
    for kernel in (WeightedDegree(2), WeightedDegree(2, position_weights=[1, 2, 3])):
        assert kernel.gram(dna(["ACG"]), dna(["ACG"])[:0]).shape == (1, 0)
        assert kernel.gram(dna([])).shape == (0, 0)
        assert kernel.diag(dna([])).shape == (0,)
    assert WeightedDegree(2).features(dna([])).shape[0] == 0


def test_windows_wait_for_rows():
    X = dna(texts(30, 10))
    windows = WeightedDegree(3, shift=1, positions=(2, 9)).per_position(4, by_degree=True)
    assert repr(windows) == "Windows(WeightedDegree(3, shift=1, positions=(2, 9)), window=4, by_degree=True)"
    assert clone(windows) == windows
    parts = windows.unrolled(X)
    assert [(part.positions, part.only) for part in parts] == [
        (place, only) for place in ((2, 6), (6, 9)) for only in (1, 2, 3)
    ]
    with pytest.raises(ValueError, match="window=0 of WeightedDegree must be a positive integer"):
        WeightedDegree(2).per_position(0)
    with pytest.raises(TypeError, match="compares sequences"):
        windows.unrolled(np.ones((3, 10)))


@pytest.mark.parametrize("alone", [True, False])
def test_estimators_unroll_windows(alone):
    rows = texts(30, 10)
    for i, sign in enumerate(SIGNS):  # the signal stands at positions 4 and 5
        rows[i] = rows[i][:4] + ("AC" if sign > 0 else "GT") + rows[i][6:]
    windows = WeightedDegree(2).per_position(2)
    model = clone(kw.MKLClassifier(windows if alone else [kw.Spectrum(2), windows], C=1.0)).fit(dna(rows), SIGNS)
    expected = [repr(part) for part in windows.unrolled(dna(rows))]
    assert model.kernel_names_.tolist() == (expected if alone else ["Spectrum(2)", *expected])
    assert model.kernel_names_[np.argmax(model.kernel_weights_)] == "WeightedDegree(2, positions=(4, 6))"
    assert (model.predict(dna(rows)) == SIGNS).all()


def test_windows_of_a_named_view():
    X = {"dna": dna(texts(30, 6)), "size": rng.random((30, 2))}
    windows = WeightedDegree(2).per_position(3).on("dna")
    model = kw.MKLClassifier([windows, kw.Linear().on("size")]).fit(X, SIGNS)
    assert model.kernel_names_.tolist()[:2] == [
        f"On(WeightedDegree(2, positions=({start}, {start + 3})), 'dna')" for start in (0, 3)
    ]
    assert isinstance(windows, Windows)
    assert model.predict(X).shape == (30,)
