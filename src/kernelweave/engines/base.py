"""Where work runs.  An engine maps a function over parts; the results come in the order of the parts.

A function that is mapped is pure: it returns what it computed and writes into nobody's memory but the arrays that
`map_into` hands it.  So it may run in another process or on another machine, where an engine sends it with cloudpickle,
and gives the same bits as `Serial` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np

from kernelweave.engines.blas import one_blas_thread

T = TypeVar("T")
R = TypeVar("R")
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)
Array = np.ndarray
Targets = Array | Sequence[Array | tuple[Array, ...]]
"""Where results go: one array of which each part is an index, or for each part the array or arrays that it fills."""


class Shared(Protocol[V_co]):
    """A value that many parts need, such as a model: it travels once to each worker rather than with every part."""

    def get(self) -> V_co:
        """Return the value, wherever this is called."""


class Carried(Generic[V]):
    """A shared value that travels inside of the function that is mapped; where memory is shared, it does not travel.

    Examples
    --------
    >>> Carried([1, 2]).get()
    [1, 2]
    """

    def __init__(self, value: V):
        self.value = value

    def get(self) -> V:
        """Return the value."""
        return self.value


@runtime_checkable
class Engine(Protocol):
    """Runs work somewhere.  Parts are cut by the caller, by data size, so that results do not depend on `workers`."""

    workers: int

    def map(self, fn: Callable[[T], R], parts: Iterable[T]) -> list[R]:
        """Return ``[fn(part) for part in parts]``, however the work is spread."""

    def map_into(self, out: Targets, fn: Callable[..., None], parts: Sequence[Any]) -> None:
        """Call ``fn(part, *targets)`` for every part; what it writes into the targets ends in `out`.

        Parameters
        ----------
        out : an array, whose target for a part is ``out[part]``, a slice of it; or a list with the target of each part,
            an array or a tuple of arrays.  Targets do not overlap.  They hold what they held before, so that fn may
            add to them
        fn : writes into its targets; a local engine hands it views of `out`, a remote one copies, which it sends back
        parts : what fn is called with
        """

    def share(self, value: V) -> Shared[V]:
        """Return a handle to a value that functions may hold in its place; they call its `get`."""


@runtime_checkable
class Beside(Protocol):
    """Ability of an engine: something else can run while its caller works, in the same memory."""

    def beside(self, fn: Callable[[], None]) -> AbstractContextManager[None]:
        """Let a function run while the block does, if a thread is free, and wait for its end; it must end by itself."""


def targets_of(out: Targets, parts: Sequence[Any]) -> list[tuple[Array, ...]]:
    """Return the arrays that each part fills, as views.

    Examples
    --------
    >>> targets_of(np.arange(3), [slice(0, 2), slice(2, 3)])
    [(array([0, 1]),), (array([2]),)]
    """
    if isinstance(out, np.ndarray):
        return [(out[part],) for part in parts]
    if len(out) != len(parts):
        raise ValueError(f"map_into needs one target for each part, but got {len(out)} for {len(parts)} parts.")
    return [each if isinstance(each, tuple) else (each,) for each in out]


class Serial:
    """Runs each part in the calling thread, one after the other."""

    workers = 1

    def map(self, fn: Callable[[T], R], parts: Iterable[T]) -> list[R]:
        """Return ``[fn(part) for part in parts]``."""
        parts = list(parts)
        if len(parts) < 2:
            return [fn(part) for part in parts]
        with one_blas_thread():
            return [fn(part) for part in parts]

    def map_into(self, out: Targets, fn: Callable[..., None], parts: Sequence[Any]) -> None:
        """Call ``fn(part, *targets)`` for every part, with views of `out`."""
        self.map(lambda job: fn(job[0], *job[1]), zip(parts, targets_of(out, parts)))

    def share(self, value: T) -> Carried[T]:
        """Return the value itself behind a handle."""
        return Carried(value)
