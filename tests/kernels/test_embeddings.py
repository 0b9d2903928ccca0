"""Explicit features: their inner product is the kernel, or as near to it as they say."""

from __future__ import annotations

import math
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import kernelweave as kw
from kernelweave.engines.base import Serial
from kernelweave.kernels import Cosine, Features, On, parts
from kernelweave.kernels.abilities import Positional, has_codes
from kernelweave.kernels.approximate import cholesky
from kernelweave.kernels.approximate.fourier import _waves
from kernelweave.kernels.vector.monomials import n_monomials
from kernelweave.operators import Task, choose
from oracles.cholesky import pivoted

RNG = np.random.default_rng(11)
X = RNG.normal(size=(60, 4))
SIGNS = np.where(X[:, 0] + 0.2 * RNG.normal(size=60) > 0, 1, -1)
DNA = kw.Sequences.from_strings(["".join(RNG.choice(list("ACGT"), 12)) for _ in range(60)])
VIEWS = kw.Views({"x": X, "dna": DNA, "gram": X @ X.T})

EXACT = [
    kw.Linear(),
    kw.Polynomial(2),
    kw.Polynomial(3, 0.5, 0.0),
    kw.Polynomial(1, 2.0, 0.3),
    kw.Linear().on([0, 2]),
    kw.Polynomial(2).on(1),
    2.5 * kw.Linear(),
    Cosine(kw.Linear()),
    0.5 * Cosine(kw.Polynomial(2)).on(slice(1, None)),
    kw.Linear().on(0) + 3.0 * kw.Polynomial(2).on([1, 3]),
]
LEARNED = [kw.IncompleteCholesky(kw.RBF(0.2)), kw.Nystrom(kw.Laplacian(0.2), 7), kw.Fourier(kw.RBF(0.2), 10)]


def inner(kernel, X, dtype=np.float64):
    found = kernel.features(X, dtype)
    dense = found.toarray() if sparse.issparse(found) else found
    assert dense.dtype == dtype
    return dense @ dense.T


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(parts, "FEATURE_ROWS", 7)


@pytest.mark.parametrize("kernel", EXACT, ids=repr)
@pytest.mark.parametrize("form", [np.array, np.asfortranarray, sparse.csr_array, sparse.coo_array, np.ndarray.tolist])
def test_inner_products_are_the_kernel(kernel, form, few_rows):
    before = X.copy()
    np.testing.assert_allclose(inner(kernel, form(X)), kernel.gram(form(X)), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(inner(kernel, form(X), np.float32), kernel.gram(X), rtol=1e-4, atol=1e-4)
    assert np.array_equal(X, before)


def test_linear_features_are_the_table_itself():
    assert kw.Linear().features(X) is X
    small = X.astype(np.float32)
    assert kw.Linear().features(small, np.float32) is small
    assert sparse.issparse(kw.Linear().features(sparse.csr_array(X)))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.sampled_from([0.0, 0.4, 3.0]), st.sampled_from([0.3, "auto", 2.0]))
def test_polynomials_are_written_out(columns, degree, coef0, gamma):
    kernel, table = kw.Polynomial(degree, gamma, coef0), RNG.normal(size=(5, columns))
    assert kernel.features(table).shape == (5, n_monomials(columns, degree, coef0 > 0))
    np.testing.assert_allclose(inner(kernel, table), kernel.gram(table), rtol=1e-10, atol=1e-10)


def test_polynomials_too_wide_or_indefinite_are_told():
    with pytest.raises(ValueError, match="has 5151 monomials of 100 columns, more than the limit of 5000"):
        kw.Polynomial(2).features(np.ones((2, 100)))
    with pytest.raises(ValueError, match="negative weight"):
        kw.Polynomial(2, coef0=-1.0).features(X)


def test_who_has_the_ability():
    able = [*EXACT, *LEARNED, *(kernel.fitted(X) for kernel in LEARNED), On(LEARNED[0], 0), LEARNED[1] + kw.Linear()]
    others = [
        kw.RBF(),
        kw.RBF().on(0),
        kw.Spectrum(2),
        kw.Linear() * kw.Linear(),
        kw.Linear() + kw.RBF(),
        kw.Identity(),
    ]
    assert all(isinstance(kernel, Features) and kernel.kind == "columns" for kernel in able)
    assert not any(isinstance(kernel, Features) and kernel.kind == "columns" for kernel in others)
    assert not any(has_codes(kernel) or isinstance(kernel, Positional) for kernel in able)
    with pytest.raises(TypeError, match="has no explicit features"):
        (kw.Linear() + kw.RBF()).features(X)


def test_solvers_bind_the_kernels_as_before():
    plan = choose(Task([kw.Linear(), kw.Polynomial(2), *(k.fitted(X) for k in LEARNED)], X, Serial(), need="parts"))[1]
    assert plan.kind == "stored"


@pytest.mark.parametrize("kernel", LEARNED, ids=repr)
def test_what_is_not_learned_yet_is_told(kernel):
    for call in (kernel.gram, kernel.features, kernel.diag):
        with pytest.raises(ValueError, match=r"learns its features from training data: call fitted\(X\)"):
            call(X)
    with pytest.raises(ValueError, match="none of positive weight"):
        kernel.fitted(X, np.zeros(60))


@pytest.mark.parametrize("kernel", LEARNED, ids=repr)
def test_wrappers_fit_what_is_inside(kernel, few_rows):
    wrapped = 2.0 * Cosine(kernel).on("x") + kernel.on("x")
    made = wrapped.fitted(VIEWS)
    np.testing.assert_allclose(inner(made, VIEWS), made.gram(VIEWS), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(inner(made.kernels[1], VIEWS), inner(kernel.fitted(X), X), rtol=1e-10)
    assert made.kernels[0].rank_ == kernel.fitted(X).rank_
    assert made.kernels[0].approximation_error_ == kernel.fitted(X).approximation_error_


@pytest.mark.parametrize("kernel", LEARNED, ids=repr)
def test_of_a_kernel_on_some_columns_only_those_are_held(kernel):
    inside = type(kernel)(**{**kernel.get_params(deep=False), "kernel": kernel.kernel.on([0, 2])})
    made = inside.fitted(X)
    assert made.columns == [0, 2]
    np.testing.assert_array_equal(made.features(X), kernel.fitted(X[:, [0, 2]]).features(X[:, [0, 2]]))


@pytest.mark.parametrize("kernel", LEARNED, ids=repr)
def test_features_of_a_row_are_its_own(kernel):
    made = kernel.fitted(X)
    np.testing.assert_allclose(made.features(X)[5:9], made.features(X[5:9]), rtol=1e-9, atol=1e-12)
    assert made.features(X[:0]).shape == (0, made.rank_)
    with pytest.raises(ValueError, match="one side has 3 columns, the other 4"):
        made.features(X[:, :3])


# Incomplete Cholesky ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [kw.RBF(0.3), kw.Laplacian(0.5), kw.Polynomial(3)], ids=repr)
@pytest.mark.parametrize("tolerance", [0.3, 1e-2, 1e-5])
def test_one_row_at_a_time_is_the_plain_twin(kernel, tolerance, monkeypatch):
    monkeypatch.setattr(cholesky, "CANDIDATES", 1)
    pivots, residual = pivoted(kernel.gram(X).tolist(), tolerance)
    made = kw.IncompleteCholesky(kernel, tolerance).fitted(X)
    np.testing.assert_array_equal(made.landmarks, X[pivots])
    np.testing.assert_allclose(made.approximation_error_, sum(residual) / kernel.diag(X).sum(), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("span", [50, 1 << 14])
def test_several_rows_at_a_time_need_no_higher_rank(span, monkeypatch):
    monkeypatch.setattr(cholesky, "SPAN", span)
    table = RNG.normal(size=(200, 2))
    for tolerance in (1e-2, 1e-4, 1e-8):
        made = kw.IncompleteCholesky(kw.RBF(0.5), tolerance).fitted(table)
        assert made.rank_ <= 1.1 * len(pivoted(kw.RBF(0.5).gram(table).tolist(), tolerance)[0]) + 1
        missed = kw.RBF(0.5).gram(table) - made.gram(table)
        assert np.trace(missed) <= tolerance * 200
        assert made.approximation_error_ == pytest.approx(np.trace(missed) / 200, rel=1e-3, abs=1e-12)
        assert np.linalg.eigvalsh(missed)[0] > -1e-9


def test_the_rank_is_the_dimension_where_that_is_finite():
    for kernel, rank in ((kw.Linear(), 4), (kw.Polynomial(2), 15), (kw.Linear().on(0) * 3.0, 1)):
        made = kw.IncompleteCholesky(kernel, 1e-12).fitted(X)
        assert made.rank_ == rank
        np.testing.assert_allclose(made.gram(X), kernel.gram(X), rtol=1e-8, atol=1e-8)


def test_tolerance_zero_ends_at_rounding():
    twice = np.concatenate([X, X])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = kw.IncompleteCholesky(kw.RBF(1.0), 0.0).fitted(twice)
    assert made.rank_ <= 60
    np.testing.assert_allclose(made.gram(twice), kw.RBF(1.0).gram(twice), atol=1e-9)


def test_a_rank_too_small_is_told():
    with pytest.warns(UserWarning, match=r"max_rank=5\) stopped at 5 features with a relative error of 0\.\d+, above"):
        made = kw.IncompleteCholesky(kw.RBF(1.0), max_rank=5).fitted(X)
    assert made.rank_ == 5
    missed = np.trace(kw.RBF(1.0).gram(X) - made.gram(X)) / 60
    assert made.approximation_error_ == pytest.approx(missed, rel=1e-9)


def test_the_factor_stays_within_its_bytes(monkeypatch):
    monkeypatch.setattr(cholesky, "FACTOR_BYTES", 8 * 60 * 9)
    with pytest.warns(UserWarning, match="stopped at 9 features"):
        assert kw.IncompleteCholesky(kw.RBF(5.0)).fitted(X).rank_ == 9


@pytest.mark.parametrize("kernel", LEARNED[:2], ids=repr)
def test_a_row_of_weight_two_counts_as_two_rows(kernel):
    weight = np.where(np.arange(60) < 20, 2.0, np.where(np.arange(60) < 40, 1.0, 0.0))
    made = kernel.fitted(X, weight)
    missed = kernel.kernel.diag(X) - made.diag(X)
    assert made.approximation_error_ == pytest.approx(weight @ missed / (weight @ kernel.kernel.diag(X)), abs=1e-9)
    assert not any((row == X[40:]).all(axis=1).any() for row in made.landmarks)


def test_a_kernel_that_is_zero_has_one_feature_of_zeros():
    for kernel in (kw.IncompleteCholesky(kw.Linear()), kw.Nystrom(kw.Linear(), 3)):
        made = kernel.fitted(np.zeros((5, 2)))
        assert (made.rank_, made.approximation_error_) == (1, 0.0)
        assert not made.features(X[:, :2]).any()


def test_any_kernel_has_landmarks():
    gram, rows = X @ X.T, RNG.normal(size=(3, 4))
    made = kw.IncompleteCholesky(kw.Precomputed()).fitted(gram)
    assert made.rank_ == 4
    np.testing.assert_allclose(made.gram(gram), gram, atol=1e-8)
    np.testing.assert_allclose(made.features(rows @ X.T) @ made.features(gram).T, rows @ X.T, atol=1e-8)
    made = kw.IncompleteCholesky(kw.Spectrum(1) + kw.WeightedDegree(1)).fitted(DNA)
    assert made.rank_ <= 4 + 48
    np.testing.assert_allclose(made.gram(DNA), (kw.Spectrum(1) + kw.WeightedDegree(1)).gram(DNA), atol=2e-2)
    both = kw.IncompleteCholesky(kw.RBF(1.0).on("x") * kw.Spectrum(2).on("dna"), 1e-9).fitted(VIEWS)
    expected = (kw.RBF(1.0).on("x") * kw.Spectrum(2).on("dna")).gram(VIEWS)
    np.testing.assert_allclose(both.gram(VIEWS), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("kernel", "error", "sentence"),
    [
        (kw.IncompleteCholesky(kw.Identity()), TypeError, "treats equal rows as different"),
        (kw.Nystrom(kw.Linear() + kw.Identity()), TypeError, "treats equal rows as different"),
        (kw.IncompleteCholesky(kw.Sigmoid()), ValueError, "not positive semi-definite"),
        (kw.IncompleteCholesky(kw.RBF(), tolerance=-1), ValueError, "tolerance=-1 of IncompleteCholesky must be"),
        (kw.IncompleteCholesky(kw.RBF(), max_rank=0), ValueError, "max_rank=0"),
        (kw.IncompleteCholesky("rbf"), TypeError, "needs kernels, but got 'rbf'"),
        (kw.Nystrom(kw.RBF(), 0), ValueError, "n_components=0"),
        (kw.Fourier(kw.RBF(), 7), ValueError, "n_components=7 of Fourier must be even"),
        (kw.Fourier(kw.Linear()), TypeError, r"RBF and Laplacian kernels, but got Linear\(\); use IncompleteCholesky"),
        (kw.Fourier(2 * kw.RBF()), TypeError, "RBF and Laplacian kernels, but got Scaled"),
        (kw.Fourier(kw.RBF(), random_state="x"), TypeError, "is not a seed"),
    ],
)
def test_what_has_no_features_is_told(kernel, error, sentence):
    with pytest.raises(error, match=sentence):
        kernel.fitted(X)


def test_rows_that_are_not_finite_are_told():
    with pytest.raises(ValueError, match="of row 1 with itself is not finite"):
        kw.IncompleteCholesky(kw.Linear()).fitted([[1.0], [1e200]])


# Drawn at random ----------------------------------------------------------------------------------------------------


def test_nystrom_error_is_exact_and_all_rows_leave_none():
    made = kw.Nystrom(kw.RBF(0.5), 9, random_state=2).fitted(X)
    assert made.approximation_error_ == pytest.approx(np.mean(1.0 - made.diag(X)), rel=1e-9)
    whole = kw.Nystrom(kw.RBF(0.5), 1000).fitted(np.concatenate([X, X]))
    assert whole.rank_ <= 60
    assert whole.approximation_error_ < 1e-9
    np.testing.assert_allclose(whole.gram(X), kw.RBF(0.5).gram(X), atol=1e-8)


@pytest.mark.parametrize("kind", [kw.Nystrom, kw.Fourier])
def test_the_seed_decides(kind):
    first, again, other = (kind(kw.RBF(0.5), 8, random_state=seed).fitted(X).features(X) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("kernel", [kw.RBF(0.3), kw.RBF(width=2.0), kw.RBF("scale"), kw.Laplacian(0.2)], ids=repr)
def test_fourier_features_are_right_in_the_mean(kernel):
    exact = kernel.fitted(X).gram(X)
    found = [kw.Fourier(kernel, 50, random_state=seed).fitted(X) for seed in range(200)]
    mean = np.mean([made.gram(X) for made in found], axis=0)
    assert np.abs(mean - exact).max() < 0.06  # 5,000 waves: a deviation of at most 0.01, the largest of 1,770 pairs
    above = np.triu_indices(60, 1)
    each = [np.sqrt(np.mean((made.gram(X) - exact)[above] ** 2)) for made in found]
    np.testing.assert_allclose([made.approximation_error_ for made in found], each, rtol=1e-9)
    np.testing.assert_allclose(found[0].diag(X), 1.0, rtol=1e-12)
    assert kw.Fourier(kernel, 5000).fitted(X).approximation_error_ < np.mean(each) / 5


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-15), (np.float32, 1e-7)])
def test_waves_are_cosines_and_sines(dtype, accuracy):
    turns = np.concatenate(
        [RNG.normal(scale=s, size=(50, 3)) for s in (0.1, 1.0, 1e4)] + [np.arange(-6, 6).reshape(4, 3) / 4]
    )
    out = np.empty((len(turns), 6), dtype)
    _waves(turns, 0.5, out)
    angle = 2 * math.pi * (turns - np.rint(turns))
    np.testing.assert_allclose(out, 0.5 * np.concatenate([np.cos(angle), np.sin(angle)], axis=1), atol=accuracy)


def test_sparse_tables_have_the_same_waves():
    table = np.where(X > 0, X, 0.0)
    made, dense = (kw.Fourier(kw.RBF("scale"), 20).fitted(rows) for rows in (sparse.csr_array(table), table))
    np.testing.assert_allclose(made.features(sparse.csr_array(table)), made.features(table), rtol=1e-12, atol=1e-14)
    assert made.approximation_error_ == pytest.approx(dense.approximation_error_)


# Memory and files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [*LEARNED, kw.Polynomial(2), 2.0 * kw.Linear().on([0, 1, 2, 3])], ids=repr)
def test_beside_the_result_there_is_little(kernel):
    table = np.random.default_rng(0).normal(size=(100_000, 4)).astype(np.float32)
    made = kernel.fitted(X)
    made.features(table[:3000], np.float32)
    tracemalloc.start()
    size = made.features(table, np.float32).nbytes
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size + 5e6


CASES = {
    "cholesky": (kw.KernelClassifier(kw.IncompleteCholesky(kw.RBF("scale"), 1e-3)), X),
    "cholesky of sequences": (kw.KernelClassifier(kw.IncompleteCholesky(kw.Spectrum(2), 1e-3)), DNA),
    "cholesky of a matrix": (kw.KernelClassifier(kw.IncompleteCholesky(kw.Precomputed())), X @ X.T),
    "nystrom, sparse": (kw.KernelClassifier(kw.Nystrom(kw.RBF(1.0), 20)), sparse.csr_array(np.maximum(X, 0))),
    "fourier": (kw.KernelRegressor("fourier:laplacian:50"), X),
    "views": (
        kw.MKLClassifier(
            [
                kw.Fourier(kw.RBF(0.5)).on("x"),
                kw.IncompleteCholesky(kw.Spectrum(2).on("dna"), 0.1),
                kw.IncompleteCholesky(kw.Precomputed()).on("gram"),
            ]
        ),
        {"x": X, "dna": DNA, "gram": X @ X.T},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_models_are_kept_with_their_features(name, tmp_path):
    model, rows = CASES[name]
    model.fit(rows, SIGNS)
    kw.save(model, tmp_path / "model.kw")
    again = kw.load(tmp_path / "model.kw")
    numbers = "decision_function" if hasattr(model, "decision_function") else "predict"
    np.testing.assert_array_equal(getattr(again, numbers)(rows), getattr(model, numbers)(rows))
    for kernel, other in zip(fitted_kernels(model), fitted_kernels(again), strict=True):
        assert (kernel.rank_, kernel.approximation_error_) == (other.rank_, other.approximation_error_)


def fitted_kernels(model):
    return model.kernels_ if hasattr(model, "kernels_") else [model.kernel_]


def test_a_model_on_exact_features_is_the_model_on_the_kernel():
    plain = kw.KernelClassifier(kw.RBF(0.1), tol=1e-8).fit(X, SIGNS)
    made = kw.KernelClassifier(kw.IncompleteCholesky(kw.RBF(0.1), 1e-12), tol=1e-8).fit(X, SIGNS)
    np.testing.assert_allclose(made.decision_function(X), plain.decision_function(X), atol=1e-4)
