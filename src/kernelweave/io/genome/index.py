"""Where the sequences of a FASTA file lie in it: one reading of its line ends.

Of a sequence whose lines are equally long, all but the last, the byte of any letter follows from its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kernelweave.data.atomic import PathLike

Array = np.ndarray
LINES_READ = 1 << 24
"""Bytes whose line ends are found together."""
NEWLINE, RETURN, HEADER = 10, 13, 62


@dataclass(frozen=True)
class Record:
    """One sequence of a file.

    Parameters
    ----------
    name : first word of its header
    length : number of its letters
    start, stop : bytes of the file between which its lines lie
    letters : letters of a line; 0 where lines differ in length, so that only a reading of all of them finds a letter
    width : bytes of a line with its end
    """

    name: str
    length: int
    start: int
    stop: int
    letters: int
    width: int

    def place(self, letter: int) -> int:
        """Return the byte of a letter."""
        return self.start + letter // self.letters * self.width + letter % self.letters


def records(path: PathLike, data: Array) -> Iterator[Record]:
    """Yield the sequences of a FASTA file.

    Parameters
    ----------
    path : the file, for messages
    data : (bytes,) its content
    """
    ends = _line_ends(data)
    starts = np.concatenate([[0], ends[:-1] + 1])
    heads = np.flatnonzero(data[starts] == HEADER)
    written = ends > starts
    first = int(np.argmax(written))
    if not heads.size or (written.any() and heads[0] > first):
        raise ValueError(f"{path}:{first + 1}: expected a header that begins with '>'.")
    for head, following in zip(heads.tolist(), [*heads[1:].tolist(), starts.size]):
        title = data[starts[head] + 1 : ends[head]].tobytes().decode("utf-8", "backslashreplace")
        if not title.split():
            raise ValueError(f"{path}:{head + 1}: the header has no id.")
        yield _record(title.split()[0], data, starts[head + 1 : following], ends[head + 1 : following], int(ends[head]))


def _line_ends(data: Array) -> Array:
    """Return where each line ends: its newline, or the end of the file."""
    found = [
        np.flatnonzero(data[start : start + LINES_READ] == NEWLINE) + start for start in range(0, data.size, LINES_READ)
    ]
    ends = np.concatenate(found)
    return ends if ends.size and ends[-1] == data.size - 1 else np.append(ends, data.size)


def _record(name: str, data: Array, starts: Array, ends: Array, head: int) -> Record:
    """Return a sequence by the lines that follow its header."""
    if not starts.size:
        return Record(name, 0, head + 1, head + 1, 1, 2)
    returned = int((ends[0] > starts[0]) & (data[ends[0] - 1] == RETURN))
    sizes = ends - starts - returned
    if ends[-1] > starts[-1] and data[ends[-1] - 1] != RETURN:
        sizes[-1] = ends[-1] - starts[-1]  # the file may end without the end of its last line
    while sizes.size and sizes[-1] <= 0:  # blank lines before the next header
        sizes = sizes[:-1]
    n, start, stop = sizes.size, int(starts[0]), int(ends[max(sizes.size, 1) - 1])
    if not n:
        return Record(name, 0, start, start, 1, 2)
    if (sizes[:-1] == sizes[0]).all() and 0 < sizes[-1] <= sizes[0] and _plain(data, start, stop, n, returned):
        length = int(sizes[0]) * (n - 1) + int(sizes[-1])
        return Record(name, length, start, stop, int(sizes[0]), int(sizes[0]) + returned + 1)
    letters = np.frombuffer(data[start:stop].tobytes().translate(None, b" \t\r\n"), np.uint8)
    return Record(name, letters.size, start, stop, 0, 0)


def _plain(data: Array, start: int, stop: int, lines: int, returned: int) -> bool:
    """Tell whether no line holds a blank, and all of them end alike."""
    blanks = returns = 0
    for at in range(start, stop, LINES_READ):
        piece = data[at : min(at + LINES_READ, stop)].tobytes()
        blanks += piece.count(b" ") + piece.count(b"\t")
        returns += piece.count(b"\r")
    return not blanks and returns == (lines if returned else 0)
