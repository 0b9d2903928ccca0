"""On real tables every exact solver ends at the same objective, and its gap can be recomputed by hand."""

from functools import cache

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.engines import choose_engine
from kernelweave.losses import make_loss
from kernelweave.operators import Task, choose
from kernelweave.penalties import LpBall
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.mkl.problem import MKLProblem
from oracles import mkl

EXACT = [
    name for name, entry in MKL_SOLVERS.items() if entry.exact and not (entry.primal or entry.rank_one or entry.sharded)
]
TABLES = {"wdbc": "wdbc", "ionosphere": "ionosphere", "sonar": "sonar", "heart": "heart_statlog"}
TOL = 5e-4


@cache
def problem(path, rows, features, widths):
    """Gaussians of several widths and polynomials, on single features and on all: C = 1, unit mean diagonal."""
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    chosen = np.random.default_rng(0).permutation(len(table))[:rows]
    X, y = table[chosen, :-1], np.where(table[chosen, -1] > 0, 1.0, -1.0)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    each = [*kw.RBF.grid(widths), kw.Polynomial(1), kw.Polynomial(2)]
    kernels = kw.per_feature(each, min(features, X.shape[1])) + each
    kernels = [kernel * (1 / kernel.diag(X).mean()) for kernel in kernels]
    operators, _ = choose(Task(kernels, X, choose_engine(), need="parts"))
    shown = MKLProblem(operators, make_loss("hinge"), y[None, :], np.ones(len(y)), LpBall(1.0))
    return shown, np.stack([kernel.gram(X) for kernel in kernels])


def recomputed(shown, grams, result):
    """Both objectives from the points of a result, with plain matrices: infinite where a point is not feasible."""
    beta, alpha, b = result.primal.beta, result.primal.alpha, np.atleast_1d(result.primal.intercept)
    assert np.all(beta >= 0)
    assert beta.sum() <= 1 + 1e-9
    told = "hinge", grams, shown.targets, shown.cost
    return mkl.primal(*told, beta, alpha, b, "free", 0.0), mkl.dual(*told, result.dual.alpha, 1.0)


def check_agreement(shown, grams, tol, steps):
    values, bounds = {}, {}
    for name in EXACT:
        result = run(MKL_SOLVERS[name].make(), shown, Stop(tol, steps))
        assert result.converged, name
        primal, dual = recomputed(shown, grams, result)
        assert primal == pytest.approx(result.primal.value, rel=1e-7), name
        assert dual == pytest.approx(result.dual.value, rel=1e-7), name
        assert (primal - dual) / primal <= tol * (1 + 1e-6), name
        values[name], bounds[name] = primal, dual
    assert max(values.values()) <= min(values.values()) * (1 + 1e-3)
    assert max(bounds.values()) <= min(values.values()) * (1 + 1e-9)


@pytest.mark.parametrize("name", TABLES)
def test_exact_solvers_agree(name, shared_data):
    shown, grams = problem(shared_data / "uci" / f"{TABLES[name]}.csv.gz", 120, 4, (1.0, 30.0))
    assert len(grams) == 20
    check_agreement(shown, grams, TOL, 500)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_exact_solvers_agree_on_whole_tables(name, shared_data):
    widths = tuple(2 * 4.0**power for power in range(-1, 4))
    shown, grams = problem(shared_data / "uci" / f"{TABLES[name]}.csv.gz", 600, 15, widths)
    assert len(grams) > 80
    check_agreement(shown, grams, TOL, 2000)
