"""The one ledger of all solvers: what is kept, what expires, and the scale of the gap."""

import numpy as np
import pytest

from kernelweave.solvers.boost.problem import BoostProblem
from kernelweave.solvers.certificate import DualPoint, Ledger, PrimalPoint, relative_gap

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
