"""Tell the format of a file, read it, write it, whatever the format."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.errors import Metavar, ParameterError
from kernelweave.data.kinds import alphabet_of, kind_of, n_rows
from kernelweave.data.stores import is_store, is_stored
from kernelweave.io.dataset import Dataset
from kernelweave.io.genome.intervals import looks_like_intervals
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


def read(path: PathLike, format: str | None = None, negative: PathLike | None = None, **options: Any) -> Dataset:
    """Read a file of any format, or two files of one class each.

    Parameters
    ----------
    path : the file, plain or compressed, or the directory of a store
    format : one of `FORMATS`; None to look at the content
    negative : a second file of sequences or lattices without labels: its rows get the label -1, those of `path` 1; it
        is read under the same options, as far as its format has them
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
    given = {key: value for key, value in options.items() if value is not None}
    name = format_of(path, given) if format is None else format
    if negative is not None:
        return with_negative(read(path, name, **given), path, negative, given)
    known = named(name).options
    for key in given:
        if key not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"{path} is read as {name}, which has no option {key!r}; it has {listed}.")
    return named(name).read(path, **given)


def format_of(path: PathLike, options: Collection[str] = ()) -> str:
    """Return the name of the format of a file, as the content and the names of options tell.

    A column of sequences that is asked for makes a table one of sequences, a genome makes it intervals.
    """
    name = sniff(path)
    if "genome" in options and name in ("table", "labelled") and looks_like_intervals(head(path).split(b"\n")[0]):
        return "bed"
    return "columns" if "sequence" in options and name in ("table", "labelled", "bed") else name


def with_negative(data: Dataset, path: PathLike, negative: PathLike, options: Mapping[str, Any]) -> Dataset:
    """Return the rows of a file with label 1 and those of another with label -1 behind them.

    Parameters
    ----------
    data : what `path` holds: strings without labels
    path, negative : the files
    options : of the reader of `path`; those that the format of `negative` has are those of its reader as well
    """
    strings = alphabet_of(data.X) is not None
    if not strings or (data.y is not None and "label" not in options):
        what = "has labels of its own" if strings else f"is {kind_of(data.X).noun}"
        raise ParameterError(
            "{negative} adds sequences to sequences without labels, but {path} {what}.", {"negative": Metavar()},
            path=path, what=what,
        )  # fmt: skip
    name = format_of(negative, [key for key in options if key == "genome"])
    other = read(negative, name, **{key: value for key, value in options.items()
                                    if key in named(name).options and key != "label"})  # fmt: skip
    X = _joined(data.X, other.X, path, negative)
    groups = None
    if data.groups is not None and other.groups is not None:
        groups = np.concatenate([data.groups, other.groups])
    y = np.repeat([1, -1], [n_rows(data.X), n_rows(other.X)])
    return Dataset(X, y, X.ids, data.format, groups=groups)


def _joined(X: Any, other: Any, path: PathLike, negative: PathLike) -> Any:
    """Return the rows of two files behind one another."""
    kind = kind_of(X)
    if kind_of(other) is not kind:
        raise ValueError(f"{path} holds {kind.noun}, but {negative} is {kind_of(other).noun}.")
    if X.alphabet != other.alphabet and not X.alphabet.kind == other.alphabet.kind == "words":
        kinds = f"{path} holds {X.alphabet.name} letters, but {negative} holds {other.alphabet.name} letters"
        raise ParameterError(
            "{kinds}; if that is a mistake, name the alphabet with {alphabet}.", {"alphabet": Metavar()}, kinds=kinds
        )
    return kind.concatenate([X, other])


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
        format = next((name for name in fitting if named(name).write), fitting[0])
    chosen = named(format)
    if chosen.write is None:
        raise ValueError(f"The format {format} can be read but not written.")
    if kind.name not in chosen.holds:
        raise ValueError(f"The format {format} cannot hold a {type(X).__name__}.")
    if is_stored(X) and chosen.parts is None and format != "store":  # others write rows block by block
        X = X[:]
    chosen.write(path, X, y, **options)
