"""Roughly how many seconds a solver takes, from a few numbers of the problem: what "auto" compares.

Constants are CPU seconds of one core, measured by `benchmarks/auto_choice.py`; the estimates need to be right to a
factor of two or three, since solvers differ by more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.operators.base import Factored, Operator, Ranked
from kernelweave.solvers.problems import TINY, Problem

if TYPE_CHECKING:
    from kernelweave.losses import Loss
    from kernelweave.solvers.mkl.problem import MKLProblem

TRIED_ROWS = 256
"""Rows on which a kernel is looked at."""
INTERIOR_STEPS = 30
"""Steps of an interior-point method, whatever the problem (20 to 60 were seen)."""
PER_PRODUCT, PER_ENTRY, PER_ROW = 0.12e-9, 6e-9, 60e-9
"""Seconds of a step for each product of two features, each feature, and each row."""
FEWEST_PASSES, PASSES = 10.0, 1.5
"""Passes of coordinate descent: a few, and so many for each unit of ``C K_ii`` where every row has a direction of its
own; more in proportion where rows share theirs (16 passes on tf-idf, 424 on clouds of 50 columns)."""
PER_STEP = 7e-9
"""Seconds of coordinate descent for each feature of each row of a pass."""
DENSE_SHARE = 0.45
"""A table of all features may take the memory that their making took, if rows have at least this share of them."""
MOST_DIAGONALS = 10**7
"""Diagonal entries that are worth looking at; kernels are usually scaled to a mean of 1."""
DIRECT_RANK = 600
"""Features up to which Newton's method factors their matrix instead of using conjugate gradients."""
BLOCK_STEPS, PER_READ, PER_SQUARE, PER_KERNEL = 4, 1e-9, 4e-11, 2e-6
"""Working sets of block coordinate descent, and the seconds for each feature that is read, each product of two columns
in use, and each kernel that is described, scaled and named."""
SPARSE, MOST_USED, MOST_BYTES = 150, 600, 2e9
"""Columns that a solution with p = 1 is taken to use; the most that may be in use, and bytes of all, before block
coordinate descent is out of the question."""
SVRG_PASSES, SVRG_GROWTH, PER_WALK = 30.0, 0.35, 1.4e-9
"""Passes of stochastic steps at C = 0 (13 to 60 were seen), how they grow with C K_ii, and seconds of a feature."""
SVRG_FIXED = 0.01
"""Seconds of its epochs whatever the number of rows; 104 rows x 60 columns take 0.05 s to a gap of 1e-6."""
NEWTON_STEPS, SOLUTIONS, ROWS_A_COLUMN = 6, 6, 8
"""Newton steps of one SVM with a smooth loss, SVMs of a fit, and rows for each column from which on SVMs work on
columns."""
PER_VALUE, PER_CONJUGATE = 3e-9, 5e-8
"""Seconds to make a kernel value, and of all products of conjugate gradients for each value."""
MOST_PROGRAMMED = 2_000_000
"""Rows times kernels of rank one up to which a linear programme took at most 1.7 times as long as the best of the
others, and down to a hundredth of it (300 to 50,000 rows, 10 to 3,000 kernels, C = 1 and 100)."""


def directions(operator: Operator) -> float:
    """Return in how many directions the rows of a sample lie, as a share of their number, from 0 to 1.

    It is ``tr(K)^2 / (n |K|^2)`` of the centred Gram matrix.  Where it is low (short k-mers, few columns), coordinate
    descent needs hundreds of passes: a step along one row undoes those along others.
    """
    rows = np.unique(np.linspace(0, operator.n - 1, min(operator.n, TRIED_ROWS)).astype(np.int64))
    K = np.asarray(operator.submatrix(rows), dtype=np.float64)
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    size = float(np.square(K).sum())
    return 1.0 if size == 0.0 else float(np.trace(K)) ** 2 / (len(rows) * size)


def interior_seconds(operator: Factored) -> float:
    """Return the seconds of the interior-point method; infinite where a table of all features would be too large."""
    n, d = operator.n, operator.rank
    if not direct_rank(operator):
        return np.inf
    return INTERIOR_STEPS * n * (PER_PRODUCT * d * d + PER_ENTRY * d + PER_ROW)


def direct_rank(operator: Ranked) -> bool:
    """Tell whether matrices of the size of the features are small, and a table of all features not much of a burden."""
    return operator.rank <= DIRECT_RANK and DENSE_SHARE * operator.rank <= operator.entries


def coordinate_seconds(operator: Factored, problem: Problem, share: float) -> float:
    """Return the seconds of coordinate descent, given the share of `directions`."""
    stiffness = float(problem.cost.mean()) * float(operator.diag().mean())
    passes = FEWEST_PASSES + PASSES * stiffness / max(share, TINY)
    return passes * operator.n * operator.entries * PER_STEP


def nearly_linear(problem: MKLProblem) -> bool:
    """Tell whether C is so small that outputs hardly reach the margin: every row then sits at its bound."""
    operators = problem.operators
    few = operators.m * operators.n <= MOST_DIAGONALS
    size = float(operators.diagonals().mean()) if few else 1.0
    return float(problem.cost.sum()) * size < 1.0


@dataclass(frozen=True)
class Columns:
    """Many kernels whose features are columns of tables: n rows, m kernels, columns of all, the norm, C K_ii."""

    n: int
    m: int
    columns: int
    p: float
    stiffness: float


def programmable(n: int, m: int, p: float, loss: Loss) -> bool:
    """Tell whether one linear programme is quickest for m kernels of rank one: up to so many numbers, or rows few."""
    straight = loss.boxed and not loss.smooth and bool(np.isfinite(loss.lipschitz))
    return p == 1.0 and straight and (m > n or n * m <= MOST_PROGRAMMED)


def block_seconds(facts: Columns) -> float:
    """Return the seconds of block coordinate descent over working sets; infinite where their matrix is too large."""
    n, d = facts.n, facts.columns
    used = d if facts.p > 1.0 else min(d, n, SPARSE)
    if used > MOST_USED or 8.0 * n * d > MOST_BYTES:
        return np.inf
    step = PER_READ * n * d + PER_SQUARE * (n * used**2 + 4.0 * used**3)
    return BLOCK_STEPS * step + PER_KERNEL * facts.m


def svrg_seconds(facts: Columns) -> float:
    """Return the seconds of stochastic variance-reduced gradients."""
    passes = SVRG_PASSES * (1.0 + facts.stiffness) ** SVRG_GROWTH
    return SVRG_FIXED + passes * PER_WALK * facts.n * facts.columns + PER_KERNEL * facts.m


def values_seconds(facts: Columns) -> float:
    """Return the seconds of solvers that go from one SVM to the next, on columns or on kernel values."""
    n, m, d = facts.n, facts.m, facts.columns
    if ROWS_A_COLUMN * d <= n:
        one = NEWTON_STEPS * n * (PER_PRODUCT * d * d + PER_ENTRY * d)
        return SOLUTIONS * (one + PER_ENTRY * n * d) + PER_KERNEL * m
    one = NEWTON_STEPS * min(PER_SQUARE * n**3, PER_CONJUGATE * n * n)
    return m * n * n * PER_VALUE + SOLUTIONS * one + PER_KERNEL * m
