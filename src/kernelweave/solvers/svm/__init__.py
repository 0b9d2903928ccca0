"""Solvers for one kernel, by name, and what is fastest for a given problem."""

from __future__ import annotations

from typing import Any

from kernelweave.operators.base import Dense
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm.chunking import Chunking
from kernelweave.solvers.svm.newton import Newton
from kernelweave.solvers.svm.smo import SMO

SVM_SOLVERS: dict[str, type] = {"smo": SMO, "chunking": Chunking, "newton": Newton}


def choose_svm_solver(name: str, problem: Problem, params: dict[str, Any] | None = None) -> Any:
    """Return a solver: the named one, or for "auto" what is fastest.

    Newton for smooth losses; else SMO where the Gram matrix is in memory, since it takes less CPU time there than
    working sets of any size from 5,000 rows on (benchmarks/svm_vs_sklearn.py --solvers); chunking where it is not.
    """
    if name == "auto":
        if problem.loss.smooth:
            name = "newton"
        else:
            name = "smo" if isinstance(problem.operator, Dense) else "chunking"
    if name not in SVM_SOLVERS:
        raise ValueError(f"solver={name!r} is unknown; choose one of auto, {', '.join(SVM_SOLVERS)}.")
    try:
        return SVM_SOLVERS[name](**(params or {}))
    except TypeError:
        raise ValueError(f"solver_params={params!r} do not fit solver={name!r}.") from None
