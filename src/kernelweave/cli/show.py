"""What the commands say: results on standard output, notes and progress on standard error."""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import typer

EVERY = 10.0
"""Seconds between two progress lines where standard error is no terminal."""

UNBOUNDED = 10_000
"""Columns of a file, which need not fit any screen."""

WIDTH = 13
"""Columns that the name before a result takes."""


class Output:
    """Says things in the way that was asked for: for people, as JSON, or hardly at all."""

    def __init__(self, as_json: bool, quiet: bool):
        self.as_json, self.quiet = as_json, quiet

    def note(self, name: str, text: str) -> None:
        """Say something on the way."""
        if not self.quiet:
            typer.echo(f"{name:<{WIDTH}}{text}", err=True)

    def result(self, values: dict[str, Any], lines: list[tuple[str, str]]) -> None:
        """Give the result: `values` as JSON, or `lines` of name and text."""
        if self.as_json:
            typer.echo(json.dumps(plain(values), ensure_ascii=False, allow_nan=False))
            return
        for name, text in lines:
            typer.echo(f"{name:<{WIDTH}}{text}")

    def table(self, columns: list[str], rows: list[list[Any]], caption: str | None = None) -> None:
        """Draw a table, for people only, and say below it what is not plain from it."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table

        drawn = Table(box=SIMPLE_HEAD, pad_edge=False, caption=caption, caption_justify="left")
        for place, name in enumerate(columns):
            least = max((len(str(row[place])) for row in rows), default=0) if place else None
            drawn.add_column(name, justify="right" if place else "left", no_wrap=True, min_width=least)
        for row in rows:
            drawn.add_row(*map(str, row))
        width = None if on_terminal() else UNBOUNDED
        Console(file=sys.stdout, markup=False, highlight=False, soft_wrap=True, width=width).print(drawn)


def on_terminal() -> bool:
    """Tell whether standard output is a terminal; it may also be closed."""
    return sys.stdout is not None and sys.stdout.isatty()


class Status:
    """A line on a terminal that changes while work goes on; none where standard error is no terminal."""

    def __init__(self, doing: str, hidden: bool):
        from rich.console import Console

        self.console = Console(stderr=True, highlight=False, markup=False)
        self.status = self.console.status(doing) if self.console.is_terminal and not hidden else None

    def __enter__(self) -> Self:
        if self.status:
            self.status.start()
        return self

    def __exit__(self, *problem: object) -> None:
        if self.status:
            self.status.stop()


class ProgressLine(Status):
    """Called by the fit after each iteration; shows iteration, gap, seconds and rate.

    On a terminal one line that changes; elsewhere a line at the start and one every few seconds.  Loops that have to be
    compiled first are reported as such.
    """

    def __init__(self, quiet: bool, parts: list[str]):
        super().__init__("training", quiet)
        self.quiet, self.parts, self.part = quiet, parts, -1
        self.shown, self.compiling = -math.inf, False

    def __enter__(self) -> Self:
        from kernelweave._numba import listen

        listen("progress", self._compile)
        return super().__enter__()

    def __exit__(self, *problem: object) -> None:
        from kernelweave._numba import listen

        listen("progress", None)
        super().__exit__(*problem)

    def _compile(self) -> None:
        """Say that the loops are being compiled."""
        if self.status:
            self.status.update("compiling (once)")
        elif not self.quiet and not self.compiling:
            typer.echo(f"{'compiling':<{WIDTH}}once; later runs start at once", err=True)
        self.compiling = True

    def __call__(self, progress: Any) -> bool:
        """Show one iteration; never ask for a stop."""
        if progress.iteration == 1 or progress.resumed:
            self.part += 1
        if progress.resumed:
            self._resume(progress)
            return False
        now = time.monotonic()
        if self.status:
            self.status.update(self._line(progress))
        elif not self.quiet and now - self.shown >= EVERY:
            typer.echo(f"{'training':<{WIDTH}}{self._line(progress)}", err=True)
            self.shown = now
        return False

    def _resume(self, progress: Any) -> None:
        """Say where a checkpoint lets the training go on."""
        if not self.quiet:
            gap = f"gap {max(progress.gap, 0.0):.2g}" if math.isfinite(progress.gap) else "no gap yet"
            text = f"{self._name()}at iteration {progress.iteration}, {gap}"
            self.console.print(f"{'resuming':<{WIDTH}}{text}", soft_wrap=True)

    def _name(self) -> str:
        """Return the part that is trained, where there are several."""
        return f"{self.parts[self.part]}  " if self.part < len(self.parts) and len(self.parts) > 1 else ""

    def _line(self, progress: Any) -> str:
        rate = progress.iteration / max(progress.seconds, 1e-9)
        gap = f"gap {max(progress.gap, 0.0):.2e}" if math.isfinite(progress.gap) else "no gap yet"
        return (
            f"{self._name()}iteration {progress.iteration}  {gap}{progress.further()}  {progress.seconds:.1f} s  "
            f"{rate:.3g} iterations/s"
        )


@contextmanager
def heard() -> Iterator[list[Warning]]:
    """Collect the warnings of the library and show each as one line in the end."""
    said: list[Warning] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *rest, **more: said.append(message)
        try:
            yield said
        finally:
            for text in dict.fromkeys(map(one_line, said)):
                typer.echo(f"warning: {text}", err=True)


def one_line(message: Any) -> str:
    """Return a message without line breaks."""
    return " ".join(str(message).split())


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: NumPy numbers as numbers, infinities as null."""
    if isinstance(value, dict):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def size_of(n_bytes: int) -> str:
    """Return a number of bytes for people.

    >>> size_of(1532)
    '1.5 kB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"
