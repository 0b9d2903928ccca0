"""Losses, by name."""

from __future__ import annotations

from kernelweave.losses.base import BoxQP, Loss
from kernelweave.losses.classification import Hinge, Logistic, SmoothHinge, SquaredHinge
from kernelweave.losses.novelty import OneClass
from kernelweave.losses.regression import EpsilonInsensitive, Squared

LOSSES: dict[str, type[Loss]] = {
    loss.name: loss for loss in (Hinge, SquaredHinge, SmoothHinge, Logistic, Squared, EpsilonInsensitive, OneClass)
}

__all__ = [
    "LOSSES", "BoxQP", "EpsilonInsensitive", "Hinge", "Logistic", "Loss", "OneClass", "SmoothHinge",
    "Squared", "SquaredHinge", "make_loss",
]  # fmt: skip


def make_loss(name: str, epsilon: float = 0.1, sigma: float = 1.0) -> Loss:
    """Return the loss of that name; `epsilon` and `sigma` reach those that have them.

    Examples
    --------
    >>> make_loss("epsilon_insensitive", epsilon=0.5)
    EpsilonInsensitive(epsilon=0.5)
    """
    if name not in LOSSES:
        raise ValueError(f"loss={name!r} is unknown; choose one of {', '.join(LOSSES)}.")
    if name == "epsilon_insensitive":
        return EpsilonInsensitive(epsilon)
    if name == "smooth_hinge":
        return SmoothHinge(sigma)
    return LOSSES[name]()
