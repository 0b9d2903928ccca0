"""The 1-norm master: a growing linear programme in HiGHS, in the space of prices.

With prices x_r >= 0, signs s_r (u_i = sum of s_r x_r over the one or two r of row i) and linear terms p_r, solved is
the dual of `problem` over the columns added so far,

    max   sum_r p_r x_r
    over  0 <= x_r <= c_r,    -1 <= sum_i u_i K_ij <= 1 for each column j,
          sum u = 0 (free intercept) or -1 <= sum u <= 1 (regularised),    sum x <= E (nu-forms)

(`positive` leaves out the lower limit; where the norm is bounded, 1 becomes a variable t >= 0 with cost 1 and E an
equation).  The multiplier of a column's row is its coefficient a_j, that of the intercept's row is b.

A generated column is a row here.  It cuts the last prices off and leaves the basis dual feasible, so the dual simplex
method goes on from it: the same steps as adding a column to the primal programme and going on with the primal simplex
method, but on a basis of as many rows as there are columns generated, not of one or two rows for each example.  It took
a third to a half of the time (1,000 rows of covertype, three kernels).

Prices are measured in units of the mean cost (or of 1, if that is less) and targets in units of the largest, so that
the tolerances of HiGHS, which are absolute, mean the same for every problem.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kernelweave.solvers.boost.masters.restricted import Restricted, restricted
from kernelweave.solvers.boost.problem import Array, BoostProblem
from kernelweave.solvers.lp.highs import AT_LOWER, AT_UPPER, BASIC, INFINITY, basis_of, quiet_model, set_basis, solve

TOLERANCE = 1e-9
"""How far HiGHS may miss a constraint, in units of costs and targets."""
LARGEST_UNIT = 1.0
"""Prices of expensive rows are measured in units of no more: their scores must stay below 1, so that they are small."""
LARGEST = 1e15
"""HiGHS takes no larger numbers."""


class LPMaster:
    """Columns and the linear programme over their prices.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, 1.0, -1.0, -1.0])
    >>> master = LPMaster(BoostProblem("hinge", y, 10 * np.ones(4), penalty="l1"))
    >>> master.add(np.array([[2.0], [3.0], [-2.0], [-1.0]]))
    >>> made = master.solve(1e-6)
    >>> made.coef.round(6), round(made.objective, 6)
    (array([0.666667]), 0.666667)
    """

    def __init__(self, problem: BoostProblem):
        self.problem, self.box = problem, problem.box()
        self.features = np.empty((problem.n, 0), order="F")
        self.unit = min(max(float(np.median(problem.cost)), np.finfo(float).tiny), LARGEST_UNIT)
        self.sign = np.where(self.box.high > 0, 1.0, -1.0) if problem.regression else problem.y[None]
        goals = self.sign * self.box.p
        self.goal_unit = max(float(np.abs(goals).max()), np.finfo(float).tiny) if not problem.homogeneous else 1.0
        self.lp, self.size = quiet_model(), self.sign.size
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self.lp.setOptionValue(option, TOLERANCE)
        self.lp.setOptionValue("simplex_strategy", 1)  # the dual simplex method
        self.lp.addVars(self.size, np.zeros(self.size), np.tile(problem.cost / self.unit, len(self.sign)))
        self.lp.changeColsCost(self.size, np.arange(self.size, dtype=np.int32), -(goals / self.goal_unit).ravel())
        self._start_rows()

    def _start_rows(self) -> None:
        """Add what does not depend on columns: the size of all scores, the budget, the intercept."""
        problem = self.problem
        if problem.bounded_norm:
            self.lp.addVar(0.0, INFINITY)
            self.lp.changeColCost(self.size, 1.0)
        if problem.has_level:
            total = problem.budget / self.unit
            self._add_rows(np.ones((1, self.size)), total if problem.homogeneous else -INFINITY, total)
        self.intercept_row = self.lp.getNumRow()
        if problem.free:
            self._add_rows(self.sign.reshape(1, -1), 0.0, 0.0)
        elif problem.intercept == "regularized":
            self._add_scores(np.ones((problem.n, 1)), positive=False)
        self.first_row = self.lp.getNumRow()

    @property
    def columns(self) -> int:
        """Number of columns added so far."""
        return self.features.shape[1]

    def add(self, columns: Array) -> None:
        """Add columns (n, k) of kernel values."""
        self.features = np.asfortranarray(np.hstack([self.features, columns]))
        self._add_scores(columns, self.problem.positive)

    def state(self) -> dict[str, Any]:
        """Return the basis."""
        return {"basis": basis_of(self.lp)}

    def resume(self, blocks: Iterable[Array], state: dict[str, Any]) -> None:
        """Add columns as they came, and go on from a basis."""
        for columns in blocks:
            self.add(columns)
        set_basis(self.lp, state["basis"])

    def regrouped(self, problem: BoostProblem, features: Array, origin: Array, side: Array) -> LPMaster:
        """Return the master over other rows, of which row r was row ``origin[r]`` here, or is new (-1).

        It goes on from the basis: prices of new rows are at the bound of their side (`BoostProblem.sides`).
        """
        made = LPMaster(problem)
        made.add(features)
        basis = basis_of(self.lp)
        if not basis["columns"]:
            return made
        upper = np.stack([side > 0, side < 0])[: len(made.sign)]
        status = np.where(upper, AT_UPPER, AT_LOWER)
        kept = origin >= 0
        former = np.array(basis["columns"])[: self.size].reshape(self.sign.shape)
        status[:, kept] = former[:, origin[kept]]
        more = [BASIC] * (made.columns - self.columns) * (2 if problem.bounded_norm and not problem.positive else 1)
        rows = basis["rows"] + more
        set_basis(made.lp, {"columns": [*status.ravel().tolist(), *basis["columns"][self.size :]], "rows": rows})
        return made

    def _add_scores(self, columns: Array, positive: bool) -> None:
        """Limit the scores of some columns."""
        rows = (columns.T[:, None, :] * self.sign).reshape(columns.shape[1], self.size)
        if not self.problem.bounded_norm:
            limit = 1.0 / self.unit
            self._add_rows(rows, -INFINITY if positive else -limit, limit)
            return
        both = [rows] if positive else [rows, -rows]
        stacked = np.stack(both, axis=1).reshape(-1, self.size)
        self._add_rows(np.hstack([stacked, -np.ones((len(stacked), 1))]), -INFINITY, 0.0)

    def _add_rows(self, rows: Array, low: float, high: float) -> None:
        m, width = rows.shape
        largest = float(np.abs(rows).max(initial=0.0))
        if not largest < LARGEST:
            raise ValueError(
                f"Kernel values reach {largest:.2g}, more than a linear programme can hold; set normalize='trace' or "
                "rescale the features."
            )
        self.lp.addRows(
            m, np.full(m, low), np.full(m, high), rows.size, np.arange(0, rows.size, width, dtype=np.int32),
            np.tile(np.arange(width, dtype=np.int32), m), np.ascontiguousarray(rows).ravel(),
        )  # fmt: skip

    def solve(self, tol: float) -> Restricted:
        """Return the optimum over all columns added; HiGHS is exact to rounding, whatever the tolerance."""
        solution = solve(self.lp)
        x = self.unit * np.array(solution.col_value[: self.size]).reshape(self.sign.shape)
        u = self.problem.repair((self.sign * x).sum(axis=0))
        duals = -self.goal_unit * np.array(solution.row_dual)
        coef = self._coefficients(duals[self.first_row :], self.problem.positive)
        b = 0.0
        if self.problem.free:
            b = float(duals[self.intercept_row])
        elif self.problem.intercept == "regularized":
            b = float(self._coefficients(duals[self.intercept_row : self.first_row], False)[0])
        return restricted(self.problem, self.features, coef, b, u)

    def _coefficients(self, duals: Array, positive: bool) -> Array:
        """Return one coefficient per column from the multipliers of its one or two rows."""
        if not self.problem.bounded_norm or positive:
            return np.maximum(duals, 0.0) if positive else duals
        return duals[0::2] - duals[1::2]
