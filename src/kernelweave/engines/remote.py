"""What engines have in common whose workers do not share the memory of the caller."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from kernelweave.engines.base import Array, Targets, targets_of
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
        for places, filled in zip(targets, self.map(partial(_filled, fn), zip(parts, targets))):
            for place, values in zip(places, filled):
                place[...] = values

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """Travel as an engine that works where it arrives."""
        return Serial, ()


def _filled(fn: Callable[..., None], job: tuple[Any, tuple[Array, ...]]) -> tuple[Array, ...]:
    """Return the targets of a part as fn leaves them."""
    part, targets = job
    copies = tuple(np.array(target) for target in targets)
    fn(part, *copies)
    return copies
