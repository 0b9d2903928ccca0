"""Targets that cannot be written to: full and read-only disks, limits of file sizes, directories that vanish, devices.

Whatever is written, to whatever takes less than it: the call raises one sentence that names the file, what was there
before is there as it was, and no temporary file is left.  Sizes are drawn, so that disks fill up at any moment.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import kernelweave as kw
from kernelweave.data.atomic import is_temporary
from kernelweave.data.stores import write_store

from .judging import INNER
from .stage import Outcome, Stage

ROWS, SMALL = 600, 40
Write = Callable[[Path, int], Any]
"""Writes something of so many rows to a path."""


@cache
def table(rows: int) -> np.ndarray:
    """Return rows."""
    return np.random.default_rng(rows).normal(size=(rows, 20))


@cache
def fitted(rows: int) -> Any:
    """Return a model that keeps all its rows."""
    return kw.KernelNovelty(kw.RBF(width=20.0), nu=0.999, tol=0.1).fit(table(rows))


@cache
def letters(rows: int) -> kw.Sequences:
    """Return sequences."""
    random = np.random.default_rng(rows)
    return kw.Sequences.from_strings(["".join(line) for line in random.choice(list("ACGT"), (rows, 100))])


def _checkpoint(path: Path, rows: int) -> None:
    if rows == SMALL:
        return  # it would be that of another fit
    X = table(rows)
    kw.KernelClassifier(kw.RBF(width=20.0), checkpoint=(str(path), 0.0)).fit(X, np.where(X[:, 0] > 0, 1, -1))


WRITERS: dict[str, tuple[str, Write]] = {
    "model": ("a.kw", lambda path, rows: kw.save(fitted(rows), path)),
    "sequences": ("a.kwseq", lambda path, rows: letters(rows).save(path)),
    "lattices": ("a.kwlat", lambda path, rows: kw.Lattices.from_sequences(letters(rows)).save(path)),
    "store": ("a.kws", lambda path, rows: write_store(path, table(rows))),
    "checkpoint": ("a.kwc", _checkpoint),
}


@contextmanager
def disk(folder: Path, size: int, options: str = "") -> Iterator[bool]:
    """Mount a disk of some bytes; give whether that is allowed here."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={max(size, 4096)}{options}", "none", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def trial(number: int, folder: Path) -> Outcome:
    """Write something small, then something large to where it does not fit."""
    place = list(PLACES)[number % len(PLACES)]
    what = list(WRITERS)[(number + number // len(PLACES)) % len(WRITERS)]
    kind, share = f"{what}, {place}", float(np.random.default_rng([23, number]).uniform(0.05, 0.9))
    name, write = WRITERS[what]
    size = max(8192, int(share * _bytes(folder / name, write)))
    home = folder / "home"
    home.mkdir()
    return PLACES[place](kind, home / name, write, size)


def _bytes(path: Path, write: Write) -> int:
    """Return how many bytes the large thing takes, by writing it where there is room."""
    write(path, ROWS)
    size = sum(map(len, _content(path).values()))
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    return size


def _small_disk(kind: str, path: Path, write: Write, size: int) -> Outcome:
    room = size + _room(path, write)
    with disk(path.parent, room) as there:
        if not there:
            return Outcome(kind, "skipped")
        write(path, SMALL)
        return _judged(kind, path, lambda: write(path, ROWS), _content(path))


def _room(path: Path, write: Write) -> int:
    """Return what the small thing takes on a disk of pages."""
    other = path.parent.parent / f"small-{path.name}"
    write(other, SMALL)
    return sum(-(-len(content) // 4096) * 4096 for content in _content(other).values()) + 4096


def _read_only(kind: str, path: Path, write: Write, size: int) -> Outcome:
    with disk(path.parent, 4 << 20) as there:
        if not there:
            return Outcome(kind, "skipped")
        write(path, SMALL)
        before = _content(path)
        subprocess.run(["mount", "-o", "remount,ro", str(path.parent)], check=True, capture_output=True)
        return _judged(kind, path, lambda: write(path, ROWS), before)


def _long_file(kind: str, path: Path, write: Write, size: int) -> Outcome:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    write(path, SMALL)
    before = _content(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, limits[1]))
    try:
        return _judged(kind, path, lambda: write(path, ROWS), before)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def _gone(kind: str, path: Path, write: Write, size: int) -> Outcome:
    path.parent.rmdir()
    return _judged(kind, path, lambda: write(path, ROWS), {})


def _device(kind: str, path: Path, write: Write, size: int) -> Outcome:
    path.symlink_to("/dev/full")
    found = _judged(kind, path, lambda: write(path, ROWS), None)
    if not (os.path.islink(path) and os.path.exists("/dev/full")):
        return Outcome(kind, "lost", "the device is gone")
    return found


PLACES = {
    "full disk": _small_disk, "read-only disk": _read_only, "limit of sizes": _long_file, "no directory": _gone,
    "full device": _device,
}  # fmt: skip


def _content(path: Path) -> dict[str, bytes]:
    """Return the bytes of a file, or of the files of a directory."""
    files = [path] if path.is_file() else sorted(path.iterdir()) if path.is_dir() else []
    return {one.name: one.read_bytes() for one in files}


def _judged(kind: str, path: Path, call: Callable[[], Any], before: dict[str, bytes] | None) -> Outcome:
    """Say how a write ended, and what it left; `before` is None for what has no content."""
    try:
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            call()
        said = " ".join(str(one.message) for one in noted)
        outcome = Outcome(kind, "noted" if path.name in said else "written", said[:300])
    except (OSError, ValueError) as error:
        said = str(error)
        plain = said.endswith(".") and "\n" not in said and path.name in said and not INNER.search(said)
        outcome = Outcome(kind, "refused" if plain else "inner exception", f"{type(error).__name__}: {said}"[:300])
    if before is not None and outcome.outcome != "written":
        after = _content(path)
        if outcome.outcome == "noted" and not before and after:  # it did fit once: a run goes on from it
            before = after
            kept = path.parent.parent / path.name
            shutil.copy(path, kept)
            _checkpoint(kept, ROWS)
        if after != before:
            return Outcome(kind, "lost", f"what was there has changed ({sorted(before)}, {sorted(after)}): {said}")
    left = [one.name for one in path.parent.rglob("*") if is_temporary(one.name)] if path.parent.exists() else []
    return Outcome(kind, "leak", f"{left[0]} was left") if left else outcome


STAGE = Stage("full targets", trial, goal=250, slice=5, minutes=3, seconds=120.0, growth=None)
