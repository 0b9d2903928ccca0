"""Coordinate descent on tables: few features, for which another method ends the fit, and rows of any order."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse

import kernelweave as kw
from kernelweave.engines import Serial
from kernelweave.losses import make_loss
from kernelweave.operators import bind
from kernelweave.solvers.checkpoint import Checkpoint
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm import dual_coordinate
from kernelweave.solvers.svm.dual_coordinate import DualCoordinate


@cache
def few_features():
    """Rows that undo one another's steps: 800 of them in 12 columns, some nearly alike."""
    draw = np.random.default_rng(5)
    X = draw.standard_normal((800, 12))
    X[:, 6:] = X[:, :6] + 0.1 * X[:, 6:]
    return X, np.where(X @ draw.standard_normal(12) + draw.standard_normal(800) > 0, 1.0, -1.0)


def few_problem(loss="squared_hinge", intercept="regularized"):
    X, y = few_features()
    return Problem(
        bind(kw.Linear(), X, Serial(), need="features"), make_loss(loss), y, np.full(len(y), 10.0), intercept
    )


@pytest.mark.parametrize("intercept", ["free", "regularized"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_where_passes_creep_the_interior_point_method_ends_the_fit(loss, intercept, monkeypatch):
    shown = few_problem(loss, intercept)
    solver = DualCoordinate()
    made = run(solver, shown, Stop(1e-6, 3000))
    assert made.converged
    assert solver.finisher is not None
    monkeypatch.setattr(dual_coordinate, "ENOUGH", np.inf)
    alone = DualCoordinate()
    passes = run(alone, shown, Stop(1e-6, 10_000))
    assert alone.finisher is None
    assert made.n_iter < passes.n_iter / 3
    assert made.primal.value == pytest.approx(passes.primal.value, rel=1e-5)


@pytest.mark.parametrize("ahead", [-2, 2])
def test_a_run_goes_on_on_either_side_of_the_interior_point_method(ahead):
    whole = DualCoordinate()
    log = []
    result = run(
        whole, few_problem(), Stop(1e-8, 3000), lambda progress: log.append(whole.finisher is not None) and None
    )
    stopped = log.index(True) + 1 + ahead
    written, half = [], DualCoordinate()
    keep = Checkpoint(lambda runs: written.append([dict(one) for one in runs]), every=0.0)
    run(half, few_problem(), Stop(1e-8, 3000), lambda progress: progress.iteration >= stopped, checkpoint=keep)
    assert (half.finisher is not None) == (ahead > 0)
    again = run(DualCoordinate(), few_problem(), Stop(1e-8, 3000), checkpoint=Checkpoint(list, 1e9, runs=written[-1]))
    assert np.array_equal(again.primal.alpha, result.primal.alpha)
    assert again.n_iter == result.n_iter


def test_where_features_are_many_no_table_of_them_is_made():
    operator = bind(kw.Linear(), np.eye(700), Serial(), need="features")
    problem = Problem(operator, make_loss("hinge"), np.where(np.arange(700) % 2, 1.0, -1.0), np.ones(700))
    solver = DualCoordinate()
    solver.init(problem, None, Stop(1e-3, 10))
    assert solver.most_visited == np.inf


def test_sparse_rows_in_any_order_are_sorted_once_and_stay_as_they_were():
    X, y = few_features()
    turned = sparse.csr_array(X)[:, ::-1]
    assert not turned.has_sorted_indices
    before = turned.indices.copy()
    given = {"kernel": kw.Linear(), "solver": "dual_coordinate", "tol": 1e-6}
    ours, theirs = kw.KernelClassifier(**given).fit(turned, y), kw.KernelClassifier(**given).fit(X[:, ::-1], y)
    assert np.array_equal(turned.indices, before)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-5)
