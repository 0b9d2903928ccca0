from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from kernelweave.judge import Verification
from kernelweave.solvers.boost import generation

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
Y = X[:, 0] + X[:, 1] ** 2 > 0.5
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
REAL = np.sin(X[:, 0]) + 0.1 * rng.normal(size=90)
WEIGHT = rng.integers(0, 3, size=90).astype(float)
KERNELS = [kw.RBF(width=1.0), kw.RBF(width=10.0), kw.Linear()]
FITS = {
    "hinge": (kw.KernelClassifier(kw.RBF(width=2.0)), Y),
    "logistic, regularised": (
        kw.KernelClassifier(kw.RBF(width=2.0), loss="logistic", fit_intercept="regularized"),
        THREE,
    ),
    "huber": (kw.KernelRegressor(kw.RBF(width=2.0), loss="huber:0.3"), REAL),
    "novelty": (kw.KernelNovelty(kw.RBF(width=2.0), nu=0.2), None),
    "mkl": (kw.MKLClassifier(KERNELS, class_weight="balanced"), Y),
    "mkl, p = 2, three classes": (kw.MKLClassifier(KERNELS, norm=2.0, loss="squared_hinge"), THREE),
    "mkl, shared weights": (kw.MKLClassifier(KERNELS, shared_weights=True), THREE),
    "mkl, cross-validated": (kw.MKLClassifierCV(KERNELS, Cs=[0.5, 5.0], cv=2), Y),
    "smoothed": (kw.MKLClassifier(KERNELS, solver="smooth"), Y),
    "smoothed, three classes": (kw.MKLClassifier(KERNELS, solver="smooth", C=0.1), THREE),
    "mixture in little memory": (kw.CGBoostClassifier(KERNELS, C=20.0, memory_limit="200kB"), Y),
    "fixed weights": (kw.MKLClassifier(KERNELS, solver="uniform"), Y),
    "factorised": (kw.MKLClassifier(KERNELS, loss="logistic", norm=2.0, solver="svrg"), Y),
    "mkl regression": (kw.MKLRegressor(KERNELS, norm=4 / 3), REAL),
    "mkl novelty": (kw.MKLNovelty(KERNELS, nu=0.3), None),
    "mixture": (kw.CGBoostClassifier(KERNELS), Y),
    "mixture, 2-norm, three classes": (kw.CGBoostClassifier(KERNELS, penalty="l2", C=5.0), THREE),
    "mixture, nu": (kw.CGBoostClassifier(KERNELS, loss="nu_classification", nu=0.3), Y),
    "mixture, held-out rows": (kw.CGBoostClassifier(KERNELS, termination="TR3"), Y),
    "mixture regression": (kw.CGBoostRegressor(KERNELS, loss="nu_regression", penalty="l2", positive=True), REAL),
    "mixture novelty": (kw.CGBoostNovelty(KERNELS, nu=0.2), None),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weighted"])
@pytest.mark.parametrize("name", FITS)
def test_the_judge_confirms(name, weight):
    model, y = FITS[name]
    if name == "mixture, nu" and weight is not None:
        pytest.skip("nu must suit the weights of the classes")
    model.fit(X, y, sample_weight=weight)
    found = kw.verify(model, X, y, weight)
    assert found.confirmed, str(found)
    np.testing.assert_allclose(found.primal.sum(), model.objective_, rtol=1e-9)
    np.testing.assert_allclose(found.dual.sum(), model.dual_objective_, rtol=1e-9)


@pytest.mark.parametrize("attribute", ["gap", "objective_", "dual_objective_", "alpha", "intercept", "beta"])
@pytest.mark.parametrize("make", [kw.KernelClassifier, kw.MKLClassifier], ids=["one", "many"])
def test_a_forged_certificate_is_not_confirmed(make, attribute):
    if attribute == "beta" and make is kw.KernelClassifier:
        pytest.skip("one kernel has no weights")
    model = make(kw.RBF(width=2.0) if make is kw.KernelClassifier else KERNELS, C=10.0).fit(X, Y)
    if attribute == "alpha":
        model.certificate_.alpha[0, np.flatnonzero(model.certificate_.alpha[0])[0]] *= 1.5
    elif attribute == "intercept":
        model.certificate_.intercept[0] += 1.0
    elif attribute == "beta":
        model.certificate_.beta[0] *= 1.1
    elif attribute == "gap":
        model.duality_gap_ = -1e-3
    else:
        value = getattr(model, attribute)
        setattr(model, attribute, value * (1.0 - 1e-4 if attribute == "objective_" else 1.01))
    found = kw.verify(model, X, Y)
    assert not found.confirmed
    assert "NOT CONFIRMED" in str(found)


def test_other_data_are_not_what_was_certified():
    model = kw.KernelClassifier(kw.RBF(width=2.0), C=10.0).fit(X, Y)
    assert not kw.verify(model, X, ~Y).confirmed


@pytest.mark.parametrize("C", [100.0, 1e3])
def test_factorised_kernels_are_certified_for_the_kernels_asked_for(C):
    table = np.random.default_rng(0).normal(size=(150, 3))
    y = np.sin(2 * table[:, 0]) + np.random.default_rng(1).normal(size=150)
    kernels = [kw.RBF(width=50.0), kw.RBF(width=200.0)]
    model = kw.MKLRegressor(kernels, loss="squared", C=C, norm=2.0, solver="svrg").fit(table, y)
    exact = kw.MKLRegressor(kernels, loss="squared", C=C, norm=2.0, solver="lp", tol=1e-9).fit(table, y)
    assert model.dual_objective_ <= exact.objective_ * (1 + 1e-9)
    assert kw.verify(model, table, y).confirmed
    assert model.converged_ == (model.duality_gap_ <= model.tol)


def test_pipelines_strings_and_matrices():
    pipeline = make_pipeline(StandardScaler(), kw.KernelClassifier("rbf")).fit(X, Y)
    assert kw.verify(pipeline, X, Y).confirmed
    rows, y = kw.datasets.make_splice(60, random_state=0)
    model = kw.KernelClassifier(kw.WeightedDegree(5, shift=1), normalize="cosine").fit(rows, y)
    assert kw.verify(model, rows, y).confirmed
    K = X @ X.T
    assert kw.verify(kw.KernelClassifier("precomputed").fit(K, Y), K, Y).confirmed


def test_what_cannot_be_verified_is_told():
    with pytest.raises(TypeError, match="takes a fitted estimator of this library, not StandardScaler"):
        kw.verify(StandardScaler(), X, Y)
    with pytest.raises(ValueError, match="X has 80 rows, but the model was fitted to 90; verify takes the same rows"):
        kw.verify(kw.KernelClassifier("rbf").fit(X, Y), X[:80], Y[:80])


def test_a_dual_above_the_primal_is_not_confirmed():
    fine = Verification("a problem", np.array([1.0]), np.array([1.0 + 1e-12]), -1e-12, 0.0, 0.0)
    assert fine.confirmed
    assert not Verification("a problem", np.array([1.0]), np.array([1.0 + 6e-7]), -6e-7, 0.0, 0.0).confirmed


def test_rounding_beyond_gap_and_tolerance_confirms_nothing():
    def found(gap, rounding):
        return Verification("a problem", np.array([1.0]), np.array([1.0 - gap]), gap, 1e-5, 0.0, rounding, tol=1e-3)

    assert found(5e-4, 1e-3).verdict == "confirmed"
    assert found(1e-5, 1e3).verdict == "confirmed"
    assert found(0.5, 1e3).verdict == "cannot tell"
    assert str(found(0.5, 1e3)).startswith("cannot tell: rounding alone may move the gap by 1e+03")
    assert found(0.5, 1e-3).verdict == "not confirmed"
    assert not found(0.5, 1e3).confirmed


def test_a_stream_is_verified_once_it_was_certified():
    kernels = [kw.Linear(), kw.Fourier(kw.RBF(width=4.0), 30), kw.RBF(width=10.0)]
    model = kw.MKLClassifier(
        kernels, loss="logistic", norm=2.0, solver="svrg", solver_params={"total_rows": len(X)}
    )  # fmt: skip
    for _ in range(3):
        model.partial_fit(X, Y, classes=[False, True])
    with pytest.raises(ValueError, match="learned from a stream has no certificate; call certify"):
        kw.verify(model, X, Y)
    model.certify(X, Y)
    assert kw.verify(model, X, Y).confirmed


@pytest.mark.filterwarnings("ignore:The memory_limit")
@pytest.mark.parametrize("limit", ["40kB", "2kB"])
def test_rows_are_prepared_part_by_part_within_the_memory_limit(limit):
    rows, y = kw.datasets.make_splice(70, random_state=0)
    for kernel in (kw.GappedKmer(5, 3), kw.Spectrum(3) + kw.WeightedDegree(4)):
        model = kw.KernelClassifier(kernel, normalize="cosine").fit(rows, y)
        wanted = kw.verify(model, rows, y)
        model.memory_limit = limit
        found = kw.verify(model, rows, y)
        assert found.confirmed
        np.testing.assert_allclose(found.primal, wanted.primal, rtol=1e-12)


def test_lattices_sparse_tables_and_views():
    words = kw.Sequences.from_tokens([["a", "b"], ["b"], ["a", "a", "c"], ["c", "b"], ["a"], ["c"]])
    y = np.array([1, 1, -1, -1, 1, -1])
    lattices = kw.Lattices.from_sequences(words)
    sparse = csr_array(np.abs(np.eye(6) + 0.1 * rng.normal(size=(6, 3))[:, [0, 1, 2, 0, 1, 2]]))
    views = kw.Views({"l": lattices, "s": sparse})
    for kernel, data in (
        (kw.NGram(2), lattices), (kw.Linear(), sparse), (kw.NGram(1).on("l") + kw.RBF(width=1.0).on("s"), views),
    ):  # fmt: skip
        assert kw.verify(kw.KernelClassifier(kernel).fit(data, y), data, y).confirmed
        assert kw.verify(kw.CGBoostClassifier([kernel]).fit(data, y), data, y).confirmed


def test_columns_that_were_sampled_are_another_problem(monkeypatch):
    monkeypatch.setattr(generation, "CHEAP", 0)
    with pytest.warns(UserWarning, match=r"certificate is about \d+ of 270 columns, those in use and those drawn"):
        model = kw.CGBoostClassifier(KERNELS, C=10.0, candidates=4, random_state=0).fit(X, Y)
    assert model.certifies_ == "mixture of sampled columns"
    assert model.scanned_ != "all"
    with pytest.raises(ValueError, match="cannot be verified; fit with candidates=None"):
        kw.verify(model, X, Y)
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(candidates=None).fit(X, Y)
    assert model.certifies_ == "mixture"
    assert kw.verify(model, X, Y).confirmed


def test_a_gap_that_a_scan_of_all_columns_finds_open_has_not_converged(monkeypatch):
    found = []
    for seed in range(6):
        monkeypatch.setattr(generation, "CHEAP", 0.9 * 3 * 90**2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kw.CGBoostClassifier(KERNELS, C=2.0, candidates=3, random_state=seed).fit(X, Y)
        if model.scanned_ == "all":
            found.append(model)
            assert model.converged_ == (model.duality_gap_ <= model.tol)
            assert kw.verify(model, X, Y).confirmed
    assert found
