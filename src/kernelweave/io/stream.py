"""Sequences of a file in blocks of bounded size: a file of any size in a few ten megabytes.

The rows of a block are whole records, or pieces of records.  A piece of a long record begins with the last `overlap`
letters of the piece before, so that with ``overlap = window - 1`` every window of the record lies in exactly one piece:
if a piece ends before letter e, it holds the windows that start up to e - window, and the next one begins with the
window that starts at e - window + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.rows import IDS
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.letters import check_unknown
from kernelweave.data.strings.sequences import Sequences
from kernelweave.io.collect import Part, Rows, duplicate, encoded, hashes_of
from kernelweave.io.dataset import check_options
from kernelweave.io.registry import FORMATS, named
from kernelweave.io.sniff import sniff

Array = np.ndarray
MOST_MERGED = 1 << 22
"""Hashes of ids that are merged into one sorted run: merging takes as much memory again, looking into a few runs more
hardly any time."""


def streamed_formats() -> list[str]:
    """Return the names of the formats that are read in blocks."""
    return [name for name, format in FORMATS.items() if format.parts is not None]


class Block(NamedTuple):
    """Some rows of a file.

    Parameters
    ----------
    X : n records, or pieces of records
    places : (n,) where in its record a row begins; 0 for whole records and first pieces
    first : number in the file of the record that the first row belongs to
    shared : letters at the beginning of the first row that the block before had as well
    """

    X: Sequences
    places: Array
    first: int
    shared: int

    @property
    def names(self) -> list[str]:
        """The id of each row, or its number in the file where there are none."""
        n = len(self.X)
        return [str(self.first + i) for i in range(n)] if self.X.ids is None else self.X.ids.tolist()


def stream(
    path: PathLike,
    alphabet: str | Alphabet = "dna",
    unknown: str = "error",
    duplicates: str = "error",
    overlap: int | None = None,
    format: str | None = None,
    label: str | None = "label",
    texts: list[str] | None = None,
) -> Iterator[Block]:
    """Read FASTA, FASTQ or label-TAB-sequence lines, plain or compressed, block by block.

    Parameters
    ----------
    path : the file
    alphabet : "dna", "rna", "protein", "bytes" or an Alphabet
    unknown : "error" names the first letter that is not in the alphabet, "mask" makes it match nothing
    duplicates : "error" names an id that two records share (8 bytes a record are kept for it), "allow" reads both
    overlap : letters that two pieces of a record share; None for whole records, however long
    format : "fasta", "fastq" or "labelled"; None to look at the content
    label : key of the labels in FASTA headers, of which all must have one or none; None not to look
    texts : list to which the labels of the rows are added as they are read, at the latest with their block; the caller
        may take them out again

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.fa"
    >>> _ = path.write_text(">a first\\nACGT\\nAC\\n>b\\nGG\\n")
    >>> [(block.X.to_strings(), block.X.ids.tolist()) for block in stream(path)]
    [(['ACGTAC', 'GG'], ['a', 'b'])]
    """
    check_unknown(unknown)
    check_options(duplicates=(duplicates, ("error", "allow")))
    name = sniff(path) if format is None else format
    make_parts = named(name).parts
    if make_parts is None:
        able = ", ".join(streamed_formats())
        raise ValueError(f"{path} is read as {name}, which is not read in blocks; {able} are.")
    chosen = Alphabet.named(alphabet) if isinstance(alphabet, str) else alphabet
    if overlap is not None and chosen.byte_codes is None:
        raise ValueError(f"{path} cannot be cut into pieces: the letters of the {chosen.name} alphabet are not bytes.")

    def parts(key: str | None = None, found: list[str] | None = None) -> Iterator[Part]:
        return make_parts(path, key, found)

    cutter = _Cutter(path, chosen, unknown, overlap)
    return _blocks(cutter, parts(label, texts), _Unique(path, parts) if duplicates == "error" else None)


def _blocks(cutter: _Cutter, parts: Iterator[Part], unique: _Unique | None) -> Iterator[Block]:
    waiting: Part | None = None  # the last record ends with the last part, which nothing announces
    for part in parts:
        if unique is not None and part[3]:
            unique.add(part[3], part[2])
        if waiting and (block := cutter.add(*waiting)):
            yield block
        waiting = part
    if waiting and (block := cutter.add(*waiting, last=True)):
        yield block
    if cutter.number < 0:
        raise ValueError(f"{cutter.path} holds no sequences.")


class _Cutter:
    """Cuts what comes from a file into rows, and holds what is needed of the record that has not ended yet."""

    def __init__(self, path: PathLike, alphabet: Alphabet, unknown: str, overlap: int | None):
        self.path, self.alphabet, self.unknown, self.overlap = path, alphabet, unknown, overlap
        self.held: list[Array] = []
        self.place = 0  # where in the record the first held letter stands
        self.number, self.line = -1, 0
        self.name: list[str] | None = None

    def add(
        self, letters: Array, starts: Array, lines: Array, ids: list[str] | None, last: bool = False
    ) -> Block | None:
        """Return the rows that new letters complete, or in pieces: those that they are part of."""
        pieces = self.overlap is not None
        if not starts.size and not pieces and not last:
            self.held.append(letters)
            return None
        raw = np.concatenate([*self.held, letters])
        begun = self.number >= 0
        starts = starts + (raw.size - letters.size)
        if begun:
            starts, lines = np.concatenate([[0], starts]), np.concatenate([[self.line], lines])
            ids = None if self.name is None else [*self.name, *(ids or ())]
        if not starts.size:
            return None
        first, place = (self.number, self.place) if begun else (0, 0)
        # in pieces, a row that got no new letter was reported before
        known = int(begun and pieces and (starts[1] if starts.size > 1 else raw.size) == raw.size - letters.size)
        self._hold(raw, starts, lines, ids)
        bounds = np.append(starts, raw.size) if pieces or last else starts
        names = None if ids is None else ids[known : bounds.size - 1]
        place, shared = (0, 0) if known or not pieces else (place, raw.size - letters.size)
        return self._block(raw, bounds[known:], lines[known:], names, first + known, place, shared)

    def _hold(self, raw: Array, starts: Array, lines: Array, ids: list[str] | None) -> None:
        """Keep what the next rows need of the last record."""
        last = raw[starts[-1] :]
        kept = last if self.overlap is None else last[max(last.size - self.overlap, 0) :]
        self.place = (self.place if starts.size == 1 else 0) + last.size - kept.size
        self.held = [kept.copy()]
        self.number += starts.size - (self.number >= 0)
        self.line, self.name = int(lines[-1]), None if ids is None else ids[-1:]

    def _block(
        self, raw: Array, bounds: Array, lines: Array, names: list[str] | None, first: int, place: int, shared: int
    ) -> Block | None:
        n = bounds.size - 1
        if not n:
            return None
        offsets, ids = bounds - bounds[0], None if names is None else np.array(names, dtype=IDS)
        rows = Rows(self.path, offsets, np.diff(lines[:n], prepend=0), ids, first, place)
        places = np.zeros(n, np.int64)
        places[0] = place
        X = encoded(raw[bounds[0] : bounds[-1]], rows, self.alphabet, self.unknown)
        return Block(X, places, first, shared)


class _Unique:
    """Finds an id that two records share, with 8 bytes a record: sorted runs of hashes, merged when alike in size."""

    def __init__(self, path: PathLike, parts: Callable[[], Iterator[Part]]):
        self.path, self.parts = path, parts
        self.runs: list[Array] = []

    def add(self, ids: list[str], lines: Array) -> None:
        """Raise if an id was used before."""
        new = np.sort(hashes_of(ids))
        suspects = set(new[1:][new[1:] == new[:-1]].tolist())
        for run in self.runs:
            at = np.minimum(np.searchsorted(run, new), run.size - 1)
            suspects.update(new[run[at] == new].tolist())
        if suspects:
            self._check_ids(suspects, int(lines[-1]))
        self.runs.append(new)
        while len(self.runs) > 1 and MOST_MERGED > 2 * self.runs[-1].size > self.runs[-2].size:
            self.runs[-2:] = [np.concatenate(self.runs[-2:])]
            self.runs[-1].sort()

    def _check_ids(self, suspects: set[int], last_line: int) -> None:
        """Read the ids again, up to a line: equal hashes may come from different ids."""
        first: dict[str, int] = {}
        for _, _, lines, ids in self.parts():
            for name, line in zip(ids or (), lines.tolist()):
                if line <= last_line and hash(name) in suspects and first.setdefault(name, line) != line:
                    raise duplicate(self.path, name, line, first[name])
            if lines.size and lines[-1] >= last_line:
                return
