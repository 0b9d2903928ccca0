"""The weighted-degree kernel straight from its formula: every pair of k-mers that are near enough is compared."""

from __future__ import annotations

import math


def cell(kernel, length, i, k):
    """Return the weight of a k-mer of length k that starts at i."""
    d = kernel.degree
    start, stop = (0, length) if kernel.positions is None else kernel.positions
    if i + k > length or not start <= i < stop or kernel.only not in (None, k):
        return 0.0
    weight = 2 * (d - k + 1) / (d * (d + 1)) if kernel.weights is None else kernel.weights[k - 1]
    return weight if kernel.position_weights is None else weight * kernel.position_weights[i]


def value(kernel, x, y):
    """Return the kernel of two strings; N matches nothing."""
    terms, length = [], len(x)
    for k in range(1, kernel.degree + 1):
        for i in range(length - k + 1):
            for j in range(length - k + 1):
                apart = abs(i - j)
                if apart <= kernel.shift and "N" not in x[i : i + k] and x[i : i + k] == y[j : j + k]:
                    factor = 1.0 if apart == 0 else 1 / (2 * (apart + 1))
                    terms.append(factor * math.sqrt(cell(kernel, length, i, k) * cell(kernel, length, j, k)))
    return math.fsum(terms)


def gram(kernel, rows, others=None):
    """Return the kernel matrix as lists."""
    return [[value(kernel, x, y) for y in (rows if others is None else others)] for x in rows]


def shared(x, y, degree):
    """Return how many k-mers of each length two strings share at the same place."""
    return [
        sum("N" not in x[i : i + k] and x[i : i + k] == y[i : i + k] for i in range(len(x) - k + 1))
        for k in range(1, degree + 1)
    ]
