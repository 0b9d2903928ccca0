"""The yardsticks of `boost_speed.py`: all columns at once, by general solvers, without a modelling layer.

    l1    min sum (p + q) + C sum xi     over p, q, xi >= 0, b     with  y_i (K (p - q) + b)_i + xi_i >= 1     HiGHS
    l2    min 1/2 |a|^2 + C sum xi       over a, b, xi >= 0        with  y_i (K a + b)_i + xi_i >= 1           Clarabel
    l2 dual   max sum w - 1/2 |K'(y w)|^2   over 0 <= w <= C, y'w = 0: n variables, but K K' is computed       Clarabel

K is (n, columns), the kernel matrices side by side.  A solver that hits its time limit gives its last point or none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import clarabel
import highspy
import numpy as np
from scipy import sparse

Array = np.ndarray


@dataclass(frozen=True)
class Full:
    """Coefficients of all columns (None where a solver has none), and whether it says they are optimal."""

    coef: Array | None
    optimal: bool


def full_lp(K: Array, y: Array, C: float, limit: float, method: str = "choose") -> Full:
    """Solve the whole linear programme by HiGHS: "choose", "simplex" or "ipm"."""
    n, d = K.shape
    signed = y[:, None] * K
    A = sparse.hstack([signed, -signed, y[:, None], sparse.eye(n)], format="csc")
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = A.shape[1], n
    lp.col_cost_ = np.concatenate([np.ones(2 * d), [0.0], np.full(n, C)])
    lower = np.zeros(A.shape[1])
    lower[2 * d] = -highspy.kHighsInf
    lp.col_lower_, lp.col_upper_ = lower, np.full(A.shape[1], highspy.kHighsInf)
    lp.row_lower_, lp.row_upper_ = np.ones(n), np.full(n, highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("solver", method)
    solver.setOptionValue("time_limit", limit)
    solver.passModel(lp)
    solver.run()
    value = np.array(solver.getSolution().col_value)
    optimal = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return Full(value[:d] - value[d : 2 * d] if len(value) else None, optimal)


def full_qp(K: Array, y: Array, C: float, limit: float) -> Full:
    """Solve the whole quadratic programme by Clarabel, as it is written."""
    n, d = K.shape
    P = sparse.diags(np.concatenate([np.ones(d), np.zeros(n + 1)])).tocsc()
    q = np.concatenate([np.zeros(d + 1), np.full(n, C)])
    margins = sparse.hstack([-y[:, None] * K, -y[:, None], -sparse.eye(n)])
    slacks = sparse.hstack([sparse.csc_matrix((n, d + 1)), -sparse.eye(n)])
    A, b = sparse.vstack([margins, slacks]).tocsc(), np.concatenate([-np.ones(n), np.zeros(n)])
    done = clarabel.DefaultSolver(P, q, A, b, [clarabel.NonnegativeConeT(2 * n)], _settings(limit)).solve()
    return Full(np.array(done.x)[:d], _solved(done))


def full_dual(K: Array, y: Array, C: float, limit: float) -> Full:
    """Solve the dual of the quadratic programme by Clarabel: one variable for each row."""
    n = len(y)
    signed = y[:, None] * K
    P = sparse.csc_matrix(np.triu(signed @ signed.T))
    A = sparse.vstack([sparse.csc_matrix(y[None, :]), -sparse.eye(n), sparse.eye(n)]).tocsc()
    b = np.concatenate([[0.0], np.zeros(n), np.full(n, C)])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    done = clarabel.DefaultSolver(P, -np.ones(n), A, b, cones, _settings(limit)).solve()
    return Full(signed.T @ np.array(done.x), _solved(done))


def _settings(limit: float) -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.time_limit, settings.max_threads = False, limit, 1
    return settings


def _solved(done: clarabel.DefaultSolution) -> bool:
    return str(done.status) == "Solved"


YARDSTICKS: dict[str, tuple[tuple[str, Callable[..., Full]], ...]] = {
    "l1": (
        ("HiGHS, its choice", full_lp),
        ("HiGHS, interior point", lambda K, y, C, limit: full_lp(K, y, C, limit, "ipm")),
    ),
    "l2": (("Clarabel, as written", full_qp), ("Clarabel, dual", full_dual)),
}
"""For each norm its yardsticks; the first is the one that an aim names."""
