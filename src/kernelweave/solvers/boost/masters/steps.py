"""A primal-dual interior-point method for the 2-norm problems of CG-Boost: all kinds, signs and intercepts in one.

With prices x_r in (0, c_r), signs s_r, goals g_r, and a level l (rho or e) that enters every margin with the factor h
(-1 for rho, +1 for e) and the objective with ``h E l``, solved are the optimality conditions

    s_r f_i + h l + xi_r - w_r = g_r          x_r w_r = mu,    (c_r - x_r) xi_r = mu
    sum u = 0 (free intercept),    sum x = E (level),    u_i = sum of s_r x_r over the one or two r of row i
    a_j - score_j - z_j = 0                   a_j z_j = mu      z only where a_j >= 0 is asked for ("held")

for mu -> 0 by Newton steps with Mehrotra's predictor and corrector.  Eliminating all but coefficients, intercept and
level (or, where columns outnumber rows, all but the prices) leaves one symmetric positive definite matrix per step
(`systems`), with ``1 / d_r = xi_r / (c_r - x_r) + w_r / x_r`` for the rows and ``H_j = 1 + z_j / a_j`` for the columns.

A solve takes 10 to 40 steps however ill-conditioned the columns are (those of polynomial kernels make coordinate
methods crawl), and a step costs in proportion to the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelweave.solvers.boost.masters.systems import Right, Weights, system
from kernelweave.solvers.boost.problem import Array, BoostProblem
from kernelweave.solvers.problems import dot

BACKED_OFF = 0.995
"""Share of the way to the nearest bound that a step goes at most."""
MIDDLE, SMALLEST_SHARE = 0.5, 0.01
"""Largest share of its cost at which a price starts, and the smallest part of that."""


@dataclass
class Point:
    """An iterate inside all bounds, or a step: x, v = c - x, w, xi (copies, n); a, z (k,); b; level."""

    x: Array
    v: Array
    w: Array
    xi: Array
    a: Array
    z: Array
    b: float
    level: float

    def moved(self, step: Point, length: float) -> Point:
        """Return the point that lies so far along a step."""
        return Point(
            self.x + length * step.x, self.v + length * step.v, self.w + length * step.w, self.xi + length * step.xi,
            self.a + length * step.a, self.z + length * step.z, self.b + length * step.b,
            self.level + length * step.level,
        )  # fmt: skip


class InteriorPoint:
    """The conditions of one problem; columns are handed to each step.

    Parameters
    ----------
    problem : a problem all of whose rows cost something
    """

    def __init__(self, problem: BoostProblem):
        self.problem, box = problem, problem.box()
        self.sign = np.array([[1.0], [-1.0]]) * np.ones(problem.n) if problem.regression else problem.y[None]
        self.goal, self.c = self.sign * box.p, np.tile(problem.cost, (len(self.sign), 1))
        self.size = float(np.abs(self.goal).max()) or 1.0
        self.h = (1.0 if problem.regression else -1.0) if problem.has_level else 0.0

    def prices(self, point: Point) -> Array:
        """Return u, (n,)."""
        return (self.sign * point.x).sum(axis=0)

    def start(self, features: Array, held: Array) -> Point:
        """Return a point with prices at the same share of all costs and margins off by as much as the goals.

        Prices of a hinge loss start where their multiple is best: large kernel values ask for small prices.
        `held` tells which coefficients must not be negative: those start a little inside, the others at zero.
        """
        problem = self.problem
        x = min(problem.budget / float(self.c.sum()) if problem.has_level else MIDDLE, MIDDLE) * self.c
        measure = problem.measure(features.T @ (self.sign * x).sum(axis=0))
        size = max(measure, 1.0) / problem.budget if problem.homogeneous else self.size
        if problem.kind == "hinge" and measure > 0:
            x = min(1.0, max(dot(self.goal.ravel(), x.ravel()) / measure, SMALLEST_SHARE)) * x
        v, mu = self.c - x, size * float(x.mean())
        inside = np.where(held, np.sqrt(mu), 0.0)
        return Point(x, v, mu / x, np.maximum(mu / v, size), inside, inside.copy(), 0.0, 0.0)

    def mu(self, point: Point, held: Array) -> float:
        """Return the mean of all products."""
        rows = dot(point.x.ravel(), point.w.ravel()) + dot(point.v.ravel(), point.xi.ravel())
        return (rows + dot(point.a[held], point.z[held])) / self.count(point, held)

    def count(self, point: Point, held: Array) -> int:
        """Return the number of products; at the optimum for some mu, the gap is mu times it."""
        return 2 * point.x.size + int(held.sum())

    def step(self, point: Point, features: Array, gram: Array | None, held: Array, least: float = 0.0) -> Point:
        """Return the next point: a predictor towards mu = 0 tells how small the mu of the corrector may be.

        It need not be less than `least`: a mu smaller than the gap asked for costs digits and gains nothing.
        """
        direction = self._directions(point, features, gram, held)
        mu = self.mu(point, held)
        first = direction(0.0, None)
        reached = self.mu(point.moved(first, _length(point, first, held, 1.0)), held)
        second = direction(max(mu * min(1.0, max(reached, 0.0) / mu) ** 3, min(least, mu)), first)
        return point.moved(second, _length(point, second, held, BACKED_OFF))

    def _directions(
        self, at: Point, features: Array, gram: Array | None, held: Array
    ) -> Callable[[float, Point | None], Point]:
        """Return a function that gives the Newton step towards some mu, with the second-order terms of another step."""
        h, u = self.h, self.prices(at)
        missing = self.goal - self.sign * (features @ at.a + at.b) - h * at.level - at.xi + at.w
        score, d = features.T @ u, 1.0 / (at.xi / at.v + at.w / at.x)
        total, lacking = float(u.sum()), self.problem.budget - float(at.x.sum())
        a = np.where(held, at.a, 1.0)
        H = 1.0 + at.z / a
        solve = system(features, gram, Weights(H, d, self.sign, h, self.problem.free))

        def direction(mu: float, former: Point | None) -> Point:
            to_w, to_xi, to_z = (mu, mu, mu) if former is None else _corrected(mu, former)
            w, xi = to_w / at.x - at.w, to_xi / at.v - at.xi
            q, r = missing - xi + w, score - at.a + np.where(held, to_z / a, 0.0)
            made = solve(Right(r, q, total, lacking))
            x = d * (q - self.sign * made.f - h * made.level)
            z = np.where(held, (to_z - at.z * made.a) / a - at.z, 0.0)
            return Point(x, -x, w - at.w / at.x * x, xi + at.xi / at.v * x, made.a, z, made.b, made.level)

        return direction


def _length(point: Point, step: Point, held: Array, share: float) -> float:
    """Return how far a step may go, at most 1: all variables share the condition of the coefficients."""
    pairs = [(getattr(point, name), getattr(step, name)) for name in ("x", "v", "w", "xi")]
    pairs += [(point.a[held], step.a[held]), (point.z[held], step.z[held])]
    return min(1.0, share * min(_reach(*pair) for pair in pairs))


def _corrected(mu: float, former: Point) -> tuple[Array, Array, Array]:
    """Return what the products with w, xi and z should become, less their change of second order."""
    return mu - former.x * former.w, mu - former.v * former.xi, mu - former.a * former.z


def _reach(value: Array, change: Array) -> float:
    """Return how often a change fits into values that must stay positive."""
    falling = change < 0
    return float(np.min(-value[falling] / change[falling], initial=np.inf))
