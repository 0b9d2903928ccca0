"""What multiple kernel learning takes without this library: a short cutting-plane loop, and an exact conic solver.

Both solve  max over alpha  y'alpha - 1/2 max_k alpha'K_k alpha,  0 <= y alpha <= C,  sum alpha = 0  (L1, hinge loss) on
Gram matrices in double precision, (m, n, n), with the tools a careful user has at hand: numpy, scikit-learn's SVC,
HiGHS, cvxpy with Clarabel.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy.linalg.lapack import dpstrf
from sklearn.svm import SVC

Array = np.ndarray
RANK_TOLERANCE = 1e-10
"""Pivots below this (the mean diagonal is 1) end the factor of a kernel."""


@dataclass(frozen=True)
class Solution:
    """A classifier: signed alpha (n,), kernel weights (m,), and how many rounds it took."""

    alpha: Array
    beta: Array
    rounds: int


def gram_stack(
    X: Array, sigmas: Array, degrees: tuple[int, ...] = (), single: bool = True, new: Array | None = None
) -> Array:
    """Return kernel matrices with unit mean diagonal, (m, n, n); products and distances are shared by the kernels.

    Gaussians of the given sigmas and polynomials ``(1 + <x, y>)^degree``, first on each column of X (if `single`),
    then on all of them: the order of ``kw.per_feature(kernels, d) + kernels``.  With `new` rows, theirs against X.
    """
    new = X if new is None else new
    views = [slice(j, j + 1) for j in range(X.shape[1])] * single + [slice(None)]
    grams = np.empty((len(views) * (len(sigmas) + len(degrees)), len(new), len(X)))
    free = iter(grams)
    for view in views:
        norms, new_norms = np.square(X[:, view]).sum(axis=1), np.square(new[:, view]).sum(axis=1)
        dots = new[:, view] @ X[:, view].T
        distances = new_norms[:, None] + norms - 2 * dots
        for sigma in sigmas:
            np.exp(np.multiply(distances, -0.5 / sigma**2, out=(gram := next(free))), out=gram)
        for degree in degrees:
            np.prod([1 + dots] * degree, axis=0, out=(gram := next(free)))
            gram /= np.mean((1 + norms) ** degree)
    return grams


def silp_loop(grams: Array, y: Array, C: float, tol: float = 1e-2) -> Solution:
    """Alternate between an SVM and a growing linear programme, until the two bounds differ by `tol`."""
    m, n, _ = grams.shape
    lp, every = highspy.Highs(), np.arange(m + 1, dtype=np.int32)
    lp.setOptionValue("output_flag", False)
    lp.addVars(m + 1, np.append(np.zeros(m), -np.inf), np.full(m + 1, np.inf))
    lp.changeColCost(m, 1.0)
    lp.addRow(1.0, 1.0, m, every[:m], np.ones(m))
    beta, bound, rounds = np.full(m, 1 / m), -np.inf, 0
    while True:
        K = np.zeros((n, n))
        for k in np.flatnonzero(beta):
            K += beta[k] * grams[k]
        svm = SVC(C=C, kernel="precomputed", cache_size=1000).fit(K, y)
        alpha = np.zeros(n)
        alpha[svm.support_] = svm.dual_coef_[0]
        q = (grams.reshape(-1, n) @ alpha).reshape(m, n) @ alpha
        value, rounds = y @ alpha - 0.5 * beta @ q, rounds + 1
        if value - bound <= tol * value:
            return Solution(alpha, beta, rounds)
        lp.addRow(y @ alpha, np.inf, m + 1, every, np.append(0.5 * q, 1.0))
        lp.run()
        *beta, bound = lp.getSolution().col_value
        beta = np.array(beta)


def exact_socp(grams: Array, y: Array, C: float) -> tuple[Solution, dict[str, float]]:
    """Solve the dual with cvxpy and Clarabel, one cone ``|L_k'alpha| <= s`` for each kernel ``K_k = L_k L_k'``.

    Factors are cut at their numerical rank, which is small for kernels of one column.
    """
    import cvxpy as cp

    began = time.perf_counter()
    factors = [low_rank(gram) for gram in grams]
    factored = time.perf_counter() - began
    alpha, s = cp.Variable(len(y)), cp.Variable()
    cones = [cp.SOC(s, L.T @ alpha) for L in factors]
    box = [cp.multiply(y, alpha) >= 0, cp.multiply(y, alpha) <= C, cp.sum(alpha) == 0]
    problem = cp.Problem(cp.Maximize(y @ alpha - 0.5 * cp.square(s)), cones + box)
    problem.solve(solver=cp.CLARABEL)
    beta = np.array([max(float(np.ravel(cone.dual_value[0])[0]), 0.0) for cone in cones])
    times = {"factors": factored, "clarabel": problem.solver_stats.solve_time}
    return Solution(feasible(alpha.value, y, C), beta / beta.sum(), problem.solver_stats.num_iters), times


def low_rank(gram: Array) -> Array:
    """Return L (n, rank) with ``gram = L L'`` up to rounding, by Cholesky's method with pivots."""
    factor, pivots, rank, _ = dpstrf(gram, tol=RANK_TOLERANCE, lower=1)
    out = np.empty((len(gram), rank))
    out[pivots - 1] = np.tril(factor)[:, :rank]
    return out


def feasible(alpha: Any, y: Array, C: float) -> Array:
    """Return alpha inside its box and adding up to zero: rounding moves it out."""
    alpha = y * np.clip(y * np.asarray(alpha), 0.0, C)
    side = y * np.sign(alpha.sum()) > 0
    alpha[side] *= 1 - abs(alpha.sum()) / np.abs(alpha[side]).sum()
    return alpha
