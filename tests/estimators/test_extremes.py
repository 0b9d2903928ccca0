"""The ends of every scale: a certificate that the judge confirms, a warning, or one sentence."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import kernelweave as kw
from sweeps import GOOD, judged

RNG = np.random.default_rng(0)
X = RNG.normal(size=(48, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=48) > 0, 1, -1)
GRID = kw.RBF.grid([0.1, 1.0, 10.0])
NOVELTY = [
    kw.KernelNovelty("rbf"),
    kw.KernelNovelty("rbf", solver="chunking"),
    kw.KernelNovelty("linear", solver="dual_coordinate"),
    kw.MKLNovelty(GRID),
    kw.MKLNovelty(GRID, solver="silp"),
    kw.MKLNovelty(GRID, norm=2.0),
    kw.CGBoostNovelty(GRID),
    kw.CGBoostNovelty(GRID, penalty="l2"),
]
SWEEP = range(0, 150, 10)


@pytest.mark.parametrize("weight", [None, RNG.integers(0, 3, size=48).astype(float)], ids=["", "weighted"])
@pytest.mark.parametrize("nu", [1.0, 1e-6])
@pytest.mark.parametrize("model", NOVELTY, ids=repr)
def test_both_ends_of_nu(model, nu, weight):
    model = model.set_params(nu=nu).fit(X, sample_weight=weight)
    assert model.converged_
    assert kw.verify(model, X, None, weight).verdict != "not confirmed"  # the optimum of "linear" is zero
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("weight", [None, 1e15, 1e-15])
@pytest.mark.parametrize("C", [1e-12, 1.0])
@pytest.mark.parametrize("model", [kw.MKLClassifier([kw.Linear(), kw.RBF(width=1.0)]), kw.KernelClassifier()])
def test_no_bound_lies_above_the_objective(model, C, weight):
    rng = np.random.default_rng(1)
    weight = None if weight is None else weight * rng.uniform(0.5, 1.0, 48)
    model = model.set_params(C=C).fit(X, Y, sample_weight=weight)
    above = model.dual_objective_ - model.objective_
    assert above <= 1e-12 * abs(model.objective_)
    assert model.duality_gap_ >= 0.0
    assert kw.verify(model, X, Y, weight).confirmed


@pytest.mark.parametrize("solver", ["auto", "dual_coordinate"])
def test_rows_of_a_scale_that_no_fit_can_work_with_end_with_the_cause(solver):
    rng = np.random.default_rng(1)
    rows = 1e8 * rng.normal(size=(120, 5))
    y = np.where(rows[:, 0] + 0.5e8 * rng.normal(size=120) > 0, 1, -1)
    model = kw.KernelClassifier(kw.Linear(), solver=solver)
    with pytest.warns(ConvergenceWarning, match=r"\(K\(x, x\) is about .*e\+16\); scale the columns, or set normalize"):
        model.fit(rows, y)
    assert not model.converged_
    assert kw.verify(model, rows, y).confirmed
    assert kw.MKLClassifier([kw.Linear(), kw.RBF(gamma="scale")], normalize="trace").fit(rows, y).converged_


def test_raw_columns_of_uneven_scale_are_certified():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(270, 13)) * np.logspace(0, 2.5, 13) + np.linspace(0.0, 200.0, 13)
    y = np.where(rows[:, 3] - rows[:, 3].mean() + rng.normal(size=270) > 0, 1, -1)
    model = kw.KernelClassifier(kw.Linear(), C=100.0).fit(rows, y)
    assert model.converged_
    assert kw.verify(model, rows, y).confirmed


@pytest.mark.parametrize("normalize", [None, "trace", "cosine"])
@pytest.mark.parametrize("make", [kw.KernelClassifier, lambda k, **p: kw.MKLClassifier([k], **p)])
def test_kernels_that_overflow_are_refused_in_a_sentence(make, normalize):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(ValueError, match="rescale the features of the table"):
            make(kw.Polynomial(3), normalize=normalize).fit(1e120 * X, Y)


@pytest.mark.parametrize("make", [kw.KernelClassifier, lambda k: kw.MKLClassifier([k, 2.0 * k])])
def test_kernels_that_underflow_get_a_word(make):
    with pytest.warns(UserWarning, match="nothing is learned from it; rescale the rows"):
        model = make(kw.Linear()).fit(1e-170 * X, Y)
    assert kw.verify(model, 1e-170 * X, Y).confirmed


def test_lattices_whose_paths_underflow_get_a_word():
    def lattice(word):
        return [(at, at + 1, word if at % 2 else "x", 1e-3) for at in range(150)], [150]

    rows = kw.Lattices.from_arcs([lattice(word) for word in "abab"])
    with pytest.warns(UserWarning, match="nothing is learned from it"):
        kw.KernelClassifier(kw.NGram(1)).fit(rows, [0, 1, 0, 1])


def test_equal_rows_are_at_distance_zero_whatever_their_scale():
    rng = np.random.default_rng(1)
    rows = 1e9 * rng.normal(size=(30, 4)) + 1e9
    kernel = kw.RBF(1.0)
    prepared, again = kernel.prepare(rows), kernel.prepare(rows.copy())
    np.testing.assert_array_equal(np.diag(kernel.block(prepared, again)), 1.0)


@pytest.mark.parametrize("first", SWEEP)
def test_a_slice_of_the_sweep_is_confirmed_or_refused(first):
    lines = [judged(seed, rows=60) for seed in range(first, first + 10)]
    bad = [line for line in lines if line["verdict"] not in GOOD]
    assert not bad, bad


def test_weights_too_far_apart_are_refused():
    weight = np.ones(48)
    weight[[3, 7]] = 1e-8, 1e8
    with pytest.raises(ValueError, match=r"of row 3 and 1e\+08 of row 7 are too far apart"):
        kw.KernelClassifier().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize(
    "model",
    [kw.KernelClassifier(kw.Linear()), kw.MKLClassifier([kw.Linear(), 2.0 * kw.Linear()]), kw.KernelRegressor()],
)
def test_costs_whose_squares_overflow_are_refused(model):
    with pytest.raises(ValueError, match=r"5e\+301 in sum, too large for double precision; take a smaller C"):
        model.set_params(C=1e300).fit(X, X[:, 0] if "Regressor" in repr(model) else Y)


def test_kernels_of_longer_lmers_than_can_be_counted():
    rng = np.random.default_rng(1)
    rows = kw.Sequences.from_strings(["".join(rng.choice(list("ACGT"), 620)) for _ in range(6)])
    model = kw.KernelClassifier(kw.Mismatch(600, 1)).fit(rows, [0, 1, 0, 1, 0, 1])
    assert np.isfinite(model.decision_function(rows)).all()


def test_polynomials_of_any_number_of_monomials_are_learned():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(60, 40)) / 7.0
    model = kw.KernelClassifier(kw.Polynomial(3)).fit(rows, np.sign(rows[:, 0]))
    assert kw.verify(model, rows, np.sign(rows[:, 0])).confirmed


def test_a_polynomial_with_too_many_monomials_is_factorised():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(60, 30))
    y = np.sign(rows[:, 0])
    kernels = [kw.Polynomial(3), kw.Linear()]
    model = kw.MKLClassifier(kernels, solver="svrg", loss="logistic", norm=2.0).fit(rows, y)
    assert kw.verify(model, rows, y).confirmed


def test_the_usual_norms_are_those_that_a_solver_is_for():
    model = kw.MKLClassifierCV(GRID, solver="smooth", Cs=(1.0,), cv=2).fit(X, Y)
    assert model.norm_ == 1.0
    assert model.cv_scores_.shape == (1, 1, 2)
    with pytest.raises(ValueError, match="is for norm=1, not norm=4"):
        kw.MKLClassifierCV(GRID, solver="smooth", norms=(1.0, 4.0), Cs=(1.0,), cv=2).fit(X, Y)


def test_epochs_that_would_never_end_are_refused():
    given = {"solver": "svrg", "loss": "logistic", "solver_params": {"schedule": "paper"}}
    with pytest.raises(ValueError, match="iterations in one epoch"):
        kw.MKLClassifier(GRID, C=1e6, **given).fit(X, Y)


@pytest.mark.parametrize("make", [kw.KernelClassifier, lambda k: kw.MKLClassifier([k, kw.Laplacian(gamma=1.0)])])
def test_rows_whose_distances_overflow_are_refused_in_a_sentence(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(ValueError, match=r"squared length of row \d+ is .*; rescale the features of the table"):
            make(kw.RBF(width=1.0)).fit(1e155 * X, Y)
        for scale in (1e155, 1e-157):
            with pytest.raises(ValueError, match=r"gamma of RBF\(\) is 1 / .*; rescale the features of the table"):
                make(kw.RBF()).fit(scale * X, Y)


def test_new_rows_that_are_too_far_away_are_refused_in_a_sentence():
    model = kw.KernelClassifier(kw.RBF(width=1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="squared length of row 2 is inf"):
        model.predict([X[0], X[1], 1e155 * X[2]])


@pytest.mark.parametrize("kernels", [[kw.Linear()], [kw.Linear(), kw.RBF(width=1.0)], kw.per_feature(kw.Linear(), 3)])
def test_kernels_that_vanish_are_not_divided_by_their_size(kernels):
    model = kw.MKLClassifier(kernels, normalize="trace").fit(1e-157 * X, Y)
    assert kw.verify(model, 1e-157 * X, Y).confirmed
