"""Which rows the master works on: all that carry the solution, and those with the largest shares of the gap.

    share_i = c_i loss(f_i, y_i) + c_i loss*(-alpha_i / c_i, y_i) + alpha_i f_i >= 0,      gap = sum of all shares

A row without alpha has the share c_i loss(f_i, y_i).  The set is sized by a pilot: the number of support vectors of two
small samples, 4 times apart, tells by which power it grows.  It must exceed the support, or no round can close the gap;
where the gap falls less than twofold, it is enlarged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.losses import Loss
from kernelweave.solvers.problems import Array, dot

PILOT_SHARE, PILOT, LARGEST_PILOT, PILOT_TIMES = 16, 4096, 1 << 16, 4
"""Rows of the larger pilot sample: one of so many, within limits; and how many times the smaller one's they are."""
SLOWEST, FASTEST = 0.4, 1.0
"""Powers of the number of rows between which the number of support vectors is taken to grow."""
ROOM = 1.5
"""Rows of the working set for each support vector that is expected."""
FIRST = 0.5
"""Share of the working set that the first sample fills."""
WHOLE = 0.4
"""Share of the rows from which on all of them are taken at once, where they fit: little would be left out."""
ENLARGED = 2.0
"""By how much the working set grows where the gap fell less than twofold."""
LEAST_ROOM = 1.25
"""A working set has at least so many rows for each support vector at hand."""
RARE = 500
"""Rows of the rarer class that a sample has where there are so many."""
RETURNED = 2.0
"""Rows that a part offers for each that would be its share of the room: shares are not spread evenly over parts."""
RETURNED_MORE = 1024


def sample(y: Array, rows: int, random: np.random.Generator) -> Array:
    """Return the numbers of so many random rows, rising; of labels, both are among them."""
    n = len(y)
    if rows >= n:
        return np.arange(n)
    chosen = [random.choice(n, rows, replace=False, shuffle=False)]
    for label in (-1.0, 1.0):
        found = np.count_nonzero(y[chosen[0]] == label)
        if found < min(RARE, rows // 4):
            others = np.flatnonzero(y == label)
            chosen.append(random.permutation(others)[: min(RARE, rows // 4)])
    return np.unique(np.concatenate(chosen))


def expected_support(counts: tuple[int, int], sizes: tuple[int, int], n: int) -> tuple[float, float]:
    """Return how many of n rows will be support vectors, and the power by which their number grows.

    Examples
    --------
    >>> support, power = expected_support((500, 1000), (1000, 4000), 400_000)
    >>> round(support), power
    (10000, 0.5)
    """
    (few, more), (small, large) = counts, sizes
    power = np.log(max(more, 1) / max(few, 1)) / np.log(large / small) if large > small else 1.0
    power = float(np.clip(power, SLOWEST, FASTEST))
    return min(float(n), more * (n / large) ** power), power


@dataclass(frozen=True)
class Targets:
    """What the parts are told of their rows, in as few bytes as that takes.

    Parameters
    ----------
    y : (n,) labels are kept in one byte each
    cost : (n,), or (1,) where all rows have the same
    """

    y: Array
    cost: Array

    @classmethod
    def of(cls, y: Array, cost: Array) -> Targets:
        """Return targets and costs in the smallest form that says the same."""
        small = y.astype(np.int8) if np.all(np.abs(y) == 1.0) else y
        return cls(small, cost[:1] if len(cost) and np.all(cost == cost[0]) else cost)

    def part(self, cut: slice) -> tuple[Array, Array]:
        """Return targets and costs of a part."""
        return self.y[cut], self.cost if len(self.cost) == 1 else self.cost[cut]


def shares(loss: Loss, b: float, wanted: int, outputs: Array, job: tuple[Array, Array, Array, Array]) -> tuple:
    """Return what a part says: its losses, its part of ``alpha'K alpha``, rows with a loss, and the largest shares.

    Parameters
    ----------
    outputs : (rows,) of the part, without intercept
    wanted : rows to return at most, those with the largest shares
    job : targets and costs of the rows, places of those with an alpha and their alpha
    """
    y, cost, places, alpha = job
    each = cost * loss.value(outputs + b, y.astype(np.float64))
    total, energy = float(each.sum()), dot(alpha, outputs[places])
    each[places] = 0.0  # they stay in any case
    found = np.flatnonzero(each)
    top = found if len(found) <= wanted else np.sort(np.argpartition(each, len(each) - wanted)[len(each) - wanted :])
    return total, energy, len(found), top.astype(np.uint32), each[top].astype(np.float32)


def largest(found: list[tuple], parts: list[slice], room: int) -> Array:
    """Return the rows with the largest shares of all parts, at most so many; of equal ones those of the first rows."""
    rows = np.concatenate(
        [np.zeros(0, np.int64), *(one[3].astype(np.int64) + cut.start for one, cut in zip(found, parts))]
    )
    values = np.concatenate([np.zeros(0, np.float32), *(one[4] for one in found)])
    if len(rows) > room:
        rows = rows[np.argsort(-values, kind="stable")[:room]]
    return np.sort(rows)
