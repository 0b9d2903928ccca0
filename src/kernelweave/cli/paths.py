"""Files that a command is given, looked for before anything slow is imported."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from kernelweave.cli.options import Reading

STDIN = "-"


def check_readable(*paths: str | None) -> None:
    """Raise one clear sentence if a file that was named is not there; None stands for a file that was not named."""
    for path in paths:
        if path is not None and not os.path.exists(path):
            raise FileNotFoundError(f"{path} does not exist.")


def rows_of(data: str | None, reading: Reading) -> tuple[str, Reading]:
    """Return the file of rows, with the options to read it: DATA, --bed, or a copy of standard input."""
    if data is not None and reading.bed is not None:
        raise ValueError(f"The argument {data} and --bed both say where the rows are; give one of them.")
    if reading.bed is not None:
        return reading.bed, replace(reading, bed=None, format="bed")
    if data is None:
        raise typer.BadParameter("name a file of rows, or intervals with --bed.", param_hint="DATA")
    return _copied() if data == STDIN else data, reading


def refuse_overwriting(out: str, inputs: Sequence[str | None], name: str = "--out") -> None:
    """Raise where the file to write is one of those that are read."""
    for path in inputs:
        if path and os.path.exists(out) and os.path.samefile(out, path):
            raise ValueError(f"{name} {out} would overwrite the data; choose another name.")


def _copied() -> str:
    """Return a file with the content of standard input, which is read more than once; it is removed in the end."""
    folder = tempfile.mkdtemp(prefix="kernelweave-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "stdin")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path
