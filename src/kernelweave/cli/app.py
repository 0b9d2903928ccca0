"""The program `kernelweave`: its commands, and what becomes of an error.

Exit codes: 0 done, 1 something given was wrong, 2 the command was not understood, 130 interrupted (Ctrl-C, SIGTERM): an
interrupted training has saved its best model so far, any other command nothing.  `entry` is where the program starts.
"""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable
from typing import Annotated, Any

import typer

from kernelweave._version import __version__
from kernelweave.cli.entry import FAILED, INTERRUPTED, main
from kernelweave.cli.evaluate import evaluate
from kernelweave.cli.explaining.explain import explain
from kernelweave.cli.explaining.report import report
from kernelweave.cli.explaining.variants import variants
from kernelweave.cli.files.convert import convert
from kernelweave.cli.inspect import inspect
from kernelweave.cli.negatives import negatives
from kernelweave.cli.options import as_option
from kernelweave.cli.predict import predict
from kernelweave.cli.show import heard, one_line
from kernelweave.cli.training.cv import cv
from kernelweave.cli.training.train import train

NO_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF)
"""What writing to a pipe without a reader, a full disk, or a file that was closed gives."""

app = typer.Typer(
    name="kernelweave",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"kernelweave {__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Learn with kernels on sequences and tables, with a certificate on every fit.

    \b
    A first model, from label-TAB-sequence lines:
      kernelweave train sites.tsv --out sites.kw
      kernelweave evaluate sites.kw held_out.tsv
      kernelweave predict sites.kw new.fa --out predictions.tsv
      kernelweave inspect sites.kw
    """


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with every error in one sentence, and no traceback unless --debug."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            with heard():
                command(*args, **kwargs)
        except (typer.Exit, typer.BadParameter):
            raise
        except KeyboardInterrupt:
            typer.echo("interrupted: nothing was saved", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if kwargs.get("debug") or unwritable(error):
                raise
            typer.echo(f"error: {sentence(error)}", err=True)
            raise typer.Exit(FAILED) from None

    return run


def unwritable(error: Exception) -> bool:
    """Tell whether it is standard output that could not be written: such errors name no file."""
    return isinstance(error, OSError) and error.filename is None and error.errno in NO_OUTPUT


def sentence(error: Exception) -> str:
    """Return what an error says, with parameters spelled as options."""
    said = str(error)
    if hasattr(error, "spelled"):  # a ParameterError, whose module is slow to import
        said = error.spelled(as_option)
    text = one_line(said.strip().split("\n")[0])
    if isinstance(error, MemoryError):
        return text or "There is not enough memory; lower --memory-limit."
    if isinstance(error, OSError) and error.filename is not None and text.startswith("[Errno"):
        text = f"{error.filename}: {(error.strerror or 'it cannot be used').lower()}."
    if not isinstance(error, ValueError | TypeError | OSError | ImportError):
        text = f"Something unexpected went wrong in the program itself ({text}); --debug shows where."
    return text


for _command in (train, cv, predict, evaluate, inspect, report, explain, variants, negatives, convert):
    app.command()(guarded(_command))

__all__ = ["app", "main"]
