"""What engines have in common whose workers do not share the memory of the caller."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from kernelweave.engines.base import Array, Carried, Engine, Serial, Shared, Targets, targets_of

T = TypeVar("T")
R = TypeVar("R")
V = TypeVar("V")


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
        jobs = [(part, [_sent(place) for place in places]) for part, places in zip(parts, targets)]
        for places, filled in zip(targets, self.map(partial(_filled, fn), jobs)):
            for place, values in zip(places, filled):
                place[...] = values

    @property
    def here(self) -> Engine:
        """The engine for work that stays with the caller, such as that of a master on its working set."""
        from kernelweave.engines.local import Threads, available_cores

        cores = available_cores()
        return Threads(cores) if cores > 1 else Serial()

    def share(self, value: T) -> Shared[T]:
        """Return a handle that carries the value along; a subclass may know how to send it once to each worker."""
        return Carried(value)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """Travel as an engine that works where it arrives."""
        return Serial, ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Remote:
        """Return the engine itself: a cloned estimator works with the same workers."""
        return self


def map_fits(engine: Engine, fn: Callable[[V, T], R], value: V, parts: Sequence[T]) -> list[R]:
    """Return ``[fn(value, part) for part in parts]`` for work that maps parts of its own, such as a fit.

    Where memory is shared the parts come one after the other, and each spreads its own work.  Workers that share no
    memory take one part each, with a copy of the value that it may change.

    Examples
    --------
    >>> map_fits(Serial(), lambda powers, base: base**powers[0], [2], [1, 2, 3])
    [1, 4, 9]
    """
    if not isinstance(engine, Remote):
        return [fn(value, part) for part in parts]
    return engine.map(partial(_with_copy, fn, engine.share(value)), parts)


def _with_copy(fn: Callable[[V, T], R], shared: Shared[V], part: T) -> R:
    return fn(copy.deepcopy(shared.get()), part)


class Zeros(NamedTuple):
    """A target that holds zeros: they need not travel."""

    shape: tuple[int, ...]
    dtype: np.dtype
    order: str

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.zeros(self.shape, self.dtype, self.order)  # type: ignore[call-overload]


def _sent(place: Array) -> tuple[Array | Zeros, bool]:
    """Return a target as it travels, and whether it has no gaps."""
    contiguous = bool(place.flags.c_contiguous or place.flags.f_contiguous)
    with np.errstate(invalid="ignore"):  # of memory that nobody has written to
        zeros = not place.any() and not (place.dtype.kind == "f" and np.signbit(place).any())
    if not zeros:
        return place, contiguous
    return Zeros(place.shape, place.dtype, "C" if place.flags.c_contiguous else "F"), contiguous


def _filled(fn: Callable[..., None], job: tuple[Any, list[tuple[Array | Zeros, bool]]]) -> list[Array]:
    """Return the targets of a part as fn leaves them.

    An array that was a view with gaps arrives without them.  Compiled loops add up strided numbers in another order
    than neighbours, so it gets gaps again.
    """
    part, targets = job
    arrays = [(np.array(values), contiguous) for values, contiguous in targets]
    copies = [values if contiguous else _with_gaps(values) for values, contiguous in arrays]
    fn(part, *copies)
    return copies


def _with_gaps(values: Array) -> Array:
    out: Array = np.empty((*values.shape, 2), values.dtype)[..., 0]
    out[...] = values
    return out
