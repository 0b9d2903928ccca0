"""Sequential minimal optimisation on a dense matrix.

Minimises ``1/2 a'(K + shift) a + 1/2 sum ridge a^2 - sum p v``, ``a = v.sum(axis=0)``, over ``low <= v <= high``,
changing two variables at a time so that ``sum v`` stays as it is (free intercept), or one at a time (no constraint).

Working sets are of second order (Fan, Chen and Lin, 2005): the first variable has the steepest feasible ascent, the
second promises the largest decrease together with it.

Letters: v (copies, n) variables; F (n,) = K a; gain = p - F - ridge v, the derivative of what is maximised;
up / down: the largest gain of a variable that may grow / the smallest of one that may fall.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit

FLATTEST = 1e-12
"""Curvature below which a direction counts as flat; the step then goes to a bound."""


@jit
def solve_pairs(K, diag, p, ridge, low, high, tolerance, max_steps, v, F):
    """Pair steps until ``up - down <= tolerance``; returns (steps done, last up - down).  Writes v and F."""
    copies, n = p.shape
    violation = np.inf
    for step in range(max_steps):
        up, down, ci, i = -np.inf, np.inf, 0, -1
        for c in range(copies):
            for r in range(n):
                gain = p[c, r] - F[r] - ridge[r] * v[c, r]
                if gain > up and v[c, r] < high[c, r]:
                    up, ci, i = gain, c, r
                if gain < down and v[c, r] > low[c, r]:
                    down = gain
        violation = up - down
        if i < 0 or violation <= tolerance:
            return step, violation
        Ki = K[i]
        best, cj, j, Kii = -1.0, 0, -1, diag[i] + ridge[i]
        for c in range(copies):
            for r in range(n):
                gap = up - (p[c, r] - F[r] - ridge[r] * v[c, r])
                if gap > 0.0 and v[c, r] > low[c, r]:
                    curve = max(Kii + diag[r] + ridge[r] - 2.0 * Ki[r], FLATTEST)
                    if gap * gap > best * curve:
                        best, cj, j = gap * gap / curve, c, r
        if j < 0:
            return step, violation
        Kj = K[j]
        curve = max(Kii + diag[j] + ridge[j] - 2.0 * Ki[j], FLATTEST)
        gap = up - (p[cj, j] - F[j] - ridge[j] * v[cj, j])
        room_i, room_j = high[ci, i] - v[ci, i], v[cj, j] - low[cj, j]
        delta = min(gap / curve, room_i, room_j)
        v[ci, i] = high[ci, i] if delta == room_i else v[ci, i] + delta
        v[cj, j] = low[cj, j] if delta == room_j else v[cj, j] - delta
        if i != j:
            for r in range(n):
                F[r] += delta * (Ki[r] - Kj[r])
    return max_steps, violation


@jit
def solve_single(K, diag, p, ridge, low, high, shift, tolerance, max_steps, v, F):
    """Coordinate steps of largest decrease until no gain exceeds the tolerance.  F includes the shift."""
    copies, n = p.shape
    violation = np.inf
    for step in range(max_steps):
        best, ci, i, violation = 0.0, 0, -1, 0.0
        for c in range(copies):
            for r in range(n):
                gain = p[c, r] - F[r] - ridge[r] * v[c, r]
                room = high[c, r] - v[c, r] if gain > 0.0 else v[c, r] - low[c, r]
                if room > 0.0:
                    curve = max(diag[r] + shift + ridge[r], FLATTEST)
                    size = abs(gain)
                    move = min(size / curve, room)
                    decrease = move * (size - 0.5 * curve * move)
                    violation = max(violation, size)
                    if decrease > best:
                        best, ci, i = decrease, c, r
        if i < 0 or violation <= tolerance:
            return step, violation
        Ki = K[i]
        gain = p[ci, i] - F[i] - ridge[i] * v[ci, i]
        delta = gain / max(diag[i] + shift + ridge[i], FLATTEST)
        if delta >= high[ci, i] - v[ci, i]:
            delta = high[ci, i] - v[ci, i]
            v[ci, i] = high[ci, i]
        elif delta <= low[ci, i] - v[ci, i]:
            delta = low[ci, i] - v[ci, i]
            v[ci, i] = low[ci, i]
        else:
            v[ci, i] += delta
        for r in range(n):
            F[r] += delta * (Ki[r] + shift)
    return max_steps, violation
