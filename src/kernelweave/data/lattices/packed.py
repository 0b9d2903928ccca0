"""Lattices in the parts of a store: the columns of their arc table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelweave.data.lattices.build import Table
from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.stores.packing import Array, Facts, Head, Packing, Piece
from kernelweave.data.strings.alphabet import Alphabet

ARC_BYTES, STATE_BYTES = 4 + 4 + 4 + 8, 8
"""Bytes of an arc (source, target, label, weight) and of a state (weight of ending there)."""


class LatticesPacking(Packing):
    """Arc tables."""

    has_ids = True

    def head(self, X: Lattices) -> Head:
        """Return the alphabet."""
        return {"alphabet": X.alphabet.to_dict()}

    def content(self, head: Head) -> Alphabet:
        """Return the alphabet."""
        return Alphabet.from_dict(head["alphabet"])

    def sections(self, X: Lattices) -> tuple[dict[str, Array], Facts]:
        """Return the columns of the arc table."""
        arrays = {name: np.asarray(getattr(X, name)) for name in Table._fields}
        masked = int(np.count_nonzero(X.labels == X.alphabet.size))
        return arrays, {"letters": int(X.labels.size), "masked": masked, "states": int(X.finals.size)}

    def check(self, head: Head, sections: Mapping[str, Array], facts: Facts, n: int) -> None:
        """Raise unless the arcs are those of n lattices."""
        X = Lattices(*_table(sections), self.content(head))
        if len(X) != n or (X.labels.size, X.finals.size) != (facts["letters"], facts["states"]):
            raise ValueError("arc_offsets")

    def gather(self, head: Head, pieces: Sequence[Piece], ids: Array | None) -> Lattices:
        """Copy the chosen rows behind one another."""
        alphabet = self.content(head)
        parts: list[Any] = [Lattices._trusted(_table(piece.sections), alphabet, None)[piece.rows] for piece in pieces]
        X = Lattices.concatenate(parts or [Lattices.from_arcs([], alphabet)])
        return Lattices._trusted(Table(*(getattr(X, name) for name in Table._fields)), alphabet, ids)

    def shape(self, head: Head, n: int, facts: Sequence[Facts]) -> tuple[int, ...]:
        """Return (n,)."""
        return (n,)

    def nbytes(self, head: Head, n: int, facts: Sequence[Facts]) -> int:
        """Return the bytes of arcs, states and offsets."""
        return sum(ARC_BYTES * part["letters"] + STATE_BYTES * part["states"] for part in facts) + 16 * (n + 1)


def _table(sections: Mapping[str, Array]) -> Table:
    return Table(*(sections[name] for name in Table._fields))
