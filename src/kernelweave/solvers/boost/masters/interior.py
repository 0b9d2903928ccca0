"""The 2-norm master: columns are explicit features of an interior-point method (`interior`).

    min  1/2 sum a_j^2 + losses       max  L(u) - 1/2 sum_j score_j^2       (`problem`)

A step costs a Cholesky factorisation in as many unknowns as there are columns or rows, whichever are fewer.  With free
signs and more columns than rows it needs the Gram matrix of the columns, which is kept from one solve to the next and
grows by ``K_new K_new'``.

A solution is certified like any other: the objective of its coefficients against the bound of its prices, made
feasible.  Rows without cost have no price; they are left out.  A regularised intercept is a column of ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from kernelweave.solvers.boost.masters.restricted import Restricted, restricted
from kernelweave.solvers.boost.masters.steps import InteriorPoint, Point
from kernelweave.solvers.boost.problem import Array, BoostProblem

MOST_STEPS, STALLED = 100, 15
"""Steps of a solve, and steps without a smaller gap or mu after which rounding has the last word."""
ENOUGH = 0.1
"""Share of the gap asked for that mu need not go below."""
CLEANER = (1.0, 1e-2, 1e-4)
"""Shares of their multipliers below which coefficients are set to zero, as far as the gap allows."""


class InteriorMaster:
    """Columns and the solution over them.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> master = InteriorMaster(BoostProblem("hinge", y, 10 * np.ones(4), penalty="l2"))
    >>> master.add(np.array([[2.0], [3.0], [-2.0], [-1.0]]))
    >>> made = master.solve(1e-9)
    >>> made.coef.round(6), round(made.objective, 6)
    (array([0.666667]), 0.222222)
    """

    def __init__(self, problem: BoostProblem):
        if problem.penalty != "l2":
            raise ValueError("This master solves problems with the 2-norm; use LPMaster for the 1-norm.")
        self.problem = problem
        self.paid = np.flatnonzero(problem.cost > 0)
        self.own = int(problem.intercept == "regularized")
        self.method = InteriorPoint(replace(problem, y=problem.y[self.paid], cost=problem.cost[self.paid]))
        self.features = np.ones((problem.n, self.own), order="F")
        self.gram: Array | None = None
        self.in_gram = 0
        self.steps = 0

    @property
    def columns(self) -> int:
        """Number of columns added so far."""
        return self.features.shape[1] - self.own

    def add(self, columns: Array) -> None:
        """Add columns (n, k) of kernel values."""
        self.features = np.asfortranarray(np.hstack([self.features, columns]))

    def state(self) -> dict[str, Any]:
        """Return nothing: every solution starts from the middle."""
        return {}

    def resume(self, blocks: Iterable[Array], state: dict[str, Any]) -> None:
        """Add columns as they came; their Gram matrix grows as it did."""
        for columns in blocks:
            self.add(columns)
            self._grown_gram(self.features if len(self.paid) == self.problem.n else self.features[self.paid])

    def regrouped(self, problem: BoostProblem, features: Array, origin: Array, side: Array) -> InteriorMaster:
        """Return the master over other rows; every solution starts from the middle."""
        made = InteriorMaster(problem)
        made.add(features)
        return made

    def solve(self, tol: float) -> Restricted:
        """Return the optimum over all columns added; coefficients that rest at their bound are exactly zero."""
        self.steps = 0
        features = self.features if len(self.paid) == self.problem.n else self.features[self.paid]
        held = np.full(features.shape[1], self.problem.positive)
        held[: self.own] = False
        point = self._descend(features, held, self._grown_gram(features), tol)
        best = self._certified(point, np.zeros(len(held), dtype=bool))
        for share in CLEANER if held.any() else ():
            made = self._certified(point, held & (point.a < share * point.z))
            if made.gap <= max(tol, best.gap):
                return made
        return best

    def _descend(self, features: Array, held: Array, gram: Array | None, tol: float) -> Point:
        """Return the point of the smallest gap over some columns."""
        best = point = self.method.start(features, held)
        found = self._judged(point, features)
        gap, smallest, idle = found.gap, np.inf, 0
        for _ in range(MOST_STEPS):
            least = ENOUGH * tol * abs(found.objective) / self.method.count(point, held)
            point = self.method.step(point, features, gram, held, least)
            self.steps += 1
            mu, found = self.method.mu(point, held), self._judged(point, features)
            idle = 0 if mu < smallest or found.gap < gap else idle + 1
            smallest = min(mu, smallest)
            if found.gap < gap:
                best, gap = point, found.gap
            if gap <= tol or idle == STALLED or not np.isfinite(mu):
                break
        return best

    def _judged(self, point: Point, features: Array) -> Restricted:
        """Return a point as a solution of the problem on the rows that cost something."""
        problem = self.method.problem
        b = float(point.a[0]) if self.own else point.b
        u = problem.repair(self.method.prices(point))
        return restricted(problem, features[:, self.own :], point.a[self.own :], b, u)

    def _certified(self, point: Point, zero: Array) -> Restricted:
        """Return a point as a solution, some coefficients set to exactly zero."""
        coef, u = np.where(zero, 0.0, point.a), np.zeros(self.problem.n)
        u[self.paid] = self.method.prices(point)
        b = float(coef[0]) if self.own else point.b
        return restricted(self.problem, self.features[:, self.own :], coef[self.own :], b, self.problem.repair(u))

    def _grown_gram(self, features: Array) -> Array | None:
        """Return the Gram matrix of all columns where steps need it and it does not change between them."""
        n, k = features.shape
        if self.problem.positive or k <= n:
            return None
        new = features[:, self.in_gram :]
        if self.gram is None:
            self.gram = new @ new.T
        elif new.shape[1]:
            self.gram += new @ new.T
        self.in_gram = k
        return self.gram
