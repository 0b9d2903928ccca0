"""Sequential minimal optimisation on a dense matrix.

Minimises ``1/2 a'(K + shift) a + 1/2 sum ridge v^2 - sum p v``, ``a = v.sum(axis=0)``, over ``low <= v <= high``,
changing two variables at a time so that ``sum v`` stays as it is (free intercept), or one at a time (no constraint).

Working sets are of second order (Fan, Chen and Lin, 2005): the first variable has the steepest feasible ascent, the
second promises the largest decrease together with it.

Letters, all (copies, n): v variables; gain = p - K a - ridge v, the derivative of what is maximised; grow = 0 where v
may grow, else -inf; fall = 0 where v may fall, else +inf; curve = diag + ridge.  Loops run over blocks that stay in the
first-level cache: a block's values are computed by one vectorised loop, its maximum by another.  The promise of a pair
only ranks pairs, so it is computed in single precision; steps, gains and the violation are double.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit_finite
from kernelweave._numba.vector import LANES, largest

Array = np.ndarray
FLATTEST = 1e-12
"""Curvature below which a direction counts as flat; the step then goes to a bound."""
FLATTEST_RANKED = 1e-6
"""The same for ranking, relative to the curvature of the first variable: single precision tells no less apart."""
BLOCK = 512
"""Rows whose gains are changed and ranked together: what is read and written of them stays in the first cache."""


def solve_pairs(
    K: Array,
    diag: Array,
    ridge: Array,
    low: Array,
    high: Array,
    tolerance: float,
    max_steps: int,
    v: Array,
    gain: Array,
) -> tuple[int, float]:
    """Pair steps until no pair violates the optimality conditions by more than the tolerance.

    Writes v and gain; returns (steps done, last violation).
    """
    grow = np.where(v < high, 0.0, -np.inf)
    fall = np.where(v > low, 0.0, np.inf).astype(np.float32)
    curve = (diag + ridge).astype(np.float32)
    return _pair_steps(K, diag, ridge, curve, low, high, float(tolerance), max_steps, v, gain, grow, fall)


@jit_finite
def _pair_steps(  # type: ignore[no-untyped-def]
    K, diag, ridge, curve, low, high, tolerance, max_steps, v, gain, grow, fall
):
    work, score = np.empty(BLOCK), np.empty(BLOCK, np.float32)
    delta, i, j, violation = 0.0, 0, 0, np.inf
    for step in range(max_steps):
        ci, i_next, up = _update_and_first(K[i], K[j], delta, gain, grow, work)
        i = i_next
        cj, j = _second(K[i], curve, up, diag[i] + ridge[i], gain, fall, score)
        violation = up - gain[cj, j] - fall[cj, j]
        if violation <= tolerance:
            cj, j, violation = _widest(up, gain, fall)
            if violation <= tolerance:
                return step, violation
        bend = max(diag[i] + ridge[i] + diag[j] + ridge[j] - 2.0 * K[i, j], FLATTEST)
        room_i, room_j = high[ci, i] - v[ci, i], v[cj, j] - low[cj, j]
        delta = min((up - gain[cj, j]) / bend, min(room_i, room_j))
        v[ci, i] = high[ci, i] if delta == room_i else v[ci, i] + delta
        v[cj, j] = low[cj, j] if delta == room_j else v[cj, j] - delta
        gain[ci, i] -= ridge[i] * delta
        gain[cj, j] += ridge[j] * delta
        for c, r in ((ci, i), (cj, j)):
            grow[c, r] = 0.0 if v[c, r] < high[c, r] else -np.inf
            fall[c, r] = 0.0 if v[c, r] > low[c, r] else np.inf
    _update_and_first(K[i], K[j], delta, gain, grow, work)
    return max_steps, violation


@jit_finite
def solve_single(
    K: Array,
    diag: Array,
    ridge: Array,
    low: Array,
    high: Array,
    shift: float,
    tolerance: float,
    max_steps: int,
    v: Array,
    gain: Array,
) -> tuple[int, float]:
    """Coordinate steps of largest decrease until no gain exceeds the tolerance; returns as `solve_pairs` does."""
    copies, n = v.shape
    violation = np.inf
    for step in range(max_steps):
        ci, i, violation = _best_single(gain, diag, ridge, low, high, shift, v)
        if violation <= tolerance:
            return step, violation
        move = gain[ci, i] / max(diag[i] + shift + ridge[i], FLATTEST)
        new = min(max(v[ci, i] + move, low[ci, i]), high[ci, i])
        delta = new - v[ci, i]
        v[ci, i] = new
        gain[ci, i] -= ridge[i] * delta
        Ki = K[i]
        for c in range(copies):
            g = gain[c]
            for r in range(n):
                g[r] -= delta * (Ki[r] + shift)
    return max_steps, violation


@jit_finite
def _update_and_first(
    Ki: Array, Kj: Array, delta: float, gain: Array, grow: Array, work: Array
) -> tuple[int, int, float]:
    """Carry a pair step over to all gains; return the variable of largest gain among those that may grow."""
    copies, n = gain.shape
    up, copy, start = -np.inf, 0, 0
    for c in range(copies):
        for s in range(0, n, BLOCK):
            g, mask, a, b = gain[c, s : s + BLOCK], grow[c, s : s + BLOCK], Ki[s : s + BLOCK], Kj[s : s + BLOCK]
            for r in range(len(g)):
                x = g[r] - delta * (a[r] - b[r])
                g[r] = x
                work[r] = x + mask[r]
            for r in range(len(g), LANES * (-(-len(g) // LANES))):
                work[r] = -np.inf
            top = largest(work, -(-len(g) // LANES))
            if top > up:
                up, copy, start = top, c, s
    best, row = -np.inf, start
    for r in range(start, min(start + BLOCK, n)):
        if gain[copy, r] + grow[copy, r] > best:
            best, row = gain[copy, r] + grow[copy, r], r
    return copy, row, best


@jit_finite
def _second(
    Ki: Array, curve: Array, up: float, curve_i: float, gain: Array, fall: Array, score: Array
) -> tuple[int, int]:
    """Return the variable, among those that may fall, that promises most together with the first."""
    copies, n = gain.shape
    zero, two, first = np.float32(0.0), np.float32(2.0), np.float32(curve_i)
    flattest = np.float32(max(FLATTEST_RANKED * curve_i, FLATTEST))
    best, copy, start = np.float32(-1.0), 0, 0
    for c in range(copies):
        for s in range(0, n, BLOCK):
            g, mask, a, d = gain[c, s : s + BLOCK], fall[c, s : s + BLOCK], Ki[s : s + BLOCK], curve[s : s + BLOCK]
            for r in range(len(g)):
                gap = max(np.float32(up - g[r]) - mask[r], zero)
                score[r] = gap * gap / max(first + d[r] - two * np.float32(a[r]), flattest)
            for r in range(len(g), LANES * (-(-len(g) // LANES))):
                score[r] = -np.inf
            top = largest(score, -(-len(g) // LANES))
            if top > best:
                best, copy, start = top, c, s
    best, row = np.float32(-1.0), start
    for r in range(start, min(start + BLOCK, n)):
        gap = max(np.float32(up - gain[copy, r]) - fall[copy, r], zero)
        promise = gap * gap / max(first + curve[r] - two * np.float32(Ki[r]), flattest)
        if promise > best:
            best, row = promise, r
    return copy, row


@jit_finite
def _widest(up: float, gain: Array, fall: Array) -> tuple[int, int, float]:
    """Return the variable, among those that may fall, that violates most together with the first, and by how much."""
    copies, n = gain.shape
    widest, copy, row = -np.inf, 0, 0
    for c in range(copies):
        for r in range(n):
            gap = up - gain[c, r] - fall[c, r]
            if gap > widest:
                widest, copy, row = gap, c, r
    return copy, row, widest


@jit_finite
def _best_single(
    gain: Array, diag: Array, ridge: Array, low: Array, high: Array, shift: float, v: Array
) -> tuple[int, int, float]:
    """Return the variable whose own optimal step decreases the objective most, and the largest gain in size."""
    copies, n = gain.shape
    best, copy, row, steepest = -1.0, 0, 0, 0.0
    for c in range(copies):
        for r in range(n):
            g = gain[c, r]
            size = abs(g)
            room = high[c, r] - v[c, r] if g > 0.0 else v[c, r] - low[c, r]
            curve = max(diag[r] + shift + ridge[r], FLATTEST)
            move = min(size / curve, room)
            decrease = move * (size - 0.5 * curve * move)
            if decrease > best:
                best, copy, row = decrease, c, r
            if room > 0.0 and size > steepest:
                steepest = size
    return copy, row, steepest
