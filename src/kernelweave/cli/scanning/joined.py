"""Windows that overlap, joined into places, while they come."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

Row = list[Any]
"""Sequence, start, end, strand, decision values."""


class Joined:
    """Places of windows that overlap, on either strand: from the first letter to the last, with the best value."""

    def __init__(self) -> None:
        self.here: Row | None = None

    def add(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the places that some more windows complete; windows come in the order of their starts."""
        for seqid, start, end, strand, value in rows:
            here = self.here
            if here is None or here[0] != seqid or start >= here[2]:
                yield from self.finish()
                self.here = [seqid, start, end, strand, value]
                continue
            here[2] = max(here[2], end)
            if value > here[4]:
                here[3], here[4] = strand, value

    def finish(self) -> Iterator[Row]:
        """Yield the last place."""
        if self.here is not None:
            yield self.here
            self.here = None


class Best:
    """The best places so far; of two equally good ones the earlier."""

    def __init__(self, size: int):
        self.size, self.order = size, count(0, -1)
        self.heap: list[tuple[float, int, Row]] = []

    @property
    def least(self) -> float | None:
        """The value that a place must exceed, None while any will do."""
        return self.heap[0][0] if len(self.heap) == self.size else None

    def add(self, rows: Iterable[Row]) -> None:
        """Look at some more places."""
        for row in rows:
            entry = (float(row[4]), next(self.order), row)
            if len(self.heap) < self.size:
                heapq.heappush(self.heap, entry)
            elif entry > self.heap[0]:
                heapq.heapreplace(self.heap, entry)

    def rows(self) -> list[Row]:
        """Return the places, best first."""
        return [row for *_, row in sorted(self.heap, key=lambda entry: entry[:2], reverse=True)]
