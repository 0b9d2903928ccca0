"""Solvers that can learn from a stream, by name; and one look at a model from outside."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.solvers.certificate import DualPoint, PrimalPoint
from kernelweave.solvers.loop import Stop
from kernelweave.solvers.mkl.gradient.primal import PrimalSolver
from kernelweave.solvers.mkl.gradient.stream.subgradient import ObscureStream, UFOStream
from kernelweave.solvers.mkl.gradient.stream.svrg import SVRGStream
from kernelweave.solvers.mkl.gradient.subgradient.base import Subgradient
from kernelweave.solvers.mkl.gradient.subgradient.obscure import Obscure
from kernelweave.solvers.mkl.gradient.subgradient.ufo import UFO
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array, dot

STREAMS: dict[str, Any] = {"svrg": SVRGStream, "ufo": UFOStream, "obscure": ObscureStream}


def evaluate_once(solver: PrimalSolver, problem: MKLProblem, w: Array, b: float) -> tuple[PrimalPoint, DualPoint]:
    """Return a model (w (width,), b) with its objective, and the dual point that belongs to it.

    Parameters
    ----------
    solver : of the kind that made the model, which says what its problem is
    """
    if isinstance(solver, Subgradient):
        solver = UFO() if isinstance(solver, Obscure) else solver  # one problem, and UFO begins without a pass
        solver.init(problem, None, Stop())
    else:
        PrimalSolver.init(solver, problem, None, Stop())
    seen = solver.evaluate(w, b)
    value = solver.regularizer(seen.norms, seen.beta) + dot(
        problem.cost, problem.loss.value(seen.f - seen.b + b, problem.targets[0])
    )
    value += 0.5 * b * b if problem.intercept == "regularized" else 0.0
    return PrimalPoint(seen.alpha[None], np.array([b]), value, seen.beta, w[None]), seen.dual
