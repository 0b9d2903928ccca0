"""Derivatives of the losses for compiled loops, which cannot call the objects: a loss is a number and a sharpness."""

from __future__ import annotations

import math

from kernelweave._numba import jit
from kernelweave.losses.base import Loss

CODES = {"logistic": 0, "smooth_hinge": 1, "squared_hinge": 2, "squared": 3, "hinge": 4, "epsilon_insensitive": 5}


def slope_code(loss: Loss) -> tuple[int, float]:
    """Return what `slope` needs of a loss: its number, and its sharpness or half-width (0 where it has neither).

    Examples
    --------
    >>> from kernelweave.losses import make_loss
    >>> slope_code(make_loss("smooth_hinge", sigma=2.0))
    (1, 2.0)
    """
    return CODES[loss.name], float(getattr(loss, "sigma", getattr(loss, "epsilon", 0.0)))


@jit
def slope(code, shape, f, y):  # type: ignore[no-untyped-def]
    """Return the derivative of the loss in f (at a kink: one of the subgradients)."""
    if code == 0:
        return -y / (1.0 + math.exp(y * f))
    if code == 1:
        return -y / (1.0 + math.exp(shape * (y * f - 1.0)))
    if code == 2:
        return -2.0 * y * max(0.0, 1.0 - y * f)
    if code == 3:
        return 2.0 * (f - y)
    if code == 4:
        return -y if y * f < 1.0 else 0.0
    if f - y > shape:
        return 1.0
    return -1.0 if f - y < -shape else 0.0
