"""A start from fewer rows: weights hardly depend on the number of rows, so few steps are left for all of them.

Where kernels can be bound to fewer rows cheaply (`Restrictable`), the problem of every fifth row is solved first, less
closely, and that from a fifth of those.  Rows are counted in the order of their targets, so that every class, or every
part of the range of a regression, has its share whatever the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kernelweave.operators.base import Restrictable
from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.loop import Stop, run_inside
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array

NESTED, FEWER, COARSER = 4000, 5, 5.0
"""Rows from which on a search starts from every fifth row, solved less closely by this factor."""


def nested(make: Callable[[], Any], problem: MKLProblem, stop: Stop) -> PrimalPoint | None:
    """Return the solution of some of the rows as a point of the whole problem; None where rows are few.

    Parameters
    ----------
    make : returns a solver for the problem of these rows
    """
    operators = problem.operators
    if operators.n <= NESTED or not isinstance(operators, Restrictable):
        return None
    rows = every(problem.targets, FEWER)
    part = replace(
        problem, operators=operators.restricted(rows), targets=problem.targets[:, rows], cost=problem.cost[rows]
    )
    found = run_inside(make(), part, Stop(COARSER * stop.tol, stop.max_iter, polish=False)).primal
    alpha = np.zeros(problem.targets.shape)
    alpha[:, rows] = found.alpha
    return replace(found, alpha=alpha)


def every(targets: Array, fewer: int) -> Array:
    """Return every so many rows in the order of their targets (outputs, n), by number.

    Examples
    --------
    >>> every(np.array([[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]]), 2)
    array([1, 2, 5])
    """
    return np.sort(np.lexsort(targets)[::fewer])
