"""Functions of the user's as kernels."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

import kernelweave as kw

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=60) > 0, "in", "out")


def cubic(A, B):
    return (A @ B.T + 1.0) ** 3


def shared_letters(A, B):
    return np.array([[sum(a == b for a, b in zip(one, two)) for two in B.to_strings()] for one in A.to_strings()])


def test_a_function_gives_the_model_of_the_kernel_that_it_computes():
    model = kw.KernelClassifier(cubic, tol=1e-8).fit(X, Y)
    named = kw.KernelClassifier(kw.Polynomial(3, gamma=1.0, coef0=1.0), tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), named.decision_function(X), atol=1e-3)
    theirs = SVC(kernel=cubic, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert kw.verify(clone(model).fit(X, Y), X, Y).confirmed
    assert repr(model.kernel_) == "Function(cubic)"


def test_functions_stand_beside_kernels_and_get_sequences():
    found = kw.MKLClassifier([cubic, kw.RBF(), lambda A, B: A @ B.T]).fit(X, Y)
    assert found.kernel_names_[0] == "Function(cubic)"
    sites, labels = kw.datasets.make_splice(40, random_state=0)
    model = kw.KernelClassifier(shared_letters, normalize="cosine").fit(sites, labels)
    placed = kw.KernelClassifier(kw.WeightedDegree(1), normalize="cosine").fit(sites, labels)
    np.testing.assert_allclose(model.decision_function(sites), placed.decision_function(sites), atol=0.05)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda A, B: A @ B.T @ B, "must return an array of numbers of shape"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "not finite"),
        (lambda A, B: -(A @ B.T), "not positive semi-definite"),
    ],
)
def test_what_is_no_kernel_is_refused_in_one_sentence(function, words):
    with pytest.raises(ValueError, match=words):
        kw.KernelClassifier(function).fit(X, Y)


def test_saving_names_the_function_and_the_remedy(tmp_path):
    model = kw.KernelClassifier(cubic).fit(X, Y)
    with pytest.raises(TypeError, match=r"function cubic, and a model file holds no code; .*precomputed"):
        kw.save(model, tmp_path / "cubic.kw")
    assert not list(tmp_path.iterdir())
