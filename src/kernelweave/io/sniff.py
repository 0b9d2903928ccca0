"""Tell the format of a file, read it, write it, whatever the format."""

from __future__ import annotations

import os
from typing import Any

from kernelweave.data.atomic import PathLike
from kernelweave.data.errors import Metavar, ParameterError
from kernelweave.data.kinds import kind_of
from kernelweave.data.stores import is_store, is_stored
from kernelweave.io.dataset import Dataset
from kernelweave.io.registry import FORMATS, by_suffix, named
from kernelweave.io.source import head, written_plain


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
    if is_store(path) or (os.path.isdir(path) and by_suffix(path)):
        return "store"
    start, suffixed = head(path), by_suffix(path)
    for format in suffixed:  # the arcs of one long lattice look like a table
        if format.sniff_named is not None and format.sniff_named(start):
            return format.name
    for format in FORMATS.values():
        if format.sniff(start):
            return format.name
    if suffixed and b"\0" not in start:
        return suffixed[0].name
    kind = "binary data" if b"\0" in start else "text"
    holds = f"{path} holds {kind} of an unknown format; known are {', '.join(FORMATS)}"
    raise ParameterError("{holds} (name one by {format}).", {"format": Metavar()}, holds=holds)


def read(path: PathLike, format: str | None = None, **options: Any) -> Dataset:
    """Read a file of any format.

    Parameters
    ----------
    path : the file, plain or compressed, or the directory of a store
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
    known = named(name).options
    for key in given:
        if key not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"{path} is read as {name}, which has no option {key!r}; it has {listed}.")
    return named(name).read(path, **given)


def write(path: PathLike, X: Any, y: Any = None, format: str | None = None, **options: Any) -> None:
    """Write rows (and labels) in the format named, or that of the suffix of the file; .gz compresses text formats.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "one.fa.gz"
    >>> from kernelweave.data import Sequences
    >>> write(path, Sequences.from_strings(["ACGT"], ids=["a"]))
    >>> read(path).ids.tolist()
    ['a']
    """
    kind = kind_of(X)
    if (packed := written_plain(path)) is not None:
        raise ValueError(f"{path} cannot be written: files of {packed} are read only; end the name in .gz or in none.")
    if format is None:
        fitting = [known.name for known in by_suffix(path) if kind.name in known.holds]
        if not fitting:
            able = [known for known in FORMATS.values() if kind.name in known.holds and known.write]
            names = " ".join(suffix for known in able for suffix in known.suffixes)
            what = "tables" if kind.tabular else kind.noun
            raise ValueError(f"{path} has no suffix of a format for {what}; known suffixes are {names}.")
        format = fitting[0]
    chosen = named(format)
    if chosen.write is None:
        raise ValueError(f"The format {format} can be read but not written.")
    if kind.name not in chosen.holds:
        raise ValueError(f"The format {format} cannot hold a {type(X).__name__}.")
    if is_stored(X) and chosen.parts is None and format != "store":  # others write rows block by block
        X = X[:]
    chosen.write(path, X, y, **options)
