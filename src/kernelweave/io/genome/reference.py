"""The letters of intervals of long sequences: `Genome`."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Protocol

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.io.genome.index import Record, records
from kernelweave.io.machines import shown
from kernelweave.io.source import head, is_packed

Array = np.ndarray
NAMES_SHOWN = 5
"""Names of sequences that a message lists."""
CHROMOSOME = "chr"
"""What some genomes put before the names of their chromosomes, and others do not."""


class Place(Protocol):
    """An interval of a sequence: letters from `start`, counted from 0, up to `end` - 1."""

    @property
    def seqid(self) -> str:
        """Name of the sequence."""

    @property
    def start(self) -> int:
        """Its first letter."""

    @property
    def end(self) -> int:
        """The letter behind its last."""


class Genome:
    """Long sequences of a FASTA file, of which any interval can be fetched.

    A plain file is mapped from disk behind an index of its line ends, made in one reading; of a compressed one (gz,
    bz2, zstd), one sequence at a time is in memory, and going back to an earlier one reads the file again.

    Parameters
    ----------
    path : the file

    Attributes
    ----------
    lengths : number of letters of each sequence by name, in the order of the file

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "genome.fa"
    >>> _ = path.write_text(">chr1 first\\nACGT\\nacgt\\n>chr2\\nGGCC\\n")
    >>> genome = Genome(path)
    >>> genome.fetch("chr1", 2, 6), dict(genome.lengths)
    ('GTac', {'chr1': 8, 'chr2': 4})
    """

    def __init__(self, path: PathLike):
        self.path = path
        head(path)  # raises where there is no such file, or nothing in it
        self._letters = _Packed(path) if is_packed(path) else _Mapped(path)
        self.lengths = MappingProxyType(self._letters.lengths)

    def fetch(self, seqid: str, start: int, end: int) -> str:
        """Return the letters from `start`, counted from 0, up to `end` - 1, in upper and lower case as in the file.

        Parameters
        ----------
        seqid : name of the sequence, the first word of its header
        start, end : 0 <= start <= end <= its length
        """
        self.check(seqid, start, end)
        return self._letters.get(seqid, start, end).decode("utf-8", "backslashreplace")

    def fetch_many(self, places: Iterable[Place]) -> list[str]:
        """Return the letters of intervals, in their order; a compressed file is read once, whatever that order is."""
        listed = list(places)
        for place in listed:
            self.check(place.seqid, place.start, place.end)
        found = [""] * len(listed)
        for number in self._in_file_order(listed):
            place = listed[number]
            found[number] = self._letters.get(place.seqid, place.start, place.end).decode("utf-8", "backslashreplace")
        return found

    def check(self, seqid: str, start: int, end: int) -> None:
        """Raise unless an interval lies in the genome."""
        length = self.lengths.get(seqid)
        if length is None:
            raise ValueError(f"{self.path} has no sequence {seqid!r}; {self._known(seqid)}.")
        if not 0 <= start <= end <= length:
            raise ValueError(f"{seqid}:{start}-{end} is not inside of {self.path}, where {seqid} has {length} letters.")

    def _known(self, seqid: str) -> str:
        """Say which sequences there are, and what may be meant."""
        other = seqid.removeprefix(CHROMOSOME) if seqid.startswith(CHROMOSOME) else CHROMOSOME + seqid
        if other in self.lengths:
            return f"it has {other!r}: one of the two files puts {CHROMOSOME!r} before the names, the other does not"
        names = list(self.lengths)
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        return f"it has {', '.join(names[:NAMES_SHOWN])}{more}"

    def _in_file_order(self, places: list[Place]) -> list[int]:
        order = {name: number for number, name in enumerate(self.lengths)}
        return sorted(range(len(places)), key=lambda number: (order[places[number].seqid], places[number].start))

    def __contains__(self, seqid: object) -> bool:
        return seqid in self.lengths

    def __repr__(self) -> str:
        return f"<{len(self.lengths)} sequences, {sum(self.lengths.values())} letters, {self.path}>"


class _Mapped:
    """The letters of a plain file."""

    def __init__(self, path: PathLike):
        with open(path, "rb") as file:
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.records: dict[str, Record] = {}
        for record in records(path, np.frombuffer(self.map, np.uint8)):
            _check_new(path, record.name, self.records)
            self.records[record.name] = record
        self.lengths = {name: record.length for name, record in self.records.items()}
        self.whole: tuple[str, bytes] = ("", b"")  # the last sequence that had to be read from its first line on

    def get(self, seqid: str, start: int, end: int) -> bytes:
        """Return letters."""
        record = self.records[seqid]
        if record.letters:
            lines = self.map[record.place(start) : record.place(end - 1) + 1] if end > start else b""
            return lines.translate(None, b"\r\n")
        if self.whole[0] != seqid:
            self.whole = seqid, self.map[record.start : record.stop].translate(None, b" \t\r\n")
        return self.whole[1][start:end]


class _Packed:
    """The letters of a compressed file, one sequence at a time."""

    def __init__(self, path: PathLike):
        self.path = path
        self.lengths: dict[str, int] = {}
        for name, letters in self._sequences():
            _check_new(path, name, self.lengths)
            self.lengths[name] = sum(piece.size for piece in letters)
        self.reading: Iterator[tuple[str, list[Array]]] = iter(())
        self.here: tuple[str, bytes] = ("", b"")

    def get(self, seqid: str, start: int, end: int) -> bytes:
        """Return letters."""
        if self.here[0] != seqid and not self._go_on(seqid):
            self.reading = self._sequences()
            self._go_on(seqid)
        return self.here[1][start:end]

    def _go_on(self, seqid: str) -> bool:
        """Read on up to a sequence; return whether it came."""
        for name, letters in self.reading:
            if name == seqid:
                self.here = name, b"".join(piece.tobytes() for piece in letters)
                return True
        return False

    def _sequences(self) -> Iterator[tuple[str, list[Array]]]:
        """Yield name and letters of each sequence."""
        from kernelweave.io.formats.fasta import checked_parts

        name, pieces = "", list[Array]()
        for letters, starts, _, ids in checked_parts(self.path):
            bounds = [*starts.tolist(), letters.size]
            pieces.append(letters[: bounds[0]])
            for following, start, stop in zip(ids or (), bounds, bounds[1:]):
                if name:
                    yield name, pieces
                name, pieces = following, [letters[start:stop]]
        if name:
            yield name, pieces


def _check_new(path: PathLike, name: str, known: object) -> None:
    if name in known:  # type: ignore[operator]
        raise ValueError(f"{path} has two sequences {shown(name)}; intervals of it would be ambiguous.")
