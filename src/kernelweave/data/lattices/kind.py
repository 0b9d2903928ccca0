"""Lattices as a row kind."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelweave.data.kinds import register
from kernelweave.data.lattices.build import Table
from kernelweave.data.lattices.packed import LatticesPacking
from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.strings.kind import StringKind, saved_ids

Array = np.ndarray
SMALLEST_EXPONENT = int(np.finfo(np.float64).minexp)
"""Numbers below 2 to this power lose digits, and soon are zero."""


class LatticesKind(StringKind):
    """Distributions over strings: `Lattices`."""

    name = noun = "lattices"
    rows = Lattices
    uncertain = True
    packing = LatticesPacking()

    def summary(self, X: Lattices) -> str:
        """Say how many lattices there are, how large, and over which letters."""
        low, high = X.arc_counts.min(), X.arc_counts.max()
        return f"{len(X)} lattices of {low if low == high else f'{low} to {high}'} arcs ({X.alphabet.name})"

    def check(self, X: Lattices, where: str) -> None:
        """Warn of lattices whose weights are too small for double precision: kernels take them for empty ones."""
        super().check(X, where)
        mantissas, exponents = X.scaled_weights()
        lost = (mantissas != 0.0) & (exponents < SMALLEST_EXPONENT)
        if lost.any():
            row = int(np.argmax(lost))
            tens = int(np.floor(np.log10(abs(mantissas[row])) + exponents[row] * np.log10(2.0)))
            warnings.warn(
                f"Lattice {row} of the {where} has a total weight of about 10^{tens}, which double precision takes for "
                f"zero ({int(lost.sum())} of {len(X)} are so); normalise lattices by X.normalized(), or read them with "
                "normalize=True.",
                UserWarning, stacklevel=2,
            )  # fmt: skip

    def letters(self, X: Lattices) -> tuple[int, int]:
        """Return how many arcs there are, and how many of them have a masked letter."""
        return len(X.labels), int(np.count_nonzero(X.labels == X.alphabet.size))

    def _arrays(self, X: Lattices) -> dict[str, Array]:
        return {name: getattr(X, name) for name in Table._fields}

    def load(self, state: Mapping[str, Any]) -> Lattices:
        """Return lattices, their arcs checked."""
        table = Table._make(state[name] for name in Table._fields)
        return Lattices(*table, state["alphabet"], saved_ids(state, "arc_offsets"))


register(LatticesKind())
