"""Intervals of sequences in BED files and the narrowPeak and broadPeak files of peak callers.

Columns are sequence, start (from 0), end, and perhaps name, score and strand; the tenth column of narrowPeak is the
summit, counted from the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.errors import Metavar, ParameterError
from kernelweave.io.machines import shown
from kernelweave.io.source import numbered_lines

FEWEST = 3
"""Columns of the shortest BED line."""
NARROW_PEAK = 10
"""Columns of a line of narrowPeak, the last of which is the summit."""
NAME, STRAND = 3, 5
"""Columns counted from 0."""
BESIDE = ("#", "track", "browser")
"""How lines begin that hold no interval."""
WHOLE = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Interval:
    """Letters `start`, counted from 0, up to `end` - 1 of a sequence.

    Parameters
    ----------
    seqid : name of the sequence
    start, end : the interval
    strand : "+", "-", or "." where it has none
    name : of the interval; "" for none
    summit : letter of the sequence where a peak is highest, None where that is not known
    line : of the file, for messages
    """

    seqid: str
    start: int
    end: int
    strand: str = "."
    name: str = ""
    summit: int | None = None
    line: int = 0

    @property
    def middle(self) -> int:
        """The summit, or the letter in the middle where there is none."""
        return (self.start + self.end) // 2 if self.summit is None else self.summit

    @property
    def region(self) -> str:
        """Name of the place, as bedtools spells it.

        >>> Interval("chr1", 4, 9, "-").region
        'chr1:4-9(-)'
        """
        return f"{self.seqid}:{self.start}-{self.end}" + ("(-)" if self.strand == "-" else "")

    def resized(self, width: int) -> Interval:
        """Return the interval of this width around the middle.

        >>> Interval("chr1", 100, 200, summit=120).resized(10).region
        'chr1:115-125'
        """
        start = self.middle - width // 2
        return replace(self, start=start, end=start + width)


def read_intervals(path: PathLike) -> list[Interval]:
    """Return the intervals of a BED, narrowPeak or broadPeak file, plain or compressed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "peaks.bed"
    >>> _ = path.write_text("chr1\\t10\\t30\\tfirst\\t0\\t-\\n")
    >>> read_intervals(path)[0].region
    'chr1:10-30(-)'
    """
    found = [_interval(path, number, text) for number, text in numbered_lines(path) if not text.startswith(BESIDE)]
    if not found:
        raise ValueError(f"{path} holds no intervals.")
    return found


def write_intervals(path: PathLike, intervals: Iterable[Interval]) -> None:
    """Write BED lines of six columns."""
    with open_aside(path) as file:
        for one in intervals:
            file.write(f"{one.seqid}\t{one.start}\t{one.end}\t{one.name or '.'}\t0\t{one.strand}\n".encode())


def windows(intervals: list[Interval], width: int | None) -> list[Interval]:
    """Return the intervals, or with a width those of that width around their summits or middles."""
    if width is None:
        return intervals
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise ParameterError(
            "{width} is not a number of letters; expected a whole number, 1 or more.", {"width": width}
        )
    return [one.resized(width) for one in intervals]


def looks_like_intervals(line: bytes) -> bool:
    """Tell a line of a name and two whole numbers that rise."""
    cells = line.split(b"\t") if b"\t" in line else line.split()
    if len(cells) < FEWEST or not cells[0] or not (cells[1].isdigit() and cells[2].strip().isdigit()):
        return False
    return int(cells[1]) <= int(cells[2])


def _interval(path: PathLike, number: int, text: str) -> Interval:
    """Return the interval of a line."""
    cells = text.rstrip("\t").split("\t") if "\t" in text else text.split()
    if len(cells) < FEWEST:
        raise ValueError(f"{path}:{number}: expected sequence, start and end, found {len(cells)} columns.")
    seqid, first, last = (cell.strip() for cell in cells[:FEWEST])
    for what, cell in (("start", first), ("end", last)):
        if not WHOLE.fullmatch(cell):
            raise ValueError(f"{path}:{number}: the {what} {shown(cell)} is not a whole number, 0 or more.")
    start, end = int(first), int(last)
    if start >= end:
        raise ValueError(f"{path}:{number}: the interval ends at {end}, which is not behind its start, {start}.")
    strand = cells[STRAND].strip() if len(cells) > STRAND else "."
    if strand not in ("+", "-", "."):
        raise ValueError(f"{path}:{number}: the strand {strand!r} is none of '+', '-' and '.'.")
    name = cells[NAME].strip() if len(cells) > NAME else ""
    return Interval(seqid, start, end, strand, "" if name == "." else name, _summit(path, number, cells, start), number)


def _summit(path: PathLike, number: int, cells: list[str], start: int) -> int | None:
    """Return the summit of a line of narrowPeak; -1 stands for none."""
    if len(cells) != NARROW_PEAK or cells[-1].strip() == "-1":
        return None
    if not WHOLE.fullmatch(cells[-1].strip()):
        raise ValueError(f"{path}:{number}: the summit {shown(cells[-1])} is not a whole number, -1 for none.")
    return start + int(cells[-1])


def needs_genome(path: PathLike) -> ParameterError:
    """Return the error about intervals without the sequences that they are of."""
    return ParameterError(
        "{path} holds intervals, no letters; name the FASTA file that they are of: {genome}.",
        {"genome": Metavar("'genome.fa'")},
        path=path,
    )
