"""Where the program starts: nothing slow is imported before an interrupt, or a full disk, ends it with one sentence."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Any

FAILED = 1
"""Exit code of a command that was given something wrong, or that does not confirm a certificate."""
INTERRUPTED = 130
"""Exit code of a command that Ctrl-C, or a request to end (SIGTERM), has ended early."""
RARELY = 100_000
"""New objects after which the program looks for garbage: imports make tens of thousands, and all of them stay."""


def main() -> None:
    """Run the program."""
    gc.set_threshold(RARELY)
    try:
        signal.signal(signal.SIGTERM, _interrupt)
        code = _run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    code = _flushed(code)
    gc.freeze()  # nobody looks for garbage among what ends with the process
    sys.exit(code)


def _interrupt(*given: Any) -> None:
    """Let a request to end the process do what Ctrl-C does."""
    raise KeyboardInterrupt


def _run() -> int:
    """Run a command and return its exit code."""
    try:
        from kernelweave.cli.app import app

        app()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else FAILED if ended.code else 0
    except OSError as error:  # the help could not be written
        return _unwritable(error)
    return 0


def _flushed(code: int) -> int:
    """Write what waits for standard output, and return the exit code."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        return _unwritable(error)
    return code


def _unwritable(error: OSError) -> int:
    """Say that standard output cannot be written, unless its reader has gone, and forget what waits for it."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError) and sys.stderr is not None:
        reason = (error.strerror or "it cannot be written").lower()
        sys.stderr.write(f"error: Cannot write standard output: {reason}; name a file with --out or another disk.\n")
    return FAILED
