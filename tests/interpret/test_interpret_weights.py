"""How firm kernel weights are: bootstrap refits by sample weights, and kernels too similar to be distinguished."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import kernelweave as kw
from kernelweave.interpret import alike_kernels, weight_stability

WIDTHS = [0.01, 1.0, 100.0]


@pytest.fixture(scope="module")
def stars():
    return kw.datasets.make_stars(120, distance=3.0, random_state=0)


@pytest.fixture(scope="module")
def model():
    return kw.MKLClassifier(kw.RBF.grid(WIDTHS))


@pytest.fixture(scope="module")
def found(model, stars):
    return weight_stability(model, *stars, n_bootstrap=12, random_state=3)


def test_every_number_comes_from_the_refits(found, model):
    assert found.weights.shape == (12, 3)
    np.testing.assert_allclose(found.mean, found.weights.mean(axis=0))
    np.testing.assert_allclose(found.low, np.quantile(found.weights, 0.025, axis=0))
    np.testing.assert_allclose(found.high, np.quantile(found.weights, 0.975, axis=0))
    np.testing.assert_allclose(found.frequency, (found.weights > 1e-3 * found.weights.max(1)[:, None]).mean(axis=0))
    assert list(found.names) == [repr(kernel) for kernel in model.kernels]


def test_the_width_of_the_problem_is_selected_always_and_a_useless_one_never(found):
    assert found.frequency[1] == 1.0
    assert found.low[1] > found.high[2]


def test_a_refit_equals_the_fit_on_copied_rows(model, stars):
    X, y = stars
    rng = np.random.default_rng(3)
    counts = np.zeros(len(y), dtype=int)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        counts[rows] = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)))
    copied = np.repeat(np.arange(len(y)), counts)
    exact = clone(model).set_params(tol=1e-8)
    weights = weight_stability(exact, X, y, n_bootstrap=1, random_state=3).weights[0]
    np.testing.assert_allclose(weights, exact.fit(X[copied], y[copied]).kernel_weights_, atol=1e-4)


def test_the_same_seed_gives_the_same_numbers_and_leaves_the_model_alone(model, stars, found):
    again = weight_stability(model, *stars, n_bootstrap=12, random_state=3)
    np.testing.assert_array_equal(found.weights, again.weights)
    assert not hasattr(model, "kernel_weights_")


def test_weights_of_each_class_keep_their_shape():
    X, y = kw.datasets.make_stars(90, distance=3.0, random_state=0)
    classes = np.where(np.hypot(*X.T) < 2.5, "inside", np.where(y == 1, "outer", "inner"))
    found = weight_stability(kw.MKLClassifier(kw.RBF.grid(WIDTHS)), X, classes, n_bootstrap=3)
    assert found.weights.shape == (3, 3, 3)
    assert found.mean.shape == found.frequency.shape == (3, 3)
    assert str(found).splitlines()[3].startswith("class 1  RBF(width=0.01)")


def test_near_copies_are_named_and_warn_once_at_most(stars):
    X, y = stars
    kernels = [kw.RBF(width=1.0), kw.RBF(width=1.001), kw.Linear()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = weight_stability(kw.MKLClassifier(kernels), X, y, n_bootstrap=3)
    ((first, second, correlation),) = found.alike
    assert (first, second) == (0, 1)
    assert 0.9999 < correlation <= 1
    assert "RBF(width=1.0) and RBF(width=1.001) are alike" in str(found)


def test_alike_kernels_lists_the_most_alike_first(stars):
    X, _ = stars
    pairs = alike_kernels([kw.RBF(width=1.0), kw.RBF(width=1.2), kw.RBF(width=1.01), kw.Linear()], X)
    assert pairs[0][:2] == (0, 2)
    assert [p[2] for p in pairs] == sorted((p[2] for p in pairs), reverse=True)
    assert alike_kernels([kw.RBF(width=1.0)], X) == ()


def test_regression_and_novelty_are_resampled_too(stars):
    X, y = kw.datasets.make_sines(60, random_state=0)
    assert weight_stability(kw.MKLRegressor(kw.RBF.grid(WIDTHS)), X, y, n_bootstrap=2).weights.shape == (2, 3)
    assert weight_stability(kw.MKLNovelty(kw.RBF.grid(WIDTHS)), stars[0], n_bootstrap=2).weights.shape == (2, 3)


def test_rows_without_weight_play_no_part(model, stars):
    X, y = stars
    weight = np.ones(len(y))
    weight[:20] = 0
    moved = X.copy()
    moved[:20] *= 3
    before = weight_stability(model, X, y, n_bootstrap=2, sample_weight=weight)
    after = weight_stability(model, moved, y, n_bootstrap=2, sample_weight=weight)
    np.testing.assert_allclose(before.weights, after.weights, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bootstrap": 0}, "expected at least one refit"),
        ({"confidence": 1.0}, "expected a number between 0 and 1"),
    ],
)
def test_bad_options_get_one_sentence(model, stars, options, message):
    with pytest.raises(ValueError, match=message):
        weight_stability(model, *stars, **options)


def test_models_with_one_kernel_have_no_weights(stars):
    with pytest.raises(TypeError, match="not to KernelClassifier"):
        weight_stability(kw.KernelClassifier(), *stars)
