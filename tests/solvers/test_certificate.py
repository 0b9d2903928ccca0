"""The one ledger of all solvers: what is kept, what expires, and the scale of the gap."""

import numpy as np
import pytest

from kernelweave.engines import Serial
from kernelweave.kernels import RBF
from kernelweave.losses import LOSSES, make_loss
from kernelweave.operators import DenseGram
from kernelweave.solvers.boost.problem import BoostProblem
from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint, afresh, best_intercept, relative_gap
from kernelweave.solvers.problems import Problem
from oracles.losses import EPSILON, PARAMETERS

NOTHING = np.zeros(1)


def primal(value):
    return PrimalPoint(NOTHING, 0.0, value)


def dual(value):
    return DualPoint(NOTHING, value)


def test_the_better_point_of_each_side_is_kept():
    ledger = Ledger()
    assert ledger.gap == np.inf
    for upper, lower in ((4.0, 1.0), (5.0, 2.0), (4.5, 1.5)):
        ledger.offer(primal(upper), dual(lower))
    assert (ledger.primal.value, ledger.dual.value, ledger.gap) == (4.0, 2.0, 0.5)
    ledger.clear()
    assert (ledger.primal, ledger.dual, ledger.gap) == (None, None, np.inf)


def test_a_provisional_bound_counts_until_it_expires():
    ledger = Ledger()
    ledger.offer(primal(4.0), dual(1.0), provisional=dual(3.0))
    assert (ledger.dual.value, ledger.proven.value, ledger.gap) == (3.0, 1.0, 0.25)
    ledger.expire()
    assert (ledger.dual.value, ledger.gap) == (1.0, 0.75)
    ledger.offer(provisional=dual(0.5))
    assert ledger.dual.value == 1.0


@pytest.mark.parametrize(
    ("upper", "lower", "scale", "gap"), [(4.0, 3.0, 1.0, 0.25), (1e-9, 0.0, 1.0, 1e-9), (0, -1, 2, 0.5)]
)
def test_the_gap_is_relative_to_a_scale_of_the_problem(upper, lower, scale, gap):
    assert relative_gap(upper, lower, scale) == pytest.approx(gap)
    ledger = Ledger(scale)
    ledger.offer(primal(upper), dual(lower))
    assert ledger.gap == pytest.approx(gap)


def test_mixtures_give_the_scale_of_their_rounding():
    y = np.array([1.0, -1.0])
    assert BoostProblem("hinge", y, np.full(2, 5.0)).smallest_scale == pytest.approx(1e-11)
    bounded = BoostProblem("nu_classification", y, np.full(2, 5.0), "l1", nu=0.5)
    assert bounded.smallest_scale == pytest.approx(1e-9 * bounded.budget)


@pytest.mark.parametrize(("loss", "passed_over"), [("hinge", True), ("squared", False)])
def test_rows_without_loss_keep_their_rounded_outputs(loss, passed_over):
    """Rows far beyond their margin count for neither objective; every other output is exact."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    X = rng.normal(size=(60, 2)) + 3.0 * y[:, None]
    kernel = RBF(gamma=0.1)
    operator = DenseGram(kernel, kernel.prepare(X), Serial(), np.float32)
    p = Problem(operator, make_loss(loss), y, np.ones(60))
    alpha = np.where(np.arange(60) < 6, y, 0.0)
    rounded, K = operator.gram.astype(float) @ alpha, kernel.gram(X)
    made = afresh(p, alpha, rounded, 0.0)
    kept = (made == rounded) & (made != K @ alpha)
    assert kept.any() == passed_over
    np.testing.assert_allclose(made[~kept], (K @ alpha)[~kept], rtol=1e-13)
    assert np.all(p.loss.value(made[kept], y[kept]) == 0.0)
    assert np.all(alpha[kept] == 0.0)
    np.testing.assert_allclose(p.primal(1.0, made, 0.0), p.primal(1.0, K @ alpha, 0.0), rtol=1e-14)


@pytest.mark.parametrize("name", sorted(LOSSES))
@pytest.mark.parametrize("total", [0.0, 0.3])
def test_no_intercept_is_better_than_the_best(name, total):
    rng, loss = np.random.default_rng(0), make_loss(name, **PARAMETERS)
    y = rng.normal(size=300) if loss.task == "regression" else np.where(rng.random(300) < 0.2, 1.0, -1.0)
    X = (y + rng.normal(size=300))[:, None]
    operator = DenseGram(RBF(gamma=0.1), RBF(gamma=0.1).prepare(X), Serial())
    p = Problem(operator, loss, y, rng.uniform(0.0, 2.0, size=300), "free", total)
    outputs = 2.0 * X[:, 0]
    b = best_intercept(p, outputs, np.zeros(300))
    kinks = [goal - outputs for goal in (y, y - EPSILON, y + EPSILON)]
    others = np.concatenate([np.linspace(b - 5.0, b + 5.0, 501), b + np.linspace(-1e-6, 1e-6, 21), *kinks])
    least = min(p.primal(0.0, outputs + other, other) for other in others)
    assert p.primal(0.0, outputs + b, b) <= least + 1e-9 * abs(least)
