"""Part files: sections behind a magic word, each at a multiple of 64 bytes, mapped from disk once their sums are right.

A part is checked when a process first touches it, and again when its file has another size, time or inode than then.
"""

from __future__ import annotations

import hashlib
import os
import threading
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.stores.manifest import ALIGN, Part, Section
from kernelweave.data.stores.packing import Array, Facts

MAGIC = b"KWPART\x01\n"
State = tuple[int, int, int]
"""Size, time of change and inode of a file."""

_sound: dict[str, tuple[State, Part]] = {}
_lock = threading.Lock()


def write_part(store: Path, number: int, rows: int, sections: Mapping[str, Array], facts: Facts) -> Part:
    """Write one part file, named by its number and content, and return its entry for the manifest."""
    entries, position = {}, ALIGN
    plain = {name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in sections.items()}
    for name, array in plain.items():
        entries[name] = Section(array.dtype.name, int(array.size), position, zlib.crc32(array.data))
        position = -(-entries[name].stop // ALIGN) * ALIGN
    digest = hashlib.sha256(repr((rows, sorted(facts.items()), sorted(entries.items()))).encode()).hexdigest()[:16]
    path = store / f"part-{number:05d}-{digest}.kwp"
    with open_aside(path, position) as file:
        file.write(MAGIC)
        for name, array in plain.items():
            file.write(b"\0" * (entries[name].at - file.tell()))
            file.write(array.data)
        file.write(b"\0" * (position - file.tell()))
    return Part(path.name, position, rows, facts, entries)


def map_part(store: PathLike, part: Part) -> dict[str, Array]:
    """Return the sections of a part, mapped; a file that is missing, or not of the size it was written in, raises."""
    path = os.path.join(store, part.file)
    state_of(store, part)
    whole = np.memmap(path, np.uint8, "r")
    if whole.size != part.bytes or whole[: len(MAGIC)].tobytes() != MAGIC:
        raise _damaged(store, part, "it is not the file that was written")
    found = {}
    for name, section in part.sections.items():
        array = np.asarray(whole[section.at : section.stop]).view(np.dtype(section.dtype).newbyteorder("<"))
        found[name] = array
    return found


def verify_part(store: PathLike, part: Part, sections: Mapping[str, Array]) -> bool:
    """Compare the sums of mapped sections with the manifest; return False where that was done before."""
    path, state = os.path.realpath(os.path.join(store, part.file)), state_of(store, part)
    if _sound.get(path) == (state, part):
        return False
    for name, array in sections.items():
        if zlib.crc32(array.data) != part.sections[name].crc32:
            raise _damaged(store, part, f"the checksum of its section {name!r} is another one than when it was written")
    return True


def mark_sound(store: PathLike, part: Part) -> None:
    """Remember that a part was checked."""
    path = os.path.realpath(os.path.join(store, part.file))
    with _lock:
        _sound[path] = (state_of(store, part), part)


def state_of(store: PathLike, part: Part) -> State:
    """Return size, time of change and inode of a part file; one that is missing or of another size raises."""
    try:
        found = os.stat(os.path.join(store, part.file))
    except OSError as error:
        reason = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise FileNotFoundError(f"The part {part.file} of {store} {reason}; convert the rows again.") from None
    if found.st_size != part.bytes:
        fault = "truncated" if found.st_size < part.bytes else "changed"
        raise _damaged(store, part, f"it has {found.st_size} bytes instead of {part.bytes}", fault)
    return found.st_size, found.st_mtime_ns, found.st_ino


def unsound(store: PathLike, part: Part) -> ValueError:
    """Return the error about a part whose sections do not fit together, though its sums are right."""
    return _damaged(store, part, "its sections do not fit together")


def _damaged(store: PathLike, part: Part, why: str, fault: str = "changed") -> ValueError:
    return ValueError(f"The part {part.file} of {store} is {fault}: {why}; convert the rows again.")
