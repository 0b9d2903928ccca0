"""Files appear whole or not at all: written aside, then renamed."""

from __future__ import annotations

import gzip
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

PathLike = str | os.PathLike[str]


@contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Give a path beside `path` to write to; on success it takes the place of `path`, on failure it vanishes.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with atomic_path(folder / "a.txt") as aside:
    ...     _ = aside.write_text("whole")
    >>> [p.name for p in folder.iterdir()]
    ['a.txt']
    """
    check_writable(path)
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
        yield target
        return
    aside = _aside(target)
    try:
        yield aside
        with open(aside, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(aside, target)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def open_aside(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file for binary writing, aside and renamed at the end; a name that ends in .gz is compressed."""
    with atomic_path(path) as aside, open(aside, "wb") as file:
        if not str(path).endswith(".gz"):
            yield file
            return
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield cast(BinaryIO, packed)


def check_writable(path: PathLike) -> None:
    """Raise one clear sentence, before long work is done, if a file cannot be written at `path`."""
    target = Path(os.path.realpath(path))
    folder = target.parent
    if target.is_dir():
        raise IsADirectoryError(f"Cannot write {path}: it is a directory, expected the name of a file.")
    if not folder.exists():
        raise FileNotFoundError(f"Cannot write {path}: the directory {folder} does not exist.")
    if not folder.is_dir():
        raise NotADirectoryError(f"Cannot write {path}: {folder} is not a directory.")
    if target.exists() and not target.is_file():
        return
    try:
        probe = _aside(target)
        probe.touch()
        probe.unlink()
    except OSError as error:
        reason = (error.strerror or "it cannot be written").lower()
        raise PermissionError(f"Cannot write {path}: no file can be made in {folder} ({reason}).") from None


def _aside(target: Path) -> Path:
    """Return a name beside the target that nobody else uses; a long name is cut, file systems allow 255 bytes."""
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.part")
