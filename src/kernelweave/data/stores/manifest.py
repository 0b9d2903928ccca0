"""The manifest of a store: what it holds, in which files, and their checksums.

It is a JSON file that is written last and replaced as a whole, so that a store is what its manifest says or nothing.
Nothing in it is trusted: every number, name and type is checked before a file is opened.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernelweave._version import __version__
from kernelweave.data.atomic import PathLike, open_aside
from kernelweave.data.kinds import KINDS
from kernelweave.data.stores.packing import Facts, Head

FORMAT, VERSION = "kernelweave store", 1
MANIFEST = "manifest.json"
PART_NAME = re.compile(r"part-[0-9]{5,9}-[0-9a-f]{16}\.kwp")
"""What part files are called: nothing else is opened or removed, whatever a manifest says."""
MAX_MANIFEST = 1 << 28
"""A larger manifest is taken for a damaged one rather than read into memory."""
MOST = 1 << 62
"""No count or place of a store is larger."""
ALIGN = 64
"""Sections begin at a multiple of so many bytes."""
DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64")
Label = int | float | str


@dataclass(frozen=True)
class Section:
    """A flat array of a part file: its type and number of items, where it begins, and its CRC-32."""

    dtype: str
    size: int
    at: int
    crc32: int

    @property
    def stop(self) -> int:
        """Where it ends."""
        return self.at + self.size * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Part:
    """A part file: its name, size in bytes, number of rows, what is counted of them, and its sections by name."""

    file: str
    bytes: int
    rows: int
    facts: Facts
    sections: dict[str, Section]


@dataclass(frozen=True)
class Manifest:
    """What a store holds.

    Parameters
    ----------
    kind : name of the row kind
    head : what all rows share
    part_rows : rows of every part but the last, which may have fewer
    classes : the different labels, in the order in which they came; none where labels are stored by value
    parts : the part files, in the order of their rows
    """

    kind: str
    head: Head
    part_rows: int
    classes: tuple[Label, ...]
    parts: tuple[Part, ...]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(part.rows for part in self.parts)

    @property
    def fingerprint(self) -> str:
        """A hash of all that the manifest says but the names of files."""
        said = asdict(self)
        for part in said["parts"]:
            del part["file"]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def write(self, store: PathLike) -> None:
        """Put the manifest in its place, in one step."""
        text = {"format": FORMAT, "version": VERSION, "written_by": __version__, "rows": self.rows, **asdict(self)}
        said = json.dumps({**text, "fingerprint": self.fingerprint}, indent=1).encode()
        with open_aside(os.path.join(store, MANIFEST), len(said)) as file:
            file.write(said)


def read_manifest(store: PathLike) -> Manifest:
    """Return the manifest of a store, every entry checked."""
    path = os.path.join(store, MANIFEST)
    if not os.path.exists(store):
        raise FileNotFoundError(f"{store} does not exist.")
    if not os.path.isfile(path):
        raise ValueError(
            f"{store} is not a store: it has no {MANIFEST}; a conversion that was interrupted leaves none."
        )
    if os.path.getsize(path) > MAX_MANIFEST:
        raise ValueError(f"{path} is damaged: no manifest has {os.path.getsize(path)} bytes.")
    try:
        with open(path, encoding="utf-8") as file:
            said = json.load(file)
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is damaged: it is not JSON; convert the rows again.") from None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise ValueError(f"{path} is not the manifest of a store of kernelweave.")
    if said.get("version") != VERSION:
        raise ValueError(
            f"{store} has version {said.get('version')!r} of the format of stores, but this kernelweave reads version "
            f"{VERSION}; update kernelweave, or convert the rows again."
        )
    try:
        found = _manifest(said)
        _check(found, said)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{path} is damaged: its entry {_entry(error)} is not sound; convert the rows again."
        ) from None
    return found


def is_store(path: PathLike) -> bool:
    """Tell whether a path is that of a directory with a manifest."""
    return os.path.isfile(os.path.join(path, MANIFEST))


class _Unsound(ValueError):
    """An entry that cannot be; its only argument is the name of the entry."""


def _entry(error: Exception) -> str:
    return repr(error.args[0]) if isinstance(error, _Unsound | KeyError) else "'parts'"


def _manifest(said: dict[str, Any]) -> Manifest:
    parts = tuple(_part(one) for one in _need(said, "parts", list))
    classes = tuple(_need(said, "classes", list))
    head = _need(said, "head", dict)
    return Manifest(_need(said, "kind", str), head, _count(said, "part_rows"), classes, parts)


def _part(said: Any) -> Part:
    sections = {}
    for name, one in _need(said, "sections", dict).items():
        dtype = _need(one, "dtype", str)
        if dtype not in DTYPES:
            raise _Unsound("dtype")
        sections[name] = Section(dtype, *(_count(one, key) for key in ("size", "at", "crc32")))
    file = _need(said, "file", str)
    if not PART_NAME.fullmatch(file):
        raise _Unsound("file")
    facts = {name: _count(said["facts"], name) for name in _need(said, "facts", dict)}
    return Part(file, _count(said, "bytes"), _count(said, "rows"), facts, sections)


def _check(found: Manifest, said: dict[str, Any]) -> None:
    """Raise unless the entries of a manifest fit together."""
    if found.kind not in KINDS or (packing := KINDS[found.kind].packing) is None:
        raise _Unsound("kind")
    try:
        packing.content(found.head)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _Unsound("head") from None
    if any(type(label) not in (int, float, str) for label in found.classes):
        raise _Unsound("classes")
    full = [part.rows == found.part_rows for part in found.parts[:-1]]
    if not all(full) or any(not 0 < part.rows <= found.part_rows for part in found.parts[-1:]):
        raise _Unsound("part_rows")
    if _count(said, "rows") != found.rows:
        raise _Unsound("rows")
    for part in found.parts:
        if any(one.stop > part.bytes or one.at % ALIGN for one in part.sections.values()):
            raise _Unsound("sections")
    if said.get("fingerprint") != found.fingerprint:
        raise _Unsound("fingerprint")


def _need(said: Any, name: str, kind: type) -> Any:
    if not isinstance(said, dict) or not isinstance(said.get(name), kind):
        raise _Unsound(name)
    return said[name]


def _count(said: Any, name: str) -> int:
    value = said.get(name) if isinstance(said, dict) else None
    if type(value) is not int or not 0 <= value < MOST:
        raise _Unsound(name)
    return value
