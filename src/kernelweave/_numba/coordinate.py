"""One step along one coordinate of a box-constrained dual problem, for every loop that walks over rows."""

from __future__ import annotations

from kernelweave._numba.jit import jit


@jit
def box_step(i, f, p, ridge, low, high, curvature, v):  # type: ignore[no-untyped-def]
    """Move the variables of row i to their best values, one after the other; return how much alpha_i changed.

    The derivative in a variable is ``p - f - ridge v`` with f the row's output, and ``-curvature`` its derivative, of
    which all but the ridge acts through f.
    """
    change = 0.0
    for c in range(v.shape[0]):
        old = v[c, i]
        new = old + (p[c, i] - f - ridge[i] * old) / curvature[i]
        new = min(max(new, low[c, i]), high[c, i])
        v[c, i] = new
        change += new - old
        f += (new - old) * (curvature[i] - ridge[i])
    return change
