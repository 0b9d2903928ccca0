"""What every kernel of the registry promises."""

import json
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone

from kernelweave._numba.csr import CSR
from kernelweave.automata import gappy_ngram_counter, ngram_counter
from kernelweave.data.strings.sequences import Sequences
from kernelweave.data.views import Views
from kernelweave.kernels import (
    LSGKM,
    RBF,
    Cosine,
    Features,
    Fourier,
    GappedKmer,
    GappyNGram,
    Identity,
    IncompleteCholesky,
    InducedRBF,
    Laplacian,
    Linear,
    Mismatch,
    NGram,
    Nystrom,
    On,
    Polynomial,
    Precomputed,
    Product,
    Rational,
    Scaled,
    Sigmoid,
    Spectrum,
    Sum,
    TfIdf,
    WeightedDegree,
    build,
    describe,
)
from kernelweave.kernels.base import count, take
from kernelweave.kernels.registry import KERNELS
from oracles.kernels import TWINS, gram

N = 13
TOLERANCE = 1e-10
ROUNDING_32 = 1e-5
"""Float32 has 24 bits and a block takes few steps in it."""

rng = np.random.default_rng(0)
TABLE = rng.normal(size=(N, 4))
TABLE[5] = TABLE[2]
TABLE[7] = 0.0
ROOT = rng.normal(size=(N, 6))
GRAM = ROOT @ ROOT.T
TEXT = ["".join(rng.choice(list("ACGTN"), 11, p=[0.3, 0.3, 0.2, 0.15, 0.05])) for _ in range(N)]
TEXT[3], TEXT[4] = TEXT[1], "N" * 11
RAGGED = [text[: rng.integers(0, 12)] for text in TEXT]
DNA = Sequences.from_strings(TEXT, alphabet="dna", unknown="mask")

INPUTS = {
    "table": (TABLE, TABLE.tolist()),
    "gram": (GRAM, GRAM.tolist()),
    "dna": (DNA, TEXT),
    "ragged": (Sequences.from_strings(RAGGED, alphabet="dna", unknown="mask"), RAGGED),
    "views": (
        Views({"size": TABLE, "dna": DNA, "gram": GRAM}),
        [{"size": t, "dna": s, "gram": g} for t, s, g in zip(TABLE.tolist(), TEXT, GRAM.tolist())],
    ),
}

CASES = [
    (Linear(), "table"),
    (Polynomial(), "table"),
    (Polynomial(2, 0.5, 0.0), "table"),
    (Polynomial(7, None, 2), "table"),
    (RBF(), "table"),
    (RBF(gamma=0.7), "table"),
    (RBF(width=3), "table"),
    (Laplacian(), "table"),
    (Laplacian(0.3), "table"),
    (Sigmoid(), "table"),
    (Sigmoid(0.2, 0.5), "table"),
    (Identity(), "table"),
    (Identity(), "ragged"),
    (Precomputed(), "gram"),
    (Spectrum(1), "ragged"),
    (Spectrum(3), "ragged"),
    (Spectrum(4, cumulative=True), "dna"),
    (Spectrum(4, cumulative=True, weights=[1, 0.0, 2.5, 0.3], binary=True), "ragged"),
    (Spectrum(2, reverse_complement=True), "ragged"),
    (Mismatch(3, 1), "ragged"),
    (Mismatch(4, 2, reverse_complement=True), "ragged"),
    (GappedKmer(5, 3), "ragged"),
    (GappedKmer(7, 5), "ragged"),
    (GappedKmer(7, 4, reverse_complement=True), "ragged"),
    (GappedKmer(4, 2, reverse_complement=True), "ragged"),
    (LSGKM(4, 2), "ragged"),
    (LSGKM(4, 3, None, "full", reverse_complement=False), "ragged"),
    (LSGKM(4, 2, 2, None), "ragged"),
    (LSGKM(4, 2, center_weight=(7, 2.0)), "ragged"),
    (WeightedDegree(1), "dna"),
    (WeightedDegree(5), "dna"),
    (WeightedDegree(3, weights=[1, 0.0, 2.5]), "dna"),
    (WeightedDegree(20), "dna"),
    (NGram(2), "ragged"),
    (NGram(3, cumulative=True, weights=[0.0, 1.5, 1]), "ragged"),
    (NGram(2, binary=True), "dna"),
    (GappyNGram(2), "ragged"),
    (GappyNGram(3, decay=0.7, cumulative=True), "ragged"),
    (GappyNGram(3, max_gap=2), "dna"),
    (Rational(ngram_counter("dna", 2)), "ragged"),
    (Rational(gappy_ngram_counter("dna", 2, 0.5)), "dna"),
    (TfIdf(NGram(2)), "ragged"),
    (On(RBF(), [0, 2]), "table"),
    (On(Linear(), slice(1, None)), "table"),
    (On(Laplacian(), 3), "table"),
    (On(Polynomial(2), np.array([True, False, True, True])), "table"),
    (On(Spectrum(2), "dna"), "views"),
    (On(Precomputed(), "gram"), "views"),
    (On(On(RBF(), [1, 3]), "size"), "views"),
    (Sum([Linear(), RBF(gamma=0.5), Identity()]), "table"),
    (Sum([Spectrum(2).on("dna"), RBF().on("size")]), "views"),
    (Product([RBF(), Polynomial(2)]), "table"),
    (Scaled(RBF(width=2), 0.25), "table"),
    (Scaled(WeightedDegree(3), 4.0), "dna"),
    (Cosine(Linear()), "table"),
    (Cosine(WeightedDegree(4)), "dna"),
    (Cosine(Spectrum(3)), "ragged"),
    (InducedRBF(Linear(), 0.3), "table"),
    (InducedRBF(Cosine(LSGKM(4, 2)), 0.5), "ragged"),
    (IncompleteCholesky(RBF(), tolerance=0.01), "table"),
    (IncompleteCholesky(Linear()), "table"),
    (IncompleteCholesky(Spectrum(2), tolerance=0.05), "dna"),
    (Nystrom(Laplacian(0.2), n_components=4, random_state=3), "table"),
    (Fourier(RBF(), n_components=6), "table"),
    (Fourier(Laplacian(0.3), n_components=4, random_state=1), "table"),
]
IDS = [f"{kernel!r} on {name}" for kernel, name in CASES]
READY = [(k.fitted(INPUTS[name][0]), name) for k, name in CASES]
"""Kernels with values: some have them once they have learned a rate, or features."""
each_case = pytest.mark.parametrize(("kernel", "name"), READY, ids=IDS)
each_description = pytest.mark.parametrize(("kernel", "name"), CASES, ids=IDS)
PLAIN = [i for i, (kernel, _) in enumerate(CASES) if not isinstance(kernel, Rational)]
"""A machine is arrays: it is saved in files, and has no line of text."""
each_plain_case = pytest.mark.parametrize(("kernel", "name"), [CASES[i] for i in PLAIN], ids=[IDS[i] for i in PLAIN])


@each_case
def test_leaves_add_up(kernel, name):
    X, _ = INPUTS[name]
    leaves = list(kernel.leaves())
    assert leaves
    for leaf in leaves:
        assert leaf.kernel.children() == ()
        assert ([*leaf.path, leaf.kernel])[0] is kernel
    if all(leaf.additive and not leaf.normalized and not leaf.centred for leaf in leaves):
        total = sum(leaf.factor * leaf.kernel.gram(leaf.select(X)) for leaf in leaves)
        np.testing.assert_allclose(kernel.gram(X), total, atol=TOLERANCE)


ABLE = [i for i, (kernel, _) in enumerate(READY) if isinstance(kernel, Features)]
each_able_case = pytest.mark.parametrize(("kernel", "name"), [READY[i] for i in ABLE], ids=[IDS[i] for i in ABLE])


def test_who_has_features():
    able = {type(READY[i][0]).__name__ for i in ABLE}
    strings = {"Spectrum", "Mismatch", "GappedKmer", "WeightedDegree", "NGram", "GappyNGram", "Rational", "Rarity"}
    assert able == strings | {"Linear", "Polynomial", "Landmarks", "Waves", "On", "Scaled", "Cosine"}


def written_out(rows):
    """Return rows of features as a table of the features they have, and the codes of these."""
    if not isinstance(rows, CSR):
        return rows, np.arange(rows.shape[1])[:, None]
    codes, places = np.unique(rows.codes, axis=0, return_inverse=True)
    table = np.zeros((len(rows), len(codes)))
    np.add.at(table, (np.repeat(np.arange(len(rows)), np.diff(rows.starts)), places.ravel()), rows.values)
    return table, codes


@each_able_case
def test_features_multiply_to_the_kernel(kernel, name):
    X, _ = INPUTS[name]
    for dtype, tolerance in ((np.float64, TOLERANCE), (np.float32, ROUNDING_32)):
        found = kernel.rows(X, dtype)
        table, _ = written_out(found)
        assert (found.values if isinstance(found, CSR) else found).dtype == dtype
        K, exact = kernel.gram(X), table.astype(np.float64)
        scale = np.sqrt(np.outer(K.diagonal(), K.diagonal())) + 1.0
        np.testing.assert_allclose((exact @ exact.T) / scale, K / scale, atol=tolerance)
    np.testing.assert_array_equal(written_out(kernel.counts(X))[0], written_out(kernel.rows(X))[0])


@each_able_case
def test_codes_rise_in_each_row_and_lie_below_the_width(kernel, name):
    X, _ = INPUTS[name]
    found, width = kernel.rows(X), kernel.n_features(X)
    assert kernel.features(X).shape == (N, width)
    if not isinstance(found, CSR):
        assert kernel.kind == "columns"
        return
    assert found.codes.min() >= 0
    assert found.codes.max() < width
    for row in range(N):
        assert (np.diff(found.codes[found.starts[row] : found.starts[row + 1], 0]) > 0).all()


@each_able_case
def test_rows_have_the_features_of_their_part(kernel, name):
    X, _ = INPUTS[name]
    whole, part = kernel.counts(X), kernel.counts(X[3:9])
    np.testing.assert_array_equal(part.codes, whole[3:9].codes)
    np.testing.assert_allclose(part.values, whole[3:9].values, rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_array_equal(part.starts, whole[3:9].starts)


@each_able_case
def test_every_feature_is_spelled(kernel, name):
    X, _ = INPUTS[name]
    _, codes = written_out(kernel.rows(X))
    names = kernel.spell(codes, kernel.alphabets(X))
    assert len(set(names)) == len(codes)
    assert kernel.names(codes[:, 0], kernel.alphabets(X)) == names
    if kernel.kind == "strings":
        lengths = (kernel.letters(codes, kernel.alphabets(X)) >= 0).sum(axis=1)
        assert lengths.tolist() == [len(name) for name in names]


def has_identity(kernel):
    return "Identity" in repr(kernel)


def test_every_registered_kernel_has_a_case_and_a_twin():
    assert {type(kernel).__name__ for kernel, _ in CASES} == set(KERNELS)
    assert {type(kernel).__name__ for kernel, _ in READY} == set(TWINS)


@each_case
def test_agrees_with_the_plain_twin(kernel, name):
    X, rows = INPUTS[name]
    np.testing.assert_allclose(kernel.gram(X), gram(kernel, rows), rtol=TOLERANCE, atol=TOLERANCE)


@each_case
def test_is_exactly_symmetric_in_both_precisions(kernel, name):
    A = kernel.prepare(INPUTS[name][0])
    for dtype in (np.float64, np.float32):
        K = kernel.block(A, A, dtype)
        assert K.dtype == dtype
        assert np.array_equal(K, K.T)


@each_case
def test_is_positive_semi_definite_where_it_says_so(kernel, name):
    values = np.linalg.eigvalsh(kernel.gram(INPUTS[name][0]))
    assert not kernel.definite or values[0] >= -TOLERANCE * values[-1]


@each_case
def test_diagonal_is_that_of_the_gram_matrix(kernel, name):
    X = INPUTS[name][0]
    diagonal = kernel.diag(X)
    assert diagonal.shape == (N,)
    assert diagonal.dtype == np.float64
    np.testing.assert_allclose(diagonal, np.diag(kernel.gram(X)), rtol=TOLERANCE, atol=TOLERANCE)


@each_case
def test_two_inputs_give_what_one_gives(kernel, name):
    X, rows = INPUTS[name]
    if has_identity(kernel):
        expected = gram(kernel, rows, rows)  # no row of a second input is a row of the first
    else:
        expected = kernel.gram(X)
    np.testing.assert_allclose(kernel.gram(X, X), expected, rtol=TOLERANCE, atol=TOLERANCE)


@each_case
@pytest.mark.parametrize("rows", [np.array([4, 0, 4, 9]), slice(2, 9), np.arange(N) % 3 == 0, np.zeros(0, int)])
def test_taken_rows_give_the_sub_matrix(kernel, name, rows):
    A = kernel.prepare(INPUTS[name][0])
    K = kernel.block(A, A)
    assert count(A) == N
    some, others = take(A, rows), take(A, np.array([1, 4, 12]))
    assert count(some) == len(K[rows])
    np.testing.assert_allclose(kernel.block(some, others), K[rows][:, [1, 4, 12]], rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(kernel.block(some, A), K[rows], rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(kernel.diagonal(some), np.diag(K)[rows], rtol=TOLERANCE, atol=TOLERANCE)


@each_case
def test_float32_blocks_are_the_rounded_ones(kernel, name):
    A = kernel.prepare(INPUTS[name][0])
    K = kernel.block(A, A)
    np.testing.assert_allclose(kernel.block(A, A, np.float32), K, rtol=ROUNDING_32, atol=ROUNDING_32 * abs(K).max())


@each_case
def test_the_same_bits_whether_or_not_both_sides_share_memory(kernel, name):
    A = kernel.prepare(INPUTS[name][0])
    some = slice(0, N)
    if not has_identity(kernel):  # which knows a row by where it lies
        apart = kernel.block(A, take(deepcopy(A), some))
        assert np.array_equal(kernel.block(A, take(A, some)), apart)


@each_case
def test_block_returns_a_new_array(kernel, name):
    A = kernel.prepare(INPUTS[name][0])
    first = kernel.block(A, A)
    kept = first.copy()
    first += 1.0
    np.testing.assert_array_equal(kernel.block(A, A), kept)


@each_plain_case
def test_prints_as_typed(kernel, name):
    again = eval(repr(kernel), dict(KERNELS))
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert type(again) is type(kernel)


@each_description
def test_clones(kernel, name):
    copy = clone(kernel)
    assert copy is not kernel
    assert copy == kernel


@each_plain_case
def test_survives_json(kernel, name):
    again = build(json.loads(json.dumps(describe(kernel))))
    assert again == kernel
    X, rows = INPUTS[name]
    again, kernel = again.fitted(X), kernel.fitted(X)
    np.testing.assert_allclose(again.gram(X), gram(kernel, rows), rtol=TOLERANCE, atol=TOLERANCE)


@each_case
def test_fitting_leaves_the_values_alone(kernel, name):
    X = INPUTS[name][0]
    np.testing.assert_allclose(kernel.fitted(X).gram(X), kernel.gram(X), rtol=TOLERANCE, atol=TOLERANCE)
