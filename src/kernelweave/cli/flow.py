"""Rows that flow through a command: read in blocks, written as they are scored, with a line that shows the pace."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from kernelweave.cli.options import Reading
from kernelweave.cli.show import EVERY, WIDTH, Status

if TYPE_CHECKING:
    from kernelweave.io.stream import Block

Write = Callable[[Iterable[str]], None]

LOOKED_THROUGH = 1 << 28
"""After an error, files up to this many bytes are read again to tell whether their alphabet is another one."""


def new_blocks(path: str, model: Any, reading: Reading) -> Iterator[tuple[list[str], Any]]:
    """Yield names and rows as the model was trained on, in blocks where the format allows it."""
    from kernelweave.cli.rows import read_new
    from kernelweave.data.stores import is_stored

    options = stream_options(path, model, reading)
    if options is not None:
        for block in streamed(path, model, reading, options):
            yield block.names, block.X
        return
    data = read_new(path, model, reading)
    if is_stored(data.X):
        for part in data.X.parts:
            ids = data.X.names(part)
            yield [str(name) for name in (range(part.start, part.stop) if ids is None else ids)], data.X[part]
        return
    names = range(data.X.shape[0]) if data.ids is None else data.ids
    yield [str(name) for name in names], data.X


def stream_options(path: str, model: Any, reading: Reading) -> dict[str, Any] | None:
    """Return how to read a file in blocks, or None if it has to be read whole."""
    from kernelweave.cli.rows import _usual, last_step
    from kernelweave.data.kinds import alphabet_of
    from kernelweave.io import FORMATS
    from kernelweave.io.sniff import format_of
    from kernelweave.io.stream import streamed_formats

    name, core, given = reading.format or format_of(path, reading.given()), last_step(model), reading.given()
    if name not in streamed_formats():
        return None
    known = {"alphabet", "unknown", "duplicates", "label"} & set(FORMATS[name].options)
    if alphabet_of(core.reference_) is None or set(given) - known:
        return None
    usual = {key: value for key, value in _usual(model, core).items() if key in known}
    options = {**usual, **({"label": None} if "label" in usual else {}), **given, "format": name}
    return None if options["alphabet"] in ("auto", "words", "text") else options


def streamed(path: str, model: Any, reading: Reading, options: dict[str, Any]) -> Iterator[Block]:
    """Yield the blocks of a file; one of another alphabet than the model's is reported as such."""
    from kernelweave.cli.rows import _check_alphabet, last_step
    from kernelweave.io import Dataset
    from kernelweave.io.stream import stream

    core, given, name = last_step(model), reading.given(), options["format"]
    try:
        for number, block in enumerate(stream(path, **options)):
            if not number:
                _check_alphabet(path, name, core, given, Dataset(block.X, None, None, name))
            yield block
    except ValueError:
        if os.path.getsize(path) <= LOOKED_THROUGH:
            _check_alphabet(path, name, core, given)
        raise


@contextmanager
def writing(out: str | None) -> Iterator[Write]:
    """Give a function that writes lines: to a file, which appears when all is done, or to standard output at once."""
    from kernelweave.io import open_aside

    if out is None:
        if sys.stdout is None:
            raise ValueError("Standard output is closed; name a file with --out.")
        yield sys.stdout.writelines
        sys.stdout.flush()
        return
    with open_aside(out) as file:
        yield lambda lines: file.writelines(line.encode() for line in lines)


class Pace(Status):
    """Shows how long work goes on: one line that changes on a terminal, elsewhere a line every few seconds."""

    def __init__(self, doing: str, unit: str, hidden: bool):
        super().__init__(doing, hidden)
        self.doing, self.unit, self.hidden = doing, unit, hidden
        self.began = self.shown = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the work began."""
        return time.monotonic() - self.began

    def report(self, done: int, more: str = "", share: float | None = None) -> None:
        """Say how much is done, and how long the rest takes where the share of the file that was read is known."""
        line = f"{done} {self.unit}{more}  {self.seconds:.1f} s  {done / max(self.seconds, 1e-9):.3g} {self.unit}/s"
        line += "" if not share else f"  {min(share, 1):.0%}, {duration(self.seconds * (1 / min(share, 1) - 1))} left"
        if self.status:
            self.status.update(f"{self.doing}  {line}")
        elif not self.hidden and time.monotonic() - self.shown >= EVERY:
            typer.echo(f"{self.doing:<{WIDTH}}{line}", err=True)
            self.shown = time.monotonic()


def duration(seconds: float) -> str:
    """Return a time for people.

    >>> duration(8.4), duration(200), duration(9000)
    ('8 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
