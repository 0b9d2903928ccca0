"""Lattices as a row kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelweave.data.kinds import register
from kernelweave.data.lattices.build import Table
from kernelweave.data.lattices.packed import LatticesPacking
from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.strings.kind import StringKind, saved_ids

Array = np.ndarray


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
