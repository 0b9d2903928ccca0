"""Several threads on this machine (jitted loops, BLAS and numpy release the interpreter lock)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from kernelweave.engines.base import Carried, Targets, targets_of
from kernelweave.engines.blas import one_blas_thread

T = TypeVar("T")
R = TypeVar("R")


class Threads:
    """Spreads parts over a pool of threads that all `Threads` of the same size share."""

    def __init__(self, workers: int):
        self.workers = workers

    def map(self, fn: Callable[[T], R], parts: Iterable[T]) -> list[R]:
        """Return ``[fn(part) for part in parts]``; a single part stays in the calling thread."""
        parts = list(parts)
        if len(parts) < 2:
            return [fn(part) for part in parts]
        with one_blas_thread():
            return list(_pool(self.workers, os.getpid()).map(fn, parts))

    def map_into(self, out: Targets, fn: Callable[..., None], parts: Sequence[Any]) -> None:
        """Call ``fn(part, *targets)`` for every part, with views of `out`: threads share memory."""
        self.map(lambda job: fn(job[0], *job[1]), zip(parts, targets_of(out, parts)))

    @contextmanager
    def beside(self, fn: Callable[[], None]) -> Iterator[None]:
        """Let a function run while the block does, if a thread is free, and wait for its end; it must end by itself."""
        running = _pool(self.workers, os.getpid()).submit(fn)
        try:
            yield
        finally:
            if not running.cancel():
                running.result()

    def share(self, value: T) -> Carried[T]:
        """Return the value itself behind a handle."""
        return Carried(value)


@cache
def _pool(workers: int, process: int) -> ThreadPoolExecutor:
    """Return the pool of this process: a forked child must not wait for its parent's threads."""
    return ThreadPoolExecutor(workers, thread_name_prefix="kernelweave")


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
