"""Files appear whole or not at all: written aside, then renamed; pipes and devices are written to as they are."""

from __future__ import annotations

import gzip
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

PathLike = str | os.PathLike[str]


@contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Give a path beside `path` to write to; on success it takes the place of `path`, on failure it vanishes.

    A new file has the permissions that the umask leaves, one that is replaced keeps its own, whoever wrote the path
    aside and however.  A pipe or a device is given itself: it must be opened and written to, never replaced.

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
    if is_special(path):
        yield Path(path)
        return
    target = Path(os.path.realpath(path))
    aside = _aside(target)
    try:
        aside.touch()
        mode = stat.S_IMODE((target if target.exists() else aside).stat().st_mode)
        yield aside
        with open(aside, "rb+") as file:
            os.fsync(file.fileno())
        if stat.S_IMODE(aside.stat().st_mode) != mode:
            aside.chmod(mode)
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


def is_special(path: PathLike) -> bool:
    """Return whether a path is that of a pipe or a device, which is written to and cannot be replaced."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def check_writable(path: PathLike) -> None:
    """Raise one clear sentence, before long work is done, if a file cannot be written at `path`."""
    if is_special(path):
        return
    target = Path(os.path.realpath(path))
    folder = target.parent
    if target.is_dir():
        raise IsADirectoryError(f"Cannot write {path}: it is a directory, expected the name of a file.")
    if not folder.exists():
        raise FileNotFoundError(f"Cannot write {path}: the directory {folder} does not exist.")
    if not folder.is_dir():
        raise NotADirectoryError(f"Cannot write {path}: {folder} is not a directory.")
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
