"""Files that `Sequences.save` and `Lattices.save` wrote, mapped from disk."""

from __future__ import annotations

from typing import Any

from kernelweave.data.atomic import PathLike
from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.saved import begins_saved, saved_header
from kernelweave.data.strings.sequences import Sequences
from kernelweave.io.dataset import Dataset, check_rows
from kernelweave.io.registry import BY_MAGIC, Format, register
from kernelweave.io.source import open_binary

_LATTICE_HEADER = b'{"meta": {"rows": "lattices"'


def read(path: PathLike) -> Dataset:
    """Map saved sequences; they have ids but no labels."""
    with open_binary(path):
        X = Sequences.open(path)
    return Dataset(X, None, X.ids, "sequences")


def write(path: PathLike, X: Sequences, y: Any = None, ids: Any = None) -> None:
    """Save sequences; labels have no place in this format."""
    if y is not None:
        raise ValueError("Files of saved sequences hold no labels; use a labelled or FASTA file.")
    check_rows(len(X), None, ids)
    Sequences(X.codes, X.offsets, X.alphabet, X.ids if ids is None else ids).save(path)


def sniff(start: bytes) -> bool:
    """Tell the format by its first bytes."""
    return begins_saved(start) and not sniff_lattices(start)


def read_lattices(path: PathLike) -> Dataset:
    """Map saved lattices; they have ids but no labels."""
    with open_binary(path):
        X = Lattices.open(path)
    return Dataset(X, None, X.ids, "lattices")


def write_lattices(path: PathLike, X: Lattices, y: Any = None, ids: Any = None) -> None:
    """Save lattices; labels have no place in this format."""
    if y is not None:
        raise ValueError("Files of saved lattices hold no labels; use a table of PLF.")
    check_rows(len(X), None, ids)
    arcs = X.source, X.target, X.labels, X.weights, X.arc_offsets
    Lattices(*arcs, X.finals, X.state_offsets, X.alphabet, X.ids if ids is None else ids).save(path)


def sniff_lattices(start: bytes) -> bool:
    """Tell the format by its first bytes and the beginning of its header."""
    return begins_saved(start) and saved_header(start).startswith(_LATTICE_HEADER)


register(Format("sequences", ("sequences",), (".kwseq",), sniff, read, write, BY_MAGIC))
register(Format("lattices", ("lattices",), (".kwlat",), sniff_lattices, read_lattices, write_lattices, BY_MAGIC))
