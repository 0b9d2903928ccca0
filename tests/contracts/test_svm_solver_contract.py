"""What every single-kernel solver promises: a feasible dual point, an honest gap, the optimum of a general solver."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from kernelweave.data.strings.sequences import Sequences
from kernelweave.engines import Serial
from kernelweave.kernels import RBF, WeightedDegree
from kernelweave.kernels.abilities import Features
from kernelweave.losses import LOSSES, make_loss
from kernelweave.operators import CachedColumns, DenseGram, bind
from kernelweave.operators.base import Dense, Factored, OnDemand, PrimalOperator
from kernelweave.operators.features.operator import FeatureOperator
from kernelweave.solvers.choose import choose_svm_solver
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm import SVM_SOLVERS as EVERY_SOLVER
from oracles import svm
from oracles.losses import PARAMETERS

SVM_SOLVERS = {name: made for name, made in EVERY_SOLVER.items() if name != "active_set"}
"""The one that works through rows part by part has solvers/test_active_set.py."""
N = 100
C = 3.0
NU = 0.2
TIGHT = Stop(tol=1e-8, max_iter=3000)
NEVER = -1.0
"""A gap that is not reached, so that a run goes on."""
CHUNK = {"chunking": {"chunk_size": 24}}

rng = np.random.default_rng(0)
X = rng.normal(size=(N, 5))
LABELS = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.4 * rng.normal(size=N) > 0.3, 1.0, -1.0)
REAL = X[:, 0] + np.sin(X[:, 1]) + 0.1 * rng.normal(size=N)
WEIGHT = rng.uniform(0.3, 2.0, N)
KERNEL = RBF(gamma=0.2)
GRAM = KERNEL.gram(X)
LETTERS = Sequences.from_strings(["".join(rng.choice(list("AACGT"), 30)) for _ in range(N)], alphabet="dna")
WORDS = WeightedDegree(8) * 0.1


class Rooted(Features):
    """Explicit features of the very same kernel matrix: the rows of its root."""

    def rows(self, X, dtype=np.float64):
        values, vectors = np.linalg.eigh(KERNEL.gram(X))
        return vectors * np.sqrt(np.maximum(values, 0.0))

    def n_features(self, X):
        return len(X)


STORES = {
    "dense 64": lambda rows: DenseGram(KERNEL, KERNEL.prepare(rows), Serial(), np.float64),
    "dense 32": lambda rows: DenseGram(KERNEL, KERNEL.prepare(rows), Serial(), np.float32),
    "cached 32": lambda rows: CachedColumns(KERNEL, KERNEL.prepare(rows), Serial(), 40, np.float32),
    "cached": lambda rows: CachedColumns(KERNEL, KERNEL.prepare(rows), Serial(), 30, np.float64),
    "features": lambda rows: FeatureOperator(Rooted(), rows, Serial()),
    "k-mers": lambda rows: bind(WORDS, LETTERS[: len(rows)], Serial(), need="features"),
}
GRAMS = dict.fromkeys(STORES, GRAM) | {"k-mers": WORDS.gram(LETTERS)}
EXPLICIT = ("features", "k-mers")
HOME = dict.fromkeys(SVM_SOLVERS, "dense 64") | dict.fromkeys(("dual_coordinate", "interior_point"), "features")
"""The store on which a solver shows what is not about stores."""
LARGEST = {"dual_coordinate": 10.0}
"""Costs beyond which a solver needs thousands of iterations: single coordinates of a nearly singular matrix."""


def problem(name, intercept="free", store="dense 64", rows=X, cost=None, y=None):
    """The problem of a loss on the shared rows; one-class costs add up to 1 / nu."""
    loss = make_loss(name, **PARAMETERS)
    n = len(rows)
    if y is None:
        y = {"classification": LABELS, "regression": REAL, "novelty": np.zeros(N)}[loss.task][:n]
    if cost is None:
        cost = np.full(n, 1 / (NU * n)) if loss.task == "novelty" else C * WEIGHT[:n]
    total = 1.0 if loss.task == "novelty" else 0.0
    return Problem(STORES[store](rows), loss, y, cost, intercept, total)


def fits(solver, p):
    """Whether a solver is made for a problem: a loss of the right kind, and an operator with what it works on."""
    if solver == "newton":
        return p.loss.smooth
    needs = {"smo": Dense | OnDemand, "dual_coordinate": PrimalOperator, "interior_point": Factored}.get(solver, object)
    dual = p.loss.separable if solver == "dual_coordinate" else p.loss.box
    return dual(p.y, p.cost) is not None and isinstance(p.operator, needs)


def make(solver):
    return SVM_SOLVERS[solver](**CHUNK.get(solver, {}))


def told(p):
    """The problem as the oracle takes it."""
    return p.loss.name, p.y, p.cost, p.intercept, p.total


@cache
def optimum(name, intercept, store="dense 64"):
    p = problem(name, intercept, store)
    return svm.optimum(p.loss.name, GRAMS[store], p.y, p.cost, intercept, p.total)


def certified(p, result, K=GRAM):
    """Recompute both objectives from the points alone, in plain Python and double precision."""
    name, y, cost, intercept, total = told(p)
    primal = svm.primal(name, K, y, cost, intercept, total, result.primal.alpha, result.primal.intercept)
    return primal, svm.dual(name, K, y, cost, intercept, total, result.dual.alpha)


CASES = [
    (solver, loss, intercept, store)
    for solver in SVM_SOLVERS
    for loss in LOSSES
    for intercept in (("free",) if loss == "one_class" else ("free", "regularized", "none"))
    for store in STORES
    if HOME[solver] == "features" or intercept == "free" or store not in EXPLICIT
    if fits(solver, problem(loss, intercept, store))
]
TRIPLES = sorted({(solver, loss, intercept) for solver, loss, intercept, store in CASES if store == HOME[solver]})
PAIRS = sorted({(solver, loss) for solver, loss, _ in TRIPLES})


def test_every_loss_has_a_solver_and_every_solver_a_loss():
    assert {loss for _, loss in PAIRS} == set(LOSSES)
    assert {solver for solver, _ in PAIRS} == set(SVM_SOLVERS)


@pytest.mark.parametrize(("solver", "loss", "intercept", "store"), CASES)
def test_feasible_certified_and_optimal(solver, loss, intercept, store):
    p = problem(loss, intercept, store)
    result = run(make(solver), p, TIGHT)
    assert result.converged
    assert not result.interrupted
    primal, dual = certified(p, result, GRAMS[store])
    assert primal == pytest.approx(result.primal.value, rel=1e-10)
    assert dual == pytest.approx(result.dual.value, rel=1e-10)
    assert -1e-10 <= result.gap <= TIGHT.tol
    best = optimum(loss, intercept, store if GRAMS[store] is not GRAM else "dense 64")
    assert primal == pytest.approx(best, rel=1e-6)
    assert dual == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_single_precision_never_shows_in_the_certificate(solver, loss):
    """With so large a cost, rounded kernel values alone would claim a gap that is not there."""
    cost = None if loss == "one_class" else np.full(N, min(1e5, LARGEST.get(solver, np.inf)))
    store = "features" if HOME[solver] == "features" else {"smo": "dense 32"}.get(solver, "cached 32")
    p = problem(loss, store=store, cost=cost)
    result = run(make(solver), p, Stop(1e-6, 5000))
    primal, dual = certified(p, result)
    assert result.converged
    assert (primal - dual) / abs(primal) <= 1.01e-6


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_the_trace_tells_how_it_went(solver, loss):
    result = run(make(solver), problem(loss, store=HOME[solver]), Stop(1e-5, 500))
    assert len(result.trace) == result.n_iter
    gap, primal, dual = (result.trace[name] for name in ("gap", "primal", "dual"))
    assert gap[-1] == result.gap
    known = np.isfinite(gap)
    assert np.all(np.diff(known.astype(int)) >= 0)
    assert np.all(np.diff(primal[known]) <= 0)
    assert np.all(np.diff(dual[known]) >= 0)
    assert np.all(np.diff(result.trace["seconds"]) >= 0)


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_a_warm_start_takes_fewer_iterations(solver, loss):
    p = problem(loss, store=HOME[solver])
    cold = run(make(solver), p, Stop(1e-6, 3000))
    warm = run(make(solver), p, Stop(1e-6, 3000), start=cold.dual.alpha)
    assert warm.converged
    assert warm.n_iter < max(cold.n_iter, 2)
    assert warm.primal.value == pytest.approx(cold.primal.value, rel=1e-5)


@pytest.mark.parametrize("intercept", ["free", "regularized", "none"])
@pytest.mark.parametrize("cost", [0.1, 100.0])
def test_newton_goes_on_where_no_row_has_a_curvature(intercept, cost):
    y = np.where(np.arange(N) % 2, 50.0, -50.0)  # far from each other and from any intercept
    p = problem("huber", intercept, y=y, cost=np.full(N, cost))
    assert not p.loss.curvature(np.zeros(N), y).any()
    result = run(make("newton"), p, Stop(1e-6, 500))
    assert result.converged
    assert result.primal.value == pytest.approx(svm.optimum("huber", GRAM, y, p.cost, intercept), rel=1e-5)


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_a_start_that_is_not_feasible_is_mended(solver, loss):
    result = run(make(solver), problem(loss, store=HOME[solver]), TIGHT, start=rng.normal(scale=10.0, size=N))
    assert result.converged
    assert result.primal.value == pytest.approx(optimum(loss, "free"), rel=1e-6)


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_one_iteration_gives_a_valid_point_and_a_finite_gap(solver, loss):
    p = problem(loss, store=HOME[solver])
    result = run(make(solver), p, Stop(NEVER, max_iter=1))
    assert result.n_iter == 1
    assert np.isfinite(result.gap)
    primal, dual = certified(p, result)
    assert dual <= optimum(loss, "free") * (1 + np.sign(optimum(loss, "free")) * 1e-7)
    assert primal >= optimum(loss, "free") * (1 - np.sign(optimum(loss, "free")) * 1e-7)


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_a_monitor_that_answers_stops_the_run(solver, loss):
    p, seen = problem(loss, store=HOME[solver]), []
    result = run(make(solver), p, Stop(NEVER, 1000), monitor=lambda progress: seen.append(progress) or len(seen) == 2)
    assert result.interrupted
    assert not result.converged
    assert [progress.iteration for progress in seen] == [1, 2]
    primal, dual = certified(p, result)
    assert primal == pytest.approx(result.primal.value, rel=1e-9)
    assert dual == pytest.approx(result.dual.value, rel=1e-9)


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_ctrl_c_in_a_callback_keeps_the_best_point(solver, loss):
    def monitor(progress):
        if progress.iteration == 2:
            raise KeyboardInterrupt

    p = problem(loss, store=HOME[solver])
    result = run(make(solver), p, Stop(NEVER, 1000), monitor)
    assert result.interrupted
    assert np.isfinite(result.gap)
    assert certified(p, result)[0] == pytest.approx(result.primal.value, rel=1e-9)


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
@pytest.mark.parametrize("calls", [1, 2, 3])
def test_ctrl_c_in_the_middle_of_a_step_keeps_a_valid_point(solver, loss, calls, monkeypatch):
    p = problem(loss, store=HOME[solver])
    made = make(solver)
    inner = made.step
    count = iter(range(calls, -1000, -1))

    def step():
        if next(count) == 1:
            raise KeyboardInterrupt
        inner()

    monkeypatch.setattr(made, "step", step)
    result = run(made, p, Stop(NEVER, 1000))
    assert result.interrupted
    assert result.n_iter == calls - 1
    assert np.isfinite(result.primal.value)
    name, y, cost, intercept, total = told(p)
    alpha, b = result.primal.alpha, result.primal.intercept
    assert svm.primal(name, GRAM, y, cost, intercept, total, alpha, b) == pytest.approx(result.primal.value, rel=1e-9)


@pytest.mark.parametrize(("solver", "loss", "intercept"), TRIPLES)
def test_rows_without_weight_are_rows_that_are_not_there(solver, loss, intercept):
    kept = np.arange(N) % 4 != 0
    p = problem(loss, intercept, HOME[solver])
    with_zeros = Problem(p.operator, p.loss, p.y, np.where(kept, p.cost * 1.5, 0.0), intercept, p.total)
    without = problem(loss, intercept, HOME[solver], rows=X[kept], cost=p.cost[kept] * 1.5, y=p.y[kept])
    zeros, removed = (run(make(solver), each, TIGHT) for each in (with_zeros, without))
    assert np.all(zeros.primal.alpha[~kept] == 0)
    assert np.all(zeros.dual.alpha[~kept] == 0)
    assert zeros.primal.value == pytest.approx(removed.primal.value, rel=1e-7)
    outputs = GRAM @ zeros.primal.alpha, GRAM[:, kept] @ removed.primal.alpha
    np.testing.assert_allclose(*outputs, atol=2e-3)


def degenerate():
    twice = np.repeat(X[:20], 5, axis=0)
    opposed = np.tile([1.0, -1.0], 50)
    lonely = np.where(np.arange(N) == 7, 1.0, -1.0)
    return {
        "duplicates": (twice, np.repeat(LABELS[:20], 5), 3.0),
        "duplicates that disagree": (twice, opposed, 3.0),
        "constant rows": (np.ones((N, 3)), opposed, 2.0),
        "constant rows, two to one": (np.ones((60, 3)), np.where(np.arange(60) % 3, 1.0, -1.0), 2.0),
        "tiny cost": (X, LABELS, 1e-6),
        "huge cost": (X, LABELS, 1e6),
        "one against ninety-nine": (X, lonely, 1.0),
        "one against ninety-nine, huge cost": (X, lonely, 1e4),
        "two rows": (X[[0, 3]], np.array([1.0, -1.0]), 1.0),
        "two equal rows": (X[[0, 0]], np.array([1.0, -1.0]), 1.0),
    }


@pytest.mark.parametrize("name", sorted(degenerate()))
@pytest.mark.parametrize(("solver", "loss", "intercept"), TRIPLES)
def test_degenerate_problems_are_certified_too(name, solver, loss, intercept):
    rows, y, c = degenerate()[name]
    cost = None if loss == "one_class" else np.full(len(rows), min(c, LARGEST.get(solver, np.inf)))
    p = problem(loss, intercept, HOME[solver], rows=rows, y=y, cost=cost)
    result = run(make(solver), p, Stop(1e-4, 3000))
    primal, dual = certified(p, result, KERNEL.gram(rows))
    assert np.isfinite(dual)
    assert (primal - dual) / max(abs(primal), 1e-12) <= 1.01e-4
    assert result.converged


@pytest.mark.parametrize("loss", ["squared_hinge", "smooth_hinge", "logistic", "squared"])
@pytest.mark.parametrize("cost", [0.01, 100.0, 1e5])
def test_conjugate_gradients_end_at_the_optimum_too(loss, cost):
    """Without the matrix in memory, at any cost: a rough direction is refined until it descends."""
    result = run(make("newton"), problem(loss, store="cached", cost=np.full(N, cost)), Stop(1e-6, 100))
    assert result.converged


def test_every_row_at_its_bound():
    """With so small a cost that every row of the smaller class is at its bound, the intercept is still exact."""
    rare = 1.0 if np.sum(LABELS > 0) < N / 2 else -1.0
    smaller = rare == LABELS
    for solver in ("smo", "chunking", "dual_coordinate"):
        p = problem("hinge", store=HOME[solver], cost=np.full(N, 1e-4))
        result = run(make(solver), p, TIGHT)
        np.testing.assert_allclose(np.abs(result.dual.alpha[smaller]), 1e-4, rtol=1e-9)
        best = svm.optimum("hinge", GRAM, p.y, p.cost, "free")
        assert result.primal.value == pytest.approx(best, rel=1e-6)


def test_the_automatic_choice():
    names = {
        ("hinge", "dense 64"): "SMO",
        ("hinge", "cached"): "Chunking",
        ("one_class", "dense 32"): "SMO",
        ("logistic", "dense 64"): "Newton",
        ("squared", "cached"): "Newton",
        ("hinge", "k-mers"): "DualCoordinate",
        ("logistic", "k-mers"): "DualCoordinate",
    }
    for (loss, store), name in names.items():
        assert type(choose_svm_solver("auto", problem(loss, store=store)).solver).__name__ == name
    most = replace(problem("hinge"), operator=CachedColumns(KERNEL, KERNEL.prepare(X), Serial(), N, np.float64))
    assert type(choose_svm_solver("auto", most).solver).__name__ == "SMO"


def test_a_solver_that_does_not_fit_says_which_does():
    with pytest.raises(TypeError, match="logistic loss has no box-constrained dual; use solver='newton'"):
        run(make("smo"), problem("logistic"), TIGHT)
    with pytest.raises(TypeError, match="hinge loss is not differentiable; use solver='smo' or 'chunking'"):
        run(make("newton"), problem("hinge"), TIGHT)
    with pytest.raises(TypeError, match="'smo' needs the Gram matrix in memory; raise memory_limit or use"):
        run(make("smo"), problem("hinge", store="features"), TIGHT)
    with pytest.raises(TypeError, match="'dual_coordinate' needs a kernel with explicit features and without shifts"):
        run(make("dual_coordinate"), problem("hinge"), TIGHT)
    with pytest.raises(ValueError, match="solver='magic' is unknown; choose one of auto, smo"):
        choose_svm_solver("magic", problem("hinge"))
    with pytest.raises(ValueError, match=r"solver_params=\{'chunk': 3\} do not fit solver='chunking'"):
        choose_svm_solver("chunking", problem("hinge"), {"chunk": 3})
    with pytest.raises(ValueError, match="chunk_size=1 must be an integer of at least 2"):
        choose_svm_solver("chunking", problem("hinge"), {"chunk_size": 1})
    with pytest.raises(ValueError, match="order='backwards' must be one of permuted, sequential"):
        choose_svm_solver("dual_coordinate", problem("hinge"), {"order": "backwards"})


@pytest.mark.parametrize("q", [2, 3, 7, 60, 97, 99, 100, 5000])
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_working_sets_of_any_size_end_at_the_optimum(q, intercept):
    result = run(SVM_SOLVERS["chunking"](chunk_size=q), problem("hinge", intercept), Stop(1e-5, 5000))
    assert result.converged
    assert result.primal.value == pytest.approx(optimum("hinge", intercept), rel=1e-5)


def test_an_unbalanced_working_set_is_not_a_dead_end():
    """All rows are equally urgent at the start, and the only one of its class must not be left out."""
    y = np.where(np.arange(N) == 0, 1.0, -1.0)
    result = run(SVM_SOLVERS["chunking"](chunk_size=10), problem("hinge", y=y), Stop(1e-5, 2000))
    assert result.converged
