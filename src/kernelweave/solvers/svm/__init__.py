"""Solvers for one kernel, by name, and what is fastest for a given problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.operators.base import Dense, Linadd, Operator, PrimalOperator
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm.chunking import Chunking
from kernelweave.solvers.svm.dual_coordinate import DualCoordinate
from kernelweave.solvers.svm.newton import Newton
from kernelweave.solvers.svm.smo import SMO

SAMPLE = 256
"""Rows on which a kernel is looked at."""
DIRECTIONS, FEW = 0.65, 0.03
"""Directions for each row of the sample from which on coordinate descent is the faster: where working sets go through
tables of k-mers, and where they go through sparse features, which makes them several times dearer."""

SVM_SOLVERS: dict[str, type] = {"smo": SMO, "chunking": Chunking, "dual_coordinate": DualCoordinate, "newton": Newton}


def choose_svm_solver(name: str, problem: Problem, params: dict[str, Any] | None = None) -> Any:
    """Return a solver: the named one, or for "auto" what is fastest.

    Coordinate descent where rows have explicit features and are far from each other; elsewhere Newton for smooth
    losses, SMO where the Gram matrix is in memory, since it takes less CPU time there than working sets of any size
    from 5,000 rows on (benchmarks/svm_vs_sklearn.py --solvers), and chunking for what is left.
    """
    if name == "auto":
        name = _fastest(problem)
    if name not in SVM_SOLVERS:
        raise ValueError(f"solver={name!r} is unknown; choose one of auto, {', '.join(SVM_SOLVERS)}.")
    try:
        return SVM_SOLVERS[name](**(params or {}))
    except TypeError:
        raise ValueError(f"solver_params={params!r} do not fit solver={name!r}.") from None


def _fastest(problem: Problem) -> str:
    if isinstance(problem.operator, PrimalOperator) and spread_out(problem.operator):
        return "dual_coordinate"
    if problem.loss.smooth:
        return "newton"
    return "smo" if isinstance(problem.operator, Dense) else "chunking"


def spread_out(operator: Operator) -> bool:
    """Tell whether rows lie in nearly as many directions as there are rows, so that single steps disturb few others.

    The number of directions of a sample is ``tr(K)^2 / |K|^2`` of its centred Gram matrix.  Where it is low (short
    k-mers), coordinate descent needs hundreds of passes and greedy working sets do better.
    """
    rows = np.unique(np.linspace(0, operator.n - 1, min(operator.n, SAMPLE)).astype(np.int64))
    K = np.asarray(operator.submatrix(rows), dtype=np.float64)
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    size = float(np.square(K).sum())
    least = DIRECTIONS if isinstance(operator, Linadd) else FEW
    return size == 0.0 or float(np.trace(K)) ** 2 >= least * len(rows) * size
