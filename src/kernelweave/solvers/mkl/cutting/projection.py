"""The nearest weights on a level set of a cutting-plane model: a small quadratic programme, solved in its dual.

    min over beta   1/2 |beta - centre|^2,     beta on the simplex,   A beta >= c     (one row for each cut)

Given multipliers mu >= 0 of the rows,  ``beta(mu) = P_simplex(centre + A'mu)``, and the concave dual has the gradient
``c - A beta(mu)``.  Where S are the kernels with a weight, its Hessian is ``-A_S (I - 11'/|S|) A_S'``: Newton steps are
taken in the multipliers that are positive or should grow, and shortened until the dual rises enough.
"""

from __future__ import annotations

import numpy as np

from kernelweave.penalties import project_simplex
from kernelweave.solvers.problems import SUFFICIENT, Array

STEPS = 100
ACCURACY = 1e-11
"""Most Newton steps, and by how much a cut, scaled to length one, may then exceed the level."""
RIDGE = 1e-12
"""What is added to the Hessian, relative to its trace: cuts of the same kernels depend on each other."""
SHORTEST = 1e-12
"""Share of a Newton step below which no further one is tried."""


def project_level(beta: Array, d: Array, Q: Array, level: float) -> Array:
    """Return the nearest weights on the simplex with ``d - 1/2 Q beta <= level`` (as far as that can be met).

    Examples
    --------
    >>> import numpy as np
    >>> project_level(np.array([1.0, 0.0]), np.array([1.0]), np.array([[0.0, 4.0]]), 0.5)
    array([0.75, 0.25])
    """
    size = 0.5 * np.linalg.norm(Q, axis=1)
    nonzero = size > 0.0
    if not nonzero.any():
        return beta
    A, c = 0.5 * Q[nonzero] / size[nonzero, None], (d[nonzero] - level) / size[nonzero]
    mu = np.zeros(len(c))
    point, excess, value = _at(mu, beta, A, c)
    for _ in range(STEPS):
        free = (mu > 0.0) | (excess > 0.0)
        if max(excess.max(), np.abs(excess[mu > 0.0]).max(initial=0.0)) <= ACCURACY:
            break
        step = _newton(A[free][:, point > 0.0], excess[free])
        share, risen = 1.0, False
        while not risen and share > SHORTEST:
            new = mu.copy()
            new[free] = np.maximum(mu[free] + share * step, 0.0)
            found = _at(new, beta, A, c)
            risen = found[2] > value + SUFFICIENT * float(excess @ (new - mu))
            share *= 0.5
        if not risen:
            break
        mu, (point, excess, value) = new, found
    return point


def _at(mu: Array, centre: Array, A: Array, c: Array) -> tuple[Array, Array, float]:
    """Return the weights of some multipliers, the gradient of the dual there and its value."""
    point = project_simplex(centre + A.T @ mu)
    excess = c - A @ point
    return point, excess, 0.5 * float(((point - centre) ** 2).sum()) + float(mu @ excess)


def _newton(A: Array, excess: Array) -> Array:
    """Return the Newton step of the multipliers, for the rows of some cuts on the kernels with a weight."""
    sums = A.sum(axis=1)
    H = A @ A.T - np.outer(sums, sums) / A.shape[1]
    H[np.diag_indices_from(H)] += RIDGE * (1.0 + float(np.trace(H)))
    return np.linalg.solve(H, excess)
