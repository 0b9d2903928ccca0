"""Reading bytes: plain or gzip, in blocks, with one sentence for every way a file can be wrong."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import numpy as np

from kernelweave.data.atomic import PathLike

Array = np.ndarray
READ_AT_ONCE = 1 << 23
"""Bytes of a file that are read together."""

GZIP_MAGIC = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"


@contextmanager
def open_binary(path: PathLike) -> Iterator[BinaryIO]:
    """Open a plain or gzip file behind its byte-order mark; a missing, truncated or damaged one raises."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} does not exist.")
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a directory, expected a file.")
    with open(path, "rb") as file:
        packed = file.peek(2)[:2] == GZIP_MAGIC
        try:
            stream = gzip.GzipFile(fileobj=file) if packed else file
            if stream.peek(len(BOM))[: len(BOM)] == BOM:
                stream.read(len(BOM))
            yield cast(BinaryIO, stream)
        except EOFError:
            raise ValueError(f"{path} is truncated: its gzip data end too early.") from None
        except (gzip.BadGzipFile, zlib.error):
            raise ValueError(f"{path} is damaged: its gzip data cannot be unpacked.") from None


def blocks(path: PathLike) -> Iterator[bytes]:
    """Yield the content of a text file in large pieces; an empty or binary file raises."""
    with open_binary(path) as file:
        seen = 0
        while block := file.read(READ_AT_ONCE):
            if b"\0" in block:
                raise ValueError(f"{path} is not a text file: it holds a zero byte at {seen + block.index(0)}.")
            seen += len(block)
            yield block
    if not seen:
        raise ValueError(f"{path} is empty.")


def line_blocks(path: PathLike) -> Iterator[tuple[bytes, int]]:
    """Yield pieces of whole lines, each with the number of its first line; the last line may lack its end."""
    pending: list[bytes] = []
    line = 1
    for block in blocks(path):
        cut = block.rfind(b"\n") + 1
        if not cut:
            pending.append(block)
            continue
        piece = b"".join([*pending, block[:cut]])
        pending = [block[cut:]]
        yield piece, line
        line += piece.count(b"\n")
    if last := b"".join(pending):
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


def spans(block: bytes, starts: Array, stops: Array) -> list[str]:
    """Return the pieces of a block as text; bytes that are not UTF-8 are shown as escapes."""
    pairs = zip(starts.tolist(), stops.tolist())
    if block.isascii():
        text = block.decode("ascii")
        return [text[a:b] for a, b in pairs]
    return [block[a:b].decode("utf-8", "backslashreplace") for a, b in pairs]
