"""Solvers for one kernel, by name, and what is fastest for a given problem."""

from __future__ import annotations

from typing import Any

from kernelweave.operators.base import Dense
from kernelweave.solvers.problems import Problem
from kernelweave.solvers.svm.chunking import Chunking
from kernelweave.solvers.svm.newton import Newton
from kernelweave.solvers.svm.smo import SMO

SVM_SOLVERS: dict[str, type] = {"smo": SMO, "chunking": Chunking, "newton": Newton}

SMO_UP_TO = 1500
"""Rows up to which pair steps over all rows beat working sets (benchmarks/svm_vs_sklearn.py --solvers)."""


def choose_svm_solver(name: str, problem: Problem, params: dict[str, Any] | None = None) -> Any:
    """Return a solver: the named one, or for "auto" Newton for smooth losses and SMO or chunking by size."""
    if name == "auto":
        if problem.loss.smooth:
            name = "newton"
        else:
            small = problem.operator.n <= SMO_UP_TO and isinstance(problem.operator, Dense)
            name = "smo" if small else "chunking"
    if name not in SVM_SOLVERS:
        raise ValueError(f"solver={name!r} is unknown; choose one of auto, {', '.join(SVM_SOLVERS)}.")
    try:
        return SVM_SOLVERS[name](**(params or {}))
    except TypeError:
        raise ValueError(f"solver_params={params!r} do not fit solver={name!r}.") from None
