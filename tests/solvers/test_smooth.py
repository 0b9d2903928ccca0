"""Algorithm 2 of Xu et al. (2010): its sequences, its constants, its rate, and the optimum it leads to."""

import numpy as np
import pytest

from kernelweave.engines import Serial
from kernelweave.kernels import RBF, Linear
from kernelweave.losses import make_loss
from kernelweave.operators import Task, choose
from kernelweave.penalties import LpBall
from kernelweave.solvers.loop import Stop, run
from kernelweave.solvers.mkl.gradient.smooth.objective import SmoothedDual
from kernelweave.solvers.mkl.gradient.smooth.paper import Constants, NesterovSteps
from kernelweave.solvers.mkl.gradient.smooth.solver import Smooth
from kernelweave.solvers.mkl.problem import MKLProblem
from oracles import mkl
from oracles.losses import PARAMETERS
from oracles.nesterov import algorithm_2, smoothed

rng = np.random.default_rng(3)
N, C = 40, 1.5
X = rng.normal(size=(N, 4))
Y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=N) > 0, 1.0, -1.0)
COST = C * rng.uniform(0.5, 1.0, N)
KERNELS = [0.5 * Linear(), RBF(width=1.0), RBF(width=8.0), RBF(width=2.0).on([0])]
GRAMS = np.stack([kernel.gram(X) for kernel in KERNELS])
SIGNED = GRAMS * np.outer(Y, Y)
OPERATORS, _ = choose(Task(KERNELS, X, Serial(), tol=1e-9, need="parts"))


def problem(loss="hinge", intercept="none"):
    return MKLProblem(OPERATORS, make_loss(loss, **PARAMETERS), Y[None, :], COST, LpBall(1.0), intercept)


def parts(shown, lam=None, steps=50):
    box = shown.loss.box(Y, COST)
    constants = Constants.of(shown, box)
    return SmoothedDual(shown, box, lam or constants.smoothing(steps)), constants


def test_the_sequences_are_those_of_algorithm_2():
    objective, constants = parts(problem(), lam=0.7)
    first = np.clip(rng.normal(size=N), 0, COST)
    way = NesterovSteps(objective, (Y * first)[None, :], constants, 30, measured=False)
    betas, values = algorithm_2(SIGNED, COST, first, 0.7, constants.lipschitz(0.7), 30)
    for beta, value in zip(betas, values):
        way.step()
        np.testing.assert_allclose(way.v[0], Y * beta, atol=1e-10)
        assert way.value == pytest.approx(value, rel=1e-10)
    way.step()  # after N steps the sequences begin anew
    assert way.k == 1
    np.testing.assert_allclose(way.centre[0], Y * betas[-1], atol=1e-10)


def test_the_constants_are_valid_and_lambda_is_the_best_for_the_bound():
    _, constants = parts(problem())
    largest = max(np.linalg.eigvalsh(K)[-1] for K in GRAMS)
    assert largest <= constants.a <= 1.005 * largest
    assert constants.diameter2 == pytest.approx((COST**2).sum())
    for lam in (0.01, 1.0):  # the gradient changes by no more than L, here on random pairs of points
        L = constants.lipschitz(lam)
        for _ in range(50):
            a, b = rng.uniform(0, 1, (2, N)) * COST
            change = smoothed(SIGNED, a, lam)[1] - smoothed(SIGNED, b, lam)[1]
            assert np.linalg.norm(change) <= L * np.linalg.norm(a - b)

    def bound(lam, steps=80):
        return 2 * constants.lipschitz(lam) * constants.diameter2 / (steps + 1) ** 2 + lam / 2 * np.log(len(KERNELS))

    best = constants.smoothing(80)
    assert bound(best) <= min(bound(0.9 * best), bound(1.1 * best))


@pytest.mark.parametrize("measured", [True, False])
@pytest.mark.parametrize("lam", [0.3, 5.0])
def test_theorem_4_bounds_the_way_with_the_largest_constant_that_was_used(measured, lam):
    objective, constants = parts(problem(), lam)
    way = NesterovSteps(objective, np.zeros((1, N)), constants, 2000, measured)
    values, used = [], []
    for _ in range(1500):
        way.step()
        values.append(way.value)
        used.append(way.lipschitz)
    distance = float((way.v**2).sum())  # of the last beta from alpha^0 = 0
    best = min(values)
    assert max(used) <= constants.lipschitz(lam)
    assert not measured or max(used) < 0.5 * constants.lipschitz(lam)
    for k, (value, L) in enumerate(zip(values[:200], used)):
        assert value - best <= 1.02 * 2 * L * distance / ((k + 1) * (k + 2)) + 1e-9


@pytest.mark.parametrize("intercept", ["free", "regularized", "none"])
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_both_schedules_reach_the_smoothed_optimum(loss, intercept):
    shown = problem(loss, intercept)
    best = mkl.smoothed_optimum(loss, GRAMS, Y, COST, 0.5, intercept)
    for schedule in ("adaptive", "paper"):
        result = run(Smooth(smoothing=0.5, schedule=schedule, steps=200), shown, Stop(1e-5, 500))
        assert result.converged
        assert result.primal.value == pytest.approx(best, rel=1e-4)


def test_the_rule_for_lambda_is_used_and_shown():
    shown = problem()
    _, constants = parts(shown)
    found = run(Smooth(schedule="paper", steps=60), shown, Stop(1e-3, 500))
    assert found.converged
    assert found.trace["smoothing"][-1] == pytest.approx(constants.smoothing(60))
    fixed = run(Smooth(schedule="paper", steps=60, lipschitz="corollary"), shown, Stop(1e-3, 3))
    assert fixed.trace["lipschitz"][-1] == pytest.approx(constants.lipschitz(constants.smoothing(60)))


def test_parameters_that_make_no_sense_get_a_sentence():
    with pytest.raises(
        ValueError, match=r"needs dual variables that are bounded, which those of squared_hinge are not"
    ):
        run(Smooth(schedule="paper"), problem("squared_hinge"), Stop())
    for given in ({"schedule": "letter"}, {"lipschitz": "large"}, {"steps": 0}):
        (name,) = given
        with pytest.raises(ValueError, match=f"{name}="):
            Smooth(**given)
