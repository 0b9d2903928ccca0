"""Keep BLAS to one thread while several of our own work, and give it back its threads afterwards.

The number of threads of a BLAS library belongs to the process.  Where two overlapping pieces of work each note the
number, set it to one and restore what they noted, the second notes the one of the first, and one it stays.  Newer
versions of threadpoolctl let a single thread set the number and silently ignore all others, so that the second piece
of work may run with many threads.  Here the first that comes notes the number, and the last that leaves restores it,
whichever threads they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


class _Limit:
    """How many are inside, and what to restore."""

    def __init__(self) -> None:
        self.lock, self.inside, self.process = Lock(), 0, os.getpid()
        self.noted: list[int] = []

    def enter(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.noted = [library.get_num_threads() for library in _libraries()]
                self._change([1] * len(self.noted))
            self.inside += 1

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self._change(self.noted)

    def _change(self, numbers: list[int]) -> None:
        """Set the numbers of threads where there are others than one to note."""
        if any(number != 1 for number in self.noted):
            _set(numbers)


_limit = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread inside, in all threads of the process.

    Examples
    --------
    >>> with one_blas_thread(), one_blas_thread():
    ...     pass
    """
    limit = _limit
    limit.enter()
    try:
        yield
    finally:
        if limit.process == os.getpid():
            limit.leave()


@cache
def _libraries() -> tuple[Any, ...]:
    """Return the handles of the BLAS libraries of this process; finding them takes milliseconds."""
    return tuple(one for one in ThreadpoolController().lib_controllers if one.user_api == "blas")


def _set(numbers: list[int]) -> None:
    """Set the number of threads of each library, whichever thread set it before."""
    for library, number in zip(_libraries(), numbers):
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)
        library.set_num_threads(number)
        if release is not None:
            release(force=True)


def _forked() -> None:
    """Begin anew in a forked child: whoever was inside is in the parent, and may hold the lock."""
    global _limit
    if _limit.inside:
        _set(_limit.noted)
    _limit = _Limit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
