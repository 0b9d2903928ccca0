"""Arrays of a NumPy archive mapped from disk: rows are read when they are used, so a table may exceed the memory.

An archive is a zip file.  An array that is stored in it without compression (by `numpy.savez`, not by
`savez_compressed`) lies there in one piece: behind the local header of its entry, whose length the header itself tells,
and its own header.
"""

from __future__ import annotations

import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from typing import IO

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.io.machines import shown

Array = np.ndarray
LOCAL_HEADER = 30
"""Bytes of a local header before the name and the extra field, whose lengths are its last two numbers of 16 bits."""
MOST_EXPANSION = 1100
"""Bytes that a byte of compressed data can unpack to: deflate has 1032."""
DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError, EOFError, OSError, LookupError,
    NotImplementedError, RuntimeError, SyntaxError, ArithmeticError, TypeError, AttributeError, ValueError, MemoryError,
)  # fmt: skip
"""What reading an archive or a header of NumPy that is damaged can raise."""


class Oversized(ValueError):
    """An archive promises more than it can hold."""


def mapped_arrays(path: PathLike) -> dict[str, Array]:
    """Return the arrays of an archive by name, mapped from disk and read-only.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "table.npz")
    >>> np.savez(path, X=np.eye(3), y=np.arange(3))
    >>> found = mapped_arrays(path)
    >>> found["X"][1], type(found["X"]).__name__
    (memmap([0., 1., 0.]), 'memmap')
    """
    try:
        with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
            return {info.filename.removesuffix(".npy"): _mapped(path, file, info) for info in archive.infolist()}
    except Unmappable as error:
        raise ValueError(f"{path}{error}") from None
    except DAMAGED:
        raise ValueError(f"{path} cannot be mapped as npz: it is damaged or not a plain archive.") from None


def can_map(path: PathLike) -> bool:
    """Tell whether a file is an archive of dense arrays that are not compressed."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError):
        return False
    plain = all(one.compress_type == zipfile.ZIP_STORED for one in entries)
    return plain and not any(one.filename == "indptr.npy" for one in entries)


def check_sizes(archive: zipfile.ZipFile) -> None:
    """Raise unless every entry is an array, no larger than its entry, and no entry larger than its data can unpack to.

    So a small file cannot ask for terabytes.
    """
    for info in archive.infolist():
        if info.file_size > MOST_EXPANSION * (info.compress_size + 64):
            raise Oversized(f"{info.filename} promises {info.file_size} bytes, more than the file can hold")
        with archive.open(info) as member:
            shape, _, dtype = array_header(member)
        if math.prod(shape) * dtype.itemsize > info.file_size:
            raise Oversized(f"{info.filename} promises an array of shape {shape}, more than the file holds")


def array_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return shape, order and type of the array whose header comes next."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(file)


class Unmappable(ValueError):
    """An archive that is whole cannot be mapped; the text follows its name."""


def _mapped(path: PathLike, file: IO[bytes], info: zipfile.ZipInfo) -> Array:
    """Return the array of one entry."""
    name = info.filename.removesuffix(".npy")
    if info.compress_type != zipfile.ZIP_STORED:
        raise Unmappable(f": the array {shown(name)} is compressed, so it cannot be mapped; write it with numpy.savez.")
    file.seek(info.header_offset)
    header = file.read(LOCAL_HEADER)
    lengths = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
    file.seek(info.header_offset + LOCAL_HEADER + sum(lengths))
    try:
        shape, fortran, dtype = array_header(file)
    except DAMAGED:
        raise Unmappable(f" cannot be mapped as npz: its array {shown(name)} has no header of NumPy.") from None
    if dtype.hasobject:
        raise Unmappable(" cannot be mapped as npz: it holds Python objects, which are never loaded.")
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", file.tell(), shape, "F" if fortran else "C")
