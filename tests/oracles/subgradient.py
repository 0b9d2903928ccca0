"""UFO and OBSCURE one row at a time, as their papers state them: no shares, no gains, every norm computed afresh."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

Array = np.ndarray

SLOPES = {
    "hinge": lambda f, y: -y if y * f < 1 else 0.0,
    "logistic": lambda f, y: -y / (1 + math.exp(min(y * f, 700.0))),
}


def group_norm(v: Array, offsets: Array, q: float) -> float:
    """Return ``(sum_k |v_k|^q)^(1/q)``; the largest norm is taken out, so that no power overflows."""
    norms = [math.sqrt(sum(v[a:b] ** 2)) for a, b in pairwise(offsets)]
    top = max(norms)
    return top * sum((norm / top) ** q for norm in norms) ** (1 / q) if top else 0.0


def cut_off(v: Array, offsets: Array, cut: float) -> Array:
    """Return v with every block shorter by `cut`, but not below zero."""
    out = np.zeros_like(v)
    for a, b in pairwise(offsets):
        norm = math.sqrt(sum(v[a:b] ** 2))
        if norm > cut:
            out[a:b] = v[a:b] * (norm - cut) / norm
    return out


def conjugate_gradient(theta: Array, offsets: Array, q: float) -> Array:
    """Return the gradient of ``1/2 |theta|_q^2``."""
    whole, out = group_norm(theta, offsets, q), np.zeros_like(theta)
    for a, b in pairwise(offsets):
        norm = math.sqrt(sum(theta[a:b] ** 2))
        if norm > 0:
            out[a:b] = (norm / whole) ** (q - 2) * theta[a:b]
    return out


def projected(theta: Array, offsets: Array, q: float, R: float) -> Array:
    """Return the point of the ball ``|theta|_q <= q R`` in the direction of theta."""
    norm = group_norm(theta, offsets, q)
    return theta * q * R / norm if norm > q * R else theta


class Intercept:
    """An intercept that takes steps of length ``1 / (3 lambda t)``, at most 1 and at least ``1 / sqrt(t)``."""

    def __init__(self, kind: str, lam: float):
        self.b, self.seen, self.kind, self.lam = 0.0, 0, kind, lam

    def move(self, s: float) -> None:
        if self.kind != "none":
            self.seen += 1
            pull = self.lam * self.b if self.kind == "regularized" else 0.0
            self.b -= (s + pull) * min(1, max(1 / math.sqrt(self.seen), 1 / (3 * self.lam * self.seen)))


def ufo(
    X: Array, offsets: Array, y: Array, cost: Array, passes: Any, loss: str, q: float, cut: float, kind: str
) -> Any:
    """Return w after every row, the slopes that every row met, added up, and the intercept."""
    lam, theta, w = 1 / sum(cost), np.zeros(X.shape[1]), np.zeros(X.shape[1])
    bias, slopes, path = Intercept(kind, lam), np.zeros(len(y)), []
    for t, i in enumerate([i for order in passes for i in order], 1):
        slope = SLOPES[loss](X[i] @ w + bias.b, y[i])
        slopes[i] += slope
        s = slope * cost[i] * len(y) * lam
        theta = theta - s * X[i]
        w = conjugate_gradient(cut_off(theta, offsets, t * cut), offsets, q) / (lam * t)
        bias.move(s)
        path.append(w)
    return path, slopes, bias.b


def obscure(
    X: Array, offsets: Array, y: Array, cost: Array, online: Any, batch: Any, loss: str, q: float, eta: float, R: float
) -> Any:
    """Return w after every row, for passes of the online and of the batch stage without intercept."""
    lam, theta, w = 1 / sum(cost), np.zeros(X.shape[1]), np.zeros(X.shape[1])
    path, slack = [], 0.0
    for i in [i for order in online for i in order]:
        z = SLOPES[loss](X[i] @ w, y[i]) * cost[i] * len(y) * lam * X[i]
        theta = theta - eta * z
        w = conjugate_gradient(theta, offsets, q) / q
        path.append(w)
    theta = projected(theta, offsets, q, R)
    w = conjugate_gradient(theta, offsets, q) / q
    for t, i in enumerate([i for order in batch for i in order], 1):
        z = SLOPES[loss](X[i] @ w, y[i]) * cost[i] * len(y) * lam * X[i]
        d = lam * t + slack
        push = lam * group_norm(theta, offsets, q) / q + group_norm(z, offsets, q)
        slack += (math.sqrt(d * d + q * push**2 / R**2) - d) / 2
        rate = q / (lam * t + slack)
        theta = projected((1 - lam * rate / q) * theta - rate * z, offsets, q, R)
        w = conjugate_gradient(theta, offsets, q) / q
        path.append(w)
    return path
