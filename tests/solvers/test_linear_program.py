"""The linear programme for kernels of rank one: exact, whatever the loss, the intercept, the costs and the scales."""

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.engines import Serial
from kernelweave.losses import make_loss
from kernelweave.operators import Task, choose
from kernelweave.penalties import LpBall
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl.cutting.linear_program import LinearProgram
from kernelweave.solvers.mkl.problem import MKLProblem
from oracles import mkl
from oracles.losses import PARAMETERS

N = 30
rng = np.random.default_rng(5)
WEIGHT = rng.uniform(0.2, 2.0, N)


def columns(width, scale=1.0, middle=0.0):
    X = scale * np.random.default_rng(6).normal(middle, size=(N, width))
    kernels = kw.per_feature(kw.Linear(), width)
    return X, np.stack([np.outer(x, x) for x in X.T]), choose(Task(kernels, X, Serial(), need="parts"))[0]


def shown(operators, X, name, cost, intercept):
    loss = make_loss(name, **PARAMETERS)
    size = max(np.abs(X).max(), 1e-300)
    y = X[:, 0] / size + 0.3 * rng.normal(size=N)
    targets = {"classification": np.where(y > 0, 1.0, -1.0), "regression": y, "novelty": np.zeros(N)}[loss.task]
    total = 1.0 if loss.task == "novelty" else 0.0
    cost = WEIGHT / (0.3 * WEIGHT.sum()) if loss.task == "novelty" else cost * WEIGHT
    return MKLProblem(operators, loss, targets[None, :], cost, LpBall(1.0), intercept, total)


CASES = [
    *[(loss, intercept) for loss in ("hinge", "epsilon_insensitive") for intercept in ("free", "regularized", "none")],
    ("one_class", "free"),
]


@pytest.mark.parametrize("width", [4, 50])
@pytest.mark.parametrize(("loss", "intercept"), CASES)
def test_optimal_and_certified(loss, intercept, width):
    X, grams, operators = columns(width, middle=2.0 * (loss == "one_class"))
    problem = shown(operators, X, loss, 1.0, intercept)
    result = run(LinearProgram(), problem, Stop(1e-7, 1000))
    assert result.converged
    told = problem.loss.name, grams, problem.targets, problem.cost
    b = np.atleast_1d(result.primal.intercept)
    primal = mkl.primal(*told, result.primal.beta, result.primal.alpha, b, intercept, problem.total)
    dual = mkl.dual(*told, result.dual.alpha, 1.0, intercept, problem.total)
    assert primal == pytest.approx(result.primal.value, rel=1e-9, abs=1e-12)
    assert dual == pytest.approx(result.dual.value, rel=1e-9, abs=1e-12)
    assert primal == pytest.approx(mkl.optimum(*told, 1.0, intercept, problem.total), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 100.0])
@pytest.mark.parametrize("cost", [1e-4, 1.0, 1e4])
def test_scales_and_costs(scale, cost):
    X, _, operators = columns(40, scale)
    result = run(LinearProgram(), shown(operators, X, "hinge", cost / min(scale, 1.0) ** 2, "free"), Stop(1e-5, 1000))
    assert result.converged


def test_a_start_brings_its_kernels_along():
    X, _, operators = columns(60)
    problem = shown(operators, X, "hinge", 1.0, "free")
    cold = run(LinearProgram(), problem, Stop(1e-6, 1000))
    warm = run(LinearProgram(), problem, Stop(1e-6, 1000), start=cold.primal)
    assert warm.n_iter < cold.n_iter
    assert warm.primal.value == pytest.approx(cold.primal.value, rel=1e-5)


def test_auto_takes_it_where_columns_outnumber_rows_and_the_judge_agrees():
    X, _, _ = columns(80)
    y = np.where(X[:, 0] + 0.2 * X[:, 1] > 0, "a", "b")
    model = kw.MKLClassifier(kw.per_feature(kw.Linear(), 80), tol=1e-6).fit(X, y)
    assert model.solver_ == "linear_program"
    assert model.converged_
    assert kw.verify(model, X, y).confirmed


def test_kernels_of_higher_rank_are_refused():
    X, _, _ = columns(4)
    with pytest.raises(TypeError, match="of rank one"):
        kw.MKLClassifier([kw.RBF(), kw.Linear()], solver="linear_program").fit(X, X[:, 0] > 0)
