"""Masters of CG-Boost: the optimum of general solvers, feasible prices, true bounds, whatever way columns come."""

from functools import cache

import numpy as np
import pytest

from kernelweave.solvers.boost.masters.grouped import GroupedMaster
from kernelweave.solvers.boost.masters.interior import InteriorMaster
from kernelweave.solvers.boost.masters.lp import LPMaster
from kernelweave.solvers.boost.problem import INTERCEPTS, KINDS, PENALTIES, BoostProblem
from kernelweave.solvers.choose import GROUPED_FROM, choose_master
from oracles.boost import optimum

N, NU, EPSILON, EXACT = 40, 0.3, 0.1, 1e-6
FEASIBLE = 1e-9


@cache
def data():
    """Columns of a linear, a quadratic and a sigmoid kernel (the last one indefinite), targets, weights (one zero)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    L = X @ X.T
    target = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=N)
    weights = rng.uniform(0.5, 1.5, N)
    weights[3] = 0.0
    return np.hstack([L, (L + 1) ** 2, np.tanh(L - 1)]), target, weights


def make(kind, penalty, positive=False, intercept="free", C=1.0):
    target, weights = data()[1:]
    y = target if kind in ("epsilon_insensitive", "nu_regression") else np.where(target > 0, 1.0, -1.0)
    return BoostProblem(kind, y, C * weights, penalty, positive, intercept, EPSILON, NU)


@cache
def wanted(kind, penalty, positive=False, intercept="free", C=1.0):
    problem = make(kind, penalty, positive, intercept, C)
    return optimum(kind, data()[0], problem.y, C * data()[2], penalty, positive, intercept, EPSILON, NU)


def check_feasible(problem, u):
    slack = FEASIBLE * problem.cost.sum()
    assert np.all(np.abs(u) <= problem.cost + slack)
    if not problem.regression:
        assert np.all(problem.y * u >= -slack)
    if problem.free:
        assert abs(u.sum()) <= slack
    if problem.homogeneous:
        assert np.abs(u).sum() == pytest.approx(problem.budget)
    if problem.kind == "nu_regression":
        assert np.abs(u).sum() <= problem.budget + slack


def check_solution(problem, K, made, goal):
    assert made.objective == pytest.approx(goal, rel=EXACT, abs=EXACT * 1e-3)
    assert -1e-12 <= made.gap <= EXACT
    np.testing.assert_allclose(K @ made.coef + made.intercept, made.outputs, rtol=1e-9, atol=1e-9)
    assert problem.objective(made.coef, made.outputs, made.intercept) == made.objective
    assert not problem.positive or np.all(made.coef >= 0)
    check_feasible(problem, made.u)
    scores = K.T @ made.u
    assert problem.bound(made.u, problem.measure(scores)) == pytest.approx(goal, rel=EXACT)
    if problem.penalty == "l1":
        tight = problem.violation(scores, made.threshold)
        assert tight.max() <= 1e-5 * max(1.0, made.threshold)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_of_the_full_problem_is_reached_hot_and_cold(kind, penalty, positive, intercept):
    K, problem = data()[0], make(kind, penalty, positive, intercept)
    goal = wanted(kind, penalty, positive, intercept)
    cold, hot = choose_master(problem).solver, choose_master(problem).solver
    cold.add(K)
    check_solution(problem, K, cold.solve(1e-8), goal)
    order = np.random.default_rng(1).permutation(K.shape[1])
    values = [hot.solve(1e-8).objective]
    for part in np.split(order, [1, 3, 10, 30, 60, 90]):
        hot.add(K[:, part])
        made = hot.solve(1e-8)
        assert (
            made.gap <= 2 * EXACT
        )  # on the way HiGHS ends within its own tolerances, which it reaches by other pivots
        values.append(made.objective)
    assert hot.columns == K.shape[1]
    assert np.all(np.diff(values) <= EXACT * np.abs(values[:-1]) + FEASIBLE)
    check_solution(problem, K[:, order], made, goal)


def test_each_norm_has_its_master():
    y = np.ones(3)
    many = np.ones(GROUPED_FROM)
    assert isinstance(choose_master(BoostProblem("hinge", y, y)).solver, LPMaster)
    assert isinstance(choose_master(BoostProblem("hinge", many, many)).solver, GroupedMaster)
    assert isinstance(choose_master(BoostProblem("hinge", y, y, "l2")).solver, InteriorMaster)
    assert isinstance(choose_master(BoostProblem("hinge", many, many, "l2"), False).solver, InteriorMaster)
    with pytest.raises(ValueError, match="use LPMaster"):
        InteriorMaster(BoostProblem("hinge", y, y))


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_far_from_the_margin_count_as_their_means(kind, intercept, penalty):
    """The programme holds few of the rows, and its solution is the optimum over all of them, from round to round."""
    rng, n = np.random.default_rng(5), 1500
    X = rng.normal(size=(n, 8))
    K = np.hstack([X, X**2, np.exp(-((X[:, None, :2] - X[:12, :2]) ** 2).sum(axis=2))])
    target = X[:, 0] + X[:, 1] * X[:, 1] + 0.5 * rng.normal(size=n)
    y = target if kind in ("epsilon_insensitive", "nu_regression") else np.where(target > 0.5, 1.0, -1.0)
    problem = BoostProblem(kind, y, rng.uniform(0.1, 0.3, n), penalty, False, intercept, EPSILON, NU)
    make = LPMaster if penalty == "l1" else InteriorMaster
    master, whole = GroupedMaster(problem, make), make(problem)
    for part in np.split(np.arange(K.shape[1]), [5, 12, 20]):
        master.add(K[:, part])
        whole.add(K[:, part])
        made, goal = master.solve(1e-8), whole.solve(1e-8).objective
        check_feasible(problem, made.u)
        assert made.gap <= EXACT or abs(made.objective) <= FEASIBLE  # where zero is the optimum
        assert made.objective == pytest.approx(goal, rel=EXACT, abs=FEASIBLE)
    again, singles = master.solve(1e-8), master.inner.problem.n  # the basis is that of the solution
    assert again.objective == pytest.approx(goal, rel=EXACT)
    assert singles < 0.8 * n


@pytest.mark.parametrize("C", [1e-4, 30.0, 1e3])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_size_of_C_does_not_matter(kind, penalty, C):
    problem, master = make(kind, penalty, C=C), choose_master(make(kind, penalty, C=C)).solver
    master.add(data()[0])
    check_solution(problem, data()[0], master.solve(1e-8), wanted(kind, penalty, C=C))


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", KINDS)
def test_repaired_prices_are_feasible_and_never_prove_too_much(kind, penalty, positive, intercept):
    K, problem = data()[0], make(kind, penalty, positive, intercept)
    goal = wanted(kind, penalty, positive, intercept)
    rng = np.random.default_rng(2)
    for scale in (1e-6, 1e-3, 1.0, 10.0):
        u = problem.repair(scale * problem.cost * rng.normal(size=N))
        check_feasible(problem, u)
        scores = K.T @ u
        parts = [problem.measure(part) for part in np.split(scores, 3)]
        whole = problem.measure(scores)
        assert problem.merge(problem.merge(parts[0], parts[1]), parts[2]) == pytest.approx(whole)
        assert problem.bound(u, whole) <= goal + EXACT * abs(goal)
    check_feasible(problem, problem.start())


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_model_is_below_the_optimum(kind, penalty):
    K, problem = data()[0], make(kind, penalty)
    rng = np.random.default_rng(3)
    for scale in (1e-4, 1e-2, 1.0):
        coef, b = scale * rng.normal(size=K.shape[1]), float(rng.normal())
        outputs = K @ coef + b
        assert problem.objective(coef, outputs, b) >= wanted(kind, penalty) - EXACT


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_are_alike_or_empty(kind, penalty):
    K, problem = data()[0], make(kind, penalty)
    once, twice = choose_master(problem).solver, choose_master(problem).solver
    once.add(K[:, 20:60])
    twice.add(np.hstack([K[:, 20:60], np.zeros((N, 2))]))
    if penalty == "l1":
        twice.add(K[:, 20:60])
    assert twice.solve(1e-8).objective == pytest.approx(once.solve(1e-8).objective, rel=EXACT)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", ["epsilon_insensitive", "nu_regression"])
def test_targets_that_need_no_model(kind, penalty):
    problem = BoostProblem(kind, np.full(N, 5.0), np.ones(N), penalty)
    master = choose_master(problem).solver
    master.add(data()[0])
    made = master.solve(1e-6)
    assert made.objective == pytest.approx(0.0, abs=1e-5)
    np.testing.assert_allclose(made.outputs, 5.0, atol=EPSILON + 1e-4)


def test_nu_must_leave_both_classes_their_half():
    y = np.array([1.0, 1.0, 1.0, -1.0])
    with pytest.raises(ValueError, match=r"at most 0\.5"):
        BoostProblem("nu_classification", y, np.ones(4), nu=0.6)
    made = choose_master(BoostProblem("nu_classification", y, np.ones(4), "l2", nu=0.5)).solver
    made.add(np.array([[1.0], [2.0], [0.5], [-1.0]]))
    assert made.solve(1e-8).gap <= EXACT


@pytest.mark.parametrize("wrong", [{"kind": "square"}, {"penalty": "l3"}, {"intercept": "some"}, {"nu": 1.5}])
def test_what_is_unknown_is_named(wrong):
    right = {"kind": "nu_regression", "y": np.ones(2), "cost": np.ones(2)}
    with pytest.raises(ValueError, match=str(next(iter(wrong.values())))):
        BoostProblem(**{**right, **wrong})
