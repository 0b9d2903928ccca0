"""Pivoted Cholesky in plain Python: one row at a time, the farthest first."""

from __future__ import annotations

import math


def pivoted(K: list[list[float]], tolerance: float) -> tuple[list[int], list[float]]:
    """Return the rows chosen, and the residual diagonal at the end."""
    n = len(K)
    L: list[list[float]] = [[] for _ in range(n)]
    residual, pivots = [K[i][i] for i in range(n)], []
    while sum(residual) > tolerance * sum(K[i][i] for i in range(n)):
        p = max(range(n), key=residual.__getitem__)
        root, own = math.sqrt(residual[p]), list(L[p])
        for i in range(n):
            L[i].append((K[i][p] - math.fsum(a * b for a, b in zip(L[i], own))) / root)
            residual[i] = max(0.0, K[i][i] - math.fsum(a * a for a in L[i]))
        residual[p] = 0.0
        pivots.append(p)
    return pivots, residual
