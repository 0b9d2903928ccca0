"""Kernels of any transducer at the estimators: training, checks of transducers given as a whole, and model files."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.automata import Transducer, compose, inverse, ngram_counter
from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels import NGram, Rational
from kernelweave.kernels.strings.rational import kernel as rational

ABC = Alphabet("abc", "abc")
WORDS = ("play", "stop", "the", "a", "music", "weather")


def spoken(n, seed=0):
    """Lattices in which each word may have been another one, what was meant, and the words themselves."""
    rng = np.random.default_rng(seed)
    rows, texts, y = [], [], np.arange(n) % 2
    for label in y:
        text = [*rng.choice(WORDS[:4], 3), ("weather", "music")[label], *rng.choice(WORDS[:4], 2)]
        arcs = [(i, i + 1, word, 0.7) for i, word in enumerate(text)]
        arcs += [(i, i + 1, WORDS[rng.integers(6)], 0.3) for i in range(len(text))]
        rows.append((arcs, [len(text)]))
        texts.append(text)
    return Lattices.from_arcs(rows, Alphabet.words(WORDS)), texts, y


X, TOKENS, Y = spoken(40)
NEW, _, NEW_Y = spoken(20, seed=1)
BIGRAMS = ngram_counter(X.alphabet, 2)


def test_classifiers_agree_with_those_of_the_kernel_they_generalise():
    text = Sequences.from_tokens(TOKENS, alphabet=X.alphabet)
    for rows in (X, text):
        mine = kw.KernelClassifier(Rational(BIGRAMS), tol=1e-8).fit(rows, Y)
        wanted = kw.KernelClassifier(NGram(2), tol=1e-8).fit(rows, Y)
        np.testing.assert_allclose(mine.decision_function(NEW), wanted.decision_function(NEW), atol=1e-4)
        assert mine.score(NEW, NEW_Y) > 0.7
    options = {"solver": "dual_coordinate", "fit_intercept": "regularized", "tol": 1e-8}
    explicit = kw.KernelClassifier(Rational(BIGRAMS), **options).fit(X, Y)
    other = kw.KernelClassifier(NGram(2), **options).fit(X, Y)
    np.testing.assert_allclose(explicit.decision_function(NEW), other.decision_function(NEW), atol=1e-4)


def test_whole_transducers_train_and_are_refused():
    whole = compose(BIGRAMS, inverse(BIGRAMS))
    model = kw.KernelClassifier(Rational(whole, decomposed=False), tol=1e-8).fit(X, Y)
    wanted = kw.KernelClassifier(NGram(2), tol=1e-8).fit(X, Y)
    assert model.kernel_.trusted
    np.testing.assert_allclose(model.decision_function(NEW), wanted.decision_function(NEW), atol=1e-4)
    rows = Sequences.from_strings(["ab", "ba", "aa", "bb"], alphabet=ABC)
    lopsided = Transducer.from_arcs([(0, 0, "a", "b", 1.0), (0, 0, "b", "a", 0.5)], [0], ABC)
    with pytest.raises(ValueError, match=r"not symmetric: row 2 with row 3 gives 1, row 3 with row 2 gives 0\.25"):
        kw.KernelClassifier(Rational(lopsided, decomposed=False)).fit(rows, [0, 1, 0, 1])
    swapped = Transducer.from_arcs([(0, 0, "a", "b", 1.0), (0, 0, "b", "a", 1.0)], [0], ABC)
    with pytest.raises(ValueError, match=r"4 training rows has the eigenvalue -1 \(the largest is 1\)"):
        kw.MKLClassifier([Rational(swapped, decomposed=False), NGram(2)]).fit(rows, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="not symmetric"):
        Rational(lopsided, decomposed=False).gram(rows)
    with pytest.raises(ValueError, match="has no explicit features: its transducer is not given"):
        kw.KernelClassifier(Rational(whole, decomposed=False), solver="dual_coordinate", fit_intercept=False).fit(X, Y)


def test_checks_look_at_some_of_many_rows(monkeypatch):
    monkeypatch.setattr(rational, "CHECKED_ROWS", 2)
    swapped = Rational(Transducer.from_arcs([(0, 0, "a", "b", 1.0), (0, 0, "b", "a", 1.0)], [0], ABC), decomposed=False)
    assert swapped.fitted(
        Sequences.from_strings(["ab", "ba", "c"], alphabet=ABC)
    ).trusted  # first and last row alone look fine
    with pytest.raises(ValueError, match="on 2 training rows"):
        swapped.fitted(Sequences.from_strings(["ab", "c", "ba"], alphabet=ABC))


def test_weights_that_underflow_are_told():
    long = [([(place, place + 1, "abc"[row % 2], 1e-3) for place in range(150)], [150]) for row in range(4)]
    rows = Lattices.from_arcs(long + [([(0, 1, "a", 1.0)], [1])] * 2, ABC)
    with pytest.warns(
        UserWarning, match=r"Lattice 0 of the input has a total weight of about 10\^-451.*\(4 of 6 are so\)"
    ):
        kw.KernelClassifier(NGram(1)).fit(rows, [0, 1] * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kw.KernelClassifier(NGram(1)).fit(rows.normalized(), [0, 1] * 3).objective_ > 0


def test_several_kernels():
    options = {"norm": 2, "tol": 1e-6}
    model = kw.MKLClassifier([Rational(ngram_counter(X.alphabet, 1)), NGram(2)], **options).fit(X, Y)
    wanted = kw.MKLClassifier([NGram(1), NGram(2)], **options).fit(X, Y)
    np.testing.assert_allclose(model.kernel_weights_, wanted.kernel_weights_, rtol=1e-3)
    np.testing.assert_allclose(model.decision_function(NEW), wanted.decision_function(NEW), atol=1e-2)


def test_model_files(tmp_path):
    path, whole = tmp_path / "m.kw", compose(BIGRAMS, inverse(BIGRAMS))
    for kernel in (Rational(BIGRAMS), Rational(whole, decomposed=False), Rational(BIGRAMS).normalized()):
        model = kw.KernelClassifier(kernel).fit(X, Y)
        kw.save(model, path)
        again = kw.load(path)
        assert again.kernel == model.kernel
        assert again.kernel_ == model.kernel_
        np.testing.assert_array_equal(again.decision_function(NEW), model.decision_function(NEW))
    plain = Rational(Transducer.from_arcs([(0, 0, code, code, 1.0) for code in range(6)], [0]))
    kw.save(kw.KernelClassifier(plain).fit(X, Y), path)
    assert kw.load(path).kernel == plain


@pytest.mark.parametrize(
    ("name", "value"),
    [("source", 99), ("target", -1), ("inputs", 99), ("outputs", -2), ("weights", np.nan), ("finals", np.inf)],
)
def test_damaged_machines_in_a_model_file_are_refused(name, value):
    from kernelweave.estimators.files.tree import Reader, Writer

    writer = Writer()
    node = writer.node(BIGRAMS)
    assert Rational(Reader(writer.tensors).value(node)) == Rational(BIGRAMS)
    tensors = dict(writer.tensors)
    tensors[node[name]] = np.full_like(tensors[node[name]], value)
    with pytest.raises(ValueError, match="machine"):
        Reader(tensors).value(node)
    for broken in (tensors[node[name]][:-1], tensors[node[name]].reshape(1, -1)):
        with pytest.raises(ValueError, match="machine"):
            Reader({**writer.tensors, node[name]: broken}).value(node)


CASES = {
    "no transducer": (lambda: Rational(3).gram(X), "transducer=3 of Rational must be a Transducer"),
    "a table": (lambda: Rational(BIGRAMS).gram(np.eye(2)), "Rational compares sequences, but got a table"),
    "alphabet": (
        lambda: Rational(ngram_counter("dna", 2)).gram(X),
        r"over Alphabet\('dna', 4 letters\), but the rows are over Alphabet\('words', 6 letters\)",
    ),
    "label": (
        lambda: Rational(Transducer.from_arcs([(0, 0, 9, 9, 1.0)], [0])).gram(X),
        "has the label 9, no letter of Alphabet",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_errors(case):
    call, sentence = CASES[case]
    with pytest.raises((TypeError, ValueError), match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)
