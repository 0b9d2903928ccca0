"""Sums of decaying exponentials of one number, tabulated: a look-up in the place of many exponentials.

The curve ``f(d) = sum_k w_k c_k exp(-r_k d)`` on ``d >= 0`` is interpolated by polynomials of degree 7 in a local
variable t, on pieces that are sixteenths of the octaves of ``u = d + shift``: narrow where fast curves fall, wide where
they have vanished.  The number of a piece is in the high bits of u.  Errors are those of rounding (`WIDEST`).

    u  shifted base number      first  the number of the first piece      middles, scales (pieces,)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave.kernels.base import Array

NODES = 8
"""Values of a curve that its polynomial on a piece goes through."""
SHIFT = 48
"""Bits of a double below those that number the pieces: sixteen to an octave."""
WIDEST = 6.4
"""Largest offset, in units of one over the fastest rate: the first pieces then are 0.4 of it wide, and eight Chebyshev
nodes leave ``0.4^8 / (8! 2^15) = 5e-13`` of a curve that starts at 1."""
VANISHED = 750.0
"""Exponent beyond which an exponential is zero in double precision."""
SPREAD = 1e6
"""Greatest ratio of two rates for which a table stays small: sixteen pieces for each doubling."""


class Grid(NamedTuple):
    """The pieces of a group: ``u = d + shift`` lies in piece ``(bits of u >> SHIFT) - first``."""

    shift: float
    first: int
    middles: Array
    scales: Array

    @property
    def nodes(self) -> Array:
        """Base numbers where curves are asked for, (pieces * NODES,)."""
        return ((self.middles - self.shift)[:, None] + CHEBYSHEV / self.scales[:, None]).ravel()


CHEBYSHEV = np.cos((2.0 * np.arange(NODES) + 1.0) * np.pi / (2.0 * NODES))
"""Nodes on [-1, 1]."""
POWERS = np.linalg.inv(np.vander(CHEBYSHEV, NODES, increasing=True)).T
"""(node, power): the coefficients of the polynomial that is 1 at a node and 0 at the others."""


def make_grid(low: float, high: float, offset: float) -> Grid:
    """Return the pieces of an interval, the first ones a sixteenth of the offset wide.

    Examples
    --------
    >>> len(make_grid(0.0, 15.0, 1.0).middles)
    65
    """
    ends = np.array([offset, high - low + offset])
    first, last = (int(bits) for bits in ends.view(np.int64) >> SHIFT)
    edges = (np.arange(first, last + 2, dtype=np.int64) << SHIFT).view(np.float64)
    return Grid(offset - low, first, 0.5 * (edges[1:] + edges[:-1]), 2.0 / (edges[1:] - edges[:-1]))


class Curve:
    """``sum_k factors[k] exp(-rates[k] d)`` for every ``d >= 0``.

    Parameters
    ----------
    factors, rates : (m,), the rates positive

    Examples
    --------
    >>> out = np.zeros((1, 3))
    >>> Curve(np.array([0.5, 0.5]), np.array([1.0, 2.0])).add_to(out, np.array([[0.0, 1.0, 2000.0]]))
    >>> out.round(4)
    array([[1.    , 0.2516, 0.    ]])
    """

    def __init__(self, factors: Array, rates: Array):
        self.grid = make_grid(0.0, VANISHED / rates.min(), WIDEST / rates.max())
        values = factors @ np.exp(-rates[:, None] * self.grid.nodes)
        self.table: Array = values.reshape(-1, NODES) @ POWERS
        self.table[-1] = 0.0  # the curve has vanished there, but for 1e-300

    def add_to(self, out: Array, values: Array) -> None:
        """Add the curve of each number to `out`, of the same shape (rows, columns)."""
        add_curve(values, self.table, *self.grid, False, out)


def curve_of(factors: Array, rates: Array) -> Curve | None:
    """Return the table of a curve, or None where its rates have none or are too far apart."""
    if not (rates.min() > 0.0 and np.isfinite(VANISHED / rates.min()) and rates.max() <= SPREAD * rates.min()):
        return None
    return Curve(factors, rates)


@jit
def add_curve(
    values: Array, table: Array, shift: float, first: int, middles: Array, scales: Array, upper: bool, out: Array
) -> None:  # fmt: skip
    """Add the curve of each number, or of those on and right of the diagonal (`upper`).

    Beyond the last piece it keeps the value that it has at its end; a NaN stays one.
    """
    last, end = len(middles) - 1, table[-1].sum()
    space = np.empty(values.shape[1])
    for i in range(len(values)):
        start = i if upper else 0
        # Loops from 0 over views keep the compiler from gathering, which takes twice as long.
        row, target, u = values[i, start:], out[i, start:], space[start:]
        bits = u.view(np.int64)
        for j in range(len(row)):
            u[j] = row[j] + shift
        for j in range(len(row)):
            piece = max((bits[j] >> SHIFT) - first, 0)
            if piece > last:
                target[j] = target[j] + end if u[j] == u[j] else np.nan
                continue
            t = (u[j] - middles[piece]) * scales[piece]
            c, t2 = table[piece], t * t
            low = (c[0] + c[1] * t) + (c[2] + c[3] * t) * t2
            high = (c[4] + c[5] * t) + (c[6] + c[7] * t) * t2
            target[j] += low + high * (t2 * t2)
