"""What a master problem of CG-Boost takes and gives back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from kernelweave.solvers.boost.problem import Array, BoostProblem
from kernelweave.solvers.certificate import relative_gap
from kernelweave.solvers.state import record


@record
@dataclass(frozen=True)
class Restricted:
    """A solution over the columns added so far.

    Parameters
    ----------
    coef : (columns,) one coefficient per column, in the order they were added
    intercept : b; for one_class -rho
    level : rho or e of a nu-form, else 0
    u : (n,) feasible prices, labels inside: the scores of all columns are ``K' u``
    outputs : (n,) decision values ``K a + b``
    objective : primal objective
    gap : relative gap of the restricted problem
    threshold : score beyond which a column outside wants to enter
    """

    coef: Array
    intercept: float
    level: float
    u: Array
    outputs: Array
    objective: float
    gap: float
    threshold: float


class Master(Protocol):
    """The problem restricted to some columns; it keeps its solution and starts from it when columns are added."""

    @property
    def columns(self) -> int:
        """Number of columns added so far."""

    def add(self, columns: Array) -> None:
        """Add columns (n, k) of kernel values."""

    def state(self) -> dict[str, Any]:
        """Return what the next solution starts from, without the columns."""

    def resume(self, blocks: Iterable[Array], state: dict[str, Any]) -> None:
        """Add columns as they came, block after block, and go on from a state."""

    def solve(self, tol: float) -> Restricted:
        """Return the solution over all columns added, to a relative gap (as far as rounding allows)."""


def restricted(problem: BoostProblem, features: Array, coef: Array, b: float, u: Array) -> Restricted:
    """Return a solution with its certificate, given coefficients, an intercept and feasible prices."""
    outputs = features @ coef + b
    level = problem.best_level(outputs)
    if problem.kind == "one_class":
        b, outputs = -level, outputs - level
    objective = problem.objective(coef, outputs, b)
    gap = relative_gap(objective, problem.bound(u, problem.measure(features.T @ u)), problem.smallest_scale)
    return Restricted(coef, b, level, u, outputs, objective, gap, problem.threshold(objective))
