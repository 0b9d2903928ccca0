"""Passes of block coordinate descent over a quadratic model, and what a block alone needs.

    min over u   1/2 (rest + sum_k |u_k|^r)^(2/r) + q(u),     q quadratic with Hessian H, ``slope`` its gradient at u

A step of block k replaces its part of H by ``bound I``, a bound from above: the best u_k then points along
``a = bound u_k - slope_k`` and its length t solves ``bound t + pull(t) = |a|``, pull the derivative of the group norm
in t, the other blocks as they are:  ``pull(t) = (others + t^r)^((2 - r) / r) t^(r - 1)``.
"""

from __future__ import annotations

import math

import numpy as np

from kernelweave._numba import jit
from kernelweave.solvers.problems import SUFFICIENT, TINY

CLOSE = 1e-14
"""Newton's method for a length ends when a step is shorter than this, relative to the length."""
NEWTON_STEPS = 100
SHORTEST = -700.0
"""Logarithm of the smallest length that double precision holds."""


@jit
def block_bounds(H, offsets, bounds):  # type: ignore[no-untyped-def]
    """Write a bound from above on the largest eigenvalue of each diagonal block: its trace or its largest row sum."""
    for k in range(len(bounds)):
        trace, largest = 0.0, 0.0
        for i in range(offsets[k], offsets[k + 1]):
            trace += H[i, i]
            total = 0.0
            for j in range(offsets[k], offsets[k + 1]):
                total += abs(H[i, j])
            largest = max(largest, total)
        bounds[k] = min(trace, largest)


@jit
def descend(H, offsets, bounds, r, rest, limit, most, u, slope, norms, step):  # type: ignore[no-untyped-def]
    """Go over all blocks until a pass gains no more than `limit`, at most `most` times; return the last gain.

    u, slope (width,), norms (m,) are updated; step (width,) is room to work in.
    """
    gain = 0.0
    for _ in range(most):
        gain, total = 0.0, rest
        for k in range(len(norms)):
            total += norms[k] ** r
        for k in range(len(norms)):
            first, last, bound = offsets[k], offsets[k + 1], bounds[k]
            size = 0.0
            for j in range(first, last):
                step[j] = bound * u[j] - slope[j]
            for j in range(first, last):  # a loop of its own: beside a store, the order of a sum may follow addresses
                size += step[j] * step[j]
            size = math.sqrt(size)
            others = max(total - norms[k] ** r, 0.0)
            length = block_length(size, bound, others, r)
            if length == 0.0 and norms[k] == 0.0:
                continue
            total, norms[k] = others + length**r, length
            for j in range(first, last):
                step[j] = step[j] * (length / size) - u[j] if size > 0.0 else -u[j]
            for j in range(first, last):
                if step[j] != 0.0:
                    u[j] += step[j]
                    gain += bound * step[j] * step[j]
                    for i in range(len(slope)):
                        slope[i] += step[j] * H[j, i]
        if gain <= limit:
            break
    return gain


@jit
def block_length(size, bound, others, r):  # type: ignore[no-untyped-def]
    """Return the t >= 0 with ``bound t + pull(t) = size``.

    The logarithm of the left side is convex in log t, and ``pull(t) >= t``: Newton's method from the right, where t
    would be the only block, never goes too far.
    """
    if r == 1.0:
        return max(0.0, size - others) / (bound + 1.0)
    if size == 0.0 or others == 0.0 or r == 2.0:
        return size / (bound + 1.0)
    z = math.log(size / (bound + 1.0))
    for _ in range(NEWTON_STEPS):
        t = math.exp(z)
        power = t**r
        pull = (others + power) ** ((2.0 - r) / r) * t ** (r - 1.0)
        value = bound * t + pull
        slope = bound * t + pull * ((2.0 - r) * power / (others + power) + r - 1.0)
        move = math.log(value / size) * value / slope
        z -= move
        if z < SHORTEST:
            return 0.0
        if abs(move) <= CLOSE * (1.0 + abs(z)):
            break
    return math.exp(z)


@jit
def newton_system(H, offsets, norms, least, ridge, r, rest, u, slope):  # type: ignore[no-untyped-def]
    """Return the columns of the blocks longer than `least`, and Hessian and gradient of the objective in them.

    With ``total = rest + sum_k |u_k|^r`` and ``c = total^((2 - r) / r)`` the group norm adds
    ``c |u_k|^(r-2) (I + (r - 2) n n')`` in block k, n its direction, and all blocks share
    ``(2 - r) total^((2 - 2r) / r) z z'``, z_k = |u_k|^(r-1) n.
    """
    width, total = 0, rest
    for k in range(len(norms)):
        total += norms[k] ** r
        width += offsets[k + 1] - offsets[k] if norms[k] > least else 0
    some, z, gradient = np.empty(width, np.int64), np.empty(width), np.empty(width)
    M, top, filled = np.empty((width, width)), 0.0, 0
    for k in range(len(norms)):
        for j in range(offsets[k], offsets[k + 1] if norms[k] > least else offsets[k]):
            some[filled], top, filled = j, max(top, H[j, j]), filled + 1
    c, shared, first = total ** ((2.0 - r) / r), math.sqrt(2.0 - r) * total ** ((1.0 - r) / r), 0
    for k in range(len(norms)):
        last = first + offsets[k + 1] - offsets[k] if norms[k] > least else first
        power = norms[k] ** (r - 2.0) if last > first else 0.0
        for i in range(first, last):
            row, x = some[i], u[some[i]]
            z[i], gradient[i] = shared * power * x, slope[row] + c * power * x
            for j in range(i + 1):
                M[i, j] = H[row, some[j]] + z[i] * z[j]
            for j in range(first, i + 1):
                M[i, j] += (r - 2.0) * c * power * (x / norms[k]) * (u[some[j]] / norms[k])
            M[i, i] += c * power + ridge * top
        first = last
    return some, M, gradient


@jit
def go_along(H, offsets, r, rest, some, step, fall, most, u, slope, norms):  # type: ignore[no-untyped-def]
    """Go along a step of some columns as far as the objective falls enough, at most `most` halvings; else stay."""
    move, turned, lengths = np.zeros(len(u)), np.zeros(len(u)), np.empty(len(norms))
    first, second, now = 0.0, 0.0, rest
    for i in range(len(some)):
        move[some[i]] = step[i]
        first += slope[some[i]] * step[i]
        for j in range(len(turned)):
            turned[j] += step[i] * H[some[i], j]
    for i in range(len(some)):
        second += turned[some[i]] * step[i]
    for k in range(len(norms)):
        now += norms[k] ** r
    share = 1.0
    for _ in range(most):
        total = rest
        for k in range(len(norms)):
            square = 0.0
            for j in range(offsets[k], offsets[k + 1]):
                square += (u[j] + share * move[j]) ** 2
            lengths[k] = math.sqrt(square)
            total += lengths[k] ** r
        change = 0.5 * (total ** (2.0 / r) - now ** (2.0 / r)) + share * first + 0.5 * share * share * second
        if change <= min(SUFFICIENT * share * fall, -TINY):
            for k in range(len(norms)):
                norms[k] = lengths[k]
            for j in range(len(u)):
                u[j] += share * move[j]
                slope[j] += share * turned[j]
            return
        share *= 0.5
