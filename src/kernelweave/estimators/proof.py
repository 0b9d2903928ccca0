"""What a certificate says of the kernels that were asked for: both objectives, computed once more at the end of a fit.

A solver may work on kernel values or features in single precision, or on a factorisation ``L L' <= K`` of a kernel
that has no features.  Its points are good, its two objectives are those of a problem that is a little off: with a
large C by more than the gap.  Outputs that were updated step by step have gathered rounding, and a dual point may have
left its constraints by a last digit, which for a very small or large C moves the dual as well.  So the dual point is
put back, and both objectives are computed afresh at the points that the solver found:

    primal   1/2 sum_k |w_k|^2 / beta_k + sum_i c_i loss(f_i, y_i)       from w, or from alpha through the kernels
    dual     d(alpha) - 1/2 |q|_{p*},   q_k = alpha' K_k alpha           with the kernels that were asked for

A solver that walks through normal vectors computes both from w, all rows at once, whenever it looks at a point.  Where
it did so in double precision and its dual point keeps the constraints, nothing is left to prove.

A factorisation on landmarks of the kernel's own makes the same classifier cost the same, so its primal objective is
that of its features; its energies are not: ``alpha'K alpha >= |L'alpha|^2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import logsumexp, xlogy

from kernelweave.engines import Engine
from kernelweave.kernels import Kernel
from kernelweave.kernels.abilities import Ranged
from kernelweave.operators.base import RoundedSet, Sharded, product
from kernelweave.operators.features.design.set import DesignSet
from kernelweave.operators.gram.family import SharedSet
from kernelweave.operators.gram.mixture import MEMBERS, Family
from kernelweave.operators.gram.tabulated import NotSmooth, TabulatedSet
from kernelweave.solvers.certificate import DualPoint, PrimalPoint, afresh, best_intercept
from kernelweave.solvers.problems import Array, Problem, block_squares, dot
from kernelweave.solvers.result import Result

if TYPE_CHECKING:
    from kernelweave.solvers.mkl.problem import MKLProblem

ROUNDING = 1e-9
"""By how much the gap of a run that has converged may pass the tolerance when it is computed afresh."""
TABULATED_FROM = 1000
"""Rows from which on energies of many curves of one number are those of their tables, right to rounding."""
BALANCED = 4.0 * float(np.finfo(np.float64).eps)
"""What may be left of a sum of dual coefficients, relative to their sizes."""
CORRECTIONS = 3
"""Times that what is left of a sum is given to entries with room."""


def is_rounded(operators: Any) -> bool:
    """Tell whether a set of kernels holds values in single precision."""
    return isinstance(operators, RoundedSet) and operators.rounded


def proved_for_one(result: Result, problem: Problem, tol: float) -> Result:
    """Return a result of one kernel with a feasible dual point and both objectives computed afresh.

    A solver that has converged on rounded values has computed them in double precision itself.
    """
    alpha, dual, operator = result.primal.alpha, result.dual, problem.operator
    if isinstance(operator, Sharded) and result.dual is not None and is_feasible(problem, result.dual.alpha):
        return result  # its last round has computed both objectives over all rows
    rounded = afresh(problem, np.zeros(operator.n)) is not None
    if rounded and result.converged:
        return result

    def outputs(coef: Array) -> Array:
        exact = afresh(problem, coef) if rounded else None
        return product(operator, coef) if exact is None else exact

    f = outputs(alpha)
    b, value = _best(problem, f, alpha, float(result.primal.intercept))
    primal = replace(result.primal, intercept=b, value=value)
    if dual is not None:
        point = feasible(problem, dual.alpha)
        g = f if np.array_equal(point, alpha) else outputs(point)
        dual = DualPoint(point, problem.dual(point, dot(point, g)))
    return _checked(replace(result, primal=primal, dual=dual), tol)


def feasible(problem: Problem, alpha: Array) -> Array:
    """Return the dual point without what rounding has left of it outside its constraints.

    Entries are clipped to their ranges; where they must add up to a total, the rest goes to those that have room.
    """
    low, high = problem.loss.dual_range(problem.y, problem.cost)
    alpha = np.clip(alpha, low, high)
    for _ in range(CORRECTIONS if problem.free else 0):
        rest = problem.total - float(alpha.sum(dtype=np.longdouble))
        room = np.minimum(high - alpha if rest > 0 else alpha - low, np.abs(alpha).max(initial=0.0))
        if rest == 0.0 or not room.sum() > 0.0:
            break
        alpha = np.clip(alpha + rest * (room / room.sum()), low, high)
    return alpha


def is_feasible(problem: Problem, alpha: Array) -> bool:
    """Tell whether a dual point keeps its constraints, their sum up to the rounding of one."""
    low, high = problem.loss.dual_range(problem.y, problem.cost)
    if not ((low <= alpha) & (alpha <= high)).all():
        return False
    left = abs(problem.total - float(alpha.sum(dtype=np.longdouble))) if problem.free else 0.0
    return left <= BALANCED * float(np.abs(alpha).sum())


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
        if isinstance(problem.operators, Sharded) and self._keeps(result, problem):
            return _checked(result, tol)  # its last round has computed both objectives over all rows
        exact = self._exact(problem.operators)
        if exact is problem.operators and not factorised and self._stands(result, problem):
            return _checked(result, tol)
        energies = self._values() if factorised or exact is None else exact
        primal, dual = self._primal(result.primal, problem, energies if exact is None else exact), result.dual
        if dual is not None:
            pairs = zip(problem.outputs(cast(Any, None)), np.atleast_2d(dual.alpha))
            alpha = np.stack([feasible(one, line) for one, line in pairs])
            q = np.sum([energies.energies(line) for line in alpha], axis=0)
            dual = DualPoint(alpha, problem.linear(alpha) - 0.5 * self._support(problem, q, primal))
        return _checked(replace(result, primal=primal, dual=dual), tol)

    def _stands(self, result: Result, problem: MKLProblem) -> bool:
        """Tell whether both objectives were computed from a normal vector, and the dual point is feasible."""
        return result.primal.vector is not None and self.certifies == "mkl" and self._keeps(result, problem)

    def _keeps(self, result: Result, problem: MKLProblem) -> bool:
        """Tell whether the dual point is feasible."""
        if result.dual is None:
            return False
        pairs = zip(problem.outputs(cast(Any, None)), np.atleast_2d(result.dual.alpha))
        return all(is_feasible(one, line) for one, line in pairs)

    def _exact(self, operators: Any) -> Any:
        """Return a set of kernels in double precision, with the same features where there are some; else None."""
        if not is_rounded(operators):
            return operators
        return DesignSet(operators.design.in_double(self.X)) if isinstance(operators, DesignSet) else None

    def _values(self) -> SharedSet:
        """Return the kernels in double precision: no value is kept, each is made when it is needed."""
        family = Family(self.kernels)
        given = family, family.prepare(self.X), self.X.shape[0], self.engine
        ranged = all(isinstance(base, Ranged) for base in family.bases)
        if ranged and len(family.kernels) >= MEMBERS * len(family.bases) and self.X.shape[0] >= TABULATED_FROM:
            try:
                return TabulatedSet(*given)  # a pass over the pairs costs the same for one width and for twenty
            except NotSmooth:
                pass
        return SharedSet(*given, stored=False, dtype=np.float64)

    def _primal(self, point: PrimalPoint, problem: MKLProblem, exact: Any) -> PrimalPoint:
        """Return the point with its objective, and with better intercepts where there are some."""
        beta, value, intercepts = np.asarray(point.beta), 0.0, list[float]()
        for o, one in enumerate(problem.outputs(cast(Any, None))):
            alpha, b = np.atleast_2d(point.alpha)[o], float(np.atleast_1d(point.intercept)[o])
            if isinstance(exact, DesignSet) and point.vector is not None:
                w = np.asarray(point.vector)[o]
                f, squares = exact.design.outputs(w), block_squares(w, exact.design.offsets)
                found = one.primal(float((squares[squares > 0] / beta[squares > 0]).sum()), f + b, b)
            else:
                b, found = _best(one, _weighted(exact, beta, alpha), alpha, b)
            value, intercepts = value + found, [*intercepts, b]
        if self.certifies == "smoothed":
            value += 0.5 * self.smoothing * float(xlogy(beta, len(beta) * beta).sum())
        return replace(point, value=value, intercept=np.array(intercepts))

    def _support(self, problem: MKLProblem, q: Array, primal: PrimalPoint) -> float:
        """Return what energies cost in the dual of the problem that the solver solved."""
        if self.certifies == "smoothed":
            return self.smoothing * float(logsumexp(q / self.smoothing) - np.log(len(q)))
        return float(np.asarray(primal.beta) @ q) if self.certifies == "fixed weights" else problem.ball.support(q)


def _weighted(exact: Any, beta: Array, alpha: Array) -> Array:
    """Return ``sum_k beta_k K_k alpha``, (n,)."""
    return exact.outputs(beta, alpha) if isinstance(exact, SharedSet) else product(exact.combined(beta), alpha)


def _best(problem: Problem, f: Array, alpha: Array, b: float) -> tuple[float, float]:
    """Return the better of two intercepts, the one at hand and the best by the slopes, and the primal objective."""
    energy = dot(alpha, f)
    value, other = problem.primal(energy, f + b, b), best_intercept(problem, f, alpha)
    found = problem.primal(energy, f + other, other)
    return (other, found) if found < value else (b, value)


def _checked(result: Result, tol: float) -> Result:
    return replace(result, converged=result.gap <= tol + (ROUNDING if result.converged else 0.0))
