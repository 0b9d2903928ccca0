"""The whole problem of CG-Boost, all columns at once, by general solvers."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np


def optimum(
    kind: str, K: np.ndarray, y: np.ndarray, cost: np.ndarray, penalty: str, positive: bool, intercept: str,
    epsilon: float, nu: float,
) -> float:  # fmt: skip
    """Return the smallest objective over all coefficients, intercept and level."""
    a, b, level = cp.Variable(K.shape[1], nonneg=positive), cp.Variable(), cp.Variable()
    f = K @ a if intercept == "none" or kind == "one_class" else K @ a + b
    if kind == "one_class":
        cost = cost / (nu * cost.sum())
    short: dict[str, Any] = {
        "hinge": lambda: [1 - cp.multiply(y, f)],
        "epsilon_insensitive": lambda: [f - y - epsilon, y - f - epsilon],
        "one_class": lambda: [level - f],
        "nu_classification": lambda: [level - cp.multiply(y, f)],
        "nu_regression": lambda: [f - y - level, y - f - level],
    }
    xi = cp.Variable(len(cost))
    limits = [xi >= 0, *(xi >= part for part in short[kind]())]
    limits += [level >= 0] if kind != "one_class" else []
    price = {"one_class": -1.0, "nu_classification": -nu * cost.sum(), "nu_regression": nu * cost.sum()}.get(kind, 0.0)
    loss = cost @ xi + price * level
    parts = [a] if intercept != "regularized" or kind == "one_class" else [a, b]
    R = sum(cp.norm1(part) if penalty == "l1" else cp.sum_squares(part) / 2 for part in parts)
    bounded = penalty == "l1" and kind in ("one_class", "nu_classification")
    unit = float(cost.max())
    goal = (loss if bounded else loss + R) / unit
    programme = cp.Problem(cp.Minimize(goal), [*limits, R <= 1] if bounded else limits)
    if penalty == "l1":
        programme.solve(solver="HIGHS")
    else:
        programme.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
    assert programme.status == cp.OPTIMAL
    return unit * float(programme.value)


def algorithm_5_1(problem: Any, grams: list[np.ndarray], order: list[int], rounds: int) -> list[tuple[int, int]]:
    """Return the columns (kernel, row) of Algorithm 5.1 as printed, for the hinge loss with a free intercept."""
    y, cost, threshold = problem.y, problem.cost, 1.0 if problem.penalty == "l1" else 0.0
    used: list[tuple[int, int]] = []
    for _ in range(rounds):
        K = np.stack([grams[k][:, i] for k, i in used], axis=1) if used else np.zeros((len(y), 1))
        a, b, xi = cp.Variable(K.shape[1], nonneg=problem.positive), cp.Variable(), cp.Variable(len(y), nonneg=True)
        margins = cp.multiply(y, K @ a + b) + xi >= 1
        R = cp.norm1(a) if problem.penalty == "l1" else cp.sum_squares(a) / 2
        cp.Problem(cp.Minimize(R + cost @ xi), [margins]).solve(solver="CLARABEL", tol_gap_rel=1e-11, tol_feas=1e-11)
        u, errors = y * margins.dual_value, np.flatnonzero(xi.value > 1e-7)
        found = None
        for rows in (errors, np.arange(len(y))):
            for k in order:
                free = [i for i in rows if (k, i) not in used]
                scores = grams[k][:, free].T @ u
                tau = scores if problem.positive else np.abs(scores)
                if found is None and len(free) and tau.max() > threshold + 1e-6:
                    found = (k, int(free[int(tau.argmax())]))
        if found is None:
            break
        used.append(found)
    return used
