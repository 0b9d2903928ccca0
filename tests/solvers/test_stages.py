"""SMO by stages: kernel values made on demand, for the rows that count only; every certificate proved by plain sums."""

import numpy as np
import pytest

from kernelweave.engines import Serial
from kernelweave.kernels import RBF
from kernelweave.losses import make_loss
from kernelweave.operators import CachedColumns, DenseGram
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm import smo
from oracles import svm
from oracles.losses import PARAMETERS

N, KERNEL = 240, RBF(gamma=0.5)
rng = np.random.default_rng(5)
LABELS = np.where(np.arange(N) % 2, 1.0, -1.0)
X = rng.normal(size=(N, 2)) + 1.5 * LABELS[:, None]
REAL = np.sin(X[:, 0]) + 0.05 * rng.normal(size=N)
TOL = 1e-6


@pytest.fixture(autouse=True)
def early(monkeypatch):
    """Stages from a hundred rows on, started from parts of at least twenty."""
    monkeypatch.setattr(smo, "STAGED_FROM", 100)
    monkeypatch.setattr(smo, "SMALLEST", 20)
    monkeypatch.setattr(smo, "FEW", 0.9)


def problem(loss="hinge", intercept="free", dtype=np.float32, rows=X, cost=None, operator=None):
    made = make_loss(loss, **PARAMETERS)
    y = LABELS if made.task == "classification" else REAL
    operator = operator or DenseGram(KERNEL, KERNEL.prepare(rows), Serial(), dtype)
    return Problem(operator, made, y, np.full(N, 10.0) if cost is None else cost, intercept)


def check(p, result, rows=X):
    """Both objectives, recomputed from the points alone."""
    K, told = KERNEL.gram(rows), (p.loss.name, KERNEL.gram(rows), p.y, p.cost, p.intercept, p.total)
    primal = svm.primal(*told, result.primal.alpha, result.primal.intercept)
    dual = svm.dual(*told, result.dual.alpha)
    assert result.converged
    assert len(K) == N
    assert primal - dual <= 2 * TOL * abs(primal)
    if p.intercept == "free":
        assert abs(result.dual.alpha.sum()) <= 1e-9 * p.cost.sum()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", ["free", "regularized", "none"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive"])
def test_certified_without_the_matrix_of_all_rows(loss, intercept, dtype):
    p = problem(loss, intercept, dtype)
    solver = smo.SMO()
    result = run(solver, p, Stop(TOL))
    assert solver.staged
    assert "gram" not in p.operator.__dict__
    check(p, result)


def test_sample_weights_and_duplicates():
    rows = X[np.arange(N) // 2 * 2 % N]
    cost = 10.0 * (np.arange(N) % 3)
    p = problem(rows=rows, cost=cost)
    check(p, run(smo.SMO(), p, Stop(TOL)), rows)


def test_a_start_is_gone_on_from():
    p = problem()
    first = run(smo.SMO(), p, Stop(TOL))
    solver = smo.SMO()
    again = run(solver, p, Stop(TOL), start=first.dual.alpha)
    assert solver.staged
    assert again.n_iter == 1
    check(p, again)


def test_many_support_vectors_are_solved_on_all_rows(monkeypatch):
    monkeypatch.setattr(smo, "FEW", 0.0)
    p, solver = problem(), smo.SMO()
    check(p, run(solver, p, Stop(TOL)))
    assert not solver.staged


@pytest.mark.parametrize("columns", [2, 30])
def test_memory_for_fewer_rows_than_count(columns):
    """With little memory a stage works on the rows that violate most, all others fixed."""
    operator = CachedColumns(KERNEL, KERNEL.prepare(X), Serial(), columns, np.float32)
    p = problem(operator=operator)
    check(p, run(smo.SMO(), p, Stop(TOL)))
