"""The state of a solver as plain data, and back.

A solver that can go on after it was stopped derives from `Resumable` and names in `keeps` what its iterations change.
Plain data are numbers, texts, None, arrays, and lists, tuples and dicts of them; what else a state holds is marked:

    {"is": name of a record, "fields": {...}}        a data class that was entered by `record`
    {"is": "generator", "state": {...}}              a random generator
    {"is": "sparse", "shape", "places", "values"}    an array that is mostly zero
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

import numpy as np

Array = np.ndarray
T = TypeVar("T")
RECORDS: dict[str, type] = {}
"""Data classes that a state may hold, by name; nothing else is ever constructed from one."""
SPARSE_FROM, SPARSE = 64, 3
"""Numbers from which on an array is looked through for zeros, and one of how many may be other than zero to leave the
zeros out: a number and its place take up to twice as much as the number."""


def record(cls: type[T]) -> type[T]:
    """Enter a data class among those that a state may hold."""
    RECORDS[cls.__name__] = cls
    return cls


def plain(value: Any, copied: bool = False) -> Any:
    """Return a value as plain data; `copied` for arrays that nobody else will change.

    Examples
    --------
    >>> packed = plain({"alpha": np.eye(1, 100)[0], "steps": 3})
    >>> packed["alpha"]["places"], packed["steps"]
    (array([0]), 3)
    >>> revive(packed)["alpha"].sum()
    np.float64(1.0)
    """
    if isinstance(value, np.ndarray):
        return _packed(value, copied)
    if isinstance(value, dict):
        return {key: plain(item, copied) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item, copied) for item in value]
    if isinstance(value, tuple):
        return tuple(plain(item, copied) for item in value)
    if isinstance(value, np.random.Generator):
        return {"is": "generator", "state": value.bit_generator.state}
    if is_dataclass(value) and RECORDS.get(type(value).__name__) is type(value):
        held = {field.name: plain(getattr(value, field.name), copied) for field in fields(value)}
        return {"is": type(value).__name__, "fields": held}
    return value


def revive(value: Any) -> Any:
    """Return the value that `plain` turned into plain data."""
    if isinstance(value, list):
        return [revive(item) for item in value]
    if isinstance(value, tuple):
        return tuple(revive(item) for item in value)
    if not isinstance(value, dict):
        return value
    kind = value.get("is")
    if kind is None:
        return {key: revive(item) for key, item in value.items()}
    if kind == "sparse":
        out = np.zeros(tuple(value["shape"]), value["values"].dtype)
        out.reshape(-1)[value["places"]] = value["values"]
        return out
    if kind == "generator":
        made = np.random.default_rng()
        made.bit_generator.state = value["state"]
        return made
    return RECORDS[kind](**revive(value["fields"]))


def _packed(values: Array, copied: bool) -> Any:
    """Return an array, or the numbers of it that are not zero where these are few."""
    if values.dtype == np.float64 and values.size >= SPARSE_FROM:
        flat = np.ascontiguousarray(values).reshape(-1)
        places = np.flatnonzero(flat.view(np.int64))  # a negative zero has its bits too
        if SPARSE * len(places) <= flat.size:
            return {"is": "sparse", "shape": list(values.shape), "places": places, "values": flat[places]}
    return values.copy() if copied else values


class Resumable:
    """A solver that can go on, in another process, from where it was after an iteration.

    `keeps` names the attributes that iterations change, with blanks between them, and dots in those of a part
    (``"w b epochs.eta"``); those of the classes above count too.  `init` makes everything else afresh.
    """

    keeps: ClassVar[str] = ""
    same_bits: ClassVar[bool] = True
    """Whether the rest of a run has the bits of one that was never stopped."""

    def state(self) -> dict[str, Any] | None:
        """Return what is needed to go on after the last certificate; None where one can only go on later."""
        return {name: attrgetter(name)(self) for name in kept(type(self)) if _has(self, name)}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Take over a state; `init` was called before, with the best point of that run as the start."""
        for name, value in state.items():
            *path, last = name.split(".")
            setattr(attrgetter(".".join(path))(self) if path else self, last, value)


def kept(cls: type) -> tuple[str, ...]:
    """Return the names that a class of solvers and the classes above it keep."""
    return tuple(dict.fromkeys(name for base in reversed(cls.__mro__) for name in vars(base).get("keeps", "").split()))


def _has(solver: Any, name: str) -> bool:
    """Tell whether an attribute exists yet: some come with the first iteration."""
    for part in name.split("."):
        if getattr(solver, part, None) is None and not hasattr(solver, part):
            return False
        solver = getattr(solver, part)
    return True


def resumes_with_same_bits(solver: Any) -> bool:
    """Tell whether a solver, or its class, goes on with the same bits; the others start from the best point so far.

    Examples
    --------
    >>> from kernelweave.solvers.svm import SVM_SOLVERS
    >>> resumes_with_same_bits(SVM_SOLVERS["chunking"])
    True
    """
    return bool(getattr(solver, "same_bits", False))
