"""Where work runs.  An engine maps a function over parts and returns the results in the order of the parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")
R = TypeVar("R")


@runtime_checkable
class Engine(Protocol):
    """Runs work somewhere.  Parts are cut by the caller, by data size, so that results do not depend on `workers`."""

    workers: int

    def map(self, fn: Callable[[T], R], parts: Iterable[T]) -> list[R]:
        """Return ``[fn(part) for part in parts]``, however the work is spread."""

    def put(self, obj: Any) -> Any:
        """Return a handle to an object that every later part will need."""
