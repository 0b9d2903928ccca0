"""The problems of CG-Boost over all columns at once, as they are written down, for a general solver."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from kernelweave.solvers.boost.problem import BoostProblem


def full_optimum(problem: BoostProblem, K: np.ndarray) -> float:
    """Return the optimum of a problem over the columns of K, (n, columns)."""
    a, b, level, y, c = cp.Variable(K.shape[1]), cp.Variable(), cp.Variable(), problem.y, problem.cost
    b = 0.0 if problem.kind == "one_class" or problem.intercept == "none" else b
    f = K @ a + b
    own = b if problem.intercept == "regularized" else 0.0
    if problem.penalty == "l1":
        R = cp.sum(cp.abs(a)) + cp.abs(own)
    else:
        R = 0.5 * (cp.sum_squares(a) + cp.square(own))
    limits = [a >= 0] if problem.positive else []
    if problem.kind == "hinge":
        goal = R + c @ cp.pos(1 - cp.multiply(y, f))
    elif problem.kind == "epsilon_insensitive":
        goal = R + c @ cp.pos(cp.abs(f - y) - problem.epsilon)
    elif problem.kind == "nu_regression":
        goal, limits = R + c @ cp.pos(cp.abs(f - y) - level) + problem.nu * c.sum() * level, [*limits, level >= 0]
    else:
        goal = c @ cp.pos(level - cp.multiply(y, f)) - problem.nu * c.sum() * level
        limits = [*limits, level >= 0]
        if problem.penalty == "l1":
            limits = [*limits, R <= 1]
        else:
            goal = goal + R
    task = cp.Problem(cp.Minimize(goal), limits)
    task.solve(solver=cp.CLARABEL)
    assert task.status == "optimal"
    return float(task.value)
