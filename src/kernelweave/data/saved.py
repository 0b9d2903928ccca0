"""One file for many sequences or lattices, laid out so that it can be memory-mapped.

Layout: eight magic bytes, the length of a JSON header (little-endian, 8 bytes), the header, then the arrays it lists,
each at a multiple of 64 bytes.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from kernelweave.data.atomic import PathLike, atomic_path

MAGIC = b"KWSEQ\x00\x01\n"
ALIGN = 64
MAX_HEADER = 1 << 30
"""A longer header is taken for a damaged file rather than read into memory."""

_PREFIX = len(MAGIC) + 8
_DTYPES = ("uint8", "uint16", "uint32", "int32", "int64", "float64")


def write_saved(path: PathLike, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write named one-dimensional arrays and a JSON-able description, aside and renamed."""
    listed, position = [], 0
    for name, array in arrays.items():
        position = _aligned(position)
        listed.append({"name": name, "dtype": array.dtype.name, "size": int(array.size), "at": position})
        position += array.nbytes
    header = json.dumps({"meta": meta, "arrays": listed}).encode()
    start = _aligned(_PREFIX + len(header))
    with atomic_path(path) as aside, open(aside, "wb") as file:
        file.write(MAGIC + len(header).to_bytes(8, "little") + header)
        for entry, array in zip(listed, arrays.values()):
            file.write(b"\0" * (start + entry["at"] - file.tell()))  # type: ignore[operator]
            file.write(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).data)


def read_saved(path: PathLike, mmap: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the description and the arrays of a file, mapped from disk or read into memory."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        prefix = file.read(_PREFIX)
        if prefix[: len(MAGIC)] != MAGIC:
            raise ValueError(f"{path} is not a file of saved sequences or lattices.")
        length = int.from_bytes(prefix[len(MAGIC) :], "little")
        if len(prefix) < _PREFIX or length > min(size, MAX_HEADER):
            raise ValueError(f"{path} is damaged: its header does not fit the file.")
        try:
            header = json.loads(file.read(length))
            entries = [(e["name"], e["dtype"], int(e["size"]), int(e["at"])) for e in header["arrays"]]
            meta = header["meta"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path} is damaged: its header cannot be read.") from None
    start = _aligned(_PREFIX + length)
    arrays = {}
    for name, dtype, count, at in entries:
        if dtype not in _DTYPES or count < 0 or at < 0:
            raise ValueError(f"{path} is damaged: its header describes {name!r} wrongly.")
        if start + at + count * np.dtype(dtype).itemsize > size:
            raise ValueError(f"{path} is damaged: it ends before its array {name!r} does.")
        arrays[name] = _load(path, np.dtype(dtype).newbyteorder("<"), start + at, count, mmap)
    return meta, arrays


def _load(path: PathLike, dtype: np.dtype, offset: int, count: int, mmap: bool) -> np.ndarray:
    if mmap and count:
        return np.asarray(np.memmap(path, dtype, "r", offset, (count,)))
    return np.fromfile(path, dtype, count, offset=offset)


def _aligned(position: int) -> int:
    return -(-position // ALIGN) * ALIGN
