"""Parquet files of numbers or of sequences, read through pyarrow where it is installed; numbers also in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.rows import offsets_of
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.io.collect import Collector
from kernelweave.io.dataset import Dataset
from kernelweave.io.header import ID_NAMES, LABEL_NAMES, SEQUENCE_NAMES
from kernelweave.io.machines import shown
from kernelweave.io.registry import BY_MAGIC, Format, register
from kernelweave.io.source import head

Array = np.ndarray
MAGIC = b"PAR1"
ROWS_AT_ONCE = 1 << 16
"""Rows that are read together."""
TEXTS = ("string", "large_string", "string_view")
"""Types of columns that hold texts."""
_ERRORS = OSError, ValueError, NotImplementedError
"""What pyarrow raises: its own errors are among these."""


def read(
    path: PathLike,
    label: str | None = "auto",
    id: str | None = "auto",
    group: str | None = None,
    sequence: str | None = "auto",
    alphabet: str | Alphabet = "auto",
    unknown: str = "error",
    duplicates: str = "error",
) -> Dataset:
    """Read a table of numbers, or a column of sequences or texts.

    Parameters
    ----------
    path : the file
    label : column (name, or number from 0) of the labels; "auto" for one named label, y, target or class; None for none
    id : column of the ids; "auto" for one named id, ids or name; None for none
    group : column of what folds keep together; None for none
    sequence : column of sequences; "auto" for one of texts with a usual name (sequence, seq, dna, text, ...); None for
        none: all columns that are left hold numbers
    alphabet, unknown, duplicates : of sequences, as for columns of CSV
    """
    file = _opened(path)
    names, at = _names(path, file, label, id, group), _sequence(path, file, sequence)
    if at is not None:
        return _read_strings(path, file, at, names, (alphabet, unknown, duplicates))
    parts = list(_numeric_blocks(path, file, names))
    if not parts:
        raise ValueError(f"{path} holds no rows.")
    columns: list[list[Any]] = [[getattr(part, what) for part in parts] for what in ("y", "ids", "groups")]
    y, ids, groups = (None if some[0] is None else np.concatenate(some) for some in columns)
    return replace(parts[0], X=np.concatenate([part.X for part in parts]), y=y, ids=ids, groups=groups)


def blocks(
    path: PathLike,
    label: str | None = "auto",
    id: str | None = "auto",
    group: str | None = None,
    sequence: str | None = "auto",
    **spelling: Any,
) -> Iterator[Dataset]:
    """Yield the rows of a table of numbers in blocks, sequences together; parameters as for `read`."""
    file = _opened(path)
    if _sequence(path, file, sequence) is None:
        yield from _numeric_blocks(path, file, _names(path, file, label, id, group))
    else:
        yield read(path, label, id, group, sequence, **spelling)


class _Names(NamedTuple):
    """Names of the columns that are no features, None where there is none."""

    y: str | None
    ids: str | None
    groups: str | None


def _names(path: PathLike, file: Any, label: str | None, id: str | None, group: str | None) -> _Names:
    names = list(file.schema_arrow.names)
    return _Names(
        _find(path, names, label, LABEL_NAMES, "label"),
        _find(path, names, id, ID_NAMES, "id"),
        _find(path, names, group, (), "group"),
    )


def _sequence(path: PathLike, file: Any, asked: str | None) -> str | None:
    """Return the column of sequences; unless it was asked for, one of texts with a usual name."""
    names = list(file.schema_arrow.names)
    if asked != "auto":
        return _find(path, names, asked, (), "sequence")
    usual = [name for name in names if name.lower() in SEQUENCE_NAMES]
    return next((name for name in usual if str(file.schema_arrow.field(name).type) in TEXTS), None)


def _read_strings(path: PathLike, file: Any, at: str, names: _Names, spelled: tuple[Any, str, str]) -> Dataset:
    """Read a column of sequences, and those beside it."""
    collector, first = Collector(path), 1
    beside: dict[str, list[Array]] = {what: [] for what in ("y", "groups") if getattr(names, what) is not None}
    for batch in _batches(path, file):
        raw = [text.encode("utf-8", "surrogateescape") for text in _texts(path, "sequence", batch.column(at), first)]
        ids = None if names.ids is None else _texts(path, "id", batch.column(names.ids), first)
        starts = offsets_of(np.fromiter(map(len, raw), np.int64, len(raw)))[:-1]
        collector.add(np.frombuffer(b"".join(raw), np.uint8), starts, first + np.arange(len(raw)), ids)
        for what, parts in beside.items():
            parts.append(_plain(batch.column(getattr(names, what))))
        first += len(raw)
    if first == 1:
        raise ValueError(f"{path} holds no rows.")
    X = collector.finish(*spelled)
    y, groups = (np.concatenate(beside[what]) if what in beside else None for what in ("y", "groups"))
    return Dataset(X, y, X.ids, "parquet", groups=groups)


def _numeric_blocks(path: PathLike, file: Any, names: _Names) -> Iterator[Dataset]:
    columns = [name for name in file.schema_arrow.names if name not in names]
    if not columns:
        raise ValueError(f"{path} has no columns of features beside label, id and group.")
    for batch in _batches(path, file):
        X = np.column_stack([_numbers(path, name, batch.column(name)) for name in columns])
        ids = None if names.ids is None else np.array([str(one) for one in batch.column(names.ids).to_pylist()])
        y, groups = (None if one is None else _plain(batch.column(one)) for one in (names.y, names.groups))
        yield Dataset(X, y, ids, "parquet", tuple(columns), groups)


def _texts(path: PathLike, what: str, column: Any, first: int) -> list[str]:
    """Return the cells of a column as texts, none of them empty; rows are counted from `first`."""
    texts = ["" if one is None else str(one) for one in column.to_pylist()]
    if "" in texts:
        raise ValueError(f"{path}: row {first + texts.index('')}: the {what} is empty.")
    return texts


def sniff(start: bytes) -> bool:
    """Tell the format by its first bytes."""
    return start.startswith(MAGIC)


def _opened(path: PathLike) -> Any:
    if not sniff(head(path)):
        raise ValueError(f"{path} cannot be read as parquet: it is damaged or something else.")
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError(
            f"Reading {path} needs pyarrow, which is not installed; get it with pip install 'kernelweave[parquet]'."
        ) from None
    try:
        return parquet.ParquetFile(path)
    except _ERRORS:
        raise _unreadable(path) from None


def _batches(path: PathLike, file: Any) -> Iterator[Any]:
    """Give the rows of a file, many at a time; what is damaged there shows only now."""
    batches = file.iter_batches(ROWS_AT_ONCE)
    while True:
        try:
            batch = next(batches, None)
        except _ERRORS:
            raise _unreadable(path) from None
        if batch is None:
            return
        yield batch


def _unreadable(path: PathLike) -> ValueError:
    return ValueError(f"{path} cannot be read as parquet: it is damaged, or packed in an unknown way.")


def _find(path: PathLike, names: list[str], asked: str | None, usual: tuple[str, ...], what: str) -> str | None:
    """Return the name of a column that was asked for by name or number, or that is usual."""
    if asked == "auto":
        return next((name for name in names if name.lower() in usual), None)
    if asked is None or asked in names:
        return asked
    if str(asked).isdecimal() and int(asked) < len(names):
        return names[int(asked)]
    raise ValueError(f"{path} has no column {asked!r} for the {what}; it has {', '.join(names)}.")


def _numbers(path: PathLike, name: str, column: Any) -> Array:
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: the column {shown(name)} holds {column.type}, expected numbers; one of sequences or texts is "
            "named by sequence (--sequence)."
        )
    return values.astype(np.float64)


def _plain(column: Any) -> Array:
    values = column.to_numpy(zero_copy_only=False)
    return values if values.dtype.kind in "biuf" else np.array([str(one) for one in column.to_pylist()])


register(Format("parquet", ("table", "sequences"), (".parquet",), sniff, read, None, BY_MAGIC, blocks=blocks))
