"""Weights by rarity are those of scikit-learn, with sample weights, in views, in files and in predictions."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import kernelweave as kw
from kernelweave.interpret import top_ngrams

TRAIN = ["The cat sat, and sat.", "A dog ran!", "the cat ran", "Dogs and cats: rain", "a cat; a dog", "rain ran"] * 2
NEW = ["the dog sat", "cats rain on cats", "unknown words cat"]
LABELS = np.array([1, 0, 1, 0, 1, 0] * 2)


def words(texts, like=None):
    return kw.Sequences.from_strings(texts, like or "text", "error" if like is None else "mask")


@pytest.mark.parametrize(("n", "cumulative"), [(1, False), (2, False), (2, True)])
def test_values_are_those_of_scikit_learn(n, cumulative):
    judge = TfidfVectorizer(norm=None, ngram_range=(1 if cumulative else n, n), token_pattern=r"\w+").fit(TRAIN)
    X = words(TRAIN)
    kernel = kw.TfIdf(kw.NGram(n, cumulative=cumulative)).fitted(X)
    expected = judge.transform(TRAIN)
    np.testing.assert_allclose(kernel.gram(X), (expected @ expected.T).toarray(), rtol=1e-12)
    known = words(NEW[:2], X.alphabet)
    cross = judge.transform(NEW[:2]) @ expected.T
    np.testing.assert_allclose(kernel.gram(known, X), cross.toarray(), rtol=1e-12)


def test_a_row_of_weight_two_counts_as_two_rows():
    X, weight = words(TRAIN[:6]), np.array([2.0, 1, 1, 0, 1, 3])
    again = X[np.repeat(np.arange(6), weight.astype(int))]
    kernel, same = kw.TfIdf(kw.NGram(1)).fitted(X, weight), kw.TfIdf(kw.NGram(1)).fitted(again)
    np.testing.assert_allclose(kernel.gram(X), same.gram(X), rtol=1e-12)


def test_models_predict_are_saved_and_read_with_weights(tmp_path):
    model = kw.KernelClassifier(kw.TfIdf(kw.NGram(1)), normalize="cosine").fit(TRAIN, LABELS)
    kw.save(model, tmp_path / "t.kw")
    loaded = kw.load(tmp_path / "t.kw")
    assert loaded.kernel == kw.TfIdf(kw.NGram(1))
    np.testing.assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))
    assert model.score(TRAIN, LABELS) == 1.0
    assert "cat" in [gram.ngram for gram in top_ngrams(model, 4)]
    assert kw.verify(model, TRAIN, LABELS).confirmed


def test_in_a_view_and_among_many_kernels():
    size = np.arange(12.0)[:, None]
    kernels = [kw.TfIdf(kw.NGram(1)).on("text").normalized(), kw.TfIdf(kw.NGram(2).on("text")), kw.RBF().on("size")]
    model = kw.MKLClassifier(kernels, norm=2).fit({"text": words(TRAIN), "size": size}, LABELS)
    assert model.score({"text": words(TRAIN), "size": size}, LABELS) == 1.0
    assert (model.kernel_weights_ > 0).all()


def test_what_counts_nothing_is_refused():
    with pytest.raises(TypeError, match=r"TfIdf weights features that are counted, and RBF\(gamma=.*\) counts none"):
        kw.TfIdf(kw.RBF(0.5)).fitted(np.eye(3))
    with pytest.raises(ValueError, match=r"TfIdf\(NGram\(1\)\) learns weights from training data: call fitted"):
        kw.TfIdf(kw.NGram(1)).gram(words(TRAIN))
