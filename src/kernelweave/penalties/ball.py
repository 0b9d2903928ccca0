"""The set of kernel weights ``beta >= 0, |beta|_p <= 1``, p = 1 (sparse) ... infinity (plain sum).

Minimised over beta, the regulariser ``1/2 sum_k |w_k|^2 / beta_k`` is ``1/2 (sum_k |w_k|^r)^(2/r)``, r = 2p / (p + 1),
a group norm of w.  In the dual stands ``1/2 |q|_{p*}``, q_k = alpha'K_k alpha: a group norm of exponent 2p / (p - 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
        low, high = 0.0, float((norms**r).sum() ** (1.0 / r))
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
            size = float((_shrunk(norms, strength * middle ** (2.0 - r), r) ** r).sum() ** (1.0 / r))
            low, high = (middle, high) if size > middle else (low, middle)
        return _shrunk(norms, strength * high ** (2.0 - r), r)

    def uniform(self, m: int) -> Array:
        """Return m equal weights on the border of the set."""
        return self.scaled(np.ones(m))

    def scaled(self, weights: Array) -> Array:
        """Return non-negative weights scaled to the border of the set."""
        top = weights.max()
        if np.isinf(self.p):
            return weights / top
        return weights / (top * float(((weights / top) ** self.p).sum()) ** (1.0 / self.p))


def _shrunk(norms: Array, pull: float, r: float) -> Array:
    """Return the a >= 0 with ``a + pull a^(r-1) = norms``, from the left: on a concave curve no step goes too far."""
    if r == 1.0:
        return np.maximum(norms - pull, 0.0)
    a = np.minimum(norms / 2.0, (norms / (2.0 * pull)) ** (1.0 / (r - 1.0)))
    moving = a > 0
    for _ in range(NEWTON_STEPS):
        power = pull * a[moving] ** (r - 1.0)
        step = (norms[moving] - a[moving] - power) / (1.0 + (r - 1.0) * power / a[moving])
        a[moving] += step
        if np.all(np.abs(step) <= CLOSE * a[moving]):
            break
    return a


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
