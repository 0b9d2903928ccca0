"""Kernels of any transducer: against sums over all paths, and against the kernels that they generalise."""

from __future__ import annotations

import pickle
from itertools import pairwise, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import kernelweave as kw
from kernelweave.automata import (
    Transducer,
    acceptor,
    compose,
    determinize,
    gappy_ngram_counter,
    inverse,
    mismatch_counter,
    ngram_counter,
    project,
    remove_epsilon,
    scale,
    total_weight,
    union,
)
from kernelweave.data.lattices.rows import EPSILON, Lattices
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels import GappyNGram, Mismatch, NGram, Rational
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.strings.rational import kernel as rational
from kernelweave.kernels.strings.rational import strings as rational_strings
from oracles import automata as oracle
from oracles.lattices import strings
from oracles.rational import expected_features, inner, string_features

TOLERANCE = 1e-10
some = settings(deadline=None, max_examples=40)
ABC = Alphabet("abc", "abc")
MASKED = ABC.size
LABEL = st.sampled_from([EPSILON, 0, 0, 1, 1, 2, MASKED])
WEIGHT = st.sampled_from([0.25, 0.5, 1.5])
FINALS = st.dictionaries(st.integers(0, 6), st.sampled_from([0.5, 2.0]), max_size=2)
ARCS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3), LABEL, WEIGHT), max_size=5)
SPINE = st.lists(st.tuples(LABEL, WEIGHT), max_size=5)


def lattice(spine, arcs, finals):
    path = [(i, i + 1, *step) for i, step in enumerate(spine)]
    return path + [(source, source + span, *step) for source, span, *step in arcs], {**finals, len(spine): 1.0}


LATTICES = st.lists(st.builds(lattice, SPINE, ARCS, FINALS), min_size=1, max_size=3).map(
    lambda rows: Lattices.from_arcs(rows, ABC, strict=False)
)
TEXTS = st.lists(st.text("abcN", max_size=7), min_size=1, max_size=4)
COUNTERS = {
    "ngram 1": (NGram(1), ngram_counter(ABC, 1)),
    "ngram 3": (NGram(3), ngram_counter(ABC, 3)),
    "gappy": (GappyNGram(2, 0.5), gappy_ngram_counter(ABC, 2, 0.5)),
    "gappy 3": (GappyNGram(3, 0.3), gappy_ngram_counter(ABC, 3, 0.3)),
    "small gaps": (GappyNGram(3, 0.5, max_gap=1), gappy_ngram_counter(ABC, 3, 0.5, 1)),
    "mismatch": (Mismatch(3, 1), mismatch_counter(ABC, 3, 1)),
    "exact": (Mismatch(2, 0), mismatch_counter(ABC, 2, 0)),
}


def sequences(texts):
    return Sequences.from_strings(texts, alphabet=ABC, unknown="mask")


def features(kernel, X):
    """Return letters -> value of each row."""
    found = kernel.counts(X)
    spelled = [tuple(code for code in row if code >= 0) for row in kernel.letters(found.codes, X.alphabet).tolist()]
    ends = found.starts.tolist()
    return [dict(zip(spelled[a:b], found.values[a:b].tolist())) for a, b in pairwise(ends)]


@pytest.mark.parametrize("name", COUNTERS)
@some
@given(TEXTS, LATTICES)
def test_counters_are_the_kernels_they_generalise(name, texts, Y):
    kernel, transducer = COUNTERS[name]
    X, general = sequences(texts), Rational(transducer)
    for A, B in ((X, None), (Y, None), (X, Y), (Y, X)):
        np.testing.assert_allclose(general.gram(A, B), kernel.gram(A, B), rtol=TOLERANCE, atol=TOLERANCE)
    for A in (X, Y):
        np.testing.assert_allclose(general.diag(A), kernel.diag(A), rtol=TOLERANCE, atol=TOLERANCE)
        mine = [{z: v for z, v in row.items() if v} for row in features(general, A)]
        for row, wanted in zip(mine, features(kernel, A)):
            assert row == pytest.approx(wanted, rel=TOLERANCE, abs=TOLERANCE)
    wanted = [[inner(expected_features(kernel, Y, i), string_features(kernel, x, is_masked)) for x in coded(texts)]
              for i in range(len(Y))]  # fmt: skip
    np.testing.assert_allclose(general.gram(Y, X), wanted, rtol=TOLERANCE, atol=TOLERANCE)


def coded(texts):
    return [["abcN".index(letter) for letter in text] for text in texts]


def is_masked(code):
    return code >= MASKED


# Machines of the user's own: brute force walks their arcs letter by letter.

LETTER = st.sampled_from(["a", "b", "c"])
OUTPUT = st.sampled_from(["", "a", "b", "c"])
STEP = st.tuples(st.integers(0, 2), st.integers(0, 2), LETTER, OUTPUT, st.sampled_from([1.0, 0.5, 2.0, -1.0]))
INSERT = st.tuples(st.integers(0, 1), st.just(2), st.just(""), OUTPUT, st.sampled_from([0.5, -2.0]))
ENDS = st.dictionaries(st.integers(0, 2), st.sampled_from([1.0, 0.5]), min_size=1)
OWN = st.tuples(st.lists(STEP, max_size=8), st.lists(INSERT, max_size=1), ENDS).map(
    lambda parts: (parts[0] + parts[1], parts[2])
)
PLAIN = st.lists(st.text("abc", max_size=3), min_size=1, max_size=4)
LONGEST = 8  # arcs of a path that reads three letters: these, and one insertion before each of them and at the end


def outputs(machine, text):
    """Return z -> T(text, z)."""
    found = {}
    for read, written, weight in oracle.paths(machine, LONGEST):
        if read == text:
            found[written] = found.get(written, 0.0) + weight
    return found


@some
@given(OWN, PLAIN)
def test_features_of_any_transducer(machine, texts):
    kernel, X = Rational(Transducer.from_arcs(*machine, alphabet=ABC)), sequences(texts)
    wanted = [outputs(machine, text) for text in texts]
    gram = [[oracle.inner(x, y) for y in wanted] for x in wanted]
    np.testing.assert_allclose(kernel.gram(X), gram, rtol=TOLERANCE, atol=TOLERANCE)
    for row, found in zip(wanted, features(kernel, X)):
        named = {"".join("abc"[code] for code in z): value for z, value in found.items()}
        nonzero = {z: value for z, value in row.items() if value}
        assert {z: v for z, v in named.items() if abs(v) > TOLERANCE} == pytest.approx(nonzero, rel=TOLERANCE)


@some
@given(OWN, PLAIN, PLAIN)
def test_a_transducer_given_as_a_whole(machine, texts, others):
    U = Transducer.from_arcs(*machine, alphabet=ABC)
    kernel, X, Y = Rational(U, decomposed=False), sequences(texts), sequences(others)
    wanted = [[outputs(machine, x).get(y, 0.0) for y in others] for x in texts]
    np.testing.assert_allclose(kernel.gram(X, Y), wanted, rtol=TOLERANCE, atol=TOLERANCE)


@some
@given(OWN, LATTICES, LATTICES)
def test_whole_transducers_sum_over_pairs_of_strings(machine, X, Y):
    U = Transducer.from_arcs(*machine, alphabet=ABC)
    words = [[(x, w) for x, w in strings(rows, i).items()] for rows in (X, Y) for i in range(len(rows))]
    every = sorted({x for row in words for x, _ in row})
    one = Lattices.from_arcs([([(i, i + 1, code, 1.0) for i, code in enumerate(x)], [len(x)]) for x in every], ABC)
    single = Rational(U, decomposed=False).gram(one, one[np.arange(len(every))])
    weights = np.array([[dict(row).get(x, 0.0) for x in every] for row in words])
    wanted = weights[: len(X)] @ single @ weights[len(X) :].T
    got = Rational(U, decomposed=False).gram(X, Y)
    np.testing.assert_allclose(got, wanted, rtol=TOLERANCE, atol=TOLERANCE * (1 + abs(wanted).max()))


@pytest.mark.parametrize("name", ["ngram 3", "gappy", "mismatch"])
def test_composed_counters_are_symmetric_and_definite(name):
    kernel, T = COUNTERS[name]
    X = sequences(["abcab", "", "ccNca", "abab"])
    whole = Rational(compose(T, inverse(T)), decomposed=False)
    assert not whole.definite
    fitted = whole.fitted(X)
    assert fitted == Rational(whole.transducer, decomposed=False, trusted=True)
    assert fitted.definite
    for kernel_now in (whole, fitted):
        K = kernel_now.gram(X)
        assert np.array_equal(K, K.T)
        np.testing.assert_allclose(K, kernel.gram(X), rtol=TOLERANCE)
    np.testing.assert_allclose(fitted.diag(X), kernel.diag(X), rtol=TOLERANCE)


def edits(swap=0.2, skip=0.1):
    """Letters may be kept, replaced, left out on either side: a transducer whose insertions are a cycle."""
    arcs = [(0, 0, a, b, 1.0 if a == b else swap) for a, b in product("abc", repeat=2)]
    arcs += [(0, 0, a, None, skip) for a in "abc"] + [(0, 0, None, a, skip) for a in "abc"]
    return arcs


def alignments(x, y, keep=1.0, swap=0.2, skip=0.1):
    """The weights of all alignments of two strings, by the usual table."""
    table = np.zeros((len(x) + 1, len(y) + 1))
    for i, j in product(range(len(x) + 1), range(len(y) + 1)):
        table[i, j] = float(i == j == 0)
        table[i, j] += skip * ((i and table[i - 1, j]) + (j and table[i, j - 1]))
        table[i, j] += (keep if i and j and x[i - 1] == y[j - 1] else swap) * (i and j and table[i - 1, j - 1])
    return table[-1, -1]


def test_edit_transducers():
    texts = ["abcab", "", "acb", "cabbac", "b"]
    wanted = [[alignments(x, y) for y in texts] for x in texts]
    X, U = sequences(texts), Transducer.from_arcs(edits(), [0], ABC)
    np.testing.assert_allclose(Rational(U, decomposed=False).gram(X), wanted, rtol=TOLERANCE)
    looped = Transducer.from_arcs([*edits(), (0, 0, None, None, 0.5)], [0], ABC)
    doubled = [[2 * alignments(x, y, 2.0, 0.4, 0.2) for y in texts] for x in texts]  # at each visit of the state
    np.testing.assert_allclose(Rational(looped, decomposed=False).gram(X), doubled, rtol=TOLERANCE)


def test_outputs_without_end_take_a_linear_system():
    """Any number of letters a may be written beside those that were read: a^n becomes a^m in comb(m, n) ways."""
    T = Transducer.from_arcs([(0, 0, "a", "a", 1.0), (0, 0, None, "a", 0.5)], [0], ABC)
    kernel, X = Rational(T), sequences(["a", "aa", ""])
    series = [{m: 0.5 ** (m - n) * comb(m, n) for m in range(n, 200)} for n in (1, 2, 0)]
    wanted = [[sum(v * y.get(m, 0.0) for m, v in x.items()) for y in series] for x in series]
    np.testing.assert_allclose(kernel.gram(X), wanted, rtol=1e-9)
    with pytest.raises(ValueError, match="no list of features: arcs without input form a cycle"):
        kernel.counts(X)
    heavy = Transducer.from_arcs([(0, 0, "a", "a", 1.0), (0, 0, None, "a", 1.0)], [0], ABC)
    with pytest.raises(ValueError, match=r"kernel of row 0 with row 0 is not finite\. .* diverges"):
        Rational(heavy).gram(X)


def test_table_2_of_the_paper_exactly():
    """Table 2: the first two steps of coordinate descent, with W' kept as a machine."""
    alphabet, T = Alphabet("ab", "ab"), ngram_counter("ab", 2)
    X = Sequences.from_strings(["ababa", "abbab"], alphabet=alphabet)
    phi = [determinize(remove_epsilon(project(compose(acceptor(x, alphabet), T), "output"))) for x in X]
    K = Rational(T).gram(X)
    assert np.diag(K).tolist() == [8.0, 6.0]
    W, steps, sums = None, [], []
    for i, part in enumerate(phi):
        product_sum = 0.0 if W is None else total_weight(compose(part, W))
        gradient = product_sum - 1.0
        alpha = min(max(0.0 - gradient / K[i, i], 0.0), 1.0)
        sums.append(product_sum)
        steps.append(alpha)
        W = scale(part, alpha) if W is None else union(W, scale(part, alpha))
    assert sums == [0.0, 3 / 4]
    assert steps == [1 / 8, 1 / 24]


# Descriptions, lists of features and errors.


def test_kernels_are_descriptions():
    T = ngram_counter("ab", 2)
    kernel, other = Rational(T), Rational(ngram_counter("ab", 2))
    lighter = Rational(Transducer.from_arcs([(0, 0, "a", "b", 1.0)], [0], "ab"))
    heavier = Rational(Transducer.from_arcs([(0, 0, "a", "b", 2.0)], [0], "ab"))
    assert kernel == other == clone(kernel) == pickle.loads(pickle.dumps(kernel))
    assert hash(kernel) == hash(other)
    assert kernel != Rational(T, decomposed=False) != Rational(T, decomposed=False, trusted=True)
    assert lighter != heavier
    assert lighter.on("x") != heavier.on("x")
    assert Rational(ngram_counter("ab", 2)) != Rational(ngram_counter("ac", 2))
    assert repr(kernel).startswith("Rational(<transducer, 3 states, 10 arcs, ")
    assert repr(Rational(T, decomposed=False)).endswith(">, decomposed=False)")
    assert kernel.set_params(transducer=heavier.transducer) == heavier
    model = kw.KernelClassifier(Rational(T))
    assert clone(model).kernel == model.kernel
    assert isinstance(kernel, Features)


def test_features_and_names():
    T = Transducer.from_arcs([(0, 0, "a", None, 1.0), (0, 1, "b", "c", 2.0), (1, 1, "b", "b", 1.0)], [0, 1], ABC)
    kernel, X = Rational(T), sequences(["a", "ab", "abbb"])
    counts = kernel.counts(X)
    assert kernel.names(counts.codes, ABC) == ["", "c", "cbb"]
    assert counts.values.tolist() == [1.0, 2.0, 2.0]
    bounded = Rational(mismatch_counter(ABC, 2, 1))
    table = bounded.features(X)
    np.testing.assert_allclose((table @ table.T).toarray(), bounded.gram(X))
    assert table.shape == (3, 16)
    assert bounded.names(table[[1]].indices, ABC) == ["aa", "ab", "ac", "bb", "cb"]
    with pytest.raises(ValueError, match="is not a feature of Rational"):
        bounded.names([4], ABC)  # the digits 1 and 0: a letter, then none
    long = Rational(ngram_counter("dna", 30))
    Y = Sequences.from_strings(["ACGT" * 10, "GT" * 20])
    assert long.counts(Y).codes.shape[1] == 2
    np.testing.assert_allclose(long.counts(Y).gram(long.counts(Y)), NGram(30).gram(Y))
    with pytest.raises(ValueError, match="more than 63-bit column numbers can hold"):
        long.features(Y)


def test_masked_letters_match_nothing():
    copy = [(0, 0, letter, letter, 1.0) for letter in range(ABC.size + 1)]
    kernel = Rational(Transducer.from_arcs(copy, [0], ABC))
    assert kernel.gram(sequences(["aNb", "ab", "N"])).tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]


def test_many_strings_have_a_gram_matrix_but_no_list(monkeypatch):
    arcs = [(i, i + 1, letter, 1.0) for i in range(30) for letter in "abc"]
    X = Lattices.from_arcs([([(0, 1, "a", 1.0)], [1]), (arcs, [30])], ABC)
    kernel = Rational(Transducer.from_arcs([(0, 0, a, a, 1.0) for a in "abc"], [0], ABC))
    np.testing.assert_allclose(kernel.gram(X), [[1.0, 0.0], [0.0, 3.0**30]])
    with pytest.raises(ValueError, match=r"Row 1 has 2.05891e\+14 output strings .* up to 1,000,000 a row"):
        kernel.counts(X)
    monkeypatch.setattr(rational, "MOST_LETTERS", 2)
    with pytest.raises(ValueError, match="Row 1 has output strings of 3 letters"):
        kernel.counts(sequences(["ab", "abc"]))


def test_machines_too_large_to_be_deterministic_serve_as_they_are(monkeypatch):
    from kernelweave.kernels.strings.rational import rows as rational_rows

    def refuse(machine):
        raise ValueError("too many states")

    monkeypatch.setattr(rational_rows, "determinize", refuse)
    for kernel, transducer in COUNTERS.values():
        X = sequences(["abcab", "ccNca"])
        np.testing.assert_allclose(Rational(transducer).gram(X), kernel.gram(X), rtol=TOLERANCE)
        mine, wanted = features(Rational(transducer), X), features(kernel, X)
        assert [{z: v for z, v in row.items() if v} for row in mine] == [pytest.approx(row) for row in wanted]


def test_longest_outputs():
    assert rational_strings.longest_output(ngram_counter("ab", 4)) == 4
    assert rational_strings.longest_output(gappy_ngram_counter("ab", 3, 0.5, 2)) == 3
    endless = Transducer.from_arcs([(0, 1, "a", "a", 1.0), (1, 0, "b", None, 1.0)], [1], "ab")
    assert rational_strings.longest_output(endless) is None
    useless = Transducer.from_arcs([(0, 1, "a", "a", 1.0), (0, 2, "a", "a", 1.0), (2, 2, "a", "a", 1.0)], [1], "ab")
    assert rational_strings.longest_output(useless) == 1


def test_blocks_of_rows(monkeypatch):
    from kernelweave.automata import rows as machine_rows

    monkeypatch.setattr(machine_rows, "PAIRS_AT_A_TIME", 5)
    kernel, X = Rational(ngram_counter(ABC, 2)), sequences(["abca", "bcab", "aaab", "cab", "ca"])
    K, A = NGram(2).gram(X), kernel.prepare(X)
    np.testing.assert_allclose(kernel.block(A, A), K)
    np.testing.assert_allclose(kernel.block(A[1:3], A[[0, 4, 2]]), K[1:3][:, [0, 4, 2]])
    assert kernel.block(A, A, np.float32).dtype == np.float32
    assert kernel.gram(X[:0]).shape == (0, 0)
    assert kernel.counts(X[:0]).codes.shape == (0, 1)
