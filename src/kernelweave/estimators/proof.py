"""What a certificate says of the kernels that were asked for, computed once more in double precision.

A solver may work on kernel values or features in single precision, or on a factorisation ``L L' <= K`` of a kernel
that has no features.  Its points are good, its two objectives are those of a problem that is a little off: with a
large C by more than the gap.  So both are computed afresh at the points that the solver found:

    primal   1/2 sum_k |w_k|^2 / beta_k + sum_i c_i loss(f_i, y_i)       from w, or from alpha through the kernels
    dual     d(alpha) - 1/2 |q|_{p*},   q_k = alpha' K_k alpha           with the kernels that were asked for

A factorisation on landmarks of the kernel's own makes the same classifier cost the same, so its primal objective is
that of its features; its energies are not: ``alpha'K alpha >= |L'alpha|^2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy.special import logsumexp, xlogy

from kernelweave.engines import Engine
from kernelweave.kernels import Kernel
from kernelweave.operators.base import RoundedSet
from kernelweave.operators.features.design.set import DesignSet
from kernelweave.operators.gram.family import SharedSet
from kernelweave.operators.gram.mixture import Family
from kernelweave.solvers.certificate import DualPoint, PrimalPoint, afresh, best_intercept
from kernelweave.solvers.mkl.gradient.primal import block_squares
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array, Problem, dot
from kernelweave.solvers.result import Result


def is_rounded(operators: Any) -> bool:
    """Tell whether a set of kernels holds values in single precision."""
    return isinstance(operators, RoundedSet) and operators.rounded


def proved_for_one(result: Result, problem: Problem, tol: float) -> Result:
    """Return a result of one kernel whose objectives are computed in double precision, where values were rounded."""
    f = afresh(problem, result.primal.alpha)
    if f is None:
        return result
    alpha, dual = result.primal.alpha, result.dual
    b = best_intercept(problem, f, alpha)
    primal = replace(result.primal, intercept=b, value=problem.primal(dot(alpha, f), f + b, b))
    if dual is not None:
        g = f if np.array_equal(dual.alpha, alpha) else afresh(problem, dual.alpha)
        assert g is not None
        dual = DualPoint(dual.alpha, problem.dual(dual.alpha, dot(dual.alpha, g)))
    return _checked(replace(result, primal=primal, dual=dual), tol)


@dataclass(frozen=True)
class Proof:
    """Computes both objectives of many kernels afresh.

    Parameters
    ----------
    kernels : those that the certificate is to be about
    X : training rows
    certifies : "mkl", "fixed weights" or "smoothed", the latter with the parameter lambda
    """

    kernels: Sequence[Kernel]
    X: Any
    engine: Engine
    certifies: str = "mkl"
    smoothing: float = 0.0

    def of(self, result: Result, problem: MKLProblem, tol: float, factorised: bool = False) -> Result:
        """Return a result with both objectives in double precision; it has converged if their gap is within `tol`."""
        design = problem.operators if isinstance(problem.operators, DesignSet) else None
        exact = None if design is None else DesignSet(design.design.in_double(self.X))
        energies: Any = self._values() if exact is None or factorised else exact
        outputs: Any = energies if exact is None else exact
        primal, dual = self._primal(result.primal, problem, outputs), result.dual
        if dual is not None:
            q = np.sum([energies.energies(line) for line in np.atleast_2d(dual.alpha)], axis=0)
            value = problem.linear(np.atleast_2d(dual.alpha)) - 0.5 * self._support(problem, q, primal)
            dual = DualPoint(dual.alpha, value)
        return _checked(replace(result, primal=primal, dual=dual), tol)

    def _values(self) -> SharedSet:
        """Return the kernels in double precision: no value is kept, each is made when it is needed."""
        family = Family(self.kernels)
        return SharedSet(family, family.prepare(self.X), self.X.shape[0], self.engine, stored=False, dtype=np.float64)

    def _primal(self, point: PrimalPoint, problem: MKLProblem, exact: SharedSet | DesignSet) -> PrimalPoint:
        """Return the point with its objective, and where it is free with the best intercepts."""
        beta, value, intercepts = np.asarray(point.beta), 0.0, []
        for o, one in enumerate(problem.outputs(cast(Any, None))):
            alpha = np.atleast_2d(point.alpha)[o]
            if isinstance(exact, DesignSet) and point.vector is not None:
                w, b = np.asarray(point.vector)[o], float(np.atleast_1d(point.intercept)[o])
                f, squares = exact.design.outputs(w), block_squares(w, exact.design.offsets)
                energy = float((squares[squares > 0] / beta[squares > 0]).sum())
            else:
                f = _weighted(exact, beta, alpha)
                energy, b = dot(alpha, f), best_intercept(one, f, alpha)
            value += one.primal(energy, f + b, b)
            intercepts.append(b)
        if self.certifies == "smoothed":
            value += 0.5 * self.smoothing * float(xlogy(beta, beta).sum())
        return replace(point, value=value, intercept=np.array(intercepts))

    def _support(self, problem: MKLProblem, q: Array, primal: PrimalPoint) -> float:
        """Return what energies cost in the dual of the problem that the solver solved."""
        if self.certifies == "smoothed":
            return self.smoothing * float(logsumexp(q / self.smoothing))
        return float(np.asarray(primal.beta) @ q) if self.certifies == "fixed weights" else problem.ball.support(q)


def _weighted(exact: SharedSet | DesignSet, beta: Array, alpha: Array) -> Array:
    """Return ``sum_k beta_k K_k alpha``, (n,)."""
    if isinstance(exact, SharedSet):
        return exact.outputs(beta, alpha)
    out, rows = np.zeros(exact.n), np.flatnonzero(alpha)
    exact.combined(beta).add_to(out, rows, alpha[rows])
    return out


def _checked(result: Result, tol: float) -> Result:
    return replace(result, converged=result.gap <= tol)
