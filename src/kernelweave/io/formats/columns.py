"""Sequences or texts in a column of CSV or TSV; others hold labels, ids and groups."""

from __future__ import annotations

import csv

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.rows import offsets_of
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.io.collect import Collector
from kernelweave.io.dataset import Dataset, parse_labels
from kernelweave.io.formats.table import Cells
from kernelweave.io.header import ID_NAMES, LABEL_NAMES, guess_delimiter, is_number, names_sequences
from kernelweave.io.machines import shown
from kernelweave.io.registry import BY_LINES, Format, register

SEEN = 50
"""Lines that tell whether the first one holds names."""


def read(
    path: PathLike,
    sequence: str | int = "auto",
    label: str | int | None = "auto",
    id: str | int | None = "auto",
    group: str | int | None = None,
    alphabet: str | Alphabet = "auto",
    unknown: str = "error",
    duplicates: str = "error",
    delimiter: str = "auto",
) -> Dataset:
    """Read one column of sequences, and those of labels, ids and groups.

    Parameters
    ----------
    path : the file
    sequence : name or number (from 0) of the column of sequences; "auto" for one with a usual name (sequence, seq, dna,
        text, ...), or else the only one whose cells are sequences
    label : column of the labels; "auto" for one named label, y, target or class, or the only one beside the sequences
        unless all its cells differ; None for none
    id : column of the ids; "auto" for one named id, ids or name; None for none
    group : column of what folds keep together; None for none
    alphabet : "dna", "rna", "protein", "bytes", "words", "auto" (inferred from all letters) or an Alphabet
    unknown : "error" names the first letter that is not in the alphabet, "mask" makes it match nothing
    duplicates : "error" names an id that two rows share, "allow" keeps both
    delimiter : what stands between cells; "auto" for comma, tab or semicolon, whichever the first line has most

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.csv"
    >>> _ = path.write_text("id,sequence,bound,chrom\\na,ACGT,yes,chr1\\nb,GG,no,chr2\\n")
    >>> data = read(path, label="bound", group="chrom")
    >>> data.X.to_strings(), data.y.tolist(), data.ids.tolist(), data.groups.tolist()
    (['ACGT', 'GG'], ['yes', 'no'], ['a', 'b'], ['chr1', 'chr2'])
    """
    table = Cells(path, False, delimiter)
    at = names_sequences([table.cells(line) for line in table.lines[:SEEN]])
    names = [one for one in (sequence, label, id, group) if isinstance(one, str) and not is_number(one)]
    if at is not None or any(name in table.cells(table.lines[0]) for name in names):
        table.take_names()
    if sequence != "auto":
        at = table.find(sequence, (), "sequence")
    if at is None:
        raise ValueError(f"{path} has no column that is plainly the one of the sequences; name it, or give its number.")
    if all(map(is_number, table.column(at))):
        name = at if table.names is None else shown(table.names[at])
        raise ValueError(f"{path} holds numbers in column {name}, no sequences.")
    y, ids, groups = (
        None if place is None else _column(table, place, what)
        for place, what in (
            (_label(table, label, at), "label"),
            (table.find(id, ID_NAMES, "id"), "id"),
            (table.find(group, (), "group"), "group"),
        )
    )
    collector = Collector(path)
    raw = [text.encode("utf-8", "surrogateescape") for text in _column(table, at, "sequence")]
    starts = offsets_of(np.fromiter(map(len, raw), np.int64, len(raw)))[:-1]
    collector.add(np.frombuffer(b"".join(raw), np.uint8), starts, np.array(table.numbers), ids)
    X = collector.finish(alphabet, unknown, duplicates)
    labels, belong = (None if texts is None else parse_labels(texts) for texts in (y, groups))
    return Dataset(X, labels, X.ids, "columns", groups=belong)


def sniff(start: bytes) -> bool:
    """Tell a column of sequences by a line of names above it."""
    lines = [line for line in start.split(b"\n")[: SEEN + 1] if line.strip()]
    lines = lines[:-1] if len(lines) > 1 and not start.endswith(b"\n") else lines
    try:
        texts = [line.decode("utf-8").rstrip("\r") for line in lines]
    except UnicodeDecodeError:
        return False
    if len(texts) < 2:
        return False
    try:
        rows = list(csv.reader(texts, delimiter=guess_delimiter(texts[0])))
    except csv.Error:
        return False
    return len({len(row) for row in rows}) == 1 and names_sequences(rows) is not None


def _label(table: Cells, asked: str | int | None, sequence: int) -> int | None:
    """Return the column of the labels; beside sequences alone it is the other one, unless all its cells differ."""
    found = table.find(asked, LABEL_NAMES, "label")
    if found is not None or asked != "auto" or table.n_columns != 2:
        return found
    other = 1 - sequence
    named = table.names is not None and table.names[other].lower() in ID_NAMES
    return None if named or len(set(table.column(other))) == len(table.lines) > 2 else other


def _column(table: Cells, place: int, what: str) -> list[str]:
    """Return the cells of a column, none of them empty."""
    texts = table.column(place)
    if "" in texts:
        raise ValueError(f"{table.path}:{table.numbers[texts.index('')]}: the {what} is empty.")
    return texts


register(Format("columns", ("sequences",), (), sniff, read, breadth=BY_LINES + 2))
