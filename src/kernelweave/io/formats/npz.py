"""NumPy archives: labels `y`, a table `X` or several named views, perhaps ids; pickled objects are never loaded."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.kinds import blocks_of
from kernelweave.data.views import Views
from kernelweave.io.dataset import Dataset, check_rows
from kernelweave.io.machines import LISTED, shorter
from kernelweave.io.mapped import DAMAGED, Oversized, check_sizes, mapped_arrays
from kernelweave.io.registry import BY_MAGIC, Format, register
from kernelweave.io.source import head, open_binary

LABEL_NAMES = ("y", "label", "labels", "target")
ID_NAMES = ("ids", "id", "index")
SPARSE_KEYS = {"indices", "indptr", "format", "shape", "data"}


def read(path: PathLike, label: str | None = "auto", mmap: bool = False) -> Dataset:
    """Read `X` as a table, or every array but labels and ids as one view each.

    Parameters
    ----------
    path : the file, also one that `scipy.sparse.save_npz` wrote
    label : name of the array of labels; "auto" for y, label, labels or target; None for none
    mmap : whether tables are mapped from disk, so that they may be larger than memory; of archives that are not
        compressed (`numpy.savez`, or `write` with ``compress=False``)

    Examples
    --------
    >>> import tempfile, os, numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "two.npz")
    >>> np.savez(path, y=[1, -1], shape=np.eye(2), colour=np.ones((2, 3)))
    >>> read(path).X
    Views({'shape': 2 x 2, 'colour': 2 x 3})
    """
    arrays = mapped_arrays(path) if mmap else _load(path)
    if set(arrays) >= SPARSE_KEYS:
        if mmap:
            raise ValueError(f"{path} holds a sparse table, which cannot be mapped; read it with mmap=False.")
        return Dataset(_sparse(path), None, None, "npz")
    y = _pop(arrays, LABEL_NAMES) if label == "auto" else None
    if label not in (None, "auto"):
        if label not in arrays:
            raise ValueError(
                f"{path} has no array {label!r} of labels; it has {shorter(', '.join(arrays) or 'none', LISTED)}."
            )
        y = arrays.pop(label)
    ids = _pop(arrays, ID_NAMES)
    if not arrays:
        raise ValueError(f"{path} has no arrays beside labels and ids; expected X or named views.")
    for name, values in (("labels", y), ("ids", ids)):
        if values is not None and values.ndim != 1:
            raise ValueError(f"{path}: the {name} have {values.ndim} dimensions, expected one value a row.")
    try:
        views = Views(arrays)
        check_rows(len(views), y, ids)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    X = views["X"] if views.names == ("X",) else views
    y = np.array(y) if mmap and y is not None else y
    return Dataset(X, y, None if ids is None else ids.astype(np.str_), "npz")


def write(path: PathLike, X: Any, y: Any = None, ids: Any = None, compress: bool = True) -> None:
    """Write a table or views of tables, compressed unless they are to be mapped from disk."""
    arrays = blocks_of(X) or {"X": np.asarray(X)}
    for name, block in arrays.items():
        if not isinstance(block, np.ndarray) or block.dtype == object:
            raise TypeError(f"The block {name!r} is a {type(block).__name__}; npz files hold dense tables.")
    check_rows(len(X), y, ids)
    extra = {"y": y, "ids": None if ids is None else np.asarray(ids).astype(np.str_)}
    given = {name: np.asarray(values) for name, values in extra.items() if values is not None}
    if twice := sorted(set(arrays) & {*LABEL_NAMES, *ID_NAMES}):
        raise ValueError(f"A view cannot be named {twice[0]!r}: that name is kept for labels or ids.")
    with open_aside(path) as file:
        (np.savez_compressed if compress else np.savez)(file, **arrays, **given)  # type: ignore[arg-type]


def sniff(start: bytes) -> bool:
    """Tell an archive by its first bytes."""
    return start.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def _load(path: PathLike) -> dict[str, Any]:
    if not sniff(head(path)):
        raise ValueError(f"{path} cannot be read as npz: it is damaged or not an archive.")
    with open_binary(path) as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                check_sizes(archive.zip)
                return {name: np.asarray(archive[name]) for name in archive.files}
        except DAMAGED as error:
            raise ValueError(f"{path} cannot be read as npz: {_reason(error)}.") from None


def _reason(error: BaseException) -> str:
    if isinstance(error, Oversized):
        return str(error)
    pickled = "allow_pickle" in str(error) or "Object arrays" in str(error)
    return "it holds Python objects, which are never loaded" if pickled else "it is damaged or not an archive"


def _sparse(path: PathLike) -> Any:
    """Return a sparse table, every index checked before anything is computed with it; rows have rising columns."""
    from scipy import sparse

    try:
        with open_binary(path) as file:
            X = sparse.load_npz(file)
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)
        X = sparse.csr_array(X)
        X.check_format(full_check=True)
        X.sum_duplicates()
    except DAMAGED:
        raise ValueError(f"{path} cannot be read as npz: its sparse table is damaged.") from None
    return X


def _pop(arrays: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((arrays.pop(name) for name in names if name in arrays), None)


register(Format("npz", ("table", "views"), (".npz",), sniff, read, write, BY_MAGIC))
