"""One file for many sequences or lattices, laid out so that it can be memory-mapped.

    8 magic bytes | length of the header | its CRC-32 | header: JSON | the arrays it lists, at multiples of 64 bytes

Both numbers are little-endian, of 8 bytes.  The header has the CRC-32 of each array; all are verified when a file is
opened.  Version 1, which is still read, had no sums.
"""

from __future__ import annotations

import json
import os
import zlib
from typing import Any, BinaryIO

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside

MAGIC = b"KWSEQ\x00\x02\n"
FORMER = b"KWSEQ\x00\x01\n"
"""Version 1: no sum of the header, none of the arrays."""
ALIGN = 64
MAX_HEADER = 1 << 30
"""A longer header is taken for a damaged file rather than read into memory."""
DESCRIBED_WRONGLY = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)
"""What reading a description whose parts do not fit together can raise."""

_DTYPES = ("uint8", "uint16", "uint32", "int32", "int64", "float64")


def write_saved(path: PathLike, meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write named one-dimensional arrays and a JSON-able description, aside and renamed."""
    plain = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    listed: list[dict[str, Any]] = []
    position = 0
    for name, array in plain.items():
        position = _aligned(position)
        listed.append({
            "name": name, "dtype": array.dtype.name, "size": int(array.size), "at": position,
            "crc32": zlib.crc32(array.data),
        })  # fmt: skip
        position += array.nbytes
    header = json.dumps({"meta": meta, "arrays": listed}).encode()
    prefix = MAGIC + len(header).to_bytes(8, "little") + zlib.crc32(header).to_bytes(8, "little")
    start = _aligned(len(prefix) + len(header))
    with open_aside(path, start + position) as file:
        file.write(prefix + header)
        for entry, array in zip(listed, plain.values()):
            file.write(b"\0" * (start + entry["at"] - file.tell()))
            file.write(array.data)


def begins_saved(start: bytes) -> bool:
    """Tell by its first bytes whether a file was written by `write_saved`, in this version or a former one."""
    return start.startswith((MAGIC, FORMER))


def saved_header(start: bytes) -> bytes:
    """Return where the header begins in the first bytes of a file."""
    return start[_prefix_size(start[: len(MAGIC)]) :]


def read_saved(path: PathLike, mmap: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the description and the arrays of a file, mapped from disk or read into memory, their sums verified."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        start, header = _read_header(path, file, size)
    try:
        entries = [(e["name"], e["dtype"], int(e["size"]), int(e["at"]), e.get("crc32")) for e in header["arrays"]]
        meta = dict(header["meta"])
    except DESCRIBED_WRONGLY:
        raise ValueError(f"{path} is damaged: its header cannot be read.") from None
    arrays = {}
    for name, dtype, count, at, crc32 in entries:
        if dtype not in _DTYPES or count < 0 or at < 0:
            raise ValueError(f"{path} is damaged: its header describes {name!r} wrongly.")
        if start + at + count * np.dtype(dtype).itemsize > size:
            raise ValueError(f"{path} is damaged: it ends before its array {name!r} does.")
        array = _load(path, np.dtype(dtype).newbyteorder("<"), start + at, count, mmap)
        if crc32 is not None and zlib.crc32(array.data) != crc32:
            raise ValueError(f"{path} is damaged: the checksum of its array {name!r} is wrong.")
        arrays[name] = array
    return meta, arrays


def _read_header(path: PathLike, file: BinaryIO, size: int) -> tuple[int, dict[str, Any]]:
    """Return where the arrays begin, and the header."""
    magic = file.read(len(MAGIC))
    if not begins_saved(magic):
        raise ValueError(f"{path} is not a file of saved sequences or lattices.")
    numbers = file.read(_prefix_size(magic) - len(magic))
    length = int.from_bytes(numbers[:8], "little")
    if len(magic) + len(numbers) < _prefix_size(magic) or length > min(size, MAX_HEADER):
        raise ValueError(f"{path} is damaged: its header does not fit the file.")
    text = file.read(length)
    if magic == MAGIC and zlib.crc32(text) != int.from_bytes(numbers[8:], "little"):
        raise ValueError(f"{path} is damaged: the checksum of its header is wrong.")
    try:
        header = json.loads(text)
        if magic == MAGIC and not all(isinstance(entry["crc32"], int) for entry in header["arrays"]):
            raise ValueError("crc32")
    except DESCRIBED_WRONGLY:
        raise ValueError(f"{path} is damaged: its header cannot be read.") from None
    return _aligned(_prefix_size(magic) + length), header


def _prefix_size(magic: bytes) -> int:
    return len(magic) + (8 if magic == FORMER else 16)


def _load(path: PathLike, dtype: np.dtype, offset: int, count: int, mmap: bool) -> np.ndarray:
    if mmap and count:
        return np.asarray(np.memmap(path, dtype, "r", offset, (count,)))
    return np.fromfile(path, dtype, count, offset=offset)


def _aligned(position: int) -> int:
    return -(-position // ALIGN) * ALIGN
