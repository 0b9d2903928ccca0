"""What two small samples tell of a fit before its first round: how many rows will carry the solution.

    support ~ n^power        power from the numbers of support vectors of two samples, four times apart

A working set that cannot hold the support leaves the gap open, and one that is not much smaller than all rows saves
nothing: both are worth a sentence before hours are spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kernelweave.solvers.active.working_set import (
    LARGEST_PILOT,
    PILOT,
    PILOT_SHARE,
    PILOT_TIMES,
    ROOM,
    WHOLE,
    expected_support,
)

MOST_SUPPORT = 0.5
"""Share of the rows from which on a working set of all support vectors saves too little to be worth its rounds."""


def pilot_sizes(n: int, least: int = PILOT) -> tuple[int, int]:
    """Return the rows of the two samples for n rows.

    Examples
    --------
    >>> pilot_sizes(100_000), pilot_sizes(10_000_000)
    ((1562, 6250), (16384, 65536))
    """
    large = min(n, max(least, min(LARGEST_PILOT, n // PILOT_SHARE)))
    return max(2, large // PILOT_TIMES), large


@dataclass(frozen=True)
class Pilot:
    """Two samples and what was found on them.

    Parameters
    ----------
    n : rows in all
    largest_set : rows that a working set may have
    sizes, support, seconds : of both samples: rows, support vectors, and the time that solving them took

    Examples
    --------
    >>> pilot = Pilot(400_000, 300_000, (1000, 4000), (500, 1000), (0.1, 0.4))
    >>> round(pilot.expected), pilot.power, pilot.capacity, pilot.warning
    (10000, 0.5, 15000, None)
    >>> Pilot(400_000, 8000, (1000, 4000), (500, 1000), (0.1, 0.4)).warning[:60]
    'About 10000 of the 400000 rows are expected to be support ve'
    """

    n: int
    largest_set: int
    sizes: tuple[int, int]
    support: tuple[int, int]
    seconds: tuple[float, float]

    @cached_property
    def _grown(self) -> tuple[float, float]:
        return expected_support(self.support, self.sizes, self.n)

    @property
    def expected(self) -> float:
        """Support vectors to expect."""
        return self._grown[0]

    @property
    def power(self) -> float:
        """Power of the number of rows by which they grow."""
        return self._grown[1]

    @property
    def capacity(self) -> int:
        """Rows of the working set; all of them at once where most would be in it and they fit."""
        if self.expected > WHOLE * self.n and self.largest_set == self.n:
            return self.n
        return min(self.largest_set, max(int(ROOM * self.expected), self.sizes[1]))

    @property
    def warning(self) -> str | None:
        """One sentence where rounds over parts will not close the gap, or will not help; None elsewhere.

        Where a working set may have all rows there is nothing to warn of: at worst they are solved at once.
        """
        if self.largest_set >= self.n:
            return None
        (small, large), (few, more) = self.sizes, self.support
        found = (
            f"About {self.expected:.0f} of the {self.n} rows are expected to be support vectors ({few} of {small} and "
            f"{more} of {large} rows of two samples were)"
        )
        if self.expected > self.largest_set:
            return (
                f"{found}, but a working set holds at most {self.largest_set} rows: rounds over parts will not close "
                "the gap; raise memory_limit, take a larger C, or use another solver."
            )
        if self.expected > MOST_SUPPORT * self.n:
            return (
                f"{found}: a working set that holds them is hardly smaller than all rows, and rounds over parts save "
                "little; raise memory_limit, so that all rows fit, take a larger C, or use another solver."
            )
        return None

    def __str__(self) -> str:
        (small, large), (few, more) = self.sizes, self.support
        return (
            f"about {self.expected:.0f}, growing as n^{self.power:.2f} (samples of {small} and {large} rows have {few} "
            f"and {more})"
        )
