"""Predictions through the normal vector, for models whose kernels have explicit features.

The vector is made at the first prediction and kept for the next ones; it is neither saved nor pickled.
"""

from __future__ import annotations

from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from kernelweave.kernels import Kernel
from kernelweave.kernels.abilities import Counted, FeatureMap, Positional
from kernelweave.operators.expansion.normal import NormalVector, explicit
from kernelweave.operators.kmers.prefixes import spread

Array = np.ndarray


class Kept:
    """Room for the normal vector of a fitted model."""

    def __init__(self) -> None:
        self.vector: NormalVector | Several | None = None
        self.coef: Array | None = None

    def of(self, kernels: list[Kernel], weights: Array, kept: Any, coef: Array) -> NormalVector | Several | None:
        """Return the normal vector of a model, or None where it must be scored by kernel values.

        Parameters
        ----------
        kernels : in use
        weights : (outputs, kernels)
        kept : rows the model keeps
        coef : (outputs, kept rows)
        """
        if self.coef is not coef:
            self.coef, self.vector = coef, _make(kernels, weights, kept, coef)
        return self.vector


class Several:
    """Normal vectors of several kernels, whose scores add up."""

    def __init__(self, vectors: list[NormalVector]):
        self.vectors = vectors

    def add_to(self, out: Array, X: Any, engine: Any) -> None:
        """Add the scores of new rows to `out`, (rows, outputs)."""
        for vector in self.vectors:
            vector.add_to(out, X, engine)


_rooms: WeakKeyDictionary[Any, Kept] = WeakKeyDictionary()


def room(model: Any) -> Kept:
    """Return the room of a model; it goes when the model goes, and is no attribute of it."""
    return _rooms.setdefault(model, Kept())


def _make(kernels: list[Kernel], weights: Array, kept: Any, coef: Array) -> NormalVector | Several | None:
    if not kernels or not all(explicit(kernel, kept) for kernel in kernels):
        return None
    if all(isinstance(kernel, Positional) for kernel in kernels):
        given = _given(
            [cast(Positional, kernel) for kernel in kernels], kernels[0].prepare(kept).codes.shape[1], weights
        )
        return None if given is None else NormalVector(kernels[0], given, kept, coef)
    if not all(isinstance(kernel, FeatureMap | Counted) for kernel in kernels):
        return None
    try:
        return Several([NormalVector(kernel, None, kept, coef * weights[:, [k]]) for k, kernel in enumerate(kernels)])
    except ValueError:  # more columns than can be numbered: the Gram form has no such limit
        return None


def _given(kernels: list[Positional], length: int, weights: Array) -> Array | None:
    """Return what cells give to each other under each output's weights, or None for kernels of different shifts."""
    shifts = kernels[0].shift_weights()
    if any(not np.array_equal(kernel.shift_weights(), shifts) for kernel in kernels):
        return None
    parts = [spread(kernel.cells(length), shifts) for kernel in kernels]
    degree = max(part.shape[2] for part in parts)
    given = np.zeros((len(weights), *parts[0].shape[:2], degree))
    for k, part in enumerate(parts):
        given[..., : part.shape[2]] += weights[:, k, None, None, None] * part
    return given
