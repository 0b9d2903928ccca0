"""Files appear whole or not at all: written aside, then renamed; pipes and devices are written to as they are.

A file aside is named `.NAME.TOKEN.kwtmp` and locked by the process that writes it.  A process that is killed leaves it
without its lock, and the next process that writes into the directory removes it.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

try:
    import fcntl
except ImportError:  # Windows: no locks of this kind, so that nothing is ever taken for stale
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{12}\.kwtmp")
"""Names of files aside."""
ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH

_swept: set[str] = set()


class NotWritten(OSError):
    """A file could not be written; one that was there before is unchanged.

    Parameters
    ----------
    path : the file
    code : what the operating system said, as a number of `errno`
    reason : the same in words
    """

    def __init__(self, path: PathLike, code: int | None, reason: str):
        super().__init__(code, reason, os.fspath(path))
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return f"Cannot write {self.path}: {self.reason}."


@contextmanager
def open_aside(path: PathLike, size: int | None = None) -> Iterator[BinaryIO]:
    """Open a file for binary writing, aside and renamed at the end; a name that ends in .gz is compressed.

    On failure, `path` is what it was.  A new file has the permissions that the umask leaves, one that is replaced keeps
    its own.  The content is on the disk before the name is.  A pipe or a device is written to, never replaced.

    Parameters
    ----------
    path : the file
    size : bytes that will be written, where that is known; too many for the disk raise before anything is written

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with open_aside(folder / "a.txt") as file:
    ...     _ = file.write(b"whole")
    >>> [p.name for p in folder.iterdir()]
    ['a.txt']
    """
    with _special(path) if is_special(path) else _aside(path, size) as file:
        if not str(path).endswith(".gz"):
            yield file
            return
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield cast(BinaryIO, packed)


@contextmanager
def _special(path: PathLike) -> Iterator[BinaryIO]:
    """Open a pipe or a device."""
    with _buffered(os.open(path, os.O_WRONLY), path) as file:
        yield file


@contextmanager
def _aside(path: PathLike, size: int | None) -> Iterator[BinaryIO]:
    """Open a file beside `path`, which takes its place at the end."""
    check_writable(path)
    target = Path(os.path.realpath(path))
    check_room(path, size)
    descriptor, aside = _create(path, target)
    try:
        with _buffered(descriptor, path) as file:
            if target.exists():
                aside.chmod(stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            _put(descriptor, aside, target, path)
    finally:
        aside.unlink(missing_ok=True)


def _put(descriptor: int, aside: Path, target: Path, path: PathLike) -> None:
    """Let a written file take the place of the target, the content on the disk before the name."""
    try:
        os.fsync(descriptor)
        os.replace(aside, target)
    except FileNotFoundError as error:
        raise NotWritten(path, error.errno, f"the directory {target.parent} is gone") from None
    except OSError as error:
        raise NotWritten(path, error.errno, _reason(error)) from None
    with contextlib.suppress(OSError):  # not every system lets directories be opened
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class _Target(io.FileIO):
    """A file whose faults in writing name the file that was asked for."""

    def __init__(self, descriptor: int, shown: PathLike):
        super().__init__(descriptor, "wb")
        self.shown, self.given_up = shown, False

    def write(self, data: Any) -> int:
        if self.given_up:
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise NotWritten(self.shown, error.errno, _reason(error)) from None


@contextmanager
def _buffered(descriptor: int, shown: PathLike) -> Iterator[BinaryIO]:
    """Give a file to write to; after a failure, what waits to be written is given up."""
    raw = _Target(descriptor, shown)
    with io.BufferedWriter(raw) as file:
        try:
            yield file
            file.flush()
        except BaseException:
            raw.given_up = True
            raise


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
    if target.exists() and not (target.stat().st_mode & ANY_WRITE and os.access(target, os.W_OK)):
        raise PermissionError(f"Cannot write {path}: it is read-only; choose another name or change its permissions.")
    remove_stale(folder)
    descriptor, probe = _create(path, target)
    os.close(descriptor)
    probe.unlink(missing_ok=True)


def check_room(path: PathLike, size: int | None) -> None:
    """Raise unless the disk of a file has so many bytes free; a disk that does not say is believed to."""
    if size is None or not hasattr(os, "statvfs"):
        return
    folder = os.path.dirname(os.path.realpath(path))
    disk = os.statvfs(folder)
    free = disk.f_frsize * (disk.f_bfree if os.geteuid() == 0 else disk.f_bavail)
    if disk.f_blocks and size > free:
        raise NotWritten(path, None, f"it takes {size:,} bytes, but the disk of {folder} has {free:,} left")


def is_temporary(name: str) -> bool:
    """Tell the name of a file aside.

    >>> is_temporary(".m.kw.0123456789ab.kwtmp"), is_temporary("m.kw")
    (True, False)
    """
    return TEMPORARY.fullmatch(name) is not None


def remove_stale(folder: PathLike, again: bool = False) -> None:
    """Remove the files aside that dead processes left in a directory; once in a process, unless asked for again."""
    found = os.path.realpath(folder)
    if fcntl is None or (found in _swept and not again):
        return
    _swept.add(found)
    with contextlib.suppress(OSError), os.scandir(found) as entries:
        for name in [entry.name for entry in entries if is_temporary(entry.name)]:
            _remove_unlocked(os.path.join(found, name))


def _remove_unlocked(path: str) -> None:
    """Remove a file that nobody has locked; one that cannot be locked stays."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
        finally:
            os.close(descriptor)


def _create(path: PathLike, target: Path) -> tuple[int, Path]:
    """Make a file beside the target under a name that nobody else uses, locked; return its descriptor and name.

    A long name is cut, file systems allow 255 bytes.
    """
    while True:
        aside = target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.kwtmp")
        try:
            descriptor = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            reason = f"no file can be made in {target.parent} ({_reason(error)})"
            raise PermissionError(f"Cannot write {path}: {reason}.") from None
        if _lock(descriptor) and aside.exists():  # nobody took it for stale before it was locked
            return descriptor, aside
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a file; return False where somebody else has, True also where there are no locks."""
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
    return True


def _reason(error: OSError) -> str:
    return (error.strerror or "it cannot be written").lower()
