"""Scaling of kernels: learned on training rows, then a fixed part of the kernel, so that new rows are treated alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kernelweave.data.blocks import FEATURE_ROWS, spans
from kernelweave.data.errors import ParameterError
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.centred import Centred
from kernelweave.kernels.compose import Cosine, Scaled
from kernelweave.operators.expansion.cross import add_products
from kernelweave.operators.features.design.columns import TableColumns

NORMALIZATIONS = {
    "trace": "scaled to a mean training diagonal of 1",
    "cosine": "divided by the lengths of both rows, so that every row has length 1",
    "variance": "centred on the training rows, then scaled to a mean training diagonal of 1",
}
"""Ways to scale a kernel, with what each of them does."""
CONSTANT = 1e-12
"""Share of the mean diagonal below which what centring leaves of a kernel is rounding: it is constant on the rows."""


class Scaling(NamedTuple):
    """Kernels as they are trained, and the columns that their features are, where it is known that they are all that.

    kernels : fitted to the rows and scaled on them
    table : their columns of the table of the rows, or None
    """

    kernels: list[Kernel]
    table: TableColumns | None = None


LARGEST, SMALLEST = 1e100, 1e-100
"""Kernel values beyond these overflow or underflow in products with costs and with each other."""
LEAST = float(np.finfo(np.float64).tiny)
"""A mean diagonal below this cannot be divided by: the kernel vanishes on the training rows, and stays as it is."""


def too_large(kernel: Any, row: int, value: float) -> str:
    """Return what is said of a kernel value that cannot be computed with."""
    size = f"{value:.1g}, too large" if np.isfinite(value) else "not finite"
    return f"Kernel {kernel} of row {row} with itself is {size}; rescale the features of the table."


def all_normalized(
    kernels: Sequence[Kernel], X: Any, how: str | None, engine: Engine, weight: Array, centre: bool,
    table: TableColumns | None = None,
) -> Scaling:  # fmt: skip
    """Return kernels scaled on the rows of X, one by one or, where all are columns of one table, at once."""
    if how is None:
        return Scaling(list(kernels), table)
    if table is not None and how == "trace":
        sizes = table.squares(X, weight / weight.sum())
        if np.all(sizes <= LARGEST):
            made = [_unit(kernel, size) for kernel, size in zip(kernels, sizes.tolist())]
            return Scaling(made, table.times(1.0 / np.where(sizes >= LEAST, sizes, 1.0)))
    return Scaling([normalized(kernel, X, how, engine, weight, centre) for kernel in kernels])


def normalized(
    kernel: Kernel, X: Any, how: str | None, engine: Engine, weight: Array | None = None, centre: bool = True
) -> Kernel:
    """Return the kernel scaled on the rows of X.

    Parameters
    ----------
    how : "trace" (mean diagonal 1), "cosine" (every diagonal entry 1), "variance" (centred in feature space, mean
        diagonal 1) or None
    weight : (n,), a row of weight 2 counts as two rows
    centre : whether "variance" must also shift the kernel; with a free intercept the shift changes nothing but the
        intercept, so only the scale is needed
    """
    if how is None:
        return kernel
    if how == "cosine":
        return Cosine(kernel)
    if how not in NORMALIZATIONS:
        known = ", ".join(NORMALIZATIONS)
        raise ParameterError("{normalize} is unknown; choose one of {known} or None.", {"normalize": how}, known=known)
    by_part = how == "trace" and isinstance(kernel, Features)
    prepared = None if by_part else kernel.prepare(X)
    diagonal = _diagonal(kernel, X, engine) if by_part else kernel.diagonal(prepared)
    n = len(diagonal)
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    bad = np.flatnonzero(~(diagonal <= LARGEST))
    if len(bad):
        raise ValueError(too_large(kernel, int(bad[0]), float(diagonal[bad[0]])))
    size = float(share @ diagonal)
    if how == "trace":
        return _unit(kernel, size)
    means = np.zeros(n)
    add_products(means, kernel, prepared, prepared, np.arange(n), share, engine)
    grand = float(share @ means)
    shifted = Centred(kernel, X, share, grand) if centre else kernel
    return _unit(shifted, size - grand if size - grand > CONSTANT * size else 0.0)


def _diagonal(kernel: Kernel, X: Any, engine: Engine) -> Array:
    """Return the diagonal of a kernel that knows each row by its features, a few rows at a time: X may be mapped."""
    parts = engine.map(lambda cut: kernel.diagonal(kernel.prepare(X[cut])), spans(X.shape[0], FEATURE_ROWS))
    return np.concatenate(parts)


def _unit(kernel: Kernel, size: float) -> Kernel:
    """Divide by a mean diagonal; a kernel that vanishes on the training rows stays as it is."""
    return Scaled(kernel, 1.0 / size) if size >= LEAST else kernel
