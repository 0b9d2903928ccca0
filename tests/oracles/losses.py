"""Losses in plain Python, one row at a time, and conjugates by brute force."""

from __future__ import annotations

import math

EPSILON, SIGMA, DELTA = 0.3, 2.5, 0.4
PARAMETERS = {"epsilon": EPSILON, "sigma": SIGMA, "delta": DELTA}
"""What the tests give to the losses that have such parameters."""


def softplus(z: float) -> float:
    return max(z, 0.0) + math.log1p(math.exp(-abs(z)))


VALUES = {
    "hinge": lambda f, y: max(0.0, 1 - y * f),
    "squared_hinge": lambda f, y: max(0.0, 1 - y * f) ** 2,
    "smooth_hinge": lambda f, y: softplus(SIGMA * (1 - y * f)) / SIGMA,
    "logistic": lambda f, y: softplus(-y * f),
    "squared": lambda f, y: (f - y) ** 2,
    "epsilon_insensitive": lambda f, y: max(0.0, abs(f - y) - EPSILON),
    "huber": lambda f, y: (f - y) ** 2 if abs(f - y) <= DELTA else 2 * DELTA * abs(f - y) - DELTA**2,
    "squared_epsilon_insensitive": lambda f, y: max(0.0, abs(f - y) - EPSILON) ** 2,
    "one_class": lambda f, y: max(0.0, -f),
}


def entropy(t: float) -> float:
    return -sum(p * math.log(p) for p in (t, 1 - t) if p > 0)


CONJUGATES = {
    "hinge": lambda u, y: y * u,
    "squared_hinge": lambda u, y: y * u + u * u / 4,
    "smooth_hinge": lambda u, y: y * u - entropy(min(max(-y * u, 0.0), 1.0)) / SIGMA,
    "logistic": lambda u, y: -entropy(min(max(-y * u, 0.0), 1.0)),
    "squared": lambda u, y: u * y + u * u / 4,
    "epsilon_insensitive": lambda u, y: u * y + EPSILON * abs(u),
    "huber": lambda u, y: u * y + u * u / 4,
    "squared_epsilon_insensitive": lambda u, y: u * y + EPSILON * abs(u) + u * u / 4,
    "one_class": lambda u, y: 0.0,
}
"""Within the domain, which the caller checks."""

SLOPES = {
    "hinge": lambda y: sorted((0, -y)),
    "squared_hinge": lambda y: (-math.inf, 0) if y > 0 else (0, math.inf),
    "smooth_hinge": lambda y: sorted((0, -y)),
    "logistic": lambda y: sorted((0, -y)),
    "squared": lambda y: (-math.inf, math.inf),
    "epsilon_insensitive": lambda y: (-1, 1),
    "huber": lambda y: (-2 * DELTA, 2 * DELTA),
    "squared_epsilon_insensitive": lambda y: (-math.inf, math.inf),
    "one_class": lambda y: (-1, 0),
}
"""The smallest and the largest slope a loss can have: the domain of its conjugate."""


def conjugate_by_search(name: str, u: float, y: float, reach: float = 60.0) -> float:
    """Return ``max_f u f - loss(f, y)`` over ``|f| <= reach`` by ternary search on the concave function."""
    low, high = -reach, reach
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if u * left - VALUES[name](left, y) < u * right - VALUES[name](right, y):
            low = left
        else:
            high = right
    f = (low + high) / 2
    return u * f - VALUES[name](f, y)
