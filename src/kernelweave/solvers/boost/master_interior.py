"""The master of the 2-norm, and of the 1-norm on many rows: columns are explicit features of an interior-point method.

    2-norm    min  1/2 sum a_j^2 + losses       max  L(u) - 1/2 sum_j score_j^2       (`problem`)
    1-norm    min  sum |a_j| + losses           max  L(u),  |score_j| <= 1

A step costs a Cholesky factorisation in as many unknowns as there are columns or rows, whichever are fewer.
Two things are kept from one solve to the next.  With the 2-norm and free signs, where columns outnumber rows, it is the
Gram matrix, which grows by ``K_new K_new'``.  With the 1-norm most coefficients are zero at the optimum: a column that
has rested at zero for some solves is set aside, so that a solve costs what the columns in use cost.  If its score
passes the threshold it comes back, once and for all, so that there is an end to it.

A solution is certified like any other: the objective of its coefficients against the bound of its prices, made
feasible, over all columns added.  Rows without cost have no price; they are left out.  A regularised intercept is a
column of ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelweave.solvers.boost.interior import InteriorPoint, Point
from kernelweave.solvers.boost.problem import Array, BoostProblem
from kernelweave.solvers.boost.restricted import Restricted, restricted

MOST_STEPS, STALLED = 100, 15
"""Steps of a solve, and steps without a smaller gap or mu after which rounding has the last word."""
ENOUGH = 0.1
"""Share of the gap asked for that mu need not go below."""
PATIENCE = 1
"""Solves in a row after which a column that rests at zero still takes part."""
STAYS = -(10**9)
"""Idleness of a column that came back."""
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
        if problem.bounded_norm:
            raise ValueError(f"{problem.kind} with the 1-norm bounds the norm, which this master cannot; use LPMaster.")
        self.problem = problem
        self.paid = np.flatnonzero(problem.cost > 0)
        self.own = int(problem.intercept == "regularized")
        self.method = InteriorPoint(replace(problem, y=problem.y[self.paid], cost=problem.cost[self.paid]))
        self.features = np.ones((problem.n, self.own), order="F")
        self.idle = np.zeros(self.own, dtype=np.int64)
        self.gram: Array | None = None
        self.in_gram = 0
        self.grown = False
        self.steps = 0

    @property
    def columns(self) -> int:
        """Number of columns added so far."""
        return self.features.shape[1] - self.own

    def add(self, columns: Array) -> None:
        """Add columns (n, k) of kernel values."""
        self.features = np.asfortranarray(np.hstack([self.features, columns]))
        self.idle = np.append(self.idle, np.zeros(columns.shape[1], dtype=np.int64))
        self.grown = True

    def solve(self, tol: float) -> Restricted:
        """Return the optimum over all columns in use, certified over all columns added.

        Where one that was set aside turns out to be missing, the gap stays above `tol`; such columns take part in the
        next solve, which is this one's repetition if none were added since the last.
        """
        again, self.grown, self.steps = not self.grown, False, 0
        while True:
            used = np.flatnonzero(self.idle <= PATIENCE)
            made, resting = self._solve_over(used, tol)
            missed = self.problem.violation(self.features.T @ made.u, made.threshold) > 0
            missed[used] = False
            if self.problem.penalty == "l1":
                self.idle[used] = np.where(resting, self.idle[used] + 1, np.minimum(self.idle[used], 0))
            self.idle[missed], self.idle[: self.own] = STAYS, STAYS
            if made.gap <= tol or not (again and missed.any()):
                return made

    def _solve_over(self, used: Array, tol: float) -> tuple[Restricted, Array]:
        """Return the optimum over some columns, certified over all, and which of them rest at zero."""
        everything = len(used) == self.features.shape[1]
        features = self.features if everything else self.features[:, used]
        features = features if len(self.paid) == self.problem.n else features[self.paid]
        held = np.full(len(used), self.problem.positive) & (used >= self.own)
        point = self._descend(features, held, self._grown_gram(features), tol)
        size = np.abs(features).max(axis=0, initial=0.0) / self.method.size
        best = self._certified(point, used, np.zeros(len(used), dtype=bool))
        for share in CLEANER:
            resting = self.method.block.resting(point.coef, held, size, share) & (used >= self.own)
            made = self._certified(point, used, resting)
            if made.gap <= max(tol, best.gap):
                best = made
                break
        return best, self.method.block.resting(point.coef, held, size, CLEANER[0])

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
        problem, coef = self.method.problem, self.method.block.value(point.coef)
        b = float(coef[0]) if self.own else point.b
        u = problem.repair(self.method.prices(point))
        return restricted(problem, features[:, self.own :], coef[self.own :], b, u)

    def _certified(self, point: Point, used: Array, zero: Array) -> Restricted:
        """Return a point as a solution over all columns, some of those in use set to exactly zero."""
        coef = np.zeros(self.features.shape[1])
        coef[used] = self.method.block.value(point.coef)
        coef[used[zero]] = 0.0
        u = np.zeros(self.problem.n)
        u[self.paid] = self.method.prices(point)
        b = float(coef[0]) if self.own else point.b
        return restricted(self.problem, self.features[:, self.own :], coef[self.own :], b, self.problem.repair(u))

    def _grown_gram(self, features: Array) -> Array | None:
        """Return the Gram matrix of all columns where steps need it and it does not change between them."""
        n, k = features.shape
        if self.problem.positive or self.problem.penalty == "l1" or k <= n:
            return None
        new = features[:, self.in_gram :]
        if self.gram is None:
            self.gram = new @ new.T
        elif new.shape[1]:
            self.gram += new @ new.T
        self.in_gram = k
        return self.gram
