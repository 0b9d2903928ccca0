"""A working set of kernels: of very many, those are learned with that a solution can use; all of them prove it.

For p = 1 the optimum of `problem` has few kernels with weight, and alpha is optimal as soon as no kernel's energy
``q_k = alpha'K_k alpha`` exceeds that of the kernels with weight.  One round:

    1. solve the problem of the kernels in the working set W, from the weights and the alpha of the round before;
    2. price all kernels: q_k of that alpha.  The dual value ``d(alpha) - 1/2 max_k q_k`` over all of them is the bound;
    3. add the kernels of largest q_k that exceed every q_k in W; let those go that have had no use for long.

Solvers inside see |W| kernels, whatever m is: nothing grows with m but the energies.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelweave.operators.base import Selectable
from kernelweave.solvers.certificate import PrimalPoint
from kernelweave.solvers.loop import Solver, Stop, run_inside
from kernelweave.solvers.mkl.problem import MKLProblem
from kernelweave.solvers.problems import Array

MANY = 512
"""Kernels from which on a working set is used: it takes more SVMs, each with fewer kernels.  On tables of some hundred
rows, 403 kernels take 1.4 to 2 times as long with one, 793 kernels 0.4 times."""
FEWEST_NEW, MOST_NEW, NEW_SHARE = 16, 128, 400
"""Kernels that enter first: one of so many of all, within bounds.  Later the working set may double in a round."""
MOST = 1024
"""Kernels in the working set beyond which those without weight leave it, the least useful first."""
FIRST_ROWS = 400
"""Rows by which the first kernels are chosen."""


def suits(problem: MKLProblem) -> bool:
    """Tell whether there are so many kernels that a working set of them pays, and whether some can be selected."""
    operators = problem.operators
    return problem.ball.simplex and operators.m > MANY and isinstance(operators, Selectable)


class WorkingKernels:
    """The kernels in use, and the problem that they make.

    Parameters
    ----------
    problem : of all kernels
    start : weights to begin with, (m,), or None to begin with the kernels that resemble the targets most
    """

    def __init__(self, problem: MKLProblem, start: Array | None):
        self.problem = problem
        m = problem.operators.m
        self.new = int(np.clip(m // NEW_SHARE, FEWEST_NEW, MOST_NEW))
        if start is None:
            q = problem.energies(_resemblance(problem))
            self.chosen = np.sort(np.argsort(-q, kind="stable")[: self.new])
            self.beta = np.full(self.new, 1.0 / self.new)
        else:
            self.chosen = np.flatnonzero(start)
            self.beta = start[self.chosen] / start[self.chosen].sum()

    def solve(self, solver: Solver, alpha: Array, stop: Stop) -> tuple[PrimalPoint, Array]:
        """Solve the problem of the working set; return its point with weights of all kernels, and its dual alpha."""
        assert isinstance(self.problem.operators, Selectable)
        part = replace(self.problem, operators=self.problem.operators.selected(self.chosen))
        result = run_inside(solver, part, stop, start=PrimalPoint(alpha, 0.0, np.inf, self.beta))
        self.beta = np.asarray(result.primal.beta)
        dual = np.atleast_2d(result.primal.alpha if result.dual is None else result.dual.alpha)
        return replace(result.primal, beta=self.every(self.beta)), dual

    def every(self, beta: Array) -> Array:
        """Return weights of the working set as weights of all kernels."""
        out = np.zeros(self.problem.operators.m)
        out[self.chosen] = beta
        return out

    def grow(self, q: Array) -> int:
        """Exchange kernels by their energies, (m,); return how many came in."""
        beta = self.every(self.beta)
        level, outside = q[self.chosen].max(initial=0.0), np.ones(len(q), bool)
        outside[self.chosen] = False
        better = np.flatnonzero(outside & (q > level))
        better = better[np.argsort(-q[better], kind="stable")[: max(self.new, len(self.chosen))]]
        idle = self.chosen[beta[self.chosen] == 0.0]
        room = max(0, MOST - (len(self.chosen) - len(idle)) - len(better))
        idle = idle[np.argsort(-q[idle], kind="stable")[:room]]
        self.chosen = np.sort(np.concatenate([np.flatnonzero(beta), idle, better]))
        self.beta = beta[self.chosen]
        return len(better)


def _resemblance(problem: MKLProblem) -> Array:
    """Return an alpha that follows the centred targets on some of the rows, (outputs, n)."""
    n = problem.operators.n
    rows = np.unique(np.linspace(0, n - 1, min(n, FIRST_ROWS)).astype(np.int64))
    out = np.zeros(problem.targets.shape)
    for y, line in zip(problem.targets, out):
        some, cost = y[rows], problem.cost[rows]
        centred = some - (cost @ some) / max(cost.sum(), np.finfo(float).tiny)
        line[rows] = cost * (centred if np.any(centred) else 1.0)
    return out
