"""One step along one coordinate of a separable dual problem, for every loop that walks over rows."""

from __future__ import annotations

import math

from kernelweave._numba.jit import jit

NEWTON_STEPS = 60
CLOSE = 1e-14
"""Newton's method ends when a step is shorter than this, relative to where it stands."""


@jit
def box_step(i, f, p, ridge, entropy, low, high, curvature, v):  # type: ignore[no-untyped-def]
    """Move the variables of row i to their best values, one after the other; return how much alpha_i changed.

    The derivative in a variable is ``p - f - ridge v`` (less what an entropy adds) with f the row's output, and
    ``-curvature`` its derivative, of which all but the ridge acts through f.
    """
    if entropy > 0.0 and high[0, i] > low[0, i]:
        old = v[0, i]
        v[0, i] = entropy_step(old, f - p[0, i], entropy, low[0, i], high[0, i], curvature[i])
        return v[0, i] - old
    change = 0.0
    for c in range(v.shape[0]):
        old = v[c, i]
        new = old + (p[c, i] - f - ridge[i] * old) / curvature[i]
        new = min(max(new, low[c, i]), high[c, i])
        v[c, i] = new
        change += new - old
        f += (new - old) * (curvature[i] - ridge[i])
    return change


@jit
def entropy_step(old, slope, entropy, low, high, curvature):  # type: ignore[no-untyped-def]
    """Return the v between low and high with ``slope + curvature (v - old) + entropy logit(u) = 0``.

    With ``u = (v - low) / (high - low)`` and z = logit(u) the left side rises in z, and z lies between its values for
    u = 1 and u = 0: Newton's method in z, held inside a shrinking bracket, cannot fail.
    """
    width = high - low
    steep = curvature * width
    start = slope + curvature * (low - old)
    left, right = -(start + steep) / entropy, -start / entropy
    z = 0.5 * (left + right)
    if old > low and old < high:
        z = min(max(math.log((old - low) / (high - old)), left), right)
    for _ in range(NEWTON_STEPS):
        u = _sigmoid(z)
        value = start + steep * u + entropy * z
        if value > 0.0:
            right = z
        else:
            left = z
        step = value / (steep * u * (1.0 - u) + entropy)
        new = z - step
        if not left <= new <= right:
            new = 0.5 * (left + right)
        done = abs(new - z) <= CLOSE * (1.0 + abs(z))
        z = new
        if done:
            break
    return low + width * _sigmoid(z) if z < 0.0 else high - width * _sigmoid(-z)


@jit
def _sigmoid(z):  # type: ignore[no-untyped-def]
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    grown = math.exp(z)
    return grown / (1.0 + grown)
