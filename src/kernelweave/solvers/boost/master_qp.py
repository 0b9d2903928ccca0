"""The 2-norm master: columns are explicit features, their problem is solved by an interior-point method.

    min  1/2 sum a_j^2 + losses         max  L(u) - 1/2 sum_j score_j^2        (`problem`; `positive` cuts scores at 0)

The cost of a step is that of a Cholesky factorisation in as many unknowns as there are columns or rows, whichever are
fewer (`interior`).  Where columns outnumber rows and signs are free, the Gram matrix of the columns is kept and grows
by ``K_new K_new'``.  A solution is certified like any other: the objective of its coefficients against the bound of
its prices, made feasible, over all columns added.

Rows without cost have no price; they are left out.  A regularised intercept is a column of ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelweave.solvers.boost.interior import InteriorPoint, Point
from kernelweave.solvers.boost.problem import Array, BoostProblem
from kernelweave.solvers.boost.restricted import Restricted, restricted

MOST_STEPS = 100
STALLED = 15
"""Steps without a smaller gap or mu after which rounding has the last word."""


class QPMaster:
    """Columns and the solution over them.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> master = QPMaster(BoostProblem("hinge", y, 10 * np.ones(4), penalty="l2"))
    >>> master.add(np.array([[2.0], [3.0], [-2.0], [-1.0]]))
    >>> made = master.solve(1e-9)
    >>> made.coef.round(6), round(made.objective, 6)
    (array([0.666667]), 0.222222)
    """

    def __init__(self, problem: BoostProblem):
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

    def solve(self, tol: float) -> Restricted:
        """Return the optimum over all columns added, to a relative gap or as far as rounding allows."""
        features = self.features if len(self.paid) == self.problem.n else self.features[self.paid]
        held = np.full(features.shape[1], self.problem.positive)
        held[: self.own] = False
        gram = self._grown_gram(features)
        point = self.method.start(features, held)
        best, smallest, idle = self._certified(point), np.inf, 0
        for self.steps in range(1, MOST_STEPS + 1):
            point = self.method.step(point, features, gram, held)
            mu = self.method.mu(point, held)
            made = self._certified(point)
            idle = 0 if mu < smallest or made.gap < best.gap else idle + 1
            best, smallest = made if made.gap < best.gap else best, min(mu, smallest)
            if best.gap <= tol or idle == STALLED or not np.isfinite(mu):
                break
        return best

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

    def _certified(self, point: Point) -> Restricted:
        u = np.zeros(self.problem.n)
        u[self.paid] = self.method.prices(point)
        b = float(point.a[0]) if self.own else point.b
        return restricted(self.problem, self.features[:, self.own :], point.a[self.own :], b, self.problem.repair(u))
