"""Reading bytes: plain or compressed, in blocks, with one sentence for every way a file can be wrong."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, BinaryIO
from weakref import WeakValueDictionary

import numpy as np

from kernelweave.data.atomic import PathLike

Array = np.ndarray
READ_AT_ONCE = 1 << 23
"""Bytes of a file that are read together."""

BOM = b"\xef\xbb\xbf"
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
"""Byte-order marks of UTF-16 and UTF-32."""
MOST_EXPANSION = 250
"""Bytes of text that a byte of compressed data may unpack to; text that is not made to fill memory stays below 100."""
LONGEST_PIECE = 1 << 20
FREE_EXPANSION = 1 << 24
"""Bytes of text that any file may unpack to."""


@dataclass(frozen=True)
class Packing:
    """One way to compress a file.

    Parameters
    ----------
    name : what messages call it
    suffix : how names of such files end
    magic : first bytes of such files
    open : from a file to its content
    """

    name: str
    suffix: str
    magic: bytes
    open: Callable[[Any], Any]


def _zstd(file: Any) -> Any:
    """Return the content of a file of zstd; Python has it from 3.14 on, before it comes with xopen."""
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(module).ZstdFile(file)
        except ImportError:
            continue
    raise ImportError(
        f"Reading {file.name} needs zstd, which is not installed; get it with pip install backports.zstd."
    )


PACKINGS = (
    Packing("gzip", ".gz", b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    Packing("bzip2", ".bz2", b"BZh", bz2.BZ2File),
    Packing("zstd", ".zst", b"\x28\xb5\x2f\xfd", _zstd),
)
_reading: WeakValueDictionary[str, Any] = WeakValueDictionary()
"""The file behind the last reading of each path, while it lives."""
LONGEST_MAGIC = max(len(packing.magic) for packing in PACKINGS)


def packing_of(file: Any) -> Packing | None:
    """Tell how an open file is compressed, None for a plain one; it is not read on."""
    start = file.peek(LONGEST_MAGIC)
    return next((packing for packing in PACKINGS if start.startswith(packing.magic)), None)


def unpacked_name(name: str) -> str:
    """Return the name of a file without the suffix that says how it is compressed.

    >>> unpacked_name("sites.fa.zst")
    'sites.fa'
    """
    return next((name.removesuffix(one.suffix) for one in PACKINGS if name.endswith(one.suffix)), name)


def written_plain(path: PathLike) -> str | None:
    """Return how the name says that a file is compressed where writers cannot do that, None where all is well."""
    others = (one for one in PACKINGS if one.suffix != ".gz")
    return next((one.name for one in others if str(path).endswith(one.suffix)), None)


def is_packed(path: PathLike) -> bool:
    """Tell whether a file is compressed."""
    with open(path, "rb") as file:
        return packing_of(file) is not None


@contextmanager
def open_binary(path: PathLike) -> Iterator[BinaryIO]:
    """Open a plain or compressed file behind its byte-order mark; a missing, truncated or damaged one raises."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} does not exist.")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory, expected a file.")
    with open(path, "rb") as file:
        packing = packing_of(file)
        name = "" if packing is None else packing.name
        stream: Any = file if packing is None else Unpacked(path, packing.open(file), file)
        _reading[os.fspath(path)] = file
        try:
            while (start := stream.peek(4)[:4]).startswith(BOM):
                stream.read(len(BOM))
            if start.startswith(WIDE_MARKS):
                raise ValueError(f"{path} is not UTF-8 text but UTF-16 or UTF-32; convert it, for example with iconv.")
            yield stream
        except EOFError:
            raise ValueError(f"{path} is truncated: its {name} data end too early.") from None
        except Exception as error:
            if packing is None or not _is_damage(error):
                raise
            raise ValueError(f"{path} is damaged: its {name} data cannot be unpacked.") from None


def share_done(path: PathLike, letters: int) -> float | None:
    """Return about how much of a file is done, from 0 to 1; None where nobody can tell.

    Of a plain file that is the share of its bytes that so many letters are, of a compressed one what the reading that
    began last has passed.
    """
    if not os.path.isfile(path):
        return None
    if not is_packed(path):
        return min(letters / max(os.path.getsize(path), 1), 1.0)
    file = _reading.get(os.fspath(path))
    return None if file is None or file.closed else file.tell() / max(os.path.getsize(path), 1)


def _is_damage(error: Exception) -> bool:
    """Tell what unpacking raises about data that cannot be unpacked from what else may go wrong."""
    if isinstance(error, gzip.BadGzipFile | zlib.error) or type(error).__name__ == "ZstdError":
        return True
    return type(error) is OSError and error.errno is None  # of bzip2; those of the operating system have a number


class Unpacked(io.BufferedIOBase):
    """The content of a compressed file; raises where it is far more than data have that are not made to fill memory."""

    def __init__(self, path: PathLike, content: Any, packed: BinaryIO):
        self.path, self.content, self.packed = path, content, packed

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes, all of them where no number is given."""
        if size is not None and size >= 0:
            return self._measured(self.content.read(size))
        return b"".join(iter(lambda: self._measured(self.content.read(READ_AT_ONCE)), b""))

    def readline(self, size: int | None = -1) -> bytes:
        """Return the next line."""
        return self._measured(self.content.readline(READ_AT_ONCE if size is None or size < 0 else size))

    def peek(self, size: int = 0) -> bytes:
        """Return some of the next bytes, which are not read on."""
        return bytes(self.content.peek(size))

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        place = int(self.content.seek(offset, whence))
        self._measured(b"")
        return place

    def tell(self) -> int:
        """Return the place."""
        return int(self.content.tell())

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell whether it has places to go to."""
        return bool(self.content.seekable())

    def _measured(self, piece: bytes) -> bytes:
        """Return a piece, or raise because too much has been unpacked."""
        if self.tell() > FREE_EXPANSION + MOST_EXPANSION * self.packed.tell():
            raise ValueError(
                f"{self.path} unpacks to more than {MOST_EXPANSION} times its size, as damaged files and traps do; if "
                "that is meant, unpack it first, for example with gunzip."
            )
        return piece


def blocks(path: PathLike) -> Iterator[bytes]:
    """Yield the content of a text file in large pieces; an empty or binary file raises.

    So does one with the line ends of former Macintosh computers: a line that is none could be read as anything.
    """
    with open_binary(path) as file:
        seen, returned = 0, False
        while block := file.read(READ_AT_ONCE):
            if b"\0" in block:
                raise ValueError(f"{path} is not a text file: it holds a zero byte at {seen + block.index(0)}.")
            if (returned and not block.startswith(b"\n")) or _lone_return(block):
                raise _old_line_end(path)
            seen, returned = seen + len(block), block.endswith(b"\r")
            yield block
    if returned:
        raise _old_line_end(path)
    if not seen:
        raise ValueError(f"{path} is empty.")


def _lone_return(block: bytes) -> bool:
    """Tell whether a carriage return stands before anything but a line feed; one at the end is not looked at."""
    found = block.count(b"\r")
    return bool(found) and found - block.endswith(b"\r") != block.count(b"\r\n")


def _old_line_end(path: PathLike) -> ValueError:
    """Return the error about a carriage return alone, with its line."""
    line = 1
    with open_binary(path) as file:
        for piece in iter(lambda: file.readline(LONGEST_PIECE), b""):
            if re.search(rb"\r(?!\n)", piece):
                break
            line += piece.endswith(b"\n")
    return ValueError(
        f"{path}:{line}: a carriage return stands alone in or behind this line; lines end with a line feed, or with "
        "both. Convert the file, for example with tr '\\r' '\\n'."
    )


def line_blocks(path: PathLike) -> Iterator[tuple[bytes, int]]:
    """Yield pieces of whole lines, each with the number of its first line; the last line may lack its end."""
    waiting, pending = b"", list[bytes]()  # the last whole lines wait for a line that lacks its end
    line = 1
    for block in blocks(path):
        cut = block.rfind(b"\n") + 1
        if not cut:
            pending.append(block)
            continue
        if waiting:
            yield waiting, line
            line += waiting.count(b"\n")
        waiting = b"".join([*pending, block[:cut]])
        pending = [block[cut:]]
    if last := b"".join([waiting, *pending]):
        yield last, line


def numbered_lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of each line that is not blank."""
    for piece, first in line_blocks(path):
        for number, raw in enumerate(piece.split(b"\n"), first):
            if raw.strip():
                try:
                    yield number, raw.decode("utf-8").removesuffix("\r")
                except UnicodeDecodeError as error:
                    byte = raw[error.start]
                    raise ValueError(f"{path}:{number}: the byte {byte:#04x} is not UTF-8 text.") from None


def head(path: PathLike, size: int = 1 << 16) -> bytes:
    """Return the first bytes of a file, unpacked; an empty file raises."""
    with open_binary(path) as file:
        start = file.read(size)
    if not start:
        raise ValueError(f"{path} is empty.")
    return start


def spans(path: PathLike, block: bytes, starts: Array, stops: Array, lines: Array) -> list[str]:
    """Return the pieces of a block as text, each with its line for messages; bytes that are not UTF-8 raise."""
    pairs = list(zip(starts.tolist(), stops.tolist()))
    if block.isascii():
        text = block.decode("ascii")
        return [text[a:b] for a, b in pairs]
    found: list[str] = []
    try:
        for a, b in pairs:
            found.append(block[a:b].decode("utf-8"))
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ValueError(f"{path}:{lines[len(found)]}: the byte {byte:#04x} is not UTF-8 text.") from None
    return found
