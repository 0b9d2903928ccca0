"""Solvers that walk in the space of explicit features: an honest gap, and the optimum that a general solver finds."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from kernelweave.data.strings.sequences import Sequences
from kernelweave.engines import Serial
from kernelweave.kernels import RBF, Fourier, Linear, NGram
from kernelweave.losses import make_loss
from kernelweave.operators import Task, choose
from kernelweave.penalties import LpBall
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.mkl.problem import MKLProblem
from oracles import mkl
from oracles.losses import PARAMETERS, VALUES

N, C = 100, 1.0
NORMS = (4 / 3, 2.0, 4.0)
WALKERS = [name for name, entry in MKL_SOLVERS.items() if entry.primal]
TOL = {"svrg": 1e-7, "proximal_gradient": 1e-7, "block_coordinate": 1e-9}
"""What each one reaches in a test; subgradient methods slow down long before."""
COARSE = 2e-3
STEPS = 6000

rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
LABELS = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=N) > 0, 1.0, -1.0)
REAL = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=N)
WEIGHT = rng.uniform(0.3, 2.0, N)
KERNELS = [
    *(Fourier(kernel, 12, random_state=k).fitted(X) for k, kernel in enumerate(RBF.grid([0.5, 2, 8, 32]))),
    Linear() * (1 / Linear().diag(X).mean()),
    (Linear() * 0.5).on([0, 3]),
]
TEXTS = ["".join(rng.choice(list("abcde"), rng.integers(4, 20))) for _ in range(N)]
STRINGS = Sequences.from_strings(TEXTS, alphabet="bytes")


@cache
def bound(kind="dense"):
    kernels, rows = (KERNELS, X) if kind == "dense" else ([NGram(n) * (0.2 / n) for n in (1, 2, 3)], STRINGS)
    return choose(Task(kernels, rows, Serial(), tol=1e-9, need="design"))[0]


@cache
def table(kind="dense"):
    """The features of all rows, one column at a time."""
    design = bound(kind).design
    return np.stack([design.outputs(unit) for unit in np.eye(design.width)], axis=1)


@cache
def grams(kind="dense"):
    return np.stack([table(kind)[:, a:b] @ table(kind)[:, a:b].T for a, b in pairwise(bound(kind).design.offsets)])


def problem(loss, p=2.0, intercept="free", kind="dense"):
    made = make_loss(loss, **PARAMETERS)
    y = LABELS if made.task == "classification" else REAL
    return MKLProblem(bound(kind), made, y[None, :], C * WEIGHT, LpBall(p), intercept)


@cache
def optimum(loss, p, intercept="free", kind="dense"):
    shown = problem(loss, p, intercept, kind)
    return mkl.optimum(loss, grams(kind), shown.targets, shown.cost, p, intercept)


def solve(name, shown, tol=None, **params):
    return run(MKL_SOLVERS[name].make(**params), shown, Stop(tol or TOL.get(name, COARSE), STEPS))


def check_certificate(shown, result, kind="dense"):
    """Recompute both objectives from the points alone: plain sums over plain features."""
    design, p, y = shown.operators.design, shown.ball.p, shown.targets[0]
    w, b = result.primal.vector[0], float(np.atleast_1d(result.primal.intercept)[0])
    norms = [np.sqrt((w[a:c] ** 2).sum()) for a, c in pairwise(design.offsets)]
    f = table(kind) @ w + b
    r = 2 * p / (p + 1)
    primal = 0.5 * sum(norm**r for norm in norms) ** (2 / r)
    primal += sum(c * VALUES[shown.loss.name](*row) for c, *row in zip(shown.cost, f, y))
    primal += 0.5 * b * b if shown.intercept == "regularized" else 0.0
    told = shown.loss.name, grams(kind), shown.targets, shown.cost
    dual = mkl.dual(*told, result.dual.alpha, p, shown.intercept)
    assert primal == pytest.approx(result.primal.value, rel=1e-9)
    assert dual == pytest.approx(result.dual.value, rel=1e-9, abs=1e-9)
    assert result.gap == pytest.approx((primal - dual) / primal, abs=1e-9)
    assert result.gap >= -1e-9
    assert np.allclose(result.primal.beta, LpBall(p).minimizer(np.array(norms)), rtol=1e-9)
    return primal, dual


PAIRS = [(name, loss) for name in WALKERS for loss in ("logistic", "hinge") if loss in MKL_SOLVERS[name].losses]
TRIPLES = [(name, loss, p) for name in WALKERS for loss in MKL_SOLVERS[name].losses for p in NORMS]


@pytest.mark.parametrize(("name", "loss", "p"), TRIPLES)
def test_certified_and_optimal(name, loss, p):
    shown = problem(loss, p)
    result = solve(name, shown)
    assert result.converged
    primal, dual = check_certificate(shown, result)
    best, near = optimum(loss, p), 1e-6 if name in TOL else COARSE
    assert abs(primal - best) <= near * best
    assert dual <= best * (1 + 1e-6)


@pytest.mark.parametrize("intercept", ["regularized", "none"])
@pytest.mark.parametrize(("name", "loss"), PAIRS)
def test_other_intercepts(name, loss, intercept):
    shown = problem(loss, 2.0, intercept)
    result = solve(name, shown)
    assert result.converged
    primal, _ = check_certificate(shown, result)
    best = optimum(loss, 2.0, intercept)
    assert abs(primal - best) <= (1e-6 if name in TOL else COARSE) * best


@pytest.mark.parametrize("name", WALKERS)
def test_sparse_rows(name):
    shown = problem("logistic", 2.0, kind="sparse")
    assert not shown.operators.design.dense
    result = solve(name, shown)
    assert result.converged
    primal, _ = check_certificate(shown, result, "sparse")
    best = optimum("logistic", 2.0, kind="sparse")
    assert abs(primal - best) <= (1e-6 if name in TOL else COARSE) * best


@pytest.mark.parametrize("p", [1.0, 1.05, 30.0, np.inf])
def test_extreme_norms(p):
    shown = problem("logistic", p)
    result = solve("svrg", shown, tol=1e-4)
    assert result.converged
    best = optimum("logistic", p) if np.isfinite(p) else optimum("logistic", 1e6)
    assert abs(result.primal.value - best) <= 2e-4 * best


@pytest.mark.parametrize("name", WALKERS)
def test_the_trace_counts_passes_and_a_warm_start_saves_them(name):
    shown = problem("logistic")
    cold = solve(name, shown)
    assert np.all(np.diff(cold.trace["passes"]) > 0)
    assert np.all(np.diff(cold.trace["primal"]) <= 0)
    assert np.all(np.diff(cold.trace["dual"]) >= 0)
    warm = run(MKL_SOLVERS[name].make(), shown, Stop(TOL.get(name, COARSE), STEPS), start=cold.primal)
    assert warm.converged
    assert warm.n_iter <= cold.n_iter
    assert warm.trace["primal"][0] <= cold.primal.value * (1 + 1e-3)


@pytest.mark.parametrize("name", WALKERS)
def test_a_monitor_that_answers_stops_the_run_at_a_valid_point(name):
    shown = problem("logistic")
    result = run(MKL_SOLVERS[name].make(), shown, Stop(1e-12, STEPS), lambda progress: True)
    assert result.interrupted
    assert result.n_iter == 1
    primal, dual = check_certificate(shown, result)
    assert dual <= optimum("logistic", 2.0) * (1 + 1e-6)
    assert primal >= optimum("logistic", 2.0) * (1 - 1e-6)
