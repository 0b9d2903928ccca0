"""A primal-dual interior-point method for the 2-norm problems of CG-Boost: all kinds, signs and intercepts in one.

With prices x_r in (0, c_r), signs s_r, goals g_r, and a level l (rho or e) that enters every margin with the factor h
(-1 for rho, +1 for e) and the objective with ``h E l``, solved are the optimality conditions

    s_r f_i + h l + xi_r - w_r = g_r          x_r w_r = mu,    (c_r - x_r) xi_r = mu
    a - K'u - z = 0                           a_j z_j = mu  where a_j >= 0 is asked for, elsewhere z_j = 0
    sum u = 0 (free intercept),    sum x = E (level),    u_i = sum of s_r x_r over the one or two r of row i

for mu -> 0 by Newton steps with Mehrotra's predictor and corrector.  Eliminating all but coefficients, intercept and
level (or, where columns outnumber rows, all but the prices) leaves one symmetric positive definite matrix per step
(`systems`), with

    H = 1 + z / a,        1 / d_r = xi_r / (c_r - x_r) + w_r / x_r.

A solve takes 10 to 25 steps however ill-conditioned the columns are; those of polynomial kernels make coordinate
methods crawl.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelweave.solvers.boost.problem import Array, BoostProblem
from kernelweave.solvers.boost.systems import Change, Right, Weights, system
from kernelweave.solvers.problems import dot

BACKED_OFF = 0.995
"""Share of the way to the nearest bound that a step goes at most."""
MIDDLE, SMALLEST_SHARE = 0.5, 0.01
"""Largest share of its cost at which a price starts, and the smallest part of that."""


@dataclass
class Point:
    """An iterate inside all bounds, or a step from one: x, v = c - x, w, xi (copies, n); a, z (k,); b; level."""

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
    problem : a 2-norm problem all of whose rows cost something
    """

    def __init__(self, problem: BoostProblem):
        self.problem, box = problem, problem.box()
        self.sign = np.array([[1.0], [-1.0]]) * np.ones(problem.n) if problem.regression else problem.y[None]
        self.goal, self.c = self.sign * box.p, np.tile(problem.cost, (len(self.sign), 1))
        self.h = (1.0 if problem.regression else -1.0) if problem.has_level else 0.0

    def prices(self, point: Point) -> Array:
        """Return u, (n,)."""
        return (self.sign * point.x).sum(axis=0)

    def start(self, features: Array, held: Array) -> Point:
        """Return a point with prices at the same share of all costs and margins off by as much as the goals.

        Prices of a hinge loss start where their multiple is best: large kernel values ask for small prices.
        `held` tells which coefficients must not be negative.
        """
        problem = self.problem
        x = min(problem.budget / float(self.c.sum()) if problem.has_level else MIDDLE, MIDDLE) * self.c
        measure = problem.measure(features.T @ (self.sign * x).sum(axis=0))
        size = max(float(np.abs(self.goal).max()), np.finfo(float).tiny)
        if problem.homogeneous:
            size = max(measure, 1.0) / problem.budget
        elif not problem.regression and measure > 0:
            x *= min(1.0, max(dot(self.goal.ravel(), x.ravel()) / measure, SMALLEST_SHARE))
        v, mu = self.c - x, size * float(x.mean())
        inside = np.where(held, np.sqrt(mu), 0.0)
        return Point(x, v, mu / x, np.maximum(mu / v, size), inside, inside, 0.0, 0.0)

    def mu(self, point: Point, held: Array) -> float:
        """Return the mean of all products."""
        rows = dot(point.x.ravel(), point.w.ravel()) + dot(point.v.ravel(), point.xi.ravel())
        return (rows + dot(point.a, point.z)) / (2 * point.x.size + int(held.sum()))

    def step(self, point: Point, features: Array, gram: Array | None, held: Array) -> Point:
        """Return the next point: a predictor towards mu = 0 tells how small the mu of the corrector may be."""
        direction = self._directions(point, features, gram, held)
        mu = self.mu(point, held)
        first = direction(0.0, None)
        reached = self.mu(point.moved(first, _length(point, first, held, 1.0)), held)
        second = direction(mu * min(1.0, max(reached, 0.0) / mu) ** 3, first)
        return point.moved(second, _length(point, second, held, BACKED_OFF))

    def _directions(
        self, at: Point, features: Array, gram: Array | None, held: Array
    ) -> Callable[[float, Point | None], Point]:
        """Return a function that gives the Newton step towards some mu, with the second-order terms of another step."""
        missing = self.goal - self.sign * (features @ at.a + at.b) - self.h * at.level - at.xi + at.w
        ratio = np.where(held, at.z / np.where(held, at.a, 1.0), 0.0)
        d = 1.0 / (at.xi / at.v + at.w / at.x)
        solve = system(features, gram, Weights(1.0 + ratio, d, self.sign, self.h, self.problem.free))
        u = self.prices(at)
        left = features.T @ u - at.a
        total, lacking = float(u.sum()), self.problem.budget - float(at.x.sum())

        def direction(mu: float, former: Point | None) -> Point:
            to_w, to_xi, to_z = _targets(mu, former)
            w, xi = to_w / at.x - at.w, to_xi / at.v - at.xi
            pulled = np.where(held, to_z / np.where(held, at.a, 1.0), 0.0)
            q = missing - xi + w
            made: Change = solve(Right(left + pulled, q, total, lacking))
            x = d * (q - self.sign * made.f - self.h * made.level)
            return Point(
                x, -x, w - at.w / at.x * x, xi + at.xi / at.v * x, made.a, pulled - at.z - ratio * made.a,
                made.b, made.level,
            )  # fmt: skip

        return direction


def _targets(mu: float, former: Point | None) -> tuple[Array | float, Array | float, Array | float]:
    """Return what the products with w, xi and z should become, less their second-order change along a former step."""
    if former is None:
        return mu, mu, mu
    return mu - former.x * former.w, mu - former.v * former.xi, mu - former.a * former.z


def _length(point: Point, step: Point, held: Array, share: float) -> float:
    """Return how far a step may go, at most 1: one length for all, since coefficients and prices share a condition."""
    pairs = [(point.x, step.x), (point.v, step.v), (point.w, step.w), (point.xi, step.xi)]
    pairs += [(point.a[held], step.a[held]), (point.z[held], step.z[held])]
    farthest = np.inf
    for value, change in pairs:
        falling = change < 0
        farthest = min(farthest, float(np.min(-value[falling] / change[falling], initial=np.inf)))
    return min(1.0, share * farthest)
