"""The master of a problem."""

from __future__ import annotations

from kernelweave.solvers.boost.master_interior import InteriorMaster
from kernelweave.solvers.boost.master_lp import LPMaster
from kernelweave.solvers.boost.problem import BoostProblem
from kernelweave.solvers.boost.restricted import Master

SIMPLEX_UP_TO = 400
"""Rows up to which the simplex method is the faster for the 1-norm."""


def make_master(problem: BoostProblem) -> Master:
    """Return a master without columns: what is fastest for the problem.

    Examples
    --------
    >>> import numpy as np
    >>> problem = BoostProblem("epsilon_insensitive", np.array([0.0, 1.0, 2.0]), np.ones(3), "l2", epsilon=0.0)
    >>> master = make_master(problem)
    >>> master.add(np.array([[0.0], [1.0], [2.0]]))
    >>> round(master.solve(1e-8).objective, 6)
    0.5
    """
    simplex = problem.penalty == "l1" and (problem.bounded_norm or problem.n <= SIMPLEX_UP_TO)
    return LPMaster(problem) if simplex else InteriorMaster(problem)
