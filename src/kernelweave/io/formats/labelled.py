"""Lines of ``label TAB sequence`` with an optional third column of ids, plain or compressed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.errors import Metavar, ParameterError
from kernelweave.data.rows import offsets_of
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.sequences import Sequences
from kernelweave.io.collect import Collector, Part
from kernelweave.io.dataset import Dataset, check_rows, label_text, parse_labels
from kernelweave.io.machines import shown
from kernelweave.io.numbers import is_number
from kernelweave.io.registry import BY_LINES, Format, register
from kernelweave.io.source import line_blocks, spans

Array = np.ndarray
ROWS_AT_ONCE = 1 << 15
"""Rows that are spelled and written together."""

TAB, NEWLINE, RETURN = 9, 10, 13
WIDE_LABEL = 64
"""Labels up to this many bytes are compared as fixed-width arrays."""


def read(
    path: PathLike, alphabet: str | Alphabet = "auto", unknown: str = "error", duplicates: str = "error"
) -> Dataset:
    """Read labels, sequences and, if there is a third column, ids.

    Parameters
    ----------
    path : the file
    alphabet : "dna", "rna", "protein", "bytes", "words", "text", "auto" (inferred from all letters) or an Alphabet
    unknown : "error" names the first letter that is not in the alphabet, "mask" makes it match nothing
    duplicates : "error" names an id that two rows share, "allow" keeps both

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.tsv"
    >>> _ = path.write_text("1\\tACGT\\ta\\n-1\\tGG\\tb\\n")
    >>> data = read(path)
    >>> data.X.to_strings(), data.y.tolist(), data.ids.tolist()
    (['ACGT', 'GG'], [1, -1], ['a', 'b'])
    """
    collector, labels = Collector(path), Labels()
    for part in parts(path, labels):
        collector.add(*part)
    X = collector.finish(alphabet, unknown, duplicates)
    return Dataset(X, labels.finish(path), X.ids, "labelled")


def parts(path: PathLike, labels: Labels | Texts | None = None) -> Iterator[Part]:
    """Yield the letters of a file in parts of whole lines, with start, line and id of each row."""
    n_tabs = 0
    for block, line in line_blocks(path):
        fields = _Fields(path, block, line, n_tabs)
        n_tabs = fields.n_tabs
        if fields.starts.size:
            if labels is not None:
                labels.add(path, block, fields)
            yield _part(path, block, fields)


def streamed_parts(path: PathLike, label: str | None = None, texts: list[str] | None = None) -> Iterator[Part]:
    """Yield the parts of a file; its labels, whatever they are called, are added to `texts`."""
    return parts(path, None if texts is None else Texts(texts))


def write(path: PathLike, X: Sequences, y: Any, ids: Any = None) -> None:
    """Write one line a row: label, sequence and, if there are ids, the id."""
    ids = X.ids if ids is None else ids
    if y is None:
        raise ValueError("Lines of label and sequence need labels, got none.")
    check_rows(len(X), y, ids)
    labels = [label_text(value) for value in y]
    names = None if ids is None else [str(name) for name in ids]
    with open_aside(path) as file:
        for start in range(0, len(X), ROWS_AT_ONCE):
            rows = X[start : start + ROWS_AT_ONCE].to_strings()
            stop = start + len(rows)
            columns = [labels[start:stop], rows] + ([names[start:stop]] if names is not None else [])
            for number, fields in enumerate(zip(*columns), start):
                if not fields[0] or any(sign in field for field in fields for sign in "\t\n\r"):
                    raise ValueError(f"Row {number} cannot be written: a field holds a tab or line end, or no label.")
                file.write(("\t".join(fields) + "\n").encode("utf-8", "surrogateescape"))


def sniff(start: bytes) -> bool:
    """Tell the format by two or three columns of which the second is never a number.

    A file whose first line holds names is one of columns, which is tried before.
    """
    lines = [line for line in start.split(b"\n")[:20] if line.strip()]
    rows = [line.rstrip(b"\r").split(b"\t") for line in lines]
    return bool(rows) and all(len(row) in (2, 3) and row[0] and not _is_number(row[1]) for row in rows)


def _is_number(text: bytes) -> bool:
    return is_number(text.decode("latin-1").rstrip("\r"))


class _Fields:
    """Where the fields of each line of a block lie; blank lines are left out."""

    def __init__(self, path: PathLike, block: bytes, first_line: int, n_tabs: int):
        data = np.frombuffer(block, np.uint8)
        stops = np.flatnonzero(data == NEWLINE)
        if data[-1] != NEWLINE:
            stops = np.append(stops, data.size)
        starts = np.concatenate([[0], stops[:-1] + 1])
        stops = stops - ((stops > starts) & (data[stops - 1] == RETURN))
        used = np.flatnonzero(stops > starts)
        self.lines, self.starts, self.stops = used + first_line, starts[used], stops[used]
        tabs = np.append(np.flatnonzero(data == TAB), data.size)
        first = np.searchsorted(tabs, self.starts)
        counts = np.searchsorted(tabs, self.stops) - first
        self.n_tabs = n_tabs or (int(counts[0]) if counts.size else 0)
        self._check(path, counts)
        self.label_stops = tabs[first]
        if (empty := self.label_stops == self.starts).any():
            line = self.lines[np.argmax(empty)]
            raise ValueError(f"{path}:{line}: the label is empty; expected label, tab, sequence.")
        self.text_stops = tabs[first + 1] if self.n_tabs == 2 else self.stops

    def _check(self, path: PathLike, counts: Array) -> None:
        odd = np.flatnonzero((counts != self.n_tabs) | (counts < 1) | (counts > 2))
        if odd.size:
            line, found = self.lines[odd[0]], counts[odd[0]] + 1
            wanted = f"{self.n_tabs + 1} as before" if self.n_tabs in (1, 2) else "label, sequence and an optional id"
            lone = "; sequences or texts alone need a first line that says 'sequence' or 'text'" if found == 1 else ""
            raise ValueError(f"{path}:{line}: found {found} tab-separated fields, expected {wanted}{lone}.")


def _part(path: PathLike, block: bytes, fields: _Fields) -> Part:
    from kernelweave.data.strings.loops import gather_rows

    starts = fields.label_stops + 1
    offsets = offsets_of(fields.text_stops - starts)
    letters = np.empty(offsets[-1], np.uint8)
    gather_rows(np.frombuffer(block, np.uint8), starts, np.arange(starts.size), offsets, letters)
    ids = spans(path, block, fields.text_stops + 1, fields.stops, fields.lines) if fields.n_tabs == 2 else None
    return letters, offsets[:-1], fields.lines, ids


class Labels:
    """The labels of the lines; each distinct one is kept once."""

    def __init__(self) -> None:
        self.index: dict[bytes, int] = {}
        self.texts: list[str] = []
        self.codes: list[Array] = []

    def add(self, path: PathLike, block: bytes, fields: _Fields) -> None:
        """Keep the labels of some lines."""
        codes = _label_codes(block, fields, self.index)
        self.codes.append(codes)
        for raw in list(self.index)[len(self.texts) :]:
            try:
                self.texts.append(raw.decode("utf-8"))
            except UnicodeDecodeError as error:
                line = fields.lines[np.argmax(codes == len(self.texts))]
                byte = raw[error.start]
                raise ValueError(f"{path}:{line}: the byte {byte:#04x} is not UTF-8 text.") from None

    def finish(self, path: PathLike) -> Array:
        """Return the label of each line; one word in the first line above numbers is the name of a column."""
        texts, codes = self.texts, np.concatenate(self.codes)
        if len(texts) > 1 and codes[0] not in codes[1:]:
            first = texts[codes[0]]
            if not is_number(first) and all(is_number(text) for text in texts if text != first):
                raise ParameterError(
                    "{path}:1: the label {first} is no number, as all others are; if the line holds the names of "
                    "columns, say which one has the sequences with {sequence}.",
                    {"sequence": Metavar("NAME")},
                    path=path,
                    first=shown(first),
                )
        return parse_labels(texts)[codes]


class Texts:
    """Adds the labels of the lines to a list."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def add(self, path: PathLike, block: bytes, fields: _Fields) -> None:
        """Add the labels of some lines."""
        self.texts += spans(path, block, fields.starts, fields.label_stops, fields.lines)


def _label_codes(block: bytes, fields: _Fields, index: dict[bytes, int]) -> Array:
    """Return the number of each line's label in `index`, which grows with new labels."""
    lengths = fields.label_stops - fields.starts
    width = int(lengths.max())
    if width > WIDE_LABEL:
        raw = [block[a:b] for a, b in zip(fields.starts.tolist(), fields.label_stops.tolist())]
        return np.array([index.setdefault(label, len(index)) for label in raw])
    data, place = np.frombuffer(block, np.uint8), np.arange(width)
    at = np.minimum(fields.starts[:, None] + place, data.size - 1)
    padded = np.where(place < lengths[:, None], data[at], 0).astype(np.uint8)
    distinct, inverse = np.unique(padded.view(f"S{width}").ravel(), return_inverse=True)
    return np.array([index.setdefault(label, len(index)) for label in distinct.tolist()])[inverse]


register(
    Format("labelled", ("sequences",), (".tsv", ".txt", ".tab"), sniff, read, write, BY_LINES + 3, parts=streamed_parts)
)
