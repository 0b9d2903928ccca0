"""Precomputed Gram matrices: as a list, as views, inside trees, in folds; and matrices that are no kernels."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

import kernelweave as kw
from kernelweave.estimators.checks import definite

rng = np.random.default_rng(0)
N = 100
X = rng.normal(size=(N, 4))
Y = np.sign(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=N))
FIRST, SECOND = kw.RBF(width=4.0), kw.Polynomial(2, gamma=1.0)
GRAMS = [FIRST.gram(X), SECOND.gram(X)]
GIVEN = [kw.Precomputed().on("a"), kw.Precomputed().on("b")]
VIEWS = kw.Views({"a": GRAMS[0], "b": GRAMS[1]})


def test_a_list_of_matrices_is_learned_from_like_their_kernels(tmp_path):
    model, same = kw.MKLClassifier().fit(GRAMS, Y), kw.MKLClassifier([FIRST, SECOND]).fit(X, Y)
    np.testing.assert_allclose(model.objective_, same.objective_, rtol=2e-3)
    np.testing.assert_allclose(model.kernel_weights_, same.kernel_weights_, atol=1e-2)
    new = rng.normal(size=(30, 4))
    given = [FIRST.gram(new, X), SECOND.gram(new, X)]
    np.testing.assert_allclose(model.decision_function(given), same.decision_function(new), atol=1e-2)
    np.testing.assert_array_equal(model.predict(np.stack(given)), model.predict(given))
    assert kw.verify(model, GRAMS, Y).confirmed
    kw.save(model, tmp_path / "model.kw")
    np.testing.assert_array_equal(kw.load(tmp_path / "model.kw").predict(given), model.predict(given))


@pytest.mark.parametrize(
    ("given", "X", "twin"),
    [
        (GIVEN, VIEWS, [FIRST, SECOND]),
        (None, kw.Views.from_matrices(GRAMS), [FIRST, SECOND]),
        ([GIVEN[0] + GIVEN[1], 2.0 * GIVEN[0] * GIVEN[1]], VIEWS, [FIRST + SECOND, 2.0 * FIRST * SECOND]),
        ([GIVEN[0] * kw.Linear().on("t")], kw.Views({"a": GRAMS[0], "t": X}), [FIRST * kw.Linear()]),
    ],
    ids=["views", "list", "trees", "with a table"],
)
@pytest.mark.parametrize("scale", ["trace", "cosine"])
def test_folds_cut_matrices_like_the_rows_they_come_from(given, X, twin, scale):
    found = cross_val_score(kw.MKLClassifier(given, normalize=scale), X, Y, cv=3)
    wanted = cross_val_score(kw.MKLClassifier(twin, normalize=scale), globals()["X"], Y, cv=3)
    np.testing.assert_allclose(found, wanted, atol=0.04)


def test_grids_mixtures_and_chosen_parameters():
    found = GridSearchCV(kw.MKLClassifier(GIVEN), {"C": [0.1, 10.0]}, cv=2).fit(VIEWS, Y)
    assert kw.verify(found.best_estimator_, VIEWS, Y).confirmed
    mixture = kw.CGBoostClassifier(GIVEN, termination="TR3").fit(VIEWS, Y)
    assert kw.verify(mixture, VIEWS, Y).confirmed
    chosen = kw.MKLClassifierCV(Cs=[1.0, 10.0], cv=2).fit(GRAMS, Y)
    assert kw.verify(chosen, GRAMS, Y).confirmed


def test_copies_among_matrices_are_told():
    with pytest.warns(UserWarning, match="nearly the same kernel"):
        kw.MKLClassifier().fit([GRAMS[0], GRAMS[0] * 1.0000001, GRAMS[1]], Y)


def test_lists_that_do_not_fit_are_refused_in_a_sentence():
    model = kw.MKLClassifier().fit(GRAMS, Y)
    with pytest.raises(ValueError, match="trained on 2 matrices, but the input is a list of 1"):
        model.predict(GRAMS[:1])
    with pytest.raises(ValueError, match="has 4 columns, but a Gram matrix against the training rows has one for each"):
        model.predict([GRAMS[0][:, :4], GRAMS[1]])
    with pytest.raises(ValueError, match="X is a list of 2 tables, expected rows of one table or square Gram matrices"):
        kw.MKLClassifier().fit([X, GRAMS[0]], Y)
    with pytest.raises(ValueError, match="must be square and symmetric, but it differs from its transpose"):
        kw.MKLClassifier().fit([GRAMS[0], np.triu(GRAMS[1])], Y)


def random_matrix():
    values = np.random.default_rng(1).normal(size=(N, N))
    return values + values.T


@pytest.mark.parametrize("model", [
    kw.KernelClassifier("precomputed"), kw.KernelRegressor("precomputed"), kw.KernelNovelty("precomputed"),
    kw.MKLClassifier(["precomputed"]), kw.MKLRegressor(["precomputed"]), kw.MKLNovelty(["precomputed"]),
    kw.KernelClassifier(kw.Precomputed() + kw.Identity(), normalize="cosine"),
], ids=repr)  # fmt: skip
def test_a_matrix_that_is_no_kernel_is_refused(model):
    with pytest.raises(ValueError, match=r"not positive semi-definite: the matrix has the eigenvalue -\d"):
        model.fit(random_matrix(), Y)


def test_the_remedies_help():
    K = random_matrix()
    values, vectors = np.linalg.eigh(K)
    for mended in (vectors * np.maximum(values, 0.0) @ vectors.T, K - 1.01 * values[0] * np.eye(N)):
        assert kw.verify(kw.KernelClassifier("precomputed").fit(mended, Y), mended, Y).confirmed
    assert kw.verify(kw.CGBoostClassifier(["precomputed"]).fit(K, Y), K, Y).confirmed


def test_two_rows_whose_zero_model_is_better():
    with pytest.raises(ValueError, match="eigenvalue -1, and a support vector machine needs a kernel that is"):
        kw.KernelClassifier("precomputed").fit([[1, 2], [2, 1]], [-1, 1])


def test_rounding_is_no_fault_until_it_counts():
    K = kw.RBF(width=30.0).gram(X).astype(np.float32)
    assert kw.KernelClassifier("precomputed").fit(K, Y).converged_
    with pytest.raises(ValueError, match="with so large a C, a support vector machine needs"):
        kw.KernelClassifier("precomputed", C=1e6).fit(K, Y)
    assert kw.KernelClassifier("precomputed", C=1e6).fit(kw.RBF(width=30.0).gram(X), Y).converged_


def test_large_matrices_are_disproved_by_their_ritz_values(monkeypatch):
    monkeypatch.setattr(definite, "LARGEST", 10)
    lowest, norm = definite.lowest_eigenvalue(kw.Precomputed(), random_matrix())
    exact = np.linalg.eigvalsh(random_matrix())
    np.testing.assert_allclose(lowest, exact[0], rtol=0.02)
    assert 0.3 * np.sqrt((exact**2).sum()) < norm <= np.sqrt((exact**2).sum()) * 1.01
    assert definite.lowest_eigenvalue(kw.Precomputed(), GRAMS[0])[0] == 0.0
