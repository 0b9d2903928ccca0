"""What losses of the margin ``m = y f`` share, for labels y in {-1, 1}.

Conjugates are written in ``t = -y u``, the slope that the dual puts on a row: t in [0, 1] or t >= 0.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from kernelweave.losses.base import Array, BoxQP


def unit_interval(y: Array) -> tuple[Array, Array]:
    """Return the ends of ``{u: 0 <= -y u <= 1}``."""
    return np.where(y > 0, -1.0, 0.0), np.where(y > 0, 0.0, 1.0)


def signed_box(y: Array, cost: Array, ridge: Array | None = None, entropy: float = 0.0) -> BoxQP:
    """Return the box ``0 <= y alpha <= cost`` with linear term y."""
    return BoxQP(
        p=y[None, :].astype(float),
        ridge=np.zeros(len(y)) if ridge is None else ridge,
        low=np.where(y > 0, 0.0, -cost)[None, :],
        high=np.where(y > 0, cost, 0.0)[None, :],
        entropy=entropy,
    )


def negative_entropy(t: Array) -> Array:
    """Return ``t log t + (1 - t) log(1 - t)`` for t in [0, 1] up to rounding."""
    t = np.clip(t, 0.0, 1.0)
    return xlogy(t, t) + xlogy(1.0 - t, 1.0 - t)
