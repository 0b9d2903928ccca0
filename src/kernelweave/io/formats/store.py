"""Stores on disk: directories that `kernelweave convert` and `to_store` wrote."""

from __future__ import annotations

from typing import Any

from kernelweave.data.atomic import PathLike
from kernelweave.data.stores import Stored, write_store
from kernelweave.io.dataset import Dataset
from kernelweave.io.registry import BY_MAGIC, Format, register


def read(path: PathLike) -> Dataset:
    """Open a store: X is `Stored`, whose rows stay on disk until they are asked for.

    Examples
    --------
    >>> import tempfile, os
    >>> from kernelweave.data import Sequences
    >>> path = os.path.join(tempfile.mkdtemp(), "sites.kws")
    >>> _ = Sequences.from_strings(["ACGT", "GGGG"]).to_store(path, [1, -1])
    >>> data = read(path)
    >>> data.X.shape, data.y
    ((2, 4), array([ 1, -1]))
    """
    X = Stored(path)
    return Dataset(X, X.y, X.ids, "store", X.feature_names)


def write(path: PathLike, X: Any, y: Any = None, ids: Any = None) -> None:
    """Write rows of any kind that can be stored; a store that is there is replaced."""
    write_store(path, X, y, ids=ids)


def sniff(start: bytes) -> bool:
    """Tell no file: a store is a directory."""
    return False


register(Format("store", ("sequences", "table", "lattices"), (".kws",), sniff, read, write, BY_MAGIC))
