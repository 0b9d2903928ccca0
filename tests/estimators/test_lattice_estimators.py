"""Lattices and lists of words at the door of the estimators, in scikit-learn's tools and in model files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

import kernelweave as kw
from kernelweave.kernels.strings.ngram import NGram
from oracles.lattices import strings

FILLERS = ("play", "stop", "the", "a")
WORDS = (*FILLERS, "music", "weather")


def heard(rng, text, noise=0.3):
    """A lattice in which each word may have been another one, and may be left out."""
    arcs = []
    for place, word in enumerate(text):
        arcs.append((place, place + 1, word, 1.0 - noise))
        arcs.append((place, place + 1, WORDS[rng.integers(len(WORDS))], 0.8 * noise))
        arcs.append((place, place + 1, None, 0.2 * noise))
    return arcs, [len(text)]


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    texts, y = [], []
    for i in range(n):
        label = i % 2
        texts.append([*rng.choice(FILLERS, 3), "music" if label else "weather", *rng.choice(FILLERS, 2)])
        y.append(["weather", "music"][label])
    return texts, kw.Lattices.from_arcs([heard(rng, text) for text in texts]), np.array(y)


TEXTS, X, Y = made(60)
MODEL = kw.KernelClassifier(NGram(1), normalize="cosine").fit(X, Y)


def expected(lattices, i):
    """Expected counts of words by going through all strings."""
    counts = {}
    for letters, weight in strings(lattices, i).items():
        for letter in letters:
            if letter < lattices.alphabet.size:
                word = lattices.alphabet.letters[letter]
                counts[word] = counts.get(word, 0.0) + weight
    return counts


def cosine(a, b):
    return sum(a[w] * b.get(w, 0.0) for w in a) / np.sqrt(
        sum(v * v for v in a.values()) * sum(v * v for v in b.values())
    )


def test_decisions_are_those_of_expected_counts():
    _, new, _ = made(6, seed=1)
    kept = [expected(MODEL.reference_, j) for j in range(len(MODEL.reference_))]
    by_hand = [
        sum(c * cosine(expected(new, i), features) for c, features in zip(MODEL.dual_coef_[0], kept)) for i in range(6)
    ]
    assert isinstance(MODEL.reference_, kw.Lattices)
    np.testing.assert_allclose(MODEL.decision_function(new), by_hand + MODEL.intercept_, rtol=1e-9, atol=1e-12)


def test_scikit_learn_tools():
    train, test, y_train, y_test = train_test_split(X, Y, random_state=0, stratify=Y)
    assert isinstance(train, kw.Lattices)
    assert kw.KernelClassifier(NGram(1)).fit(train, y_train).score(test, y_test) > 0.8
    assert cross_val_score(kw.KernelClassifier(NGram(1)), X, Y, cv=3).mean() > 0.8
    search = GridSearchCV(kw.KernelClassifier(NGram(1)), {"kernel__n": [1, 3], "C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert search.best_estimator_.predict(X).shape == (60,)


def test_words_unseen_in_training_match_nothing():
    strange = [([(0, 1, "music", 0.75), (0, 1, "zebra", 0.25), (1, 2, "aardvark", 1.0)], [2])]
    plain = [([(0, 1, "music", 0.75), (0, 1, None, 0.25), (1, 2, None, 1.0)], [2])]
    got = MODEL.decision_function(kw.Lattices.from_arcs(strange))
    np.testing.assert_allclose(got, MODEL.decision_function(kw.Lattices.from_arcs(plain)), rtol=1e-12)
    assert MODEL.predict(kw.Lattices.from_arcs(strange)) == ["music"]


def test_strings_and_lattices_of_them_are_the_same():
    bigrams = kw.KernelClassifier(NGram(2, cumulative=True))
    tokens = bigrams.fit(TEXTS, Y)
    new = [["the", "zebra", "music"], ["weather"], ["zebra"]]
    S = kw.Sequences.from_tokens(new)
    decisions = tokens.decision_function(new)
    np.testing.assert_array_equal(tokens.decision_function([" ".join(row) for row in new]), decisions)
    np.testing.assert_array_equal(tokens.decision_function(S), decisions)
    np.testing.assert_allclose(tokens.decision_function(kw.Lattices.from_sequences(S)), decisions, rtol=1e-12)
    linear = kw.Lattices.from_sequences(kw.Sequences.from_tokens(TEXTS))
    both = kw.KernelClassifier(NGram(2, cumulative=True)).fit(linear, Y)
    np.testing.assert_allclose(both.decision_function(new), decisions, atol=1e-3)


def test_views_and_several_kernels():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 2))
    kernels = [NGram(1).normalized().on("speech"), NGram(2).normalized().on("speech"), kw.RBF(width=1.0).on("size")]
    model = kw.MKLClassifier(kernels, normalize="trace").fit({"speech": X, "size": table}, Y)
    assert model.kernel_weights_[:2].sum() > 5 * model.kernel_weights_[2]
    _, new, y = made(20, seed=1)
    other = kw.Lattices.from_arcs([([(0, 1, "zebra", 1.0), (1, 2, "music", 1.0)], [2])])
    assert model.predict({"speech": other, "size": table[:1]}) == ["music"]
    assert model.score(kw.Views({"speech": new, "size": rng.normal(size=(20, 2))}), y) > 0.8


def test_regression_and_novelty():
    size = np.array([len(text) + ("music" in text) for text in TEXTS], float)
    assert kw.KernelRegressor(NGram(1)).fit(X, size).predict(X[:3]).shape == (3,)
    assert kw.KernelNovelty(NGram(1)).fit(X).decision_function(X[:3]).shape == (3,)


def test_model_files(tmp_path):
    named = kw.Lattices(*X._table, X.alphabet, [f"call {i}" for i in range(len(X))])
    _, new, _ = made(8, seed=2)
    for model in (
        kw.KernelClassifier(NGram(2), normalize="cosine").fit(named, Y),
        kw.MKLClassifier([NGram(1), NGram(2)]).fit(X, Y),
        kw.KernelClassifier(NGram(1).on("speech")).fit({"speech": X}, Y),
    ):
        kw.save(model, tmp_path / "m.kw")
        again = kw.load(tmp_path / "m.kw")
        assert again.reference_ == model.reference_
        rows = {"speech": new} if isinstance(model.reference_, kw.Views) else new
        np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))


def test_damaged_lattices_in_a_model_file_are_refused():
    from kernelweave.estimators.files.tree import Reader, Writer

    writer = Writer()
    node = writer.node(X)
    assert Reader(writer.tensors).value(node) == X
    for name, value in (("target", 0), ("weights", -1.0), ("labels", 99), ("finals", np.nan)):
        tensors = dict(writer.tensors)
        at = node["state"][name]["tensor"]
        tensors[at] = np.full_like(tensors[at], value)
        with pytest.raises(ValueError, match="Lattice 0"):
            Reader(tensors).value(node)


CASES = {
    "string kernel": (
        lambda: kw.KernelClassifier(kw.WeightedDegree(2)).fit(X, Y),
        "use a kernel for lattices, such as",
    ),
    "table kernel": (lambda: kw.KernelClassifier("rbf").fit(X, Y), "rows of numbers, but got Lattices"),
    "table at predict": (lambda: MODEL.predict(np.eye(3)), "trained on sequences or lattices, but the input is"),
    "lattices at predict": (
        lambda: kw.KernelClassifier("rbf").fit(np.eye(2), [0, 1]).predict(X),
        "trained on a table of numbers, but got Lattices",
    ),
    "other alphabet": (
        lambda: MODEL.predict(kw.Lattices.from_sequences(kw.Sequences.from_strings(["ACGT"]))),
        "trained on the alphabet 'words', but the input has 'dna'",
    ),
    "no rows": (lambda: kw.KernelClassifier(NGram(1)).fit(X[:0], []), "Found no rows"),
    "labels": (lambda: kw.KernelClassifier(NGram(1)).fit(X, Y[:5]), "X has 60 rows, but y has 5"),
    "blank in a word": (lambda: kw.KernelClassifier(NGram(1)).fit([["a b"], ["c"]], [0, 1]), "a word has at least one"),
}


@pytest.mark.parametrize("case", CASES)
def test_errors(case):
    call, sentence = CASES[case]
    with pytest.raises((TypeError, ValueError), match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)
