"""File formats in one registry: each file under `formats/` enters what it can do.

A format of one's own is a `Format` and a call of `register`; `read`, `write`, `sniff`, the streams and the command line
then know it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kernelweave.data.atomic import PathLike
from kernelweave.io.dataset import Dataset
from kernelweave.io.source import unpacked_name

Sniff = Callable[[bytes], bool]

BY_MAGIC, BY_MARK, BY_LINES = 0, 1, 2
"""Breadth of formats recognised by their first bytes, by a mark at the beginning of the text, by the form of all lines;
formats that accept more than others have a higher one."""


@dataclass(frozen=True)
class Format:
    """What can be done with the files of a format.

    Parameters
    ----------
    name : how users and messages call it
    holds : names of the row kinds that its files can hold, the usual one first
    suffixes : how names of such files end
    sniff : whether the first bytes of a file are those of this format
    read : from a path and options to a `Dataset`
    write : from a path, rows, labels (and ids) to a file; None where the format is read only
    breadth : formats with a lower one are tried first
    sniff_named : a weaker `sniff`, for files whose suffix speaks for the format; None where there is none
    parts : from a path, the key of labels and a list to which labels are added (None for neither) to an iterator of
        parts of letters, where files are read in blocks
    machines : reader of lattices as they stand in the file; see `kernelweave.io.lattices`
    blocks : like `read`, but to an iterator of `Dataset`, where tables are read in blocks
    """

    name: str
    holds: tuple[str, ...]
    suffixes: tuple[str, ...]
    sniff: Sniff
    read: Callable[..., Dataset]
    write: Callable[..., None] | None = None
    breadth: int = BY_LINES
    sniff_named: Sniff | None = None
    parts: Callable[..., Any] | None = None
    machines: Callable[..., Any] | None = None
    blocks: Callable[..., Iterator[Dataset]] | None = None

    @property
    def options(self) -> list[str]:
        """Names of what the reader takes beside the path."""
        names = list(inspect.signature(self.read).parameters)
        if self.machines is not None:  # the reader of lattices passes on what the format takes itself
            own = inspect.signature(self.machines).parameters
            names = [name for name in names if name not in ("format", "symbols", "options")] + list(own)
        return [name for name in dict.fromkeys(names) if name != "path"]


FORMATS: dict[str, Format] = {}
"""Formats by name, in the order in which they are tried on the content of a file."""


def register(format: Format) -> Format:
    """Enter a format; among formats of one breadth the first to enter is tried first."""
    if format.name in FORMATS:
        raise ValueError(f"There already is a format {format.name!r}.")
    entered = sorted([*FORMATS.values(), format], key=lambda known: known.breadth)
    FORMATS.clear()
    FORMATS.update({known.name: known for known in entered})
    return format


def named(name: str) -> Format:
    """Return the format of this name."""
    if name not in FORMATS:
        raise ValueError(f"There is no format {name!r}; known are {', '.join(FORMATS)}.")
    return FORMATS[name]


def by_suffix(path: PathLike) -> list[Format]:
    """Return the formats whose files are named like this one, compressed or not."""
    name = unpacked_name(str(path).lower().rstrip("/"))
    return [format for format in FORMATS.values() if name.endswith(format.suffixes)]
