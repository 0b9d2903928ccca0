"""The set of kernel weights ``beta >= 0, |beta|_p <= 1``, p = 1 (sparse) ... infinity (plain sum).

Minimised over beta, the regulariser ``1/2 sum_k |w_k|^2 / beta_k`` is ``1/2 (sum_k |w_k|^r)^(2/r)``, r = 2p / (p + 1),
a group norm of w.  In the dual stands ``1/2 |q|_{p*}``, q_k = alpha'K_k alpha: a group norm of exponent 2p / (p - 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave._numba import jit

Array = np.ndarray
HALVINGS, NEWTON_STEPS = 200, 60
"""More than double precision can tell apart, and more than Newton's method needs on a concave curve."""
CLOSE = 1e-15


@dataclass(frozen=True)
class LpBall:
    """Kernel weights of p-norm at most one.

    Parameters
    ----------
    p : at least 1; infinity for weights that are all 1

    Examples
    --------
    >>> import numpy as np
    >>> LpBall(2.0).support(np.array([3.0, 4.0]))
    5.0
    >>> LpBall(1.0).minimizer(np.array([3.0, 1.0]))
    array([0.75, 0.25])
    """

    p: float = 1.0

    def __post_init__(self) -> None:
        if not self.p >= 1.0:
            raise ValueError(f"p={self.p!r} must be at least 1.")

    @property
    def simplex(self) -> bool:
        """Whether weights add up to one, so that most of them are zero at the optimum."""
        return self.p == 1.0

    @property
    def exponent(self) -> float:
        """r, of the group norm of w."""
        return 2.0 if np.isinf(self.p) else 2.0 * self.p / (self.p + 1.0)

    @property
    def dual_exponent(self) -> float:
        """``r / (r - 1)``, of the group norm in the dual; infinite for p = 1."""
        if self.simplex:
            return np.inf
        return 2.0 if np.isinf(self.p) else 2.0 * self.p / (self.p - 1.0)

    def support(self, q: Array) -> float:
        """Return ``max beta'q`` over the set: the dual norm ``|q|_{p/(p-1)}`` of the positive part."""
        q = np.maximum(q, 0.0)
        top = float(q.max(initial=0.0))
        if self.simplex or top == 0.0:
            return top
        if np.isinf(self.p):
            return float(q.sum())
        dual = 0.5 * self.dual_exponent
        return top * float(((q / top) ** dual).sum()) ** (1.0 / dual)

    def minimizer(self, norms: Array) -> Array:
        """Return the weights that minimise ``sum_k |w_k|^2 / beta_k``, given the norms ``|w_k|``."""
        top = norms.max(initial=0.0)
        if top == 0.0 or np.isinf(self.p):
            return self.uniform(len(norms))
        powers = (norms / top) ** (2.0 / (self.p + 1.0))
        return self.scaled(powers)

    def proximal(self, norms: Array, strength: float) -> Array:
        """Return the block norms a that minimise ``1/2 |a - norms|^2 + strength/2 (sum_k a_k^r)^(2/r)``, r = 2p/(p+1).

        At the optimum ``a + strength s^(2-r) a^(r-1) = norms`` with s = |a|_r, which falls as s grows on the left: s is
        found by halving, each a by Newton's method.

        Examples
        --------
        >>> LpBall(np.inf).proximal(np.array([2.0, 4.0]), 1.0)
        array([1., 2.])
        """
        r = self.exponent
        if r == 2.0 or not norms.any():
            return norms / (1.0 + strength)
        out = np.empty(len(norms))
        _proximal(np.ascontiguousarray(norms, dtype=float), float(strength), r, out)
        return out

    def uniform(self, m: int) -> Array:
        """Return m equal weights on the border of the set."""
        return self.scaled(np.ones(m))

    def scaled(self, weights: Array) -> Array:
        """Return non-negative weights scaled to the border of the set."""
        top = weights.max()
        if np.isinf(self.p):
            return weights / top
        return weights / (top * float(((weights / top) ** self.p).sum()) ** (1.0 / self.p))


def project_simplex(point: Array) -> Array:
    """Return the nearest point with non-negative entries that add up to one.

    Examples
    --------
    >>> import numpy as np
    >>> project_simplex(np.array([0.5, 0.9, -1.0]))
    array([0.3, 0.7, 0. ])
    """
    falling = np.sort(point)[::-1]
    sums = np.cumsum(falling) - 1.0
    last = np.flatnonzero(falling * np.arange(1, len(point) + 1) > sums)[-1]
    return np.maximum(point - sums[last] / (last + 1.0), 0.0)


@jit
def _proximal(norms: Array, strength: float, r: float, out: Array) -> None:
    """Find s = |out|_r by halving, in units of the largest norm, and write the block norms that belong to it."""
    top = norms.max()
    low, high = 0.0, 0.0
    for k in range(len(norms)):
        high += (norms[k] / top) ** r
    high = high ** (1.0 / r)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        pull, size = strength * middle ** (2.0 - r), 0.0
        for k in range(len(norms)):
            size += _shrunk(norms[k] / top, pull, r) ** r
        if size ** (1.0 / r) > middle:
            low = middle
        else:
            high = middle
    for k in range(len(norms)):
        out[k] = top * _shrunk(norms[k] / top, strength * high ** (2.0 - r), r)


@jit
def _shrunk(norm: float, pull: float, r: float) -> float:
    """Return the a >= 0 with ``a + pull a^(r-1) = norm``, from the left: on a concave curve no step goes too far."""
    if r == 1.0:
        return max(norm - pull, 0.0)
    a = min(norm / 2.0, (norm / (2.0 * pull)) ** (1.0 / (r - 1.0))) if pull > 0.0 else norm
    if a == 0.0:
        return 0.0
    for _ in range(NEWTON_STEPS):
        power = pull * a ** (r - 1.0)
        step = (norm - a - power) / (1.0 + (r - 1.0) * power / a)
        a += step
        if abs(step) <= CLOSE * a:
            break
    return a
