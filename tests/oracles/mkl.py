"""The problem of many kernels by a general convex solver, and its objectives by plain sums.

Kernels are Gram matrices (m, n, n); targets and alphas are (outputs, n), intercepts (outputs,): several outputs share
the weights of the kernels.
"""

from __future__ import annotations

import math

import cvxpy as cp
import numpy as np

from oracles import svm

Array = np.ndarray
ENOUGH = 1e-7
"""Accuracy asked of the general solver, which at its own 1e-8 sometimes stalls just before the end."""


def dual_norm(q: Array, p: float) -> float:
    """Return ``max beta'q`` over ``beta >= 0, |beta|_p <= 1``."""
    if p == 1:
        return max(q)
    if math.isinf(p):
        return sum(q)
    return sum(x ** (p / (p - 1)) for x in q) ** ((p - 1) / p)


def optimum(
    loss: str, Ks: Array, Y: Array, cost: Array, p: float = 1.0, intercept: str = "free", total: float = 0.0
) -> float:
    """Return the smallest primal objective; the weights are gone, ``1/2 (sum_k |w_k|^r)^(2/r)`` is left of them."""
    roots, b = [root(K) for K in Ks], cp.Variable(len(Y))
    ws = [cp.Variable((part.shape[1], len(Y))) for part in roots]
    linear = sum(part @ w for part, w in zip(roots, ws))
    objective = cp.square(cp.pnorm(cp.hstack([cp.norm(w, "fro") for w in ws]), 2 * p / (p + 1))) / 2
    for output, y in enumerate(Y):
        f = linear[:, output] + (0.0 if intercept == "none" else b[output])
        objective += cost @ svm.TERMS[loss](f, y)
        if intercept == "free":
            objective += total * b[output]
        if intercept == "regularized":
            objective += cp.square(b[output]) / 2
    return solved(cp.Problem(cp.Minimize(objective)))


def smoothed_optimum(
    loss: str, Ks: Array, y: Array, cost: Array, smoothing: float, intercept: str = "free", total: float = 0.0
) -> float:
    """Return ``max over alpha of d(alpha) - (smoothing / 2) ln 1/m sum_k exp(alpha'K_k alpha / smoothing)``.

    That is the dual of what is solved here, where the weights theta of the kernels are on the simplex:
    ``min 1/2 sum_k |w_k|^2 / theta_k + (smoothing / 2) sum_k theta_k ln (m theta_k) + the losses``.
    """
    roots, theta, b = [root(K) for K in Ks], cp.Variable(len(Ks)), cp.Variable()
    ws = [cp.Variable(part.shape[1]) for part in roots]
    f = sum(part @ w for part, w in zip(roots, ws)) + (0.0 if intercept == "none" else b)
    objective = sum(cp.quad_over_lin(w, theta[k]) for k, w in enumerate(ws)) / 2 - smoothing / 2 * cp.sum(
        cp.entr(theta)
    )
    objective += cost @ svm.TERMS[loss](f, y) + smoothing / 2 * math.log(len(Ks))
    objective += {"free": total * b, "regularized": cp.square(b) / 2, "none": 0.0}[intercept]
    return solved(cp.Problem(cp.Minimize(objective), [cp.sum(theta) == 1]))


def smoothed_dual(
    loss: str, Ks: Array, y: Array, cost: Array, alpha: Array, smoothing: float, intercept: str, total: float
) -> float:
    """Return the smoothed dual objective of alpha (n,); minus infinity where it is not feasible."""
    linear = svm.dual(loss, np.zeros_like(Ks[0]), y, cost, intercept, total, alpha)
    q = energies(Ks, alpha[None, :])
    top = max(q)
    return linear - top / 2 - smoothing / 2 * math.log(sum(math.exp((x - top) / smoothing) for x in q) / len(q))


def primal(
    loss: str, Ks: Array, Y: Array, cost: Array, beta: Array, alpha: Array, b: Array, intercept: str, total: float
) -> float:
    """Return the primal objective of ``w_k = beta_k sum_i alpha_i Phi_k(x_i)``."""
    K = sum(weight * K for weight, K in zip(beta, Ks))
    each = (svm.primal(loss, K, y, cost, intercept, total, a, c) for y, a, c in zip(Y, alpha, b))
    return sum(each)


def dual(
    loss: str, Ks: Array, Y: Array, cost: Array, alpha: Array, p: float, intercept: str = "free", total: float = 0.0
) -> float:
    """Return the dual objective of alpha; minus infinity where it is not feasible."""
    nothing = np.zeros_like(Ks[0])
    linear = sum(svm.dual(loss, nothing, y, cost, intercept, total, a) for y, a in zip(Y, alpha))
    return linear - 0.5 * dual_norm(energies(Ks, alpha), p)


def energies(Ks: Array, alpha: Array) -> Array:
    """Return ``alpha'K_k alpha`` for every kernel, added over the outputs."""
    return np.array([sum(a @ K @ a for a in alpha) for K in Ks])


def root(K: Array) -> Array:
    """Return a factor of a positive semi-definite matrix, ``root @ root.T = K``, without the directions it lacks."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-12 * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def solved(problem: cp.Problem) -> float:
    """Return the optimum as the solver tells it: at a rounded point (a weight of -1e-12) the value may be infinite."""
    problem.solve(solver="CLARABEL", tol_gap_abs=ENOUGH, tol_gap_rel=ENOUGH, tol_feas=ENOUGH)
    assert problem.status == cp.OPTIMAL
    return float(problem.solution.opt_val)
