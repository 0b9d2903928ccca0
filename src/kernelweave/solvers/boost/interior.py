"""A primal-dual interior-point method for the restricted problems of CG-Boost: all kinds, signs and intercepts in one.

With prices x_r in (0, c_r), signs s_r, goals g_r, and a level l (rho or e) that enters every margin with the factor h
(-1 for rho, +1 for e) and the objective with ``h E l``, solved are the optimality conditions

    s_r f_i + h l + xi_r - w_r = g_r          x_r w_r = mu,    (c_r - x_r) xi_r = mu
    sum u = 0 (free intercept),    sum x = E (level),    u_i = sum of s_r x_r over the one or two r of row i

together with those of the coefficients (`blocks`), for mu -> 0 by Newton steps with Mehrotra's predictor and corrector.
Eliminating all but coefficients, intercept and level (or, where columns outnumber rows, all but the prices) leaves one
symmetric positive definite matrix per step (`systems`), with ``1 / d_r = xi_r / (c_r - x_r) + w_r / x_r``.

A solve takes 10 to 40 steps however ill-conditioned the columns are (those of polynomial kernels make coordinate
methods crawl), and a step costs in proportion to the number of rows.  Problems whose norm is bounded are not for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelweave.solvers.boost.blocks import Block, Split, Squares, mean_parts, products
from kernelweave.solvers.boost.problem import Array, BoostProblem
from kernelweave.solvers.boost.systems import Right, Weights, system
from kernelweave.solvers.problems import dot

BACKED_OFF = 0.995
"""Share of the way to the nearest bound that a step goes at most."""
MIDDLE, SMALLEST_SHARE = 0.5, 0.01
"""Largest share of its cost at which a price starts, and the smallest part of that."""


@dataclass
class Point:
    """An iterate inside all bounds, or a step: x, v = c - x, w, xi (copies, n); coef (variables, k); b; level."""

    x: Array
    v: Array
    w: Array
    xi: Array
    coef: Array
    b: float
    level: float

    def moved(self, step: Point, primal: float, dual: float) -> Point:
        """Return the point that lies so far along a step."""
        half = len(self.coef) // 2
        lengths = np.repeat([primal, dual], half)[:, None]
        return Point(
            self.x + dual * step.x, self.v + dual * step.v, self.w + primal * step.w, self.xi + primal * step.xi,
            self.coef + lengths * step.coef, self.b + primal * step.b, self.level + primal * step.level,
        )  # fmt: skip


class InteriorPoint:
    """The conditions of one problem; columns are handed to each step.

    Parameters
    ----------
    problem : a problem all of whose rows cost something
    """

    def __init__(self, problem: BoostProblem):
        self.problem, box = problem, problem.box()
        self.block: Block = Squares() if problem.penalty == "l2" else Split()
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
        `held` tells which coefficients must not be negative.
        """
        problem = self.problem
        x = min(problem.budget / float(self.c.sum()) if problem.has_level else MIDDLE, MIDDLE) * self.c
        score = features.T @ (self.sign * x).sum(axis=0)
        measure = problem.measure(score)
        size = max(measure, 1.0) / problem.budget if problem.homogeneous else self.size
        if problem.kind == "hinge" and measure > 0:
            most = dot(self.goal.ravel(), x.ravel()) if problem.penalty == "l2" else 1.0
            share = min(1.0, max(most / measure, SMALLEST_SHARE))
            x, score = share * x, share * score
        v, mu = self.c - x, size * float(x.mean())
        return Point(x, v, mu / x, np.maximum(mu / v, size), self.block.start(score, held, mu), 0.0, 0.0)

    def mu(self, point: Point, held: Array) -> float:
        """Return the mean of all products."""
        rows = dot(point.x.ravel(), point.w.ravel()) + dot(point.v.ravel(), point.xi.ravel())
        total, count = mean_parts(point.coef, self.block.bounded(point.coef, held))
        return (rows + total) / (2 * point.x.size + count)

    def count(self, point: Point, held: Array) -> int:
        """Return the number of products; at the optimum for some mu, the gap is mu times it."""
        return 2 * point.x.size + mean_parts(point.coef, self.block.bounded(point.coef, held))[1]

    def step(self, point: Point, features: Array, gram: Array | None, held: Array, least: float = 0.0) -> Point:
        """Return the next point: a predictor towards mu = 0 tells how small the mu of the corrector may be.

        It need not be less than `least`: a mu smaller than the gap asked for costs digits and gains nothing.
        """
        direction = self._directions(point, features, gram, held)
        mu = self.mu(point, held)
        first = direction(0.0, None)
        reached = self.mu(point.moved(first, *self._lengths(point, first, held, 1.0)), held)
        second = direction(max(mu * min(1.0, max(reached, 0.0) / mu) ** 3, min(least, mu)), first)
        return point.moved(second, *self._lengths(point, second, held, BACKED_OFF))

    def _directions(
        self, at: Point, features: Array, gram: Array | None, held: Array
    ) -> Callable[[float, Point | None], Point]:
        """Return a function that gives the Newton step towards some mu, with the second-order terms of another step."""
        block, h = self.block, self.h
        missing = self.goal - self.sign * (features @ block.value(at.coef) + at.b) - h * at.level - at.xi + at.w
        u = self.prices(at)
        score, d = features.T @ u, 1.0 / (at.xi / at.v + at.w / at.x)
        total, lacking = float(u.sum()), self.problem.budget - float(at.x.sum())
        zero = np.zeros((len(at.coef) // 2, len(score)))
        H = block.linear(at.coef, held, score, zero)[0]
        solve = system(features, gram, Weights(H, d, self.sign, h, self.problem.free))

        def direction(mu: float, former: Point | None) -> Point:
            to_w, to_xi, goals = (mu, mu, zero + mu) if former is None else _corrected(mu, former)
            w, xi = to_w / at.x - at.w, to_xi / at.v - at.xi
            r, q = block.linear(at.coef, held, score, goals)[1], missing - xi + w
            made = solve(Right(r, q, total, lacking))
            x = d * (q - self.sign * made.f - h * made.level)
            coef = block.step(at.coef, held, score, goals, made.a, H * made.a - r)
            return Point(x, -x, w - at.w / at.x * x, xi + at.xi / at.v * x, coef, made.b, made.level)

        return direction

    def _lengths(self, point: Point, step: Point, held: Array, share: float) -> tuple[float, float]:
        """Return how far the primal and the dual variables may go, at most 1."""
        bounded = self.block.bounded(point.coef, held)
        half = len(bounded) // 2
        reach = np.where(bounded & (step.coef < 0), -point.coef / np.where(step.coef < 0, step.coef, -1.0), np.inf)
        primal = min(_reach(point.w, step.w), _reach(point.xi, step.xi), float(np.min(reach[:half], initial=np.inf)))
        dual = min(_reach(point.x, step.x), _reach(point.v, step.v), float(np.min(reach[half:], initial=np.inf)))
        if self.block.coupled:
            primal = dual = min(primal, dual)
        return min(1.0, share * primal), min(1.0, share * dual)


def _corrected(mu: float, former: Point) -> tuple[Array, Array, Array]:
    """Return what the products with w, xi and of the coefficients should become, less their change of second order."""
    return mu - former.x * former.w, mu - former.v * former.xi, mu - products(former.coef)


def _reach(value: Array, change: Array) -> float:
    """Return how often a change fits into values that must stay positive."""
    falling = change < 0
    return float(np.min(-value[falling] / change[falling], initial=np.inf))
