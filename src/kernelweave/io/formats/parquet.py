"""Parquet files of numbers, read through pyarrow where it is installed, whole or in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.io.dataset import Dataset
from kernelweave.io.header import ID_NAMES, LABEL_NAMES
from kernelweave.io.registry import BY_MAGIC, Format, register
from kernelweave.io.source import head

Array = np.ndarray
MAGIC = b"PAR1"
ROWS_AT_ONCE = 1 << 16
"""Rows that are read together."""


def read(path: PathLike, label: str | None = "auto", id: str | None = "auto") -> Dataset:
    """Read a table of numbers.

    Parameters
    ----------
    path : the file
    label : name of the label column; "auto" for one named label, y, target or class; None for none
    id : name of the id column; "auto" for one named id, ids or name; None for none
    """
    parts = list(blocks(path, label, id))
    if not parts:
        raise ValueError(f"{path} holds no rows.")
    columns: list[list[Any]] = [[part.y for part in parts], [part.ids for part in parts]]
    y, ids = (None if some[0] is None else np.concatenate(some) for some in columns)
    return replace(parts[0], X=np.concatenate([part.X for part in parts]), y=y, ids=ids)


def blocks(path: PathLike, label: str | None = "auto", id: str | None = "auto") -> Iterator[Dataset]:
    """Yield the rows of a file in blocks; parameters as for `read`."""
    file = _opened(path)
    names = list(file.schema_arrow.names)
    y, key = _find(path, names, label, LABEL_NAMES, "label"), _find(path, names, id, ID_NAMES, "id")
    columns = [name for name in names if name not in (y, key)]
    if not columns:
        raise ValueError(f"{path} has no columns of features beside label and id.")
    for batch in file.iter_batches(ROWS_AT_ONCE):
        X = np.column_stack([_numbers(path, name, batch.column(name)) for name in columns])
        labels = None if y is None else _plain(batch.column(y))
        ids = None if key is None else np.array([str(one) for one in batch.column(key).to_pylist()])
        yield Dataset(X, labels, ids, "parquet", tuple(columns))


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
    except (OSError, ValueError) as error:  # those of pyarrow are ValueErrors
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(f"{path} cannot be read as parquet: {reason}.") from None


def _find(path: PathLike, names: list[str], asked: str | None, usual: tuple[str, ...], what: str) -> str | None:
    """Return the name of a column that was asked for, or that is usual."""
    if asked == "auto":
        return next((name for name in names if name.lower() in usual), None)
    if asked is not None and asked not in names:
        raise ValueError(f"{path} has no column {asked!r} for the {what}; it has {', '.join(names)}.")
    return asked


def _numbers(path: PathLike, name: str, column: Any) -> Array:
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{path}: the column {name!r} holds {column.type}, expected numbers.")
    return values.astype(np.float64)


def _plain(column: Any) -> Array:
    values = column.to_numpy(zero_copy_only=False)
    return values if values.dtype.kind in "biuf" else np.array([str(one) for one in column.to_pylist()])


register(Format("parquet", ("table",), (".parquet",), sniff, read, None, BY_MAGIC, blocks=blocks))
