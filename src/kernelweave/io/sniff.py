"""One door for all formats: tell the format of a file, read it, write it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kernelweave.data.atomic import PathLike
from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.strings.sequences import Sequences
from kernelweave.io.dataset import Dataset
from kernelweave.io.formats import fasta, jsonl, labelled, libsvm, npz, saved, table
from kernelweave.io.lattices import LATTICE_FORMATS, read_lattice_rows
from kernelweave.io.source import head

_ARC = re.compile(rb"[ \t]*[0-9]+[ \t]+[0-9]+(?:[ \t]+[^\s]+){1,3}[ \t]*\r?$")
_FINAL = re.compile(rb"[ \t]*[0-9]+(?:[ \t]+[-+.0-9eE]+)?[ \t]*\r?$")


@dataclass(frozen=True)
class Format:
    """A file format: how it is told, read and written, and what it holds: "sequences", "lattices" or "table"."""

    sniff: Callable[[bytes], bool]
    read: Callable[..., Dataset]
    write: Callable[..., None] | None
    suffixes: tuple[str, ...]
    holds: str

    @property
    def options(self) -> list[str]:
        """Names of what the reader takes beside the path."""
        reader = self.read
        names = list(inspect.signature(reader).parameters)
        if isinstance(reader, partial):  # what the format takes itself is passed on to its own reader
            own = inspect.signature(LATTICE_FORMATS[reader.keywords["format"]].read).parameters
            names = [name for name in names if name not in ("format", "symbols", "options")] + list(own)
        return [name for name in dict.fromkeys(names) if name != "path"]


def _is_openfst(start: bytes) -> bool:
    """Tell OpenFst text from tables: arcs, final states and a key behind each blank line, and nothing else."""
    lines = start.split(b"\n")
    lines = lines[:-1] if len(lines) > 1 else lines  # the last one may be cut
    arcs, finals = list(map(_ARC.match, lines)), list(map(_FINAL.match, lines))
    for number, line in enumerate(lines):
        key = number == 0 or not lines[number - 1].strip()
        if not (arcs[number] or finals[number] or key or not line.strip()):
            return False
    return any(arcs) and any(finals)


def _lattices(name: str) -> Format:
    known = LATTICE_FORMATS[name]
    return Format(known.sniff, partial(read_lattice_rows, format=name), known.write, known.suffixes, "lattices")


FORMATS = {
    "sequences": Format(saved.sniff, saved.read, saved.write, saved.SUFFIXES, "sequences"),
    "npz": Format(npz.sniff, npz.read, npz.write, npz.SUFFIXES, "table"),
    "fasta": Format(fasta.sniff, fasta.read, fasta.write, fasta.SUFFIXES[:6], "sequences"),
    "fastq": Format(fasta.sniff_fastq, fasta.read, None, fasta.SUFFIXES[6:], "sequences"),
    "jsonl": Format(jsonl.sniff, jsonl.read, jsonl.write, jsonl.SUFFIXES, "sequences"),
    "lattices": Format(
        saved.sniff_lattices, saved.read_lattices, saved.write_lattices, saved.LATTICE_SUFFIXES, "lattices"
    ),
    "plf": _lattices("plf"),
    "slf": _lattices("slf"),
    "kaldi": _lattices("kaldi"),
    "openfst": replace(_lattices("openfst"), sniff=_is_openfst),
    "libsvm": Format(libsvm.sniff, libsvm.read, libsvm.write, libsvm.SUFFIXES, "table"),
    "labelled": Format(labelled.sniff, labelled.read, labelled.write, labelled.SUFFIXES, "sequences"),
    "table": Format(table.sniff, table.read, table.write, table.SUFFIXES, "table"),
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
    start, by_suffix = head(path), _by_suffix(path)
    for name in by_suffix:  # the arcs of one long lattice look like a table
        if name in LATTICE_FORMATS and LATTICE_FORMATS[name].sniff(start):
            return name
    for name, format in FORMATS.items():
        if format.sniff(start):
            return name
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
    options : what the reader of the format takes (alphabet, unknown, label, id, ..., for lattices those
        of `read_lattices`); None values are left out

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
    given = {key: value for key, value in options.items() if value is not None}
    known = _format(name).options
    for key in given:
        if key not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"{path} is read as {name}, which has no option {key!r}; it has {listed}.")
    return _format(name).read(path, **given)


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
    kind = "sequences" if isinstance(X, Sequences) else "lattices" if isinstance(X, Lattices) else "table"
    if format is None:
        fitting = [name for name in _by_suffix(path) if FORMATS[name].holds == kind]
        if not fitting:
            names = [suffix for f in FORMATS.values() if f.holds == kind and f.write for suffix in f.suffixes]
            what = "tables" if kind == "table" else kind
            raise ValueError(f"{path} does not tell a format for {what}; known suffixes are {' '.join(names)}.")
        format = fitting[0]
    writer = _format(format).write
    if writer is None:
        raise ValueError(f"The format {format} can be read but not written.")
    if _format(format).holds != kind:
        raise ValueError(f"The format {format} cannot hold a {type(X).__name__}.")
    writer(path, X, y, **options)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise ValueError(f"There is no format {name!r}; known are {', '.join(FORMATS)}.")
    return FORMATS[name]


def _by_suffix(path: PathLike) -> list[str]:
    name = str(path).lower().removesuffix(".gz")
    return [key for key, format in FORMATS.items() if name.endswith(format.suffixes)]
