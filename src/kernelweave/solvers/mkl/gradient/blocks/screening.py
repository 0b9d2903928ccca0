"""Safe screening: blocks that have no weight at the optimum, told from any point by its duality gap.

For p = 1 the problem and its dual are, N(w) = sum_k |w_k|,

    min over w, b   P = 1/2 N(w)^2 + sum_i c_i loss(f_i, y_i)
    max over a      D = -sum_i c_i loss*(-a_i / c_i) - 1/2 max_k |X_k' a|^2         (a such that the intercept is best)

At the optimum  X_k' a* = N* w_k* / |w_k*|  where w_k* is not zero, so  |X_k' a*| = N* = max_j |X_j' a*|  there.

    sphere      loss'' <= L makes loss* strongly convex with constant 1 / L, so that for every feasible a
                1/2 sum_i (a_i - a*_i)^2 / (c_i L)  <=  D(a*) - D(a)  <=  P(w, b) - D(a) = G
    one block   |X_k' (a - a*)|  <=  r_k = sqrt(2 G L) |diag(sqrt(c)) X_k|      (Cauchy and Schwarz, Frobenius' norm)
    test        |X_k' a| + r_k  <  max_j (|X_j' a| - r_j)   implies   |X_k' a*| < N*,   hence   w_k* = 0

The test is the one of Fercoq, Gramfort and Salmon (2015) for a squared group norm, whose level N* is not given but is
bounded from below by the same sphere.  Norms of blocks are bounded by those of the features and the largest cost.
"""

from __future__ import annotations

import numpy as np

from kernelweave.solvers.problems import Array

SLACK = 1e-10
"""Share of the objective by which rounding, and that of the best intercept, may falsify a gap."""


def screened(lengths: Array, sizes: Array, gap: float, bend: float) -> Array:
    """Return which blocks are zero at every optimum, (m,) bool.

    Parameters
    ----------
    lengths : (m,) ``|X_k' a|`` of a feasible dual point a
    sizes : (m,) ``|diag(sqrt(c)) X_k|`` or more
    gap : ``P - D(a)`` of this point and any primal one, or more
    bend : the largest second derivative of the loss

    Examples
    --------
    >>> screened(np.array([1.0, 0.5]), np.ones(2), gap=0.01, bend=1.0).tolist()
    [False, True]
    """
    radius = np.sqrt(2.0 * max(gap, 0.0) * bend) * sizes
    return lengths + radius < (lengths - radius).max(initial=-np.inf)
