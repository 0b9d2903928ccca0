"""The one-kernel problem by a general convex solver, and its objectives by plain sums."""

from __future__ import annotations

import math
from typing import Any

import cvxpy as cp
import numpy as np

from oracles.losses import CONJUGATES, DELTA, EPSILON, SIGMA, SLOPES, VALUES

OUTSIDE = 1e-9
"""How far outside its range a dual variable may be, relative to its cost, and count as rounding."""

TERMS: dict[str, Any] = {
    "hinge": lambda f, y: cp.pos(1 - cp.multiply(y, f)),
    "squared_hinge": lambda f, y: cp.square(cp.pos(1 - cp.multiply(y, f))),
    "smooth_hinge": lambda f, y: cp.logistic(SIGMA * (1 - cp.multiply(y, f))) / SIGMA,
    "logistic": lambda f, y: cp.logistic(-cp.multiply(y, f)),
    "squared": lambda f, y: cp.square(f - y),
    "epsilon_insensitive": lambda f, y: cp.pos(cp.abs(f - y) - EPSILON),
    "huber": lambda f, y: cp.huber(f - y, DELTA),
    "squared_epsilon_insensitive": lambda f, y: cp.square(cp.pos(cp.abs(f - y) - EPSILON)),
    "one_class": lambda f, y: cp.pos(-f),
}


def optimum(loss: str, K: np.ndarray, y: np.ndarray, cost: np.ndarray, intercept: str, total: float = 0.0) -> float:
    """Return the smallest primal objective, over ``w`` in an orthonormal basis of the span of the rows."""
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    w, b = cp.Variable(len(y)), cp.Variable()
    f = root @ w if intercept == "none" else root @ w + b
    objective = cp.sum_squares(w) / 2 + cost @ TERMS[loss](f, y)
    if intercept == "free":
        objective += total * b
    if intercept == "regularized":
        objective += cp.square(b) / 2
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver="CLARABEL")
    assert problem.status == cp.OPTIMAL
    return float(problem.value)


def primal(loss: str, K: np.ndarray, y: Any, cost: Any, intercept: str, total: float, alpha: Any, b: float) -> float:
    """Return the primal objective of ``w = sum alpha_i Phi(x_i)`` and b."""
    outputs = K @ alpha
    value = 0.5 * alpha @ outputs + sum(c * VALUES[loss](f + b, t) for c, f, t in zip(cost, outputs, y))
    return value + {"free": total * b, "regularized": b * b / 2, "none": 0.0}[intercept]


def dual(loss: str, K: np.ndarray, y: Any, cost: Any, intercept: str, total: float, alpha: Any) -> float:
    """Return the dual objective of alpha; minus infinity where it is not feasible."""
    if intercept == "free" and abs(alpha.sum() - total) > OUTSIDE * max(sum(cost), 1.0):
        return -math.inf
    value = -0.5 * alpha @ K @ alpha - (0.5 * alpha.sum() ** 2 if intercept == "regularized" else 0.0)
    for a, c, t in zip(alpha, cost, y):
        if c == 0:
            value -= math.inf if a else 0.0
            continue
        u, (low, high) = -a / c, SLOPES[loss](t)
        if not low - OUTSIDE <= u <= high + OUTSIDE:
            return -math.inf
        value -= c * CONJUGATES[loss](u, t)
    return value
