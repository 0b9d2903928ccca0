"""Algorithm 2 of Xu et al. (2010) as printed, for hinge losses without an intercept; prox centre at alpha^0."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def smoothed(G: Array, alpha: Array, lam: float) -> tuple[float, Array]:
    """Return f_lambda, less (lambda/2) ln m, and its gradient, for ``G_i = diag(y) K_i diag(y)``."""
    q = np.array([alpha @ Gi @ alpha for Gi in G])
    weights = np.exp((q - q.max()) / lam)
    f = -alpha.sum() + q.max() / 2 + lam / 2 * np.log(weights.mean())
    return f, -1.0 + sum(theta * (Gi @ alpha) for theta, Gi in zip(weights / weights.sum(), G))


def algorithm_2(G: Array, C: Array, first: Array, lam: float, L: float, N: int) -> tuple[list[Array], list[float]]:
    """Return beta^0 ... beta^N and their f_lambda."""
    alpha, total, betas = first, np.zeros_like(first), []
    for k in range(N + 1):
        gradient = smoothed(G, alpha, lam)[1]
        betas.append(np.clip(alpha - gradient / L, 0, C))
        total = total + (k + 1) / 2 * gradient
        gamma, tau = np.clip(first - total / L, 0, C), 2 / (k + 3)
        alpha = tau * gamma + (1 - tau) * betas[-1]
    return betas, [smoothed(G, beta, lam)[0] for beta in betas]
