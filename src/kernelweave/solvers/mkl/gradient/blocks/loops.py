"""Passes of block coordinate descent over a quadratic model, and what a block alone needs.

    min over u   1/2 (rest + sum_k |u_k|^r)^(2/r) + q(u),     q quadratic with Hessian H, ``slope`` its gradient at u

A step of block k replaces its part of H by ``bound I``, a bound from above: the best u_k then points along
``a = bound u_k - slope_k`` and its length t solves ``bound t + pull(t) = |a|``, pull the derivative of the group norm
in t, the other blocks as they are:  ``pull(t) = (others + t^r)^((2 - r) / r) t^(r - 1)``.
"""

from __future__ import annotations

import math

from kernelweave._numba import jit

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
def add_curvature(u, offsets, norms, r, total, M):  # type: ignore[no-untyped-def]
    """Add the Hessian of ``1/2 total^(2/r)``, ``total = rest + sum_k |u_k|^r``, to M; no block may be zero.

    With ``c = total^((2 - r) / r)`` block k has ``c |u_k|^(r-2) (I + (r - 2) n n')``, n its direction, and all blocks
    share ``(2 - r) total^((2 - 2r) / r) z z'``, z_k = |u_k|^(r-1) n.
    """
    c, shared = total ** ((2.0 - r) / r), math.sqrt(2.0 - r) * total ** ((1.0 - r) / r)
    z = u.copy()
    for k in range(len(norms)):
        power = norms[k] ** (r - 2.0)
        for i in range(offsets[k], offsets[k + 1]):
            z[i] = shared * power * u[i]
            M[i, i] += c * power
            for j in range(offsets[k], offsets[k + 1]):
                M[i, j] += (r - 2.0) * c * power * (u[i] / norms[k]) * (u[j] / norms[k])
    for i in range(len(z)):
        for j in range(len(z)):
            M[i, j] += z[i] * z[j]
