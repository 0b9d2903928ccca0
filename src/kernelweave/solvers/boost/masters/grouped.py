"""A master over the rows near the margin: rows on the same side of it count as their mean.

A loss of `problem` is linear on each side of its kink.  So rows with the same label that lie on the same side may be
replaced by one row, their mean by cost, with their summed cost: the loss of the mean is the mean of their losses.  For
rows on both sides it is less (Jensen).  So the problem over means is a relaxation: feasible like the problem itself,
and its prices, handed to the members of a mean in proportion to their costs, have the same scores, the same linear term
and are feasible.  The gap that is left is that of rows that are in a mean of the other side.

    repeat    solve the problem over single rows and over the means of the others       (`lp` or `interior`)
              take coefficients and prices to all rows; end where their gap is small enough
              divide each group by the sides on which its rows lie now; let twice as many rows near the kink be single

So a pivot or a step costs in proportion to the rows near the margin; all rows are met in outputs and means only.  As
groups are divided and single rows become more, bounds rise, and it ends.  The next solve begins with new groups: those
closest to the kink are single, about twice as many as prices are inside their bounds; then come pairs, groups of four,
of eight, with distance, since what is far is not likely to change sides.  (With one group for each label and side
the first bounds were useless, and thrice as many rows had to be single.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.solvers.boost.masters.interior import InteriorMaster
from kernelweave.solvers.boost.masters.lp import LPMaster
from kernelweave.solvers.boost.masters.restricted import Restricted
from kernelweave.solvers.boost.problem import Array, BoostProblem
from kernelweave.solvers.certificate import relative_gap

FEWEST, KEPT, SHRINK, GROWTH = 64, 2.0, 0.5, 2.0
"""Single rows: at least; for each price inside its bounds; as a share of those the last solve needed; and of a pass
for each one of the pass before."""
SPARE = 1.5
"""Columns for which there is memory, for each in use, where it has run out."""
INNER = 0.5
"""Share of the gap asked for that the problem over groups may leave open."""
INSIDE = 1e-3
"""Share of its cost by which a price must differ from its bounds to be inside."""


class GroupedMaster:
    """Columns, which rows are single, and the master over them and the means of the others.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> master = GroupedMaster(BoostProblem("hinge", y, 10 * np.ones(4), penalty="l1"), LPMaster)
    >>> master.add(np.array([[2.0], [3.0], [-2.0], [-1.0]]))
    >>> made = master.solve(1e-6)
    >>> made.coef.round(6), round(made.objective, 6)
    (array([0.666667]), 0.666667)
    """

    def __init__(self, problem: BoostProblem, make: Callable[[BoostProblem], LPMaster | InteriorMaster]):
        self.problem, self.make, self.columns = problem, make, 0
        self.held = np.empty((problem.n, 0), order="F")
        self.inner: LPMaster | InteriorMaster | None = None
        self.known = np.empty(0, np.int64)
        self.passes = 0
        self.side = np.ones(problem.n, np.int8)
        self._number(np.zeros(problem.n, bool), np.zeros(problem.n) if problem.regression else problem.y)

    @property
    def features(self) -> Array:
        """The columns added so far, (n, columns)."""
        return self.held[:, : self.columns]

    def add(self, columns: Array) -> None:
        """Add columns (n, k) of kernel values."""
        first, self.columns = self.columns, self.columns + columns.shape[1]
        if self.columns > self.held.shape[1]:
            grown = np.empty((self.problem.n, max(self.columns, int(SPARE * first))), order="F")
            grown[:, :first] = self.held[:, :first]
            self.held = grown
        self.held[:, first : self.columns] = columns

    def state(self) -> dict[str, Any]:
        """Return the groups, and the side on which each row lies."""
        return {"group": self.group, "singles": self.singles, "side": self.side}

    def resume(self, blocks: Iterable[Array], state: dict[str, Any]) -> None:
        """Add columns as they came, and go on from the same groups."""
        for columns in blocks:
            self.add(columns)
        self.side, group = state["side"], state["group"]
        self._number(group < state["singles"], group)

    def solve(self, tol: float) -> Restricted:
        """Return the optimum over all columns added, to a relative gap (as far as rounding allows)."""
        self.passes = 0
        while True:
            self.passes += 1
            found = self._over_groups(tol)
            done = found.gap <= tol or len(self.cost) == self.problem.n
            self._regroup(found, coarser=done)
            if done:
                return found

    def _regroup(self, found: Restricted, coarser: bool) -> None:
        """Divide groups into those on one side and those on the other; rows closest to the kink become single.

        `coarser`: begin anew, with groups that are the larger, the farther their rows are from the kink.
        """
        problem, size = self.problem, np.abs(found.u)
        self.side, distance = problem.sides(found.outputs, found.level)
        single = self.group < self.singles
        if coarser:  # no more than `columns` prices are inside at an optimum, and those rows lie on the kink
            inside = single & (size > INSIDE * problem.cost) & (size < (1.0 - INSIDE) * problem.cost)
            most = max(FEWEST, int(KEPT * min(inside.sum(), self.columns)), int(SHRINK * self.singles))
            single = np.zeros(problem.n, bool)
        else:
            most = int(GROWTH * max(self.singles, FEWEST))
            distance[single] = -1.0
        order = np.argsort(distance, kind="stable")
        single[order[:most]] = True
        key = self.group
        if coarser:
            key = np.empty(problem.n, np.int64)
            key[order[most:]] = _layers(max(0, problem.n - most), most)
        label = 0 if problem.regression else problem.y > 0
        self._number(single, 6 * key + 3 * label + self.side + 1)

    def _number(self, single: Array, key: Array) -> None:
        """Number the groups: single rows first, in order, then rows with a common key."""
        others = ~single
        self.singles = int(single.sum())
        self.group = np.empty(self.problem.n, np.int64)
        self.group[single] = np.arange(self.singles)
        keys, place = np.unique(key[others], return_inverse=True)
        self.group[others] = self.singles + place
        self.cost = np.bincount(self.group, self.problem.cost, self.singles + len(keys))

    def _over_groups(self, tol: float) -> Restricted:
        """Solve over the groups; return the solution taken to all rows."""
        problem = self.problem
        share = problem.cost / np.maximum(self.cost[self.group], np.finfo(float).tiny)
        made = self._carried(share).solve(INNER * tol)
        u, used = made.u[self.group] * share, np.flatnonzero(made.coef)
        b = 0.0 if problem.kind == "one_class" else made.intercept
        outputs = self.features[:, used] @ made.coef[used] + b
        level = problem.best_level(outputs)
        if problem.kind == "one_class":
            b, outputs = -level, outputs - level
        objective = problem.objective(made.coef, outputs, b)
        bound = problem.bound(u, problem.measure(self.means.T @ made.u))
        gap = relative_gap(objective, bound, problem.smallest_scale)
        return Restricted(made.coef, b, level, u, outputs, objective, gap, problem.threshold(objective))

    def _carried(self, share: Array) -> LPMaster | InteriorMaster:
        """Return the master over the groups; it goes on from where the last one ended."""
        problem, groups = self.problem, len(self.cost)
        features = self.means = np.zeros((groups, self.columns), order="F")
        add_means(self.features, self.group, share, features)
        first = np.empty(groups, np.int64)
        first[self.group[::-1]] = np.arange(problem.n)[::-1]
        y = np.bincount(self.group, share * problem.y, groups) if problem.regression else problem.y[first]
        fewer = replace(problem, y=y, cost=self.cost)
        if self.inner is None:
            self.inner = self.make(fewer)
            self.inner.add(features)
        else:
            origin = np.full(groups, -1)  # of the parts of a divided group one goes on from where the whole was
            former, heir = np.unique(self.known[first], return_index=True)
            origin[heir] = former
            self.inner = self.inner.regrouped(fewer, features, origin, self.side[first])
        self.known = self.group
        return self.inner


def _layers(count: int, first: int) -> Array:
    """Return the groups of rows that come by distance: `first` rows in pairs, twice as many in fours, and so on.

    >>> _layers(9, 2).tolist()
    [0, 0, 1, 1, 1, 1, 2, 2, 2]
    """
    rank = np.arange(count)
    layer = np.floor(np.log2(1.0 + rank / first)).astype(np.int64)
    within = (rank - first * ((1 << layer) - 1)) >> (layer + 1)
    return np.unique(layer * count + within, return_inverse=True)[1]


@jit
def add_means(values: Array, group: Array, share: Array, out: Array) -> None:
    """Add each row, times its share, to the row of its group."""
    for j in range(values.shape[1]):
        for i in range(values.shape[0]):
            out[group[i], j] += share[i] * values[i, j]
