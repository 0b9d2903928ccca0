import pickle

import numpy as np
import pytest
from scipy import sparse

from kernelweave.data.strings.sequences import Sequences
from kernelweave.data.views import Views
from kernelweave.kernels import RBF, Cosine, Identity, Linear, Precomputed, Spectrum, Sum, reference
from kernelweave.kernels.base import take

rng = np.random.default_rng(4)
TABLE = rng.normal(size=(8, 3))
NEW = rng.normal(size=(8, 3))
TRAIN = Linear().gram(TABLE)
TEST = Linear().gram(NEW, TABLE)
ROWS = np.array([1, 6, 3])


def test_new_rows_against_some_training_rows():
    kernel = Precomputed()
    train, test = kernel.prepare(TRAIN), kernel.prepare(TEST[:5])
    np.testing.assert_array_equal(kernel.block(test, train), TEST[:5])
    np.testing.assert_array_equal(kernel.block(test, take(train, ROWS)), TEST[:5][:, ROWS])
    np.testing.assert_array_equal(kernel.block(test, kernel.prepare(ROWS)), TEST[:5][:, ROWS])


def test_as_many_new_rows_as_training_rows_are_still_new():
    kernel = Precomputed()
    np.testing.assert_array_equal(kernel.gram(TEST, TRAIN), TEST)
    with pytest.raises(ValueError, match="diagonal of other rows is not known"):
        kernel.diag(TEST)


def test_a_rounding_asymmetry_is_evened_out():
    rough = TRAIN.astype(np.float32).astype(np.float64)
    rough[2, 5] *= 1 + 1e-7
    K = Precomputed().gram(rough)
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(K, rough, rtol=1e-6)
    assert rough[2, 5] != rough[5, 2]


@pytest.mark.parametrize(
    ("X", "Y", "sentence"),
    [
        (TRAIN[:3], None, r"square and symmetric, but its shape is \(3, 8\)"),
        (TEST, None, "it differs from its transpose"),
        (TEST[:, :5], TRAIN, "has 5 columns where 8 or more are needed"),
        (TEST[:, :5], ROWS, "has 5 columns where 7 or more are needed"),
        (ROWS, TRAIN, "only their numbers were given"),
        (TEST, np.array([-1]), "numbered from 0, but got -1"),
        (np.zeros((2, 2, 2)), None, "2-D array of numbers"),
        (np.zeros(3), None, r"float64 of shape \(3,\)"),
        (np.array([["a"]]), None, "2-D array of numbers"),
    ],
    ids=["rows", "asymmetric", "width", "rows beyond", "no values", "negative", "3-D", "1-D", "text"],
)
def test_matrices_that_do_not_fit_are_refused(X, Y, sentence):
    with pytest.raises(ValueError, match=sentence):
        Precomputed().gram(X, Y)


def test_sparse_matrices_are_refused():
    with pytest.raises(TypeError, match="must be dense"):
        Precomputed().gram(sparse.eye_array(3))


def test_integer_matrices_are_matrices():
    K = np.array([[2, 1], [1, 3]])
    assert Precomputed().gram(K).tolist() == [[2.0, 1.0], [1.0, 3.0]]


def test_single_precision_matrices_are_not_copied():
    K = TRAIN.astype(np.float32)
    assert Precomputed().prepare(K).values is K


def test_identity_knows_rows_by_origin_not_by_value():
    kernel = Identity()
    A, B = kernel.prepare(TABLE), kernel.prepare(TABLE)
    np.testing.assert_array_equal(kernel.block(A, A), np.eye(8))
    np.testing.assert_array_equal(kernel.block(A, take(A, ROWS)), np.eye(8)[:, ROWS])
    assert not kernel.block(A, B).any()
    np.testing.assert_array_equal(kernel.block(A, pickle.loads(pickle.dumps(A))), np.eye(8))


def test_identity_counts_the_rows_of_any_input():
    for X in (TABLE, TABLE.tolist(), sparse.csr_array(TABLE), {"a": TABLE}, Views({"a": TABLE, "b": TABLE})):
        assert Identity().diag(X).tolist() == [1.0] * 8
    assert Identity().gram(Sequences.from_strings(["AC", "G"])).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_reference_of_rows():
    np.testing.assert_array_equal(reference(RBF(), TABLE, ROWS), TABLE[ROWS])
    np.testing.assert_array_equal(reference([RBF(), Linear()], TABLE, TABLE[:, 0] > 0), TABLE[TABLE[:, 0] > 0])
    assert reference(Linear(), TABLE.tolist(), [1]) == [TABLE[1].tolist()]
    dna = Sequences.from_strings(["AC", "GT", "CC"])
    assert reference(Spectrum(1), dna, [2, 0]).to_strings() == ["CC", "AC"]
    pd = pytest.importorskip("pandas")
    assert reference(Linear(), pd.DataFrame(TABLE), [5, 1]).index.tolist() == [5, 1]


@pytest.mark.parametrize("kernel", [Precomputed(), 2 * Precomputed(), Precomputed() + Identity()], ids=repr)
def test_reference_of_a_gram_matrix_is_the_row_numbers(kernel):
    kept = reference(kernel, TRAIN, ROWS)
    assert kept.tolist() == ROWS.tolist()
    np.testing.assert_array_equal(kernel.gram(TEST, kept), kernel.gram(TEST, TRAIN)[:, ROWS])


def test_reference_of_views_replaces_gram_matrices_only():
    X, new = Views({"a": TABLE, "k": TRAIN}), Views({"a": NEW, "k": TEST})
    for kernels in ([RBF(0.5).on("a"), Precomputed().on("k")], [Sum([RBF(0.5).on("a"), Precomputed().on(["k"])])]):
        kept = reference(kernels, X, ROWS)
        np.testing.assert_array_equal(kept["a"], TABLE[ROWS])
        assert kept["k"].index.tolist() == ROWS.tolist()
        for kernel in kernels:
            np.testing.assert_allclose(kernel.gram(new, kept), kernel.gram(new, X)[:, ROWS], atol=1e-14)
    assert reference([Precomputed().on("k")], {"k": TRAIN}, ROWS)["k"].shape == (3, 1)


@pytest.mark.parametrize(
    ("kernels", "X", "sentence"),
    [
        ([Precomputed(), Linear()], TRAIN, "use named views"),
        ([Precomputed().on([0, 1])], TRAIN, "all of X or one named view"),
        ([Precomputed()], Views({"k": TRAIN}), r"use Precomputed\(\)\.on\(name\)"),
        ([Precomputed().on("k"), Cosine(Linear()).on("k")], Views({"k": TRAIN}), "'k' is a precomputed Gram matrix"),
    ],
    ids=["table too", "columns", "no name", "same view"],
)
def test_ambiguous_references_are_refused(kernels, X, sentence):
    with pytest.raises(ValueError, match=sentence):
        reference(kernels, X, ROWS)
