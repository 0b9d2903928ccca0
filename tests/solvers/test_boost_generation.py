"""Column generation: the optimum of the full problem, a bound that holds, rules that end the run where they say."""

import itertools
from functools import cache

import numpy as np
import pytest

from kernelweave.data.strings.sequences import Sequences
from kernelweave.engines import Serial, Threads
from kernelweave.kernels import RBF, Linear, Polynomial, Sigmoid, Spectrum
from kernelweave.operators.columns.pool import ColumnPool
from kernelweave.solvers.boost import generation
from kernelweave.solvers.boost.diverse import spread
from kernelweave.solvers.boost.generation import generate
from kernelweave.solvers.boost.pricing import STRATEGIES
from kernelweave.solvers.boost.problem import BoostProblem
from kernelweave.solvers.boost.rules import Rules, Validation
from oracles.boost import algorithm_5_1, optimum
from oracles.boost_full import full_optimum

rng = np.random.default_rng(1)
N = 40
X = rng.normal(size=(N, 3))
LABELS = np.where(X[:, 0] + X[:, 1] ** 2 - 0.7 + 0.4 * rng.normal(size=N) > 0, 1.0, -1.0)
TARGETS = X[:, 0] + np.exp(-2 * X[:, 1] ** 2) + 0.1 * rng.normal(size=N)
WEIGHTS = rng.uniform(0.5, 1.5, N)
KERNELS = [Linear(), Sigmoid(gamma=0.5, coef0=-0.3), RBF(width=2.0)]
GRAMS = np.hstack([kernel.gram(X) for kernel in KERNELS])
TIGHT = 1e-7
CASES = [
    (kind, penalty, positive, intercept)
    for kind in ("hinge", "epsilon_insensitive", "nu_classification", "nu_regression", "one_class")
    for penalty in ("l1", "l2")
    for positive in (False, True)
    for intercept in ("free", "regularized", "none")
    if kind != "one_class" or intercept == "free"  # its intercept is rho, whatever is asked for
]


def problem_of(kind, penalty="l1", positive=False, intercept="free", C=3.0):
    y = TARGETS if "regression" in kind or "epsilon" in kind else LABELS
    return BoostProblem(kind, y, C * WEIGHTS, penalty, positive, intercept, epsilon=0.1, nu=0.4)


@cache
def best_of(case):
    """The optimum over all columns by HiGHS (1-norm) or Clarabel (2-norm)."""
    problem = problem_of(*case)
    return optimum(problem.kind, GRAMS, problem.y, problem.cost, *case[1:], problem.epsilon, problem.nu)


def pool_of(kernels=KERNELS, rows=X, limit="auto"):
    return ColumnPool(kernels, rows, Serial(), limit)


def wrong(y):
    return lambda outputs: float(np.mean(np.where(outputs >= 0, 1.0, -1.0) != y))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, case)))
def test_tr2_ends_at_the_optimum_of_the_full_problem(case, strategy):
    problem = problem_of(*case)
    found = generate(problem, pool_of(), Rules(tol=TIGHT, strategy=strategy))
    best = best_of(case)
    assert (found.reason, found.scanned, found.converged) == ("TR2", "all", True)
    assert found.gap <= TIGHT
    assert abs(found.objective - best) <= 1e-6 * abs(best)


@pytest.mark.parametrize("kind", ["hinge", "epsilon_insensitive", "nu_classification", "nu_regression", "one_class"])
def test_the_2_norm_reaches_small_tolerances(kind):
    found = generate(problem_of(kind, "l2"), pool_of(), Rules(tol=1e-11))
    assert (found.reason, found.converged) == ("TR2", True)
    assert found.gap <= 1e-11


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, case)))
def test_model_and_bound_can_be_recomputed_from_what_comes_back(case):
    problem = problem_of(*case)
    found = generate(problem, pool_of(), Rules(("TR4",), max_rounds=3))
    assert len(set(zip(found.kernels, found.rows))) == len(found.rows)
    outputs = GRAMS[:, found.kernels * N + found.rows] @ found.coef + found.intercept
    assert problem.objective(found.coef, outputs, found.intercept) == pytest.approx(found.objective, rel=1e-7)
    assert found.bound == pytest.approx(problem.bound(found.u, problem.measure(GRAMS.T @ found.u)), rel=1e-9)
    assert found.bound <= best_of(case) + 1e-6 * abs(found.objective)
    assert found.scanned == "all"


def test_stratified_scores_far_fewer_columns_than_regular_and_ends_with_the_same_error():
    """One column per round, as the two strategies are usually compared; several draws together."""
    scored = {"stratified": 0, "regular": 0}
    for seed in range(4):
        draw = np.random.default_rng(seed)
        rows = draw.normal(size=(600, 4))
        y = np.where(rows[:, 0] + rows[:, 1] * rows[:, 2] > 0.2, 1.0, -1.0)
        errors = {}
        for strategy in scored:
            pool = pool_of([Linear(), Polynomial(2), RBF(width=8.0)], rows)
            rules = Rules(strategy=strategy, columns_per_round=1)
            found = generate(BoostProblem("hinge", y, np.full(600, 5.0)), pool, rules, train_error=wrong(y))
            assert found.gap <= rules.tol
            assert found.trace["scanned"].sum() == pool.scored.sum()
            scored[strategy] += int(pool.scored.sum())
            errors[strategy] = found.trace["train_error"][-1]
        assert errors["stratified"] == pytest.approx(errors["regular"], abs=0.005)
    assert scored["stratified"] <= 0.2 * scored["regular"]


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("positive", [False, True])
def test_the_paper_strategy_is_algorithm_5_1_column_by_column(penalty, positive):
    """The columns enter in the order in which ten plain lines let them enter."""
    problem, order = problem_of("hinge", penalty, positive), [1, 0, 2]
    found = generate(problem, pool_of(), Rules(("TR4",), "paper", tol=1e-9, max_rounds=25), order)
    twin = algorithm_5_1(problem, [GRAMS[:, k * N : (k + 1) * N] for k in range(3)], order, 25)
    assert list(zip(found.kernels.tolist(), found.rows.tolist())) == twin[: len(found.rows)]
    assert len(found.rows) >= min(24, len(twin))  # one column a round, the last one is not entered any more


def test_the_paper_strategy_scores_no_kernel_after_the_first_with_a_violator():
    found = generate(problem_of("hinge"), pool_of(), Rules(("TR4",), "paper", max_rounds=1))
    assert found.trace["scanned"].tolist() == [N]
    several = generate(problem_of("hinge"), pool_of(), Rules(("TR4",), "paper", columns_per_round=5, max_rounds=2))
    assert several.kernels.tolist() == [0] * 5
    assert Rules(strategy="paper").drawn(10**6, 3) is None
    assert Rules(strategy="paper").waits("l1") == Rules(columns_per_round=1).waits("l1")


def test_columns_of_a_round_differ():
    """Among copies of two good columns, one of each is taken before a copy."""
    draw = np.random.default_rng(5)
    base = draw.normal(size=(50, 2))
    columns = np.hstack([np.repeat(base, 4, axis=1), draw.normal(size=(50, 1))])
    columns[:, :8] += 1e-3 * draw.normal(size=(50, 8))
    u = columns[:, 0] + 0.8 * columns[:, 4]
    u -= u.mean()
    picked = spread(columns, columns.T @ u, 1.0, 3, balanced=True, positive=False)
    assert {place // 4 for place in picked[:2]} == {0, 1}
    assert len(set(picked)) == 3
    mirrored = spread(-columns, -columns.T @ u, 1.0, 3, balanced=True, positive=False)
    assert np.array_equal(mirrored, picked)
    only = spread(np.hstack([columns, -columns]), np.append(columns.T @ u, -columns.T @ u), 1.0, 2, True, positive=True)
    assert np.array_equal(only, picked[:2])


def test_kernels_enter_in_order_of_priority():
    for order in ([0, 1, 2], [2, 0, 1]):
        found = generate(problem_of("hinge"), pool_of(), Rules(("TR4",), max_rounds=2), order)
        assert set(found.kernels) == {order[0]}


def test_tr1_looks_at_error_points_only():
    problem, pool = problem_of("hinge", C=0.3), pool_of()
    found = generate(problem, pool, Rules(("TR1",), tol=1e-6))
    assert found.reason == "TR1"
    assert found.converged
    outputs = GRAMS[:, found.kernels * N + found.rows] @ found.coef + found.intercept
    errors = np.flatnonzero(problem.losses(outputs) > 1e-7)
    assert len(errors)
    last = found.stages[-1].objective
    scores = np.abs(GRAMS.T @ found.u).reshape(3, N)[:, errors]
    assert scores.max() <= 1 + 1e-5
    assert found.scanned == "all"
    assert found.gap >= 0
    assert last == found.objective


def test_tr3_keeps_the_best_round():
    new = np.random.default_rng(2).normal(size=(80, 3))
    y = np.where(new[:, 0] + new[:, 1] ** 2 - 0.7 > 0, 1.0, -1.0)
    pool = pool_of()
    held_out = Validation(pool.against(new), wrong(y))
    rules = Rules(("TR3",), patience=4, columns_per_round=1)
    found = generate(problem_of("hinge", C=100.0), pool, rules, validation=held_out, train_error=wrong(LABELS))
    errors = found.trace["validation_error"]
    assert found.best_round == int(errors.argmin())
    assert found.reason in ("TR2", "TR3")
    if found.reason == "TR3":
        assert found.n_rounds == found.best_round + 1 + 4
    model = sum(KERNELS[k].gram(new, X[[i]])[:, 0] * a for k, i, a in zip(found.kernels, found.rows, found.coef))
    assert wrong(y)(model + found.intercept) == errors.min()
    assert found.gap == pytest.approx((found.objective - found.bound) / found.objective)


def test_rules_combine_and_the_first_that_holds_ends_the_run():
    assert generate(problem_of("hinge"), pool_of(), Rules(("TR2", "TR4"), max_rounds=2)).reason == "TR4"
    assert generate(problem_of("hinge"), pool_of(), Rules(("TR2", "TR4"), max_rounds=500)).reason == "TR2"
    unasked = generate(problem_of("hinge"), pool_of(), Rules(("TR2",), max_rounds=2))
    assert unasked.reason == "TR4"
    assert not unasked.converged


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"termination": ("TR5",)}, "termination"),
        ({"termination": "TR2"}, "termination"),
        ({"termination": ()}, "termination"),
        ({"termination": ("TR4",)}, "max_rounds"),
        ({"strategy": "greedy"}, "strategy"),
        ({"columns_per_round": 0}, "columns_per_round"),
        ({"candidates": -5}, "candidates"),
    ],
)
def test_rules_without_meaning_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Rules(**given)


def test_tr3_needs_validation_rows():
    with pytest.raises(ValueError, match="validation"):
        generate(problem_of("hinge"), pool_of(), Rules(("TR3",)))


@pytest.mark.parametrize("strategy", ["stratified", "regular"])
def test_drawn_candidates_certify_what_was_drawn(monkeypatch, strategy):
    problem = problem_of("hinge")
    verified = generate(problem, pool_of(), Rules(candidates=10, tol=1e-6, strategy=strategy))
    assert verified.scanned == "all"  # small enough to be looked at in full
    assert verified.objective == pytest.approx(full_optimum(problem, GRAMS), rel=1e-5)
    monkeypatch.setattr(generation, "CHEAP", 0.0)
    found = generate(problem, pool_of(), Rules(candidates=3, tol=1e-6, strategy=strategy))
    looks = 4 if strategy == "stratified" else 1  # error points, others, likely ones, and then all rows
    assert found.reason == "TR2"
    assert isinstance(found.scanned, int)
    assert len(found.rows) <= found.scanned <= len(found.rows) + 3 * 3 * looks
    assert found.gap <= 1e-6


def test_staged_models_are_those_of_the_rounds():
    found = generate(problem_of("hinge"), pool_of(), Rules(tol=1e-6))
    assert len(found.stages) == found.n_rounds == len(found.trace)
    assert np.array_equal(found.coef[found.stages[-1].places], found.stages[-1].coef)
    assert np.count_nonzero(found.coef) == len(found.stages[-1].places)
    objectives = [stage.objective for stage in found.stages]
    assert all(later <= earlier + 1e-7 * abs(earlier) for earlier, later in itertools.pairwise(objectives))
    used = [found.trace[f"columns_{k}"][-1] for k in range(3)]
    assert used == [np.count_nonzero(found.coef[found.kernels == k]) for k in range(3)]


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_a_full_memory_ends_the_run_and_too_little_is_refused(penalty):
    rows = np.random.default_rng(3).normal(size=(400, 2))
    y = np.where(rows[:, 0] * rows[:, 1] > 0, 1.0, -1.0)
    problem = BoostProblem("hinge", y, np.full(400, 50.0), penalty)
    limit = 8 * 400 * generation.COPIES[penalty] * (generation.FEWEST + 8)
    found = generate(problem, pool_of([RBF(width=1.0)], rows, limit), Rules(tol=1e-6))
    assert found.reason == "memory"
    assert not found.converged
    assert len(found.rows) <= generation.FEWEST + 8
    assert max(found.trace["made"]) <= 3 * (generation.FEWEST + 8)  # candidates beyond what may enter are not made
    with pytest.raises(MemoryError, match="memory_limit"):
        generate(problem, pool_of([RBF(width=1.0)], rows, 8 * 400 * 10), Rules())


def test_a_monitor_can_end_the_run_and_the_model_so_far_comes_back():
    found = generate(problem_of("hinge"), pool_of(), Rules(tol=1e-6), monitor=lambda progress: progress.iteration == 2)
    assert found.reason == "interrupted"
    assert not found.converged
    assert found.n_rounds == 2
    assert len(found.coef) == len(found.rows) > 0


def test_the_same_model_at_any_number_of_threads():
    made = [
        generate(problem_of("hinge"), ColumnPool(KERNELS, X, engine), Rules(candidates=15, seed=3))
        for engine in (Serial(), Threads(2))
    ]
    assert np.array_equal(made[0].coef, made[1].coef)
    assert np.array_equal(made[0].rows, made[1].rows)


def test_sequences():
    texts = ["".join(rng.choice(list("ACGT"), 15)) for _ in range(30)]
    texts = [text[:5] + "ACGTA" + text[10:] if i % 2 else text for i, text in enumerate(texts)]
    y, rows = np.where(np.arange(30) % 2, 1.0, -1.0), Sequences.from_strings(texts, alphabet="dna")
    kernels = [Spectrum(2), Spectrum(4)]
    problem = BoostProblem("hinge", y, np.ones(30))
    found = generate(problem, ColumnPool(kernels, rows, Serial()), Rules(tol=TIGHT))
    best = full_optimum(problem, np.hstack([kernel.gram(rows) for kernel in kernels]))
    assert found.objective == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize(
    ("rules", "quick", "way"),
    [(Rules(strategy="auto"), True, "regular"), (Rules(strategy="auto"), False, "stratified"),
     (Rules(("TR1", "TR2"), strategy="auto"), True, "stratified"), (Rules(strategy="stratified"), True, "stratified")],
)  # fmt: skip
def test_regular_scans_are_for_quick_ways_to_the_optimum(rules, quick, way):
    assert rules.way(quick) == way


def test_patience_follows_the_growth_of_the_rounds():
    assert [rules.waits("l1") for rules in (Rules(), Rules(columns_per_round=5), Rules(patience=7))] == [5, 10, 7]
    assert Rules().waits("l2") == 4


def test_all_rows_are_looked_at_where_that_is_quick():
    assert Rules().drawn(500_000, 3, quick=True) is None
    assert Rules().drawn(500_000, 3) == 4096
    assert Rules(candidates=64).drawn(500_000, 3, quick=True) == 64


@pytest.mark.parametrize("strategy", ["stratified", "regular"])
@pytest.mark.parametrize("kind", ["one_class", "nu_classification", "hinge"])
def test_tr1_ends_only_where_error_points_have_nothing_to_offer(kind, strategy):
    problem, pool = problem_of(kind), pool_of()
    found = generate(problem, pool, Rules(("TR1",), strategy=strategy, tol=1e-6))
    assert found.reason in ("TR1", "TR2")
    assert len(found.rows) > 0
    outputs = GRAMS[:, found.kernels * N + found.rows] @ found.coef + found.intercept
    errors = np.flatnonzero(problem.losses(outputs, found.level) > 1e-6)
    scores = GRAMS.T @ found.u
    of_errors = scores.reshape(-1, N)[:, errors]
    assert problem.violation(of_errors, problem.threshold(found.objective)).max(initial=0.0) <= 1e-5


def test_targets_that_are_all_alike_are_an_optimum():
    problem = BoostProblem("epsilon_insensitive", np.full(N, 3.0), np.ones(N), epsilon=0.1)
    found = generate(problem, pool_of(), Rules())
    assert (found.reason, found.converged, len(np.flatnonzero(found.coef))) == ("TR2", True, 0)


def test_values_beyond_a_linear_programme_are_told():
    pool = pool_of([Linear()], 1e9 * X)
    with pytest.raises(ValueError, match=r"Kernel values reach .* set normalize='trace' or rescale"):
        generate(problem_of("hinge"), pool, Rules())


def test_the_last_round_is_told():
    told = []
    found = generate(problem_of("hinge"), pool_of(), Rules(), monitor=lambda progress: told.append(progress))
    assert len(told) == found.n_rounds
    assert told[-1].extra["columns"] == found.trace["columns"][-1]


def test_a_very_large_cost_is_a_hard_margin():
    rows = np.random.default_rng(4).normal(size=(60, 3))
    y = np.where(rows[:, 0] + rows[:, 1] > 0, 1.0, -1.0)
    optima = [
        generate(BoostProblem("hinge", y, np.full(60, cost)), pool_of([RBF(width=9.0)], rows), Rules(tol=1e-4))
        for cost in (1e5, 1e7)
    ]
    assert all(found.converged for found in optima)
    assert optima[0].objective == pytest.approx(optima[1].objective, rel=2e-4)
