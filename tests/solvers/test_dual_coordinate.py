"""Coordinate descent on explicit features: certified, LIBSVM's optimum, the same bits on any number of threads."""

from functools import cache

import numpy as np
import pytest
from sklearn.svm import SVC

import kernelweave as kw
from kernelweave._numba.coordinate import entropy_step
from kernelweave.data.strings.sequences import Sequences
from kernelweave.engines import Serial, Threads
from kernelweave.losses import make_loss
from kernelweave.operators import bind
from kernelweave.operators.features.operator import FeatureOperator
from kernelweave.operators.planner import task as planner
from kernelweave.solvers.certificate import Ledger, best_multiple, certify
from kernelweave.solvers.choose import choose_svm_solver
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm import dual_coordinate
from kernelweave.solvers.svm.dual_coordinate import DualCoordinate
from oracles import svm
from oracles.losses import EPSILON
from oracles.rows import sequences

N = 2000
KERNEL = kw.WeightedDegree(20)
TIGHT = Stop(1e-8, 3000)
rng = np.random.default_rng(3)


@cache
def splice(n=N):
    return kw.datasets.make_splice(n, signal_rate=0.6, decoy_rate=0.3, random_state=0)


@cache
def trace_gram(n=N):
    K = KERNEL.gram(splice(n)[0])
    return K / K.diagonal().mean()


@cache
def libsvm(C):
    """The dual objective of LIBSVM's coefficients, worked out in plain Python."""
    K, y = trace_gram(), splice()[1]
    theirs = SVC(C=C, kernel="precomputed", tol=1e-5).fit(K, y)
    alpha = np.zeros(N)
    alpha[theirs.support_] = theirs.dual_coef_[0]
    return svm.dual("hinge", K, y, np.full(N, C), "free", 0.0, alpha)


@cache
def optimal(C, free):
    return fit(300, solver="smo", tol=1e-9, C=C, fit_intercept=free)


def fit(n=N, **settings):
    X, y = splice(n)
    weight = settings.pop("sample_weight", None)
    given = {"kernel": KERNEL, "normalize": "trace", "solver": "dual_coordinate"} | settings
    return kw.KernelClassifier(**given).fit(X, y, sample_weight=weight)


def certified(model, K, y, cost, loss="hinge", intercept="free"):
    """Recompute the certificate by hand: primal of the model, dual of the point that proves it, relative gap."""
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    primal = svm.primal(loss, K, y, cost, intercept, 0.0, alpha, model.intercept_[0])
    dual = svm.dual(loss, K, y, cost, intercept, 0.0, model.certificate_.alpha[0])
    assert primal == pytest.approx(model.objective_, rel=1e-9)
    assert dual == pytest.approx(model.dual_objective_, rel=1e-9)
    return (primal - dual) / abs(primal)


def made(kernel=KERNEL, X=None, y=None, cost=1.0, loss="hinge", intercept="free", engine=None):
    X = splice(300)[0] if X is None else X
    y = splice(len(X))[1].astype(float) if y is None else y
    operator = bind(kernel, X, engine or Serial(), need="features")
    cost = np.broadcast_to(cost, len(X)).astype(float)
    return Problem(operator, make_loss(loss, epsilon=EPSILON), y, cost, intercept)


@pytest.mark.parametrize("solver", ["dual_coordinate", "chunking", "smo"])
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_libsvm_agrees(solver, C, monkeypatch):
    monkeypatch.setattr(planner, "GRAM_UP_TO", N - 1)  # so that chunking works through the normal vector
    model = fit(solver=solver, C=C, tol=1e-6)
    assert model.objective_ == pytest.approx(libsvm(C), rel=1e-5)
    assert model.dual_objective_ == pytest.approx(libsvm(C), rel=1e-5)
    assert certified(model, trace_gram(), splice()[1], np.full(N, C)) <= 1.01e-6


def test_the_automatic_choice_for_long_k_mers(monkeypatch):
    monkeypatch.setattr(planner, "GRAM_UP_TO", 100)
    assert isinstance(choose_svm_solver("auto", made()).solver, DualCoordinate)
    short = choose_svm_solver("auto", made(kw.WeightedDegree(1), splice()[0])).solver
    assert type(short).__name__ == "Chunking"
    shifted = choose_svm_solver("auto", made(kw.WeightedDegree(20, shift=1))).solver
    assert type(shifted).__name__ == "Chunking"
    assert fit(300, solver="auto", tol=1e-6).objective_ == pytest.approx(fit(300, tol=1e-6).objective_, rel=2e-6)


@pytest.mark.parametrize("tol", [1e-3, 1e-5, 1e-8])
def test_the_gap_is_what_it_says(tol):
    model = fit(600, tol=tol)
    gap = certified(model, trace_gram(600), splice(600)[1], np.ones(600))
    assert gap == pytest.approx(model.duality_gap_, rel=1e-3, abs=1e-11)
    assert -1e-11 <= gap <= tol
    assert model.converged_


@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, {"C": 0.01}, {"loss": "squared_hinge"}], ids=repr)
def test_the_same_bits_with_any_number_of_threads(settings):
    first, *others = (fit(600, n_jobs=jobs, **settings) for jobs in (1, 2, 3))
    for other in others:
        for name in ("dual_coef_", "support_", "intercept_"):
            np.testing.assert_array_equal(getattr(first, name), getattr(other, name))
        assert first.objective_ == other.objective_
        assert first.n_iter_ == other.n_iter_
        np.testing.assert_array_equal(first.certificate_.alpha, other.certificate_.alpha)


@pytest.mark.parametrize("order", ["permuted", "sequential"])
@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_order_and_shrinking_do_not_change_the_optimum(order, shrinking, C):
    # In a fixed order passes and a free intercept chase each other; without one it is merely slow.
    params, free = {"order": order, "shrinking": shrinking}, order == "permuted"
    model = fit(300, solver_params=params, tol=1e-7, C=C, fit_intercept=free)
    best = optimal(C, free)
    assert model.converged_
    assert model.objective_ == pytest.approx(best.objective_, rel=2e-7)
    np.testing.assert_allclose(
        model.decision_function(splice(300)[0]), best.decision_function(splice(300)[0]), atol=5e-3 * max(1.0, C)
    )


@pytest.mark.parametrize("C", [1e-4, 1e-3, 0.01, 0.1, 1.0, 100.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_few_passes_at_any_cost(C, loss):
    """While the intercept still moves, rows at a bound are not left out for good, whether few are free or none."""
    with_shrinking, without = (
        fit(300, C=C, loss=loss, max_iter=60, solver_params={"shrinking": shrinking}) for shrinking in (True, False)
    )
    assert with_shrinking.converged_
    assert without.converged_
    assert with_shrinking.n_iter_ <= without.n_iter_ + 2


def test_seeds_change_the_path_and_not_the_end():
    first, again, other = (fit(300, solver_params={"random_state": seed}, tol=1e-6) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.dual_coef_, again.dual_coef_)
    assert not np.array_equal(first.dual_coef_, other.dual_coef_)
    assert first.objective_ == pytest.approx(other.objective_, rel=1e-6)


@pytest.mark.parametrize("explicit", ["paths", "features"])
def test_rows_that_are_left_out_come_back(explicit, monkeypatch):
    """Small normal vectors are entered early, left and entered again; the optimum is that of all rows."""
    monkeypatch.setattr(dual_coordinate, "SMALL", 10)
    monkeypatch.setattr(dual_coordinate, "COMPACT", 0.95)
    monkeypatch.setattr(dual_coordinate, "SLACK", 0.0)
    problem = made(KERNEL * 0.01, splice(600)[0])
    if explicit == "features":
        kernel = kw.Spectrum(6) * 0.01
        operator = FeatureOperator(kernel, splice(600)[0], Serial())
        problem = Problem(operator, problem.loss, problem.y, problem.cost)
    entered, enter = [], DualCoordinate._enter
    monkeypatch.setattr(
        DualCoordinate, "_enter", lambda self, rows, *more: (entered.append(len(rows)), enter(self, rows, *more))[1]
    )
    result = run(DualCoordinate(), problem, Stop(1e-7, 3000))
    assert result.converged
    assert min(entered) < 0.9 * 600
    assert np.any(np.diff(entered) > 0)
    reference = run(DualCoordinate(shrinking=False), problem, TIGHT)
    assert result.primal.value == pytest.approx(reference.primal.value, rel=2e-7)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive", "squared"])
@pytest.mark.parametrize("intercept", ["free", "regularized", "none"])
def test_box_losses_and_intercepts_on_paths(loss, intercept):
    X = sequences(70, 30, masked=0.05)
    kernel = kw.WeightedDegree(8) * 0.1
    y = np.where(rng.random(70) < 0.4, 1.0, -1.0) if "hinge" in loss else rng.normal(size=70)
    cost = rng.uniform(0.2, 2.0, 70)
    cost[::7] = 0.0
    problem = made(kernel, X, y, cost, loss, intercept)
    result = run(DualCoordinate(), problem, TIGHT)
    assert result.converged
    best = svm.optimum(loss, kernel.gram(X), y, cost, intercept)
    assert result.primal.value == pytest.approx(best, rel=1e-6)
    assert result.dual.value == pytest.approx(best, rel=1e-6)
    assert np.all(result.primal.alpha[::7] == 0)


def test_a_warm_start_is_a_short_way():
    problem = made(cost=0.1)
    cold = run(DualCoordinate(), problem, Stop(1e-6, 1000))
    warm = run(DualCoordinate(), problem, Stop(1e-6, 1000), start=cold.dual.alpha)
    assert warm.n_iter < cold.n_iter
    assert warm.primal.value == pytest.approx(cold.primal.value, rel=2e-6)
    wild = run(DualCoordinate(), problem, Stop(1e-6, 1000), start=rng.normal(scale=1e3, size=300))
    assert wild.primal.value == pytest.approx(cold.primal.value, rel=2e-6)


def test_sample_weights_of_zero_are_rows_that_are_not_there():
    X, y = splice(600)
    kept = np.arange(600) % 3 > 0
    weight = np.where(kept, rng.uniform(0.5, 2.0, 600), 0.0)
    given = {"kernel": 0.02 * KERNEL, "solver": "dual_coordinate", "tol": 1e-7}
    some = kw.KernelClassifier(**given).fit(X, y, sample_weight=weight)
    without = kw.KernelClassifier(**given).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert np.all(kept[some.support_])
    assert some.objective_ == pytest.approx(without.objective_, rel=2e-7)
    np.testing.assert_allclose(some.decision_function(X), without.decision_function(X), atol=5e-3)


def test_bounded_support_vectors():
    """At a small C the rows of the rarer class are all at their bound, and as much of the other class."""
    C = 1e-3
    model = fit(600, C=C, tol=1e-6)
    alpha, y = model.certificate_.alpha[0], splice(600)[1]
    np.testing.assert_allclose(alpha[y > 0], C, rtol=1e-6)
    assert abs(alpha.sum()) <= 1e-12
    assert np.all(alpha[y < 0] <= 0)
    assert np.all(alpha[y < 0] >= -C * (1 + 1e-12))
    assert model.objective_ == pytest.approx(fit(600, C=C, solver="smo", tol=1e-8).objective_, rel=1e-5)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_rows(n):
    X, y = sequences(n, 20), np.where(np.arange(n) % 2, 1.0, -1.0)
    kernel = kw.WeightedDegree(5)
    for intercept in ("free", "regularized", "none"):
        result = run(DualCoordinate(), made(kernel, X, y, 0.7, intercept=intercept), TIGHT)
        best = svm.optimum("hinge", kernel.gram(X), y, np.full(n, 0.7), intercept)
        assert result.primal.value == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("intercept", ["free", "regularized", "none"])
def test_rows_that_a_kernel_does_not_see(intercept):
    """Masked letters only: no feature at all, and still a certificate."""
    X = Sequences.from_strings(["NNNNNN"] * 5 + ["ACGTAC"], alphabet="dna", unknown="mask")
    y = np.array([1.0, 1, 1, -1, -1, 1])
    problem = made(kw.WeightedDegree(3), X, y, intercept=intercept)
    result = run(DualCoordinate(), problem, Stop(1e-6, 500))
    best = svm.optimum("hinge", kw.WeightedDegree(3).gram(X), y, np.ones(6), intercept)
    assert result.converged
    assert result.primal.value == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("loss", ["logistic", "smooth_hinge", "squared_hinge"])
@pytest.mark.parametrize("cost", [0.01, 100.0])
def test_smooth_losses_end_where_newton_ends(loss, cost):
    X, y = splice(300)
    given = {"kernel": KERNEL, "normalize": "trace", "tol": 1e-7, "loss": loss, "C": cost}
    ours, theirs = (kw.KernelClassifier(solver=solver, **given).fit(X, y) for solver in ("dual_coordinate", "newton"))
    assert ours.converged_
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=3e-7)


def test_the_step_along_a_logistic_coordinate_is_exact():
    """The best place between two bounds, even where it all but touches one of them."""
    for old, slope, entropy, width, curvature in [
        (0.0, 3.0, 1.0, 1.0, 1.0), (0.3, -800.0, 1.0, 2.0, 5.0), (1.0, 40.0, 0.1, 1.0, 1e-3), (0.5, 0.0, 2.0, 1.0, 1e6),
    ]:  # fmt: skip
        v = entropy_step(old, slope, entropy, 0.0, width, curvature)
        assert 0.0 <= v <= width
        at = np.linspace(max(v - 1e-3, 1e-9), min(v + 1e-3, width - 1e-9), 2001)
        u = at / width
        value = slope * at + curvature * (at - old) ** 2 / 2
        value += entropy * width * (u * np.log(u) + (1 - u) * np.log1p(-u))
        assert abs(at[value.argmin()] - v) <= 2e-6


def test_three_classes_and_other_estimators():
    X, y = splice(300)
    y = np.where(np.arange(300) % 5 == 0, 2, y)
    given = {"kernel": KERNEL, "normalize": "trace", "tol": 1e-6}
    ours, theirs = (kw.KernelClassifier(solver=solver, **given).fit(X, y) for solver in ("dual_coordinate", "smo"))
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=3e-6)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    target = X.matrix[:, 70].astype(float)
    ours, theirs = (kw.KernelRegressor(solver=solver, **given).fit(X, target) for solver in ("dual_coordinate", "smo"))
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=3e-6)
    ours, theirs = (kw.KernelNovelty(nu=0.2, solver=solver, **given).fit(X) for solver in ("dual_coordinate", "smo"))
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=3e-6)


def test_where_single_precision_is_exhausted_double_takes_over(monkeypatch):
    monkeypatch.setattr(dual_coordinate, "SINGLE_FROM", 0.0)
    solver = DualCoordinate()
    result = run(solver, made(KERNEL * 0.01), Stop(1e-11, 500))
    assert result.converged
    assert solver.dtype is np.float64


def test_single_precision_at_the_usual_tolerance():
    solver = DualCoordinate()
    run(solver, made(KERNEL * 0.01), Stop(1e-3, 100))
    assert solver.dtype is np.float32


def test_the_last_pass_is_certified():
    for limit in (1, 3, 25):
        result = run(DualCoordinate(), made(KERNEL * 0.01, cost=0.3), Stop(-1.0, limit))
        assert result.n_iter == limit
        assert np.isfinite(result.gap)
        assert result.trace["gap"][-1] == result.gap
    gaps = [run(DualCoordinate(), made(KERNEL * 0.01, cost=0.3), Stop(-1.0, limit)).gap for limit in (1, 4, 16)]
    assert gaps[0] > gaps[1] > gaps[2]


def test_one_clear_error_for_kernels_it_cannot_serve():
    X, y = splice(300)
    table = rng.normal(size=(300, 3))
    with pytest.raises(TypeError, match=r"RBF\(gamma=1.0\) has no explicit features; use a solver that works on"):
        kw.KernelClassifier(kw.RBF(gamma=1.0), solver="dual_coordinate").fit(table, y)
    with pytest.raises(TypeError, match=r"needs a kernel with explicit features and without shifts .* use 'smo' or"):
        kw.KernelClassifier(kw.WeightedDegree(5, shift=1), solver="dual_coordinate").fit(X, y)
    with pytest.raises(ValueError, match="order='random' must be one of permuted, sequential"):
        fit(300, solver_params={"order": "random"})
    with pytest.raises(ValueError, match=r"solver_params=\{'chunk_size': 5\} do not fit solver='dual_coordinate'"):
        fit(300, solver_params={"chunk_size": 5})


@pytest.mark.parametrize("intercept", ["free", "none"])
def test_a_multiple_of_the_classifier_is_never_worse(intercept):
    """Half of the optimum is a poor classifier; its best multiple is nearly twice it."""
    problem = made(KERNEL * 0.01, cost=0.3, intercept=intercept)
    result = run(DualCoordinate(), problem, TIGHT)
    alpha = 0.6 * result.dual.alpha
    K_alpha = problem.operator.descent(None, np.float64).product(alpha)
    plain, scaled = Ledger(), Ledger()
    certify(problem, alpha, K_alpha, plain)
    certify(problem, alpha, K_alpha, scaled, rescale=True)
    assert scaled.primal.value < plain.primal.value
    assert scaled.dual.value == plain.dual.value
    assert result.dual.value <= scaled.primal.value
    K = 0.01 * KERNEL.gram(splice(300)[0])
    args = ("hinge", K, problem.y, problem.cost, intercept, 0.0, scaled.primal.alpha, scaled.primal.intercept)
    assert svm.primal(*args) == pytest.approx(scaled.primal.value, rel=1e-9)
    energy, f = alpha @ K_alpha, K_alpha + scaled.primal.intercept
    s = best_multiple(problem, energy, f, scaled.primal.intercept)
    values = [problem.primal(t * t * energy, t * f, t * scaled.primal.intercept) for t in (s, 0.99 * s, 1.01 * s)]
    assert values[0] <= min(values)


def test_a_regularised_intercept_is_not_rescaled():
    """Its size is part of the objective: a multiple of alpha alone would not be the point whose value was taken."""
    problem = made(KERNEL * 0.01, cost=0.3, intercept="regularized")
    alpha = 0.6 * run(DualCoordinate(), problem, TIGHT).dual.alpha
    K_alpha = problem.operator.descent(None, np.float64).product(alpha)
    plain, scaled = Ledger(), Ledger()
    certify(problem, alpha, K_alpha, plain)
    certify(problem, alpha, K_alpha, scaled, rescale=True)
    assert scaled.primal.value == plain.primal.value


def test_engines_of_any_size_solve_alike():
    results = [run(DualCoordinate(), made(engine=engine), Stop(1e-5, 500)) for engine in (Serial(), Threads(3))]
    np.testing.assert_array_equal(results[0].primal.alpha, results[1].primal.alpha)
