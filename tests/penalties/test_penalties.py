"""The set of kernel weights: its support function, its minimiser, and projections, against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelweave.penalties import LpBall, project_simplex
from oracles.mkl import dual_norm

NORMS = [1.0, 1.0 + 1e-6, 4 / 3, 2.0, 4.0, 50.0, np.inf]
numbers = st.lists(st.floats(0, 1e3, allow_subnormal=False), min_size=1, max_size=6).map(np.array)
rng = np.random.default_rng(0)


def norm(beta, p):
    return beta.max() if np.isinf(p) else np.linalg.norm(beta, p)


def maximizer(q, p):
    """The weights of norm one with the largest ``beta'q``; for p = 1 all weight on one of the largest."""
    if q.max() == 0.0 or np.isinf(p):
        return LpBall(p).uniform(len(q))
    if p == 1.0:
        return np.eye(1, len(q), int(q.argmax()))[0]
    beta = (q / q.max()) ** (1.0 / (p - 1.0))
    return beta / norm(beta, p)


def feasible(p, m, count=200):
    """Random weights on the border of the set, some with zeros."""
    points = rng.exponential(size=(count, m)) * (rng.uniform(size=(count, m)) < 0.8) + 1e-12
    return [point / norm(point, p) for point in points]


@pytest.mark.parametrize("p", NORMS)
@given(q=numbers)
def test_support_is_the_largest_value_and_is_attained(p, q):
    ball = LpBall(p)
    value, beta = ball.support(q), maximizer(q, p)
    assert np.all(beta >= 0)
    assert norm(beta, p) == pytest.approx(1.0, abs=1e-9)
    assert beta @ q == pytest.approx(value, rel=1e-9, abs=1e-12)
    if q.max() < 1e-100 or p == NORMS[1]:
        return  # the plain formula overflows there
    assert value == pytest.approx(dual_norm(q, p), rel=1e-9)


@pytest.mark.parametrize("p", NORMS)
def test_no_feasible_weights_exceed_the_support(p):
    q = rng.exponential(size=5)
    best = LpBall(p).support(q)
    assert all(beta @ q <= best * (1 + 1e-9) for beta in feasible(p, 5))


@pytest.mark.parametrize(
    ("p", "r", "dual"), [(1.0, 1.0, np.inf), (2.0, 4 / 3, 4.0), (3.0, 1.5, 3.0), (np.inf, 2.0, 2.0)]
)
def test_the_group_norms_are_conjugate(p, r, dual):
    ball = LpBall(p)
    assert (ball.exponent, ball.dual_exponent) == pytest.approx((r, dual))
    assert 1 / ball.exponent + 1 / ball.dual_exponent == pytest.approx(1.0)
    assert ball.simplex == (p == 1.0)


@pytest.mark.parametrize("p", [0.5, -1.0, np.nan])
def test_norms_below_one_are_no_norms(p):
    with pytest.raises(ValueError, match=r"must be at least 1\."):
        LpBall(p)


def test_negative_energies_are_rounding():
    assert LpBall(2.0).support(np.array([3.0, -1e-9, 4.0])) == 5.0
    assert LpBall(1.0).support(np.array([-1e-9, -2e-9])) == 0.0


@pytest.mark.parametrize("p", NORMS)
def test_the_minimizer_of_the_regulariser(p):
    norms = rng.exponential(size=5)
    beta = LpBall(p).minimizer(norms)
    assert norm(beta, p) == pytest.approx(1.0, abs=1e-9)
    value = np.sum(norms**2 / beta)
    assert all(value <= np.sum(norms**2 / other) * (1 + 1e-9) for other in feasible(p, 5))
    r = 2.0 if np.isinf(p) else 2 * p / (p + 1)
    assert value == pytest.approx(np.sum(norms**r) ** (2 / r))


@pytest.mark.parametrize("p", NORMS)
def test_a_kernel_that_is_not_used_gets_no_weight_unless_weights_are_free(p):
    beta = LpBall(p).minimizer(np.array([2.0, 0.0, 1.0]))
    assert beta[1] == (1.0 if np.isinf(p) else 0.0)
    np.testing.assert_allclose(LpBall(p).minimizer(np.zeros(4)), LpBall(p).uniform(4))


@pytest.mark.parametrize("p", NORMS)
def test_equal_weights_lie_on_the_border(p):
    beta = LpBall(p).uniform(7)
    assert np.ptp(beta) == 0
    assert norm(beta, p) == pytest.approx(1.0)
    np.testing.assert_allclose(LpBall(p).scaled(7e-200 * beta), beta)


def test_no_overflow_in_the_powers():
    assert LpBall(1.5).support(np.array([1e200, 1e200])) == pytest.approx(2 ** (1 / 3) * 1e200)
    assert LpBall(300.0).support(np.array([1e-200, 1e-200])) == pytest.approx(2 ** (299 / 300) * 1e-200)
    np.testing.assert_allclose(LpBall(3.0).minimizer(np.array([1e300, 1e300])), 0.5 ** (1 / 3))


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8).map(np.array))
def test_projection_onto_the_simplex(point):
    x = project_simplex(point)
    assert np.all(x >= 0)
    assert x.sum() == pytest.approx(1.0, abs=1e-9)
    # Optimal exactly if the residual is constant where x is positive and no larger elsewhere.
    residual = point - x
    level = residual[x > 0].max()
    assert np.all(residual <= level + 1e-9)
    assert np.all(np.abs(residual[x > 0] - level) <= 1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("strength", [1e-6, 0.5, 1e6])
@pytest.mark.parametrize("p", [1.0, 1.1, 2.0, 50.0, np.inf])
def test_the_proximal_point_is_stationary(p, strength, scale):
    norms = np.array([0.0, 0.3, 1.0, 7.0])
    a, r = LpBall(p).proximal(scale * norms, strength) / scale, LpBall(p).exponent
    size = (a**r).sum() ** (1 / r)
    left = norms - a - strength * size ** (2 - r) * a ** (r - 1)
    np.testing.assert_allclose(np.where(a > 0, left, np.maximum(left, 0.0)), 0.0, atol=1e-9)
    assert a[0] == 0.0
    assert a[-1] > 0.0
