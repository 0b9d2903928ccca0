"""One door for all formats: tell the format of a file, read it, write it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernelweave.data.atomic import PathLike
from kernelweave.data.sequences import Sequences
from kernelweave.io import fasta, jsonl, labelled, libsvm, npz, saved, table
from kernelweave.io.dataset import Dataset
from kernelweave.io.source import head


@dataclass(frozen=True)
class Format:
    """A file format: how it is told, read and written.  `of_sequences`: X is Sequences, else a table."""

    sniff: Callable[[bytes], bool]
    read: Callable[..., Dataset]
    write: Callable[..., None] | None
    suffixes: tuple[str, ...]
    of_sequences: bool


FORMATS = {
    "sequences": Format(saved.sniff, saved.read, saved.write, saved.SUFFIXES, True),
    "npz": Format(npz.sniff, npz.read, npz.write, npz.SUFFIXES, False),
    "fasta": Format(fasta.sniff, fasta.read, fasta.write, fasta.SUFFIXES[:6], True),
    "fastq": Format(fasta.sniff_fastq, fasta.read, None, fasta.SUFFIXES[6:], True),
    "jsonl": Format(jsonl.sniff, jsonl.read, jsonl.write, jsonl.SUFFIXES, True),
    "libsvm": Format(libsvm.sniff, libsvm.read, libsvm.write, libsvm.SUFFIXES, False),
    "labelled": Format(labelled.sniff, labelled.read, labelled.write, labelled.SUFFIXES, True),
    "table": Format(table.sniff, table.read, table.write, table.SUFFIXES, False),
}
"""Formats by name, in the order in which their content is looked for."""


def sniff(path: PathLike) -> str:
    """Return the name of the format of a file, by its content first and its suffix second.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "unnamed"
    >>> _ = path.write_text("1\\tACGT\\n-1\\tGGGG\\n")
    >>> sniff(path)
    'labelled'
    """
    start = head(path)
    for name, format in FORMATS.items():
        if format.sniff(start):
            return name
    by_suffix = _by_suffix(path)
    if by_suffix and b"\0" not in start:
        return by_suffix[0]
    kind = "binary data" if b"\0" in start else "text"
    raise ValueError(f"{path} holds {kind} of no known format; known are {', '.join(FORMATS)} (name one by format=).")


def read(path: PathLike, format: str | None = None, **options: Any) -> Dataset:
    """Read a file of any format.

    Parameters
    ----------
    path : the file, plain or gzip
    format : one of `FORMATS`; None to look at the content
    options : what the reader of the format takes (alphabet, unknown, label, id, ...); None values are left out

    Returns
    -------
    Dataset with X, y, ids, format and feature_names

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "unnamed"
    >>> _ = path.write_text("1\\tACGT\\n-1\\tGGGG\\n")
    >>> read(path, alphabet="dna").X
    <2 sequences, dna, 4 letters each>
    """
    name = sniff(path) if format is None else format
    reader = _format(name).read
    given = {key: value for key, value in options.items() if value is not None}
    known = [key for key in inspect.signature(reader).parameters if key != "path"]
    for key in given:
        if key not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"{path} is read as {name}, which has no option {key!r}; it has {listed}.")
    return reader(path, **given)


def write(path: PathLike, X: Any, y: Any = None, format: str | None = None, **options: Any) -> None:
    """Write rows (and labels) in a format named, or told by the suffix of the file; .gz compresses text formats.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "one.fa.gz"
    >>> write(path, Sequences.from_strings(["ACGT"], ids=["a"]))
    >>> read(path).ids.tolist()
    ['a']
    """
    of_sequences = isinstance(X, Sequences)
    if format is None:
        fitting = [name for name in _by_suffix(path) if FORMATS[name].of_sequences == of_sequences]
        if not fitting:
            kind = "sequences" if of_sequences else "tables"
            names = [
                suffix for f in FORMATS.values() if f.of_sequences == of_sequences and f.write for suffix in f.suffixes
            ]
            raise ValueError(f"{path} does not tell a format for {kind}; known suffixes are {' '.join(names)}.")
        format = fitting[0]
    writer = _format(format).write
    if writer is None:
        raise ValueError(f"The format {format} can be read but not written.")
    if _format(format).of_sequences != of_sequences:
        raise ValueError(f"The format {format} cannot hold a {type(X).__name__}.")
    writer(path, X, y, **options)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise ValueError(f"There is no format {name!r}; known are {', '.join(FORMATS)}.")
    return FORMATS[name]


def _by_suffix(path: PathLike) -> list[str]:
    name = str(path).lower().removesuffix(".gz")
    return [key for key, format in FORMATS.items() if name.endswith(format.suffixes)]
