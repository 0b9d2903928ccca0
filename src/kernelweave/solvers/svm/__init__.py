"""Solvers for one kernel, by name."""

from __future__ import annotations

from kernelweave.solvers.svm.active_set import ActiveSet
from kernelweave.solvers.svm.chunking import Chunking
from kernelweave.solvers.svm.dual_coordinate import DualCoordinate
from kernelweave.solvers.svm.interior import InteriorPoint
from kernelweave.solvers.svm.newton import Newton
from kernelweave.solvers.svm.quasi_newton import QuasiNewton
from kernelweave.solvers.svm.smo import SMO

SVM_SOLVERS: dict[str, type] = {
    "smo": SMO,
    "chunking": Chunking,
    "dual_coordinate": DualCoordinate,
    "interior_point": InteriorPoint,
    "newton": Newton,
    "quasi_newton": QuasiNewton,
    "active_set": ActiveSet,
}
