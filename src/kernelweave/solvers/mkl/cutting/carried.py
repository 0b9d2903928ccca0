"""Cuts that outlive a run: an alpha of one problem bounds the next one, where it is feasible there.

A cut is ``d(alpha) - 1/2 sum_k beta_k q_k`` with q_k = alpha'K_k alpha.  For another C, other weights of the rows or
other targets on the same kernels, d is computed again and q stays; where the box of alpha has become smaller, alpha is
shrunk by the factor s that brings it back, and q by s^2.  An alpha that no factor brings back, such as that of another
class, is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from kernelweave.solvers.lp.master import Cut
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array

OUTSIDE = 1e-9
"""By what share of its range an alpha may lie outside of it by rounding."""
LEAST = 1e-3
"""Below this factor a cut says next to nothing."""


@runtime_checkable
class KeepsCuts(Protocol):
    """Ability of a solver: it can begin with cuts of a former problem, and has some to hand on."""

    former: Sequence[Cut]

    @property
    def cuts(self) -> Sequence[Cut]:
        """The cuts so far, or the former ones where there are none yet."""


def carried(cuts: Iterable[Cut], problem: MKLProblem) -> list[Cut]:
    """Return the cuts of a former problem on the same kernels as cuts of this one, as far as they are feasible.

    Examples
    --------
    >>> carried([], None)
    []
    """
    found = []
    for cut in cuts:
        s = shrinkage(cut.alpha, problem)
        if s >= LEAST:
            alpha = s * cut.alpha
            found.append(replace(cut, d=problem.linear(alpha), q=s * s * cut.q, alpha=alpha, idle=0))
    return [cut for cut in found if np.isfinite(cut.d)]


def shrinkage(alpha: Array, problem: MKLProblem) -> float:
    """Return the largest factor up to one that makes alpha (outputs, n) feasible; 0 where none does."""
    if alpha.shape != problem.targets.shape:
        return 0.0
    factor = 1.0
    for a, y in zip(alpha, problem.targets):
        low, high = problem.loss.dual_range(y, problem.cost)
        slack = OUTSIDE * np.minimum(np.maximum(np.abs(low), np.abs(high)), 1.0 / OUTSIDE)
        over, under = a > high + slack, a < low - slack
        if np.any(over & (high <= 0.0)) or np.any(under & (low >= 0.0)):
            return 0.0
        factor = min(factor, *(high[over] / a[over]), *(low[under] / a[under])) if over.any() or under.any() else factor
    if problem.intercept == "free" and problem.total != 0.0 and factor < 1.0:
        return 0.0
    return float(factor)
