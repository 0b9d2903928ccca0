"""Tasks of any size without rows, and the choice among candidates written out: the first that suits and fits."""

from kernelweave.engines import Serial
from kernelweave.kernels import RBF
from kernelweave.operators.planner.choose import CANDIDATES
from kernelweave.operators.planner.plan import Plan
from kernelweave.operators.planner.task import Task


class Sizes(Task):
    """So many rows and kernels, in so many groups with a common base; there is nothing to build."""

    def __init__(self, n, m=1, groups=1, limit="auto", tol=1e-3, need="any"):
        super().__init__([RBF(gamma=1.0)] * m, None, Serial(), limit, tol, need)
        self.__dict__.update(n=n, prepared_bytes=0.0, value_cost=5.0)
        self._groups = groups

    @property
    def groups(self):
        return self._groups


def first_fitting(task, without=("rank_one",)):
    """Return the candidate that comes first, and its plan, without building it."""
    for candidate in CANDIDATES:
        suits = task.need in candidate.needs and candidate.kind not in without and candidate.fits(task) is None
        if suits and candidate.bytes(task) <= candidate.allowed(task):
            return candidate, Plan(candidate.kind, int(candidate.bytes(task)), candidate.why(task))
    return None
