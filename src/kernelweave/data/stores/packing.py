"""How rows of one kind lie in the parts of a store.

A row kind that can be stored has a `Packing`.  It turns some rows into *sections*, named flat arrays of a part file,
and gathers any rows from the sections of several parts.  What all rows of a store share (an alphabet, columns) is its
*head*; what is counted of a part (letters, the longest row) are its *facts*.  Both stand in the manifest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray
Head = dict[str, Any]
"""What all rows of a store share, as JSON holds it."""
Facts = dict[str, int]
"""What is counted of the rows of one part."""


class Piece(NamedTuple):
    """Some rows of one part: its sections and facts, how many rows it has, and which of them (a slice or numbers)."""

    sections: Mapping[str, Array]
    facts: Facts
    n: int
    rows: slice | Array

    @property
    def numbers(self) -> Array:
        """Numbers of the rows within the part."""
        return np.arange(self.n)[self.rows] if isinstance(self.rows, slice) else self.rows

    @property
    def size(self) -> int:
        """How many rows are wanted."""
        return len(range(*self.rows.indices(self.n))) if isinstance(self.rows, slice) else len(self.rows)


class Packing(ABC):
    """From rows of one kind to sections and back."""

    has_ids = False
    """Whether the container holds ids of its rows."""

    @abstractmethod
    def head(self, X: Any) -> Head:
        """Return what all rows of a store share, or raise where such rows cannot be stored."""

    @abstractmethod
    def content(self, head: Head) -> Any:
        """Return what `RowKind.content` says of the rows; a head that is damaged raises."""

    @abstractmethod
    def sections(self, X: Any) -> tuple[dict[str, Array], Facts]:
        """Return rows as named flat arrays, and what is counted of them."""

    @abstractmethod
    def check(self, head: Head, sections: Mapping[str, Array], facts: Facts, n: int) -> None:
        """Raise ValueError, KeyError or TypeError unless the sections hold n rows: they may be forged."""

    @abstractmethod
    def gather(self, head: Head, pieces: Sequence[Piece], ids: Array | None) -> Any:
        """Return the rows of several parts behind one another, in memory."""

    @abstractmethod
    def shape(self, head: Head, n: int, facts: Sequence[Facts]) -> tuple[int, ...]:
        """Return the shape of the container of all n rows."""

    @abstractmethod
    def nbytes(self, head: Head, n: int, facts: Sequence[Facts]) -> int:
        """Return how many bytes all n rows take in memory."""
