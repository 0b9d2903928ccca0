"""What every loss of the registry promises."""

import ctypes

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from kernelweave.losses import LOSSES, make_loss
from oracles.losses import EPSILON, PARAMETERS, VALUES, conjugate_by_search

rng = np.random.default_rng(0)
N = 60
F = rng.normal(scale=2.0, size=N)
STEP = 1e-6
SMALL = 1e-9


def loss_and_targets(name):
    loss = make_loss(name, **PARAMETERS)
    y = rng.normal(size=N) if loss.task == "regression" else np.where(np.arange(N) % 2, 1.0, -1.0)
    return loss, y


def slopes_inside(loss, y, share):
    """Points of the domain of the conjugate, at a share of it (infinite ends are cut)."""
    low, high = (np.clip(end, -3.0, 3.0) for end in loss.domain(y))
    return low + share * (high - low)


@pytest.fixture(params=sorted(LOSSES))
def case(request):
    return loss_and_targets(request.param)


def test_the_oracle_knows_every_loss():
    assert set(VALUES) == set(LOSSES)


def test_values_are_those_of_the_twin(case):
    loss, y = case
    np.testing.assert_allclose(loss.value(F, y), [VALUES[loss.name](f, t) for f, t in zip(F, y)], rtol=1e-12)


def test_derivative_is_a_subgradient_everywhere(case):
    """``loss(g) >= loss(f) + loss'(f) (g - f)`` for all pairs: convexity, and kinks included."""
    loss, y = case
    for target in np.unique(np.round(y, 1))[:6]:
        f = np.append(F, [target, target + EPSILON, target - EPSILON, 0.0, 1.0, -1.0])
        t = np.full(len(f), target)
        tangents = loss.value(f, t)[:, None] + loss.derivative(f, t)[:, None] * (f - f[:, None])
        assert np.all(loss.value(f, t) >= tangents - SMALL)


def test_derivative_is_the_limit_of_differences(case):
    loss, y = case
    right = (loss.value(F + STEP, y) - loss.value(F, y)) / STEP
    left = (loss.value(F, y) - loss.value(F - STEP, y)) / STEP
    straight = np.abs(right - left) < 1e-4
    assert straight.mean() > 0.9
    np.testing.assert_allclose(loss.derivative(F, y)[straight], (0.5 * (left + right))[straight], atol=1e-5)
    if loss.smooth:
        assert straight.all()


def test_the_slope_for_compiled_loops_is_the_derivative(case):
    loss, y = case
    f = np.append(F, [0.0, 1.0, -1.0])
    t = np.append(y, y[:3])
    address, shape = loss.compiled_slope()
    compiled = ctypes.CFUNCTYPE(*4 * [ctypes.c_double])(address)
    np.testing.assert_allclose([loss.slope(shape, *row) for row in zip(f, t)], loss.derivative(f, t), atol=1e-15)
    np.testing.assert_allclose([compiled(shape, *row) for row in zip(f, t)], loss.derivative(f, t), atol=1e-15)


def test_lipschitz_constant_is_the_largest_slope(case):
    loss, y = case
    low, high = loss.domain(y)
    assert loss.lipschitz == max(-low.min(), high.max())


def test_bend_bounds_the_change_of_the_derivative(case):
    loss, y = case
    assert loss.smooth == np.isfinite(loss.bend)
    if loss.smooth:
        f = np.linspace(-4.0, 4.0, 4001)
        for target in y[:4]:
            t = np.full(len(f), target)
            slopes = np.diff(loss.derivative(f, t)) / np.diff(f)
            assert slopes.max() <= loss.bend * (1 + 1e-9)
            assert slopes.max() >= loss.bend * (1 - 1e-3)


def test_parameters_are_declared_and_checked(case):
    loss, _ = case
    assert LOSSES[loss.name]() == make_loss(loss.name)
    for one in loss.parameters():
        assert one.default == getattr(LOSSES[loss.name](), one.name)
        assert one.meaning
        if one.zero:
            assert getattr(make_loss(loss.name, **{one.name: 0.0}), one.name) == 0.0
        for wrong in (-1.0, np.nan, np.inf, "wide", True, *(() if one.zero else (0.0,))):
            with pytest.raises(ValueError, match=f"{one.name}={wrong!r} must be a (positive|non-negative) number"):
                make_loss(loss.name, **{one.name: wrong})


def test_a_spelling_sets_the_parameters(case):
    loss, _ = case
    values = [0.25 * (k + 1) for k in range(len(loss.parameters()))]
    spelled = make_loss(":".join([loss.name, *map(str, values)]), **PARAMETERS)
    assert [getattr(spelled, one.name) for one in loss.parameters()] == values
    assert loss.spelling() == ":".join([loss.name, *(one.name.upper() for one in loss.parameters())])
    with pytest.raises(ValueError, match=f"has too many values; write it as '{loss.spelling()}'"):
        make_loss(":".join([loss.name, *map(str, values), "1"]))


def test_curvature_is_the_slope_of_the_derivative(case):
    loss, y = case
    if not loss.smooth:
        with pytest.raises(TypeError, match=f"{loss.name} loss has no second derivative"):
            loss.curvature(F, y)
        return
    slope = (loss.derivative(F + STEP, y) - loss.derivative(F - STEP, y)) / (2 * STEP)
    np.testing.assert_allclose(loss.curvature(F, y), slope, atol=1e-5)
    assert np.all(loss.curvature(F, y) >= 0)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_fenchel_young_holds_on_the_whole_domain(case, share):
    loss, y = case
    u = slopes_inside(loss, y, share)
    conjugate = loss.conjugate(u, y)
    assert np.all(np.isfinite(conjugate))
    for f in (F, F[::-1], np.zeros(N), y):
        assert np.all(loss.value(f, y) + conjugate >= u * f - SMALL)


def test_fenchel_young_is_an_equality_at_the_derivative(case):
    loss, y = case
    u = loss.derivative(F, y)
    np.testing.assert_allclose(loss.value(F, y) + loss.conjugate(u, y), u * F, atol=1e-10)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.95])
def test_conjugate_is_the_largest_difference(case, share):
    loss, y = case
    u = slopes_inside(loss, y, share)
    searched = [conjugate_by_search(loss.name, a, t) for a, t in zip(u, y)]
    np.testing.assert_allclose(loss.conjugate(u, y), searched, atol=1e-8)


def test_conjugate_is_infinite_outside_the_domain_and_nowhere_else(case):
    loss, y = case
    low, high = loss.domain(y)
    for end, outwards in ((low, -1.0), (high, 1.0)):
        bounded = np.isfinite(end)
        u = np.where(bounded, end, 100.0 * outwards)
        assert np.all(np.isfinite(loss.conjugate(u, y)))
        beyond = loss.conjugate(u + outwards * 1e-3, y)
        assert np.all(np.isinf(beyond) == bounded)
        assert np.all(beyond[bounded] > 0)


def test_dual_range_is_where_the_dual_term_is_finite(case):
    loss, y = case
    cost = rng.uniform(0.5, 3.0, N)
    low, high = (np.clip(end, -50, 50) for end in loss.dual_range(y, cost))
    assert np.isfinite(loss.dual_term(low + 0.4 * (high - low), y, cost))
    assert np.isfinite(loss.dual_term(low, y, cost))
    assert np.isfinite(loss.dual_term(high, y, cost))
    for end, outwards in ((low, -1e-3), (high, 1e-3)):
        for row in range(4):
            if abs(end[row]) < 50:
                alpha = low + 0.4 * (high - low)
                alpha[row] = end[row] + outwards * cost[row]
                assert loss.dual_term(alpha, y, cost) == -np.inf


def test_rows_without_cost_must_stay_at_zero(case):
    loss, y = case
    cost = np.where(np.arange(N) < N // 2, 1.5, 0.0)
    low, high = loss.dual_range(y, cost)
    assert np.all(low[N // 2 :] == 0)
    assert np.all(high[N // 2 :] == 0)
    alpha = np.clip(0.3 * np.ones(N), low, high)
    half = slice(N // 2)
    assert loss.dual_term(alpha, y, cost) == pytest.approx(loss.dual_term(alpha[half], y[half], cost[half]))
    alpha[-1] = 0.1
    assert loss.dual_term(alpha, y, cost) == -np.inf


def test_box_programme_is_the_dual_term(case):
    """``p v - 1/2 ridge a^2`` of split variables is ``-sum c loss*(-a / c)``, and the box is the range of alpha."""
    loss, y = case
    cost = rng.uniform(0.0, 3.0, N)
    cost[::7] = 0.0
    box = loss.box(y, cost)
    assert loss.boxed == (box is not None)
    if box is None:
        assert loss.smooth
        return
    low, high = (np.clip(end, -4.0, 4.0) for end in loss.dual_range(y, cost))
    for share in (0.0, 0.25, 0.7, 1.0):
        alpha = low + share * (high - low)
        v = box.split(alpha)
        np.testing.assert_allclose(v.sum(axis=0), alpha, atol=1e-15)
        assert np.all((v >= box.low) & (v <= box.high))
        value = np.sum(box.p * v) - 0.5 * np.sum(box.ridge * alpha**2)
        assert value == pytest.approx(loss.dual_term(alpha, y, cost), rel=1e-12, abs=1e-12)
    np.testing.assert_array_equal(box.low.sum(axis=0), loss.dual_range(y, cost)[0])
    np.testing.assert_array_equal(box.high.sum(axis=0), loss.dual_range(y, cost)[1])


def test_box_clips_a_start_from_elsewhere(case):
    loss, y = case
    box = loss.box(y, np.full(N, 0.5))
    if box is not None:
        v = box.split(rng.normal(scale=5.0, size=N))
        assert np.all((v >= box.low) & (v <= box.high))


@pytest.mark.parametrize("k", [0.3, 4.0])
@pytest.mark.parametrize("c", [0.2, 5.0])
def test_dual_equals_primal_on_one_row(case, k, c):
    """One row, kernel value k, no intercept: both sides are functions of one number, minimised by search."""
    loss, y = case
    for target in y[:4]:
        t, cost = np.array([target]), np.array([c])

        def primal(a, t=t):
            return 0.5 * k * a * a + c * loss.value(np.array([k * a]), t)[0]

        def minus_dual(a, t=t, cost=cost):
            return 0.5 * k * a * a - loss.dual_term(np.array([a]), t, cost)

        low, high = (float(np.clip(end[0], -30, 30)) for end in loss.dual_range(t, cost))
        best = minimize_scalar(primal, bounds=(-30, 30), method="bounded", options={"xatol": 1e-10}).fun
        bound = -minimize_scalar(minus_dual, bounds=(low, high), method="bounded", options={"xatol": 1e-10}).fun
        assert bound == pytest.approx(best, rel=1e-6, abs=1e-7)
