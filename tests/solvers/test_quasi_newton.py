"""Quasi-Newton steps: models that know past products exactly, exact proximal maps, few products, warm starts."""

from __future__ import annotations

import numpy as np
import pytest

from kernelweave.losses import make_loss
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm.quasi_newton import QuasiNewton, Shape, proximal, secants

rng = np.random.default_rng(0)
N = 200
X = rng.normal(size=(N, 40))
K = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2) / 40.0) + 0.2
Y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=N) > 0, 1.0, -1.0)


class Counted:
    """A Gram matrix that counts products."""

    def __init__(self):
        self.n, self.products = N, 0

    def diag(self):
        return K.diagonal().copy()

    def columns(self, rows):
        return K[:, rows]

    def submatrix(self, rows):
        return K[np.ix_(rows, rows)]

    def add_to(self, out, rows, steps):
        self.products += len(rows) > 0
        out += K[:, rows] @ steps


def problem(loss="hinge", cost=1.0):
    return Problem(Counted(), make_loss(loss), Y, np.full(N, cost))


def test_the_model_knows_past_products():
    S, D = rng.normal(size=(N, 7)), rng.random(N) + 0.5
    lower, upper = secants(np.hstack([S, S[:, :1]]), np.hstack([K @ S, K @ S[:, :1]]), D)  # one of them twice
    B = np.diag(D) - lower @ lower.T + upper @ upper.T
    np.testing.assert_allclose(B @ S, K @ S, rtol=1e-8, atol=1e-8)
    assert np.linalg.eigvalsh(B)[0] > 0


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive", "squared_hinge"])
def test_the_proximal_map_is_the_best_feasible_point(loss):
    p = problem(loss, 0.7)
    box = p.loss.box(p.y, p.cost)
    shape, c, scale = Shape.of(box, p), rng.normal(size=N), rng.random(N) + 0.5
    x, _ = proximal(c, scale, shape, 0.0)
    assert abs(x.sum()) <= 1e-12
    assert np.all((x >= shape.low) & (x <= shape.high))

    def value(a):
        phi = -np.where(a > 0, shape.above, shape.below) * a
        return float(np.sum(0.5 * (scale + shape.ridge) * a * a - c * a + phi))

    for _ in range(200):
        i, j = rng.integers(0, N, 2)
        step = np.zeros(N)
        step[i] += 1e-3
        step[j] -= 1e-3
        other = x + step
        if np.all((other >= shape.low) & (other <= shape.high)):
            assert value(other) >= value(x) - 1e-12


@pytest.mark.parametrize(("cost", "most"), [(0.1, 15), (1.0, 40), (100.0, 90)])
def test_few_products_reach_the_gap(cost, most):
    p = problem(cost=cost)
    result = run(QuasiNewton(), p, Stop(1e-3))
    assert result.converged
    assert p.operator.products == result.n_iter <= most


def test_a_warm_start_takes_fewer_products():
    first = run(QuasiNewton(), problem(), Stop(1e-4))
    again = run(QuasiNewton(), problem(cost=1.05), Stop(1e-4), start=first.dual.alpha)
    cold = run(QuasiNewton(), problem(cost=1.05), Stop(1e-4))
    assert again.converged
    assert again.n_iter < cold.n_iter
    assert again.primal.value == pytest.approx(cold.primal.value, rel=2e-4)


def test_a_wrong_memory_is_refused():
    with pytest.raises(ValueError, match="memory=0 must be a positive integer"):
        QuasiNewton(memory=0)
