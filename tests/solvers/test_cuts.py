"""Cutting planes: the projection onto a level set, cuts that outlive a run, and bounds that the gap follows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import kernelweave as kw
from kernelweave.engines import Serial
from kernelweave.losses import make_loss
from kernelweave.operators import Task, choose
from kernelweave.penalties import LpBall
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.lp.master import Cut
from kernelweave.solvers.mkl.cutting import silp_chunking
from kernelweave.solvers.mkl.cutting.carried import carried, shrinkage
from kernelweave.solvers.mkl.cutting.projection import project_level
from kernelweave.solvers.mkl.cutting.silp import SILP
from kernelweave.solvers.mkl.cutting.silp_chunking import SILPChunking
from kernelweave.solvers.mkl.problem import MKLProblem

rng = np.random.default_rng(0)
N = 80
X = rng.normal(size=(N, 5))
Y = np.where(X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)
KERNELS = kw.per_feature([*kw.RBF.grid([0.1, 1.0, 10.0]), kw.Polynomial(2)], 5)
KERNELS = [kernel * (1 / kernel.diag(X).mean()) for kernel in KERNELS]
OPERATORS, _ = choose(Task(KERNELS, X, Serial(), tol=1e-9, need="parts"))
SOLVERS = {
    "silp": SILP, "silp on a level": lambda: SILP("level"), "chunks": lambda: SILPChunking(32),
    "chunks as printed": lambda: SILPChunking(32, None),
}  # fmt: skip


def problem(C=1.0, loss="hinge", y=Y):
    return MKLProblem(OPERATORS, make_loss(loss), y[None, :], np.full(N, C), LpBall(1.0))


@pytest.mark.parametrize("seed", range(5))
def test_the_projection_is_the_nearest_point_of_the_level_set(seed):
    random = np.random.default_rng(seed)
    m, cuts = 6, 9
    Q, inner = random.uniform(0.1, 4.0, (cuts, m)), random.dirichlet(np.ones(m))
    d = 0.5 * Q @ inner + random.uniform(-0.5, 0.2, cuts)
    level = float((d - 0.5 * Q @ inner).max())
    beta = random.dirichlet(np.ones(m))
    found = project_level(beta, d, Q, level)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert (d - 0.5 * Q @ found).max() <= level + 1e-9
    rules = [
        {"type": "eq", "fun": lambda b: b.sum() - 1.0},
        {"type": "ineq", "fun": lambda b: level - d + 0.5 * Q @ b},
    ]
    slow = minimize(
        lambda b: ((b - beta) ** 2).sum(), inner, bounds=[(0, 1)] * m, constraints=rules, options={"ftol": 1e-14}
    )
    assert ((found - beta) ** 2).sum() <= slow.fun + 1e-7


def test_a_point_on_the_level_set_stays():
    beta = np.array([0.25, 0.75])
    np.testing.assert_allclose(project_level(beta, np.array([1.0]), np.array([[2.0, 2.0]]), 5.0), beta)
    np.testing.assert_allclose(project_level(beta, np.array([1.0]), np.zeros((1, 2)), 0.0), beta)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_small_problems_are_certified_to_a_millionth(name, C):
    result = run(SOLVERS[name](), problem(C), Stop(1e-6))
    assert result.converged
    assert result.gap <= 1e-6


@pytest.mark.parametrize("name", SOLVERS)
def test_the_gap_follows_the_bound_of_the_cuts(name):
    """Findings P4: what the cuts prove must not wait for the end of the run."""
    result = run(SOLVERS[name](), problem(10.0), Stop(1e-12, 60))
    primal, dual, bound = (result.trace[column] for column in ("primal", "dual", "bound"))
    known = np.isfinite(bound)
    assert known.any()
    assert np.all((primal - dual)[known] <= 1.6 * np.maximum(primal - bound, 0.0)[known] + 1e-9 * primal[known])


def test_a_stricter_tolerance_gives_no_worse_a_certificate():
    gaps = [run(SILPChunking(32), problem(), Stop(tol, 400)).gap for tol in (1e-5, 1e-7, 1e-9)]
    assert gaps[1] <= gaps[0]
    assert gaps[2] <= gaps[1]


@pytest.mark.parametrize("name", SOLVERS)
def test_cuts_outlive_a_run(name):
    """Along a path of growing C every cut is kept; the next run begins with the bound of the former one."""
    first = SOLVERS[name]()
    run(first, problem(1.0), Stop(1e-4))
    cold, warm = SOLVERS[name](), SOLVERS[name]()
    warm.former = first.cuts
    without, with_cuts = (run(one, problem(1.5), Stop(1e-4)) for one in (cold, warm))
    assert with_cuts.converged
    assert with_cuts.trace["bound"][0] > without.trace["bound"][0]
    assert with_cuts.primal.value == pytest.approx(without.primal.value, rel=2e-4)


def test_what_is_carried_bounds_the_other_problem():
    solver = SILP()
    run(solver, problem(2.0), Stop(1e-3))
    best = run(SILP("level"), problem(1.0), Stop(1e-6)).primal.value
    kept = carried(solver.cuts, problem(1.0))
    assert len(kept) == len(solver.cuts)
    for cut in kept:
        assert np.abs(cut.alpha).max() <= 1.0 + 1e-9
        assert cut.d == pytest.approx(float(Y @ cut.alpha[0]))
        np.testing.assert_allclose(cut.q, OPERATORS.energies(cut.alpha[0]), rtol=1e-9)
        assert cut.d - 0.5 * cut.q.max() <= best


def test_cuts_of_another_class_are_left():
    solver = SILP()
    run(solver, problem(), Stop(1e-2))
    assert carried(solver.cuts, problem(y=-Y)) == []


def test_targets_of_a_regression_share_their_cuts():
    shown = problem(loss="epsilon_insensitive", y=X[:, 0])
    alpha = rng.uniform(-1, 1, N)
    alpha -= alpha.mean()
    alpha /= np.abs(alpha).max()
    cut = Cut(0.0, OPERATORS.energies(alpha), alpha[None, :])
    (same,) = carried([cut], shown)
    np.testing.assert_array_equal(same.alpha, cut.alpha)
    assert same.d == shown.linear(alpha[None, :])
    assert shrinkage(cut.alpha, replace(shown, cost=np.full(N, 0.5))) == pytest.approx(0.5)


def test_a_wrong_stabilisation_gets_a_sentence():
    for kind in (SILP, SILPChunking):
        with pytest.raises(ValueError, match="stabilisation='box' must be 'level', or None"):
            kind(stabilisation="box")


def test_cross_validation_hands_cuts_on():
    model = kw.MKLClassifierCV(
        kw.RBF.grid([0.1, 1.0, 10.0]), Cs=[0.5, 1.0], norms=[1.0], cv=2, solver="silp", solver_params=None
    ).fit(X, Y)
    assert model.converged_


LETTERS, SITES = kw.datasets.make_splice(2500, random_state=0)
LINADD = {
    "positions": kw.WeightedDegree(8).per_degree(),
    "shifts": kw.WeightedDegree(3, shift=1).per_degree(),
    "counts": [kw.Spectrum(k) * (1 / kw.Spectrum(k).diag(LETTERS).mean()) for k in (1, 2, 3)],
}


def on_sequences(name, loss="hinge", intercept="free", cost=0.05):
    operators, _ = choose(Task(LINADD[name], LETTERS, Serial(), need="parts"))
    y = np.where(SITES > 0, 1.0, -1.0)[None, :]
    return MKLProblem(operators, make_loss(loss), y, np.full(len(LETTERS), cost), LpBall(1.0), intercept)


@pytest.mark.parametrize("name", LINADD)
@pytest.mark.parametrize(
    ("loss", "intercept"), [("hinge", "free"), ("squared_hinge", "none"), ("hinge", "regularized")]
)
def test_rows_join_where_products_go_through_vectors(name, loss, intercept, monkeypatch):
    """Few rows first; what they teach about the weights, their cuts, holds for all rows."""
    shown = on_sequences(name, loss, intercept)
    best = run(SILP("level"), shown, Stop(1e-4)).primal.value
    monkeypatch.setattr(silp_chunking, "SHRINK_FROM", 1000)
    monkeypatch.setattr("kernelweave.solvers.svm.chunking.FIRST_ROWS", 300)
    solver, seen = SILPChunking(64), []
    result = run(solver, shown, Stop(1e-3), seen.append)
    assert result.converged
    assert seen[0].extra["rows"] == 300
    assert result.primal.value == pytest.approx(best, rel=1.5e-3)
    for cut in solver.cuts:
        assert cut.d == pytest.approx(shown.linear(cut.alpha))
        np.testing.assert_allclose(cut.q, shown.energies(cut.alpha), rtol=1e-9)


def test_rows_that_have_joined_go_on_after_a_stop(monkeypatch):
    shown = on_sequences("positions")
    monkeypatch.setattr(silp_chunking, "SHRINK_FROM", 1000)
    monkeypatch.setattr("kernelweave.solvers.svm.chunking.FIRST_ROWS", 300)
    first = SILPChunking(64)
    result = run(first, shown, Stop(1e-3, 25))
    assert not result.converged
    second = SILPChunking(64)
    second.init(shown, result.primal, Stop(1e-3))
    second.resume(first.state())
    np.testing.assert_array_equal(second.rows, first.rows)
    np.testing.assert_allclose(second.svm.F, first.svm.F, rtol=1e-9, atol=1e-9)
    for solver in (first, second):
        solver.step()
    np.testing.assert_allclose(second.svm.alpha, first.svm.alpha, atol=1e-6)
    assert second.lower == pytest.approx(first.lower)
