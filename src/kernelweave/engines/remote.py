"""What engines have in common whose workers do not share the memory of the caller."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from kernelweave.engines.base import Array, Carried, Shared, Targets, targets_of
from kernelweave.engines.local import Serial

T = TypeVar("T")
R = TypeVar("R")


class Remote(ABC):
    """An engine that sends functions and parts to other processes: a subclass says in `map` how.

    An operator may hold the engine that it works with and be sent along with a function.  It arrives with `Serial`: a
    part is not spread further.
    """

    workers: int

    @abstractmethod
    def map(self, fn: Callable[[T], R], parts: Iterable[T]) -> list[R]:
        """Return ``[fn(part) for part in parts]``."""

    def map_into(self, out: Targets, fn: Callable[..., None], parts: Sequence[Any]) -> None:
        """Call ``fn(part, *targets)`` for every part on copies of the targets, and put what comes back in its place."""
        targets = targets_of(out, parts)
        jobs = [(part, [(place, _contiguous(place)) for place in places]) for part, places in zip(parts, targets)]
        for places, filled in zip(targets, self.map(partial(_filled, fn), jobs)):
            for place, values in zip(places, filled):
                place[...] = values

    def share(self, value: T) -> Shared[T]:
        """Return a handle that carries the value along; a subclass may know how to send it once to each worker."""
        return Carried(value)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """Travel as an engine that works where it arrives."""
        return Serial, ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Remote:
        """Return the engine itself: a cloned estimator works with the same workers."""
        return self


def _contiguous(array: Array) -> bool:
    return bool(array.flags.c_contiguous or array.flags.f_contiguous)


def _filled(fn: Callable[..., None], job: tuple[Any, list[tuple[Array, bool]]]) -> list[Array]:
    """Return the targets of a part as fn leaves them.

    An array that was a view with gaps arrives without them.  Compiled loops add up strided numbers in another order
    than neighbours, so it gets gaps again.
    """
    part, targets = job
    copies = [np.array(values) if contiguous else _with_gaps(values) for values, contiguous in targets]
    fn(part, *copies)
    return copies


def _with_gaps(values: Array) -> Array:
    out: Array = np.empty((*values.shape, 2), values.dtype)[..., 0]
    out[...] = values
    return out
