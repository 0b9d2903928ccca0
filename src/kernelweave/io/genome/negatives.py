"""Intervals like given ones, drawn from the rest of a genome: as long, with as much G and C, and with as many repeats.

Candidates are drawn uniformly over the genome.  One is taken for the first interval without a match, in the order of
the file, to which it is close enough; it may hold A, C, G and T only, and may overlap neither the given intervals, nor
those that are to be excluded, nor another match.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from kernelweave.data.random import RandomState, generator
from kernelweave.io.genome.intervals import Interval
from kernelweave.io.genome.reference import Genome

Array = np.ndarray
DRAWN = 20
"""Candidates for each interval without a match, in a round."""
MOST_ROUNDS = 100
"""Rounds after which intervals stay without a match."""
UPPER, LOWER = b"ACGT", b"acgt"


@dataclass(frozen=True)
class Matched:
    """What was found.

    Parameters
    ----------
    intervals : m matches
    sources : (m,) number of the interval that each one matches
    lacking : numbers of intervals without as many matches as were asked for
    wanted, found : (n, 2), (m, 2) share of G and C, and of repeats, of the given intervals and of their matches
    """

    intervals: list[Interval]
    sources: Array
    lacking: list[int]
    wanted: Array
    found: Array


def matched(
    intervals: list[Interval],
    genome: Genome,
    copies: int = 1,
    gc: float = 0.02,
    repeats: float = 0.02,
    exclude: Iterable[Interval] = (),
    random_state: RandomState = 0,
) -> Matched:
    """Draw intervals that are as long as given ones and alike in composition, elsewhere in the genome.

    Parameters
    ----------
    intervals : n intervals inside of the genome
    genome : where they are from; its lower-case letters are the repeats
    copies : matches for each interval
    gc, repeats : largest difference between an interval and its match in the share of G and C, and of repeats
    exclude : further intervals that no match may overlap
    random_state : seed, or a generator

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "genome.fa"
    >>> _ = path.write_text(">chr1\\n" + "ACGT" * 100 + "\\n")
    >>> peaks = [Interval("chr1", 20, 60), Interval("chr1", 100, 140)]
    >>> found = matched(peaks, Genome(path), gc=0.05)
    >>> [one.end - one.start for one in found.intervals], found.lacking
    ([40, 40], [])
    """
    rng = generator(random_state)
    search = _Search(intervals, genome, copies, (gc, repeats), _Taken([*intervals, *exclude]))
    for _ in range(MOST_ROUNDS):
        if not search.missing:
            break
        search.look_at(_draw(genome, [intervals[number] for number in search.missing for _ in range(DRAWN)], rng))
    search.chosen.sort(key=lambda choice: choice[0])
    found = np.array([shares for *_, shares in search.chosen]).reshape(-1, 2)
    sources = np.array([number for number, *_ in search.chosen], np.int64)
    return Matched([one for _, one, _ in search.chosen], sources, sorted(search.missing), search.wanted, found)


class _Search:
    """The matches so far, and which intervals still lack how many."""

    def __init__(
        self, intervals: list[Interval], genome: Genome, copies: int, apart: tuple[float, float], taken: _Taken
    ):
        self.intervals, self.genome, self.apart, self.taken = intervals, genome, np.array(apart), taken
        self.wanted = np.array([composition(text)[:2] for text in genome.fetch_many(intervals)]).reshape(-1, 2)
        self.missing = dict.fromkeys(range(len(intervals)), copies)
        self.chosen: list[tuple[int, Interval, tuple[float, float]]] = []

    def look_at(self, drawn: list[Interval]) -> None:
        """Take the candidates that match an interval."""
        waiting: dict[int, list[int]] = {}
        for number in self.missing:
            waiting.setdefault(self.intervals[number].end - self.intervals[number].start, []).append(number)
        for one, text in zip(drawn, self.genome.fetch_many(drawn)):
            strong, repeated, plain = composition(text)
            if not plain or self.taken.overlaps(one):
                continue
            alike = waiting[one.end - one.start]
            near = (np.abs(self.wanted[alike] - (strong, repeated)) <= self.apart).all(axis=1)
            if not near.any():
                continue
            number = alike[int(np.argmax(near))]
            self.taken.add(one)
            self.chosen.append((number, one, (strong, repeated)))
            self.missing[number] -= 1
            if not self.missing[number]:
                del self.missing[number]
                alike.remove(number)


def _draw(genome: Genome, like: list[Interval], rng: np.random.Generator) -> list[Interval]:
    """Return an interval of each length, anywhere in the genome; none for lengths that no sequence has."""
    names, lengths = list(genome.lengths), np.array(list(genome.lengths.values()), np.int64)
    wide = np.array([one.end - one.start for one in like], np.int64)
    drawn = []
    for width in np.unique(wide).tolist():
        room = np.maximum(lengths - width + 1, 0)
        places = rng.integers(0, room.sum(), int((wide == width).sum()))
        ends = np.cumsum(room)
        sequences = np.searchsorted(ends, places, side="right")
        starts = places - (ends - room)[sequences]
        drawn += [Interval(names[at], start, start + width) for at, start in zip(sequences.tolist(), starts.tolist())]
    return drawn


def composition(text: str) -> tuple[float, float, bool]:
    """Return the share of G and C, that of lower-case letters, and whether all letters are A, C, G and T."""
    n = max(len(text), 1)
    raw = text.encode("ascii", "replace")
    lower = len(raw) - len(raw.translate(None, LOWER))
    upper = len(raw) - len(raw.translate(None, UPPER))
    strong = sum(map(raw.count, (b"G", b"C", b"g", b"c")))
    return strong / n, lower / n, lower + upper == len(raw)


@dataclass
class _Taken:
    """Intervals that no match may overlap, by sequence: merged at first, then with the matches put in."""

    given: list[Interval]
    starts: dict[str, list[int]] = field(default_factory=dict)
    ends: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for one in sorted(self.given, key=lambda one: (one.seqid, one.start)):
            starts, ends = self.starts.setdefault(one.seqid, []), self.ends.setdefault(one.seqid, [])
            if ends and one.start <= ends[-1]:
                ends[-1] = max(ends[-1], one.end)
            else:
                starts.append(one.start)
                ends.append(one.end)

    def overlaps(self, one: Interval) -> bool:
        """Tell whether an interval shares a letter with one that is taken."""
        starts, ends = self.starts.get(one.seqid, []), self.ends.get(one.seqid, [])
        before = bisect_left(starts, one.end)  # those that begin before its end
        return before > 0 and ends[before - 1] > one.start

    def add(self, one: Interval) -> None:
        """Take an interval that overlaps none."""
        insort(self.starts.setdefault(one.seqid, []), one.start)
        insort(self.ends.setdefault(one.seqid, []), one.end)
