"""`ufo` and `obscure`: every step as the papers state it, their own certificates, what they refuse."""

from functools import cache
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest

from kernelweave.data.strings.sequences import Sequences
from kernelweave.engines import Serial
from kernelweave.kernels import RBF, Fourier, Linear, NGram
from kernelweave.losses import make_loss
from kernelweave.operators import Task, choose
from kernelweave.penalties import LpBall
from kernelweave.solvers.choose import choose_mkl_solver
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl import MKL_SOLVERS
from kernelweave.solvers.mkl.gradient.primal import intercept_at
from kernelweave.solvers.mkl.gradient.subgradient import loops
from kernelweave.solvers.mkl.gradient.subgradient.base import FEWEST_ROWS
from kernelweave.solvers.mkl.gradient.subgradient.obscure import Obscure
from kernelweave.solvers.mkl.gradient.subgradient.ufo import UFO
from kernelweave.solvers.mkl.problem import MKLProblem
from oracles import subgradient as plain

N, SEED = 60, 3
rng = np.random.default_rng(1)
X = rng.normal(size=(N, 4))
LABELS = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=N) > 0.2, 1.0, -1.0)
COST = rng.uniform(0.3, 2.0, N)
KERNELS = [*(Fourier(kernel, 6, random_state=k).fitted(X) for k, kernel in enumerate(RBF.grid([0.5, 2, 8]))), Linear()]
STRINGS = Sequences.from_strings(
    ["".join(rng.choice(list("abcd"), rng.integers(0, 12))) for _ in range(N)], alphabet="bytes"
)


@cache
def bound(kind, limit="auto", tol=1e-9):
    kernels, rows = (KERNELS, X) if kind == "dense" else ([NGram(n) * (0.2 / n) for n in (1, 2, 3)], STRINGS)
    return choose(Task(kernels, rows, Serial(), limit, tol, need="design"))[0]


@cache
def table(kind):
    return np.stack([bound(kind).design.outputs(unit) for unit in np.eye(bound(kind).design.width)], axis=1)


def problem(loss="hinge", p=2.0, intercept="free", operators=None):
    return MKLProblem(operators or bound("dense"), make_loss(loss), LABELS[None], COST, LpBall(p), intercept)


def orders(passes):
    """The rows in the order in which a solver meets them: a permutation of the one part, then one of its rows."""
    chance = np.random.default_rng(SEED)
    return [(chance.permutation(1), chance.permutation(N))[1] for _ in range(passes)]


def walked(solver, shown, passes):
    """The state after some passes, without certificates that would forget what was met."""
    solver.init(shown, None, Stop(1e-3))
    for _ in range(passes):
        solver.due = np.inf
        solver.step()
    return solver


CASES = [
    ("dense", "hinge", 2.0, 0.0, "free"),
    ("dense", "logistic", 1.05, 0.0, "regularized"),
    ("dense", "hinge", 4.0, 0.3, "none"),
    ("dense", "logistic", np.inf, 0.0, "none"),
    ("sparse", "hinge", 1.001, 0.0, "none"),
    ("sparse", "logistic", 2.0, 0.1, "free"),
]


def exponent(p):
    return 2.0 if np.isinf(p) else 2 * p / (p - 1)


@pytest.mark.parametrize(("kind", "loss", "p", "elastic", "intercept"), CASES)
def test_ufo_is_its_plain_twin(kind, loss, p, elastic, intercept):
    shown = problem(loss, p, intercept, bound(kind))
    ours = walked(UFO(elastic, SEED), shown, 3)
    offsets, q = shown.operators.design.offsets, exponent(p)
    told = table(kind), offsets, LABELS, COST, orders(3), loss, q, elastic / COST.sum(), intercept
    path, slopes, b = plain.ufo(*told)
    scale = np.abs(path[-1]).max()
    assert scale > 0
    assert np.allclose(ours.last(), path[-1], rtol=1e-9, atol=1e-9 * scale)
    assert np.allclose(ours.met, slopes, rtol=1e-9, atol=1e-9)
    assert ours.counters[loops.B] == pytest.approx(b, abs=1e-9)
    if kind == "dense":
        taken = [N * turn + row for turn in range(3) for row in (*range(FEWEST_ROWS - 1, N, FEWEST_ROWS), N - 1)]
        mean = np.mean([path[row] for row in taken], axis=0)
        assert np.allclose(ours.total / ours.counters[loops.COUNT], mean, rtol=1e-9, atol=1e-9 * np.abs(mean).max())


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("p", [1.05, 2.0, np.inf])
def test_obscure_is_its_plain_twin(kind, loss, p):
    shown = problem(loss, p, "none", bound(kind))
    ours = Obscure(online_passes=2, random_state=SEED)
    ours.init(shown, None, Stop(1e-3))
    for _ in range(4):
        ours.step()
    q, offsets = exponent(p), shown.operators.design.offsets
    squares = [np.mean((table(kind)[:, a:b] ** 2).sum(axis=1)) for a, b in pairwise(offsets)]
    eta = 1 / sum(x ** (q / 2) for x in squares) ** (2 / q)
    R = ours.knobs[loops.RADIUS]
    assert np.sqrt(2 * ours.best) <= R <= np.sqrt(2 * shown.nothing().value)
    order = orders(4)
    path = plain.obscure(table(kind), offsets, LABELS, COST, order[:2], order[2:], loss, q, eta, R)
    assert np.allclose(ours.last(), path[-1], rtol=1e-8, atol=1e-8 * np.abs(path[-1]).max())


def test_the_batch_stage_stays_in_its_ball():
    shown = problem("hinge", 2.0, "none")
    ours = Obscure(online_passes=1, random_state=SEED)
    ours.init(shown, None, Stop(1e-3))
    ours.step()
    ours.knobs[loops.RADIUS] = R = 0.1
    ours.step()
    order, offsets = orders(2), shown.operators.design.offsets
    path = plain.obscure(
        table("dense"), offsets, LABELS, COST, order[:1], order[1:], "hinge", 4.0, ours.knobs[loops.ETA], R
    )
    assert plain.group_norm(ours.last(), offsets, 4 / 3) <= R * (1 + 1e-9)
    assert np.allclose(ours.last(), path[-1], rtol=1e-8, atol=1e-8)


def elastic_optimum(loss, p, elastic):
    offsets, b = bound("dense").design.offsets, cp.Variable()
    ws = [cp.Variable(int(size)) for size in np.diff(offsets)]
    f = table("dense") @ cp.hstack(ws) + b
    norms = cp.hstack([cp.norm(w) for w in ws])
    losses = cp.pos(1 - cp.multiply(LABELS, f)) if loss == "hinge" else cp.logistic(-cp.multiply(LABELS, f))
    value = cp.square(cp.pnorm(norms, 2 * p / (p + 1), approx=False)) / 2 + elastic * cp.sum(norms) + COST @ losses
    return cp.Problem(cp.Minimize(value)).solve(solver="CLARABEL")


@pytest.mark.parametrize(("loss", "p"), [("hinge", 2.0), ("logistic", 1.2)])
def test_the_elastic_net_is_certified_as_what_it_is(loss, p):
    elastic, tol = 2.0, 5e-3
    solver = UFO(elastic=elastic)
    result = run(solver, problem(loss, p), Stop(tol, 3000))
    best = elastic_optimum(loss, p, elastic)
    assert solver.certifies == "elastic net"
    assert UFO().certifies == "mkl"
    assert result.converged
    assert best * (1 - 1e-6) <= result.primal.value <= best * (1 + tol)
    assert best * (1 - 2 * tol) <= result.dual.value <= best * (1 + 1e-6)
    warm = run(UFO(elastic=elastic), problem(loss, p), Stop(tol, 3000), start=result.primal)
    assert warm.n_iter <= result.n_iter


def test_a_large_elastic_term_leaves_kernels_out():
    solver = walked(UFO(elastic=8.0, random_state=SEED), problem("hinge", 2.0), 20)
    norms = [np.linalg.norm(solver.last()[a:b]) for a, b in pairwise(bound("dense").design.offsets)]
    assert 0 < np.count_nonzero(norms) < len(KERNELS)


@pytest.mark.parametrize("name", ["ufo", "obscure"])
@pytest.mark.parametrize("p", [1.01, np.inf])
def test_extreme_norms_converge(name, p):
    result = run(MKL_SOLVERS[name].make(), problem("logistic", p), Stop(1e-2, 2000))
    assert result.converged


@pytest.mark.parametrize("name", ["ufo", "obscure"])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_rows_made_afresh_part_by_part(name, loss):
    whole = run(MKL_SOLVERS[name].make(), problem(loss, operators=bound("sparse", tol=1e-3)), Stop(1e-2, 2000))
    parts = bound("sparse", "225kB", 1e-3)
    assert parts.design.streamed
    assert len(parts.design.parts) > 1
    result = run(MKL_SOLVERS[name].make(), problem(loss, operators=parts), Stop(1e-2, 2000))
    assert result.converged
    assert result.dual.value <= whole.primal.value * (1 + 1e-6)
    assert whole.dual.value <= result.primal.value * (1 + 1e-6)


@pytest.mark.parametrize("intercept", ["free", "regularized"])
def test_the_intercept_of_a_loss_with_a_kink(intercept):
    shown, f = problem(intercept=intercept), 2 * rng.normal(size=N)

    def value(b):
        return COST @ np.maximum(0, 1 - LABELS * (f + b)) + (b * b / 2 if intercept == "regularized" else 0)

    grid = np.concatenate([LABELS - f, np.linspace(-3, 3, 5001)])
    assert value(intercept_at(shown, f, 0.0)) <= min(value(b) for b in grid) + 1e-9


def test_what_they_refuse():
    for name in ("ufo", "obscure"):
        solver = choose_mkl_solver(name, problem(p=1.0)).solver
        with pytest.raises(ValueError, match=r"needs a strongly convex norm: norm=1 is not; use norm="):
            run(solver, problem(p=1.0), Stop())
        with pytest.raises(ValueError, match="is for the losses hinge, logistic, smooth_hinge"):
            choose_mkl_solver(name, problem("squared_hinge"))
    with pytest.raises(ValueError, match=r"elastic=-1\.0 must be a non-negative number"):
        UFO(elastic=-1.0)
    with pytest.raises(ValueError, match="online_passes must be at least 1, and eta positive"):
        Obscure(online_passes=0)
