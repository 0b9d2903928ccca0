"""Rows of data as machines, and the sums over pairs of their paths:  K(x_i, x_j) = D(P_i o R_j).

P_i is what row i writes, R_j what is read of row j.  One sweep sums over the pairs of paths of two acceptors without
epsilons; it follows the states of what is read, and only that has to be acyclic.  Where cycles make even this
impossible, the machines are composed and the sum is the solution of a linear system.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelweave._numba.symmetric import mirror
from kernelweave.automata.algorithms.compose import compose
from kernelweave.automata.base import Array, Transducer
from kernelweave.automata.intersect import intersection_pairs
from kernelweave.automata.pack import AcceptorTable
from kernelweave.automata.weight import total_weight
from kernelweave.data.strings.alphabet import Alphabet

PAIRS_AT_A_TIME = 2**16
"""Pairs of rows that are listed before they are compared."""

Side = AcceptorTable | tuple[Transducer, ...]
"""Machines of all rows: packed for the sweep, or as they are where it takes linear systems."""


@dataclass(frozen=True, eq=False)
class MachineRows:
    """What rows write and what they read.

    Attributes
    ----------
    written, read : the machines of all rows that were prepared together; the same object where T is decomposed
    rows : (n,) which of them these are
    alphabet : of the rows
    """

    written: Side
    read: Side
    rows: Array
    alphabet: Alphabet

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> MachineRows:
        return replace(self, rows=self.rows[rows])

    def pairs(self, other: MachineRows, left: Array, right: Array) -> Array:
        """Return the sums over what row left[k] of these writes and row right[k] of the others reads, (pairs,)."""
        i, j = self.rows[left], other.rows[right]
        if isinstance(self.written, AcceptorTable) and isinstance(other.read, AcceptorTable):
            return intersection_pairs(other.read, self.written, j, i)
        assert isinstance(self.written, tuple)  # the transducer decides, not the rows
        assert isinstance(other.read, tuple)
        return np.array([_solved(self.written[a], other.read[b], a, b) for a, b in zip(i.tolist(), j.tolist())])

    def block(self, other: MachineRows, mirrored: bool) -> Array:
        """Return the sums of all pairs, (n, m); mirrored: those above the diagonal are copied from below it."""
        n, m = len(self), len(other)
        out = np.empty((n, m))
        step = max(1, PAIRS_AT_A_TIME // max(m, 1))
        for start in range(0, n, step):
            stop = min(start + step, n)
            left, right = (side.ravel() for side in np.indices((stop - start, m)))
            if mirrored:
                kept = right <= left + start
                left, right = left[kept], right[kept]
            out[left + start, right] = self.pairs(other, left + start, right)
        if mirrored:
            mirror(out)
        return out


def _solved(written: Transducer, read: Transducer, row: int, other: int) -> float:
    try:
        return total_weight(compose(written, read))
    except ValueError as reason:
        raise ValueError(f"The kernel of row {row} with row {other} is not finite. {reason}") from None
