"""Learning from a stream: rows come in blocks that are seen and forgotten, perhaps again in later passes.

The objective is that of all N rows of the stream.  Where N is not known it is the number of rows seen so far.
Solvers of a stream move a `StreamState` over one block at a time:

    block(problem, state or None, total_rows or None) -> state

The problem is the common one on the rows of the block, which are in memory.  Costs enter relative to their mean over
the stream, which is what has been seen of it until the first pass is over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from kernelweave.solvers.problems import Array


@dataclass
class StreamState:
    """Where a stream is; plain numbers and arrays, so that it can be saved.

    Parameters
    ----------
    w, b, beta : the model: normal vector (width,), intercept and kernel weights (m,)
    squares : (m,) mean squared length of the rows seen
    rows, blocks : seen so far
    cost : sum of the costs of the first pass
    mean_cost : mean cost of a row
    """

    vectors: ClassVar[tuple[str, ...]] = ("w",)
    """Those of the arrays that have an entry for each column."""

    w: Array
    b: float
    beta: Array
    squares: Array
    rows: int = 0
    blocks: int = 0
    cost: float = 0.0
    mean_cost: float = 0.0

    @classmethod
    def at_zero(cls, width: int, beta: Array, **others: Any) -> Self:
        """Return the state before the first block: every vector is zero."""
        zero = np.zeros(width)
        begin = {"b": 0.0, "beta": beta, "squares": np.zeros(len(beta)), **dict.fromkeys(cls.vectors, zero), **others}
        return cls(**begin)

    def move(self, moved: Callable[[Array], Array]) -> None:
        """Give every vector the columns of a later block."""
        for name in self.vectors:
            setattr(self, name, moved(getattr(self, name)))

    def count(self, cost: Array, squares: Array, total_rows: int | None) -> float:
        """Count the rows of a block, of given costs (n,) and mean squared lengths (m,); return its share in the first
        pass as far as it has come, 0 in later ones.
        """  # fmt: skip
        n, share = len(cost), 0.0
        if total_rows is None or self.rows < total_rows:
            self.cost += float(cost.sum())
            self.mean_cost = self.cost / (self.rows + n)
            share = float(cost.sum()) / self.cost
        self.squares = self.squares + (squares - self.squares) * (n / (self.rows + n))
        return share

    def plain(self) -> dict[str, Any]:
        """Return the state as a dict of numbers and arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def check_block(n: int, total_rows: int | None) -> None:
    """Raise unless a block of n rows can be part of a stream of so many."""
    if total_rows is not None and n > total_rows:
        raise ValueError(f"total_rows={total_rows} is less than the {n} rows of a block; it counts all rows of a pass.")
