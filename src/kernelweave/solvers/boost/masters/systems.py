"""The linear system of one interior-point step of `interior`, in the smaller of two spaces.

Unknown are the changes da, db, dl of coefficients, intercept and level; given are diagonals H > 0 (coefficients) and
d_r > 0 (rows), signs s_r and right-hand sides r, q_r.  With df = K da + db and ``dx_r = d_r (q_r - s_r df_i - h dl)``,

    D_i = sum d_r,    g_i = h sum s_r d_r,    t_i = sum s_r d_r q_r      (over the one or two r of row i),

the prices change by ``du = t - D df - g dl``, and the conditions are

    H da - K'du = r,      sum du = -sum u  (free intercept),      sum dx = E - sum x  (level).

Columns fewer than rows:  Cholesky of ``[K 1]'D[K 1] + H``, bordered by ``[K 1]'g`` and sum d, in (da, db, dl).
Rows fewer than columns:  Cholesky of ``N = D^-1 + K H^-1 K'``, since ``N du + db + (g/D) dl = t/D - K H^-1 r``; db and
dl follow from a Schur complement.  Where no sign is asked for, H = 1 and ``K K'`` is kept from step to step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kernelweave.solvers.problems import dot

Array = np.ndarray
JITTER, LARGEST_JITTER = 1e-15, 1e-6
"""Share of each diagonal entry added to it where rounding makes a factorisation fail; ten times more each time."""

REFINEMENTS = 1
"""Times a solution is corrected by its residual: weights d of very different size take digits from the matrix."""


@dataclass(frozen=True)
class Weights:
    """What the matrix depends on; h is 0 where there is no level."""

    H: Array
    d: Array
    sign: Array
    h: float
    free: bool


@dataclass(frozen=True)
class Right:
    """Right-hand sides: r (k,), q (copies, n), the sum of u, and what the prices lack of their budget."""

    r: Array
    q: Array
    total: float
    lacking: float


@dataclass(frozen=True)
class Change:
    """The solution, with what it does to the outputs: f changes by `f`."""

    a: Array
    f: Array
    b: float
    level: float


def system(features: Array, gram: Array | None, weights: Weights) -> Callable[[Right], Change]:
    """Factorise; return a function that solves for a right-hand side.  `gram` is ``K K'``, or None to build it."""
    n, k = features.shape
    return _in_prices(features, gram, weights) if k > n else _in_coefficients(features, weights)


def _in_coefficients(features: Array, weights: Weights) -> Callable[[Right], Change]:
    d, sign, h, k = weights.d, weights.sign, weights.h, features.shape[1]
    D, g = d.sum(axis=0), h * (sign * d).sum(axis=0)
    m = k + int(weights.free) + int(h != 0)
    matrix = np.zeros((m, m))
    scaled = features * np.sqrt(D)[:, None]
    matrix[:k, :k] = scaled.T @ scaled
    matrix[np.arange(k), np.arange(k)] += weights.H
    if weights.free:
        matrix[k, :k], matrix[k, k] = D @ features, D.sum()
    if h != 0:
        matrix[-1, :k], matrix[-1, k:], matrix[-1, -1] = g @ features, g.sum(), d.sum()
    factor = _factorise(matrix)

    def times(change: Array) -> tuple[Array, Array]:
        """Return the product of the matrix with a change, through the features, and the change of the outputs."""
        f = features @ change[:k] + (change[k] if weights.free else 0.0)
        du = D * f + g * (change[-1] if h != 0 else 0.0)
        out = np.zeros(m)
        out[:k] = weights.H * change[:k] + features.T @ du
        if weights.free:
            out[k] = du.sum()
        if h != 0:
            out[-1] = dot(g, f) + d.sum() * change[-1]
        return out, f

    def solve(right: Right) -> Change:
        t = (sign * d * right.q).sum(axis=0)
        side = np.zeros(m)
        side[:k] = right.r + features.T @ t
        if weights.free:
            side[k] = t.sum() + right.total
        if h != 0:
            side[-1] = h * (dot(d.ravel(), right.q.ravel()) - right.lacking)
        change = cho_solve(factor, side, check_finite=False)
        for _ in range(REFINEMENTS):
            change += cho_solve(factor, side - times(change)[0], check_finite=False)
        db = float(change[k]) if weights.free else 0.0
        return Change(change[:k], times(change)[1], db, float(change[-1]) if h != 0 else 0.0)

    return solve


def _in_prices(features: Array, gram: Array | None, weights: Weights) -> Callable[[Right], Change]:
    d, sign, h = weights.d, weights.sign, weights.h
    D, g = d.sum(axis=0), h * (sign * d).sum(axis=0)
    if gram is None:
        scaled = features * np.sqrt(1.0 / weights.H)
        matrix = scaled @ scaled.T
    else:
        matrix = gram.copy()
    matrix[np.diag_indices_from(matrix)] += 1.0 / D
    factor = _factorise(matrix)
    beside = np.array(([np.ones(len(D))] if weights.free else []) + ([g / D] if h != 0 else []))
    beside = beside.reshape(-1, len(D)).T
    corner = ([0.0] if weights.free else []) + ([-float(d.sum() - dot(g, g / D))] if h != 0 else [])
    solved = cho_solve(factor, beside, check_finite=False)
    small = np.diag(corner) - beside.T @ solved

    def solve(right: Right) -> Change:
        t = (sign * d * right.q).sum(axis=0)
        start = cho_solve(factor, t / D - features @ (right.r / weights.H), check_finite=False)
        rest = [-right.total] if weights.free else []
        if h != 0:
            rest.append(dot(g, t / D) - h * (dot(d.ravel(), right.q.ravel()) - right.lacking))
        others = np.linalg.solve(small, np.array(rest) - beside.T @ start) if rest else np.zeros(0)
        du = start - solved @ others
        db = float(others[0]) if weights.free else 0.0
        dl = float(others[-1]) if h != 0 else 0.0
        # From du, not from da: the rows with large D would magnify the rounding of K da.
        return Change((right.r + features.T @ du) / weights.H, (t - du - g * dl) / D, db, dl)

    return solve


def _factorise(matrix: Array) -> tuple[Array, bool]:
    """Return the Cholesky factor, with as little added to the diagonal as it takes."""
    diagonal, jitter = matrix.diagonal().copy(), 0.0
    while True:
        try:
            return cho_factor(matrix, lower=True, check_finite=False)
        except LinAlgError:
            jitter = max(JITTER, 10.0 * jitter)
            if jitter > LARGEST_JITTER:
                raise
            matrix[np.diag_indices_from(matrix)] = diagonal * (1.0 + jitter)
