"""What travels to workers: a pickled value whose large arrays go apart, each under the hash of its content.

An array that a worker has already seen does not travel again, whichever function carries it: rounds that differ in a
vector of coefficients send that vector, not the rows beside it.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import cloudpickle
import numpy as np

from kernelweave.engines.base import Carried

LARGE = 1 << 15
"""Bytes from which on an array travels apart: a task of Dask takes about as much for itself and its key."""

Blob = np.ndarray
"""The bytes of an array, as uint8."""


class Packed(NamedTuple):
    """A value as tasks carry it.

    Attributes
    ----------
    name : hash of the content
    head : the pickle without its large arrays; empty where it is large itself, and the last of the blobs
    blobs : names of the large arrays, in the order in which the pickle asks for them
    """

    name: str
    head: bytes
    blobs: tuple[str, ...]


class Sent:
    """A shared value that functions hold in the place of the value; it arrives at each worker once."""

    def __init__(self, value: Any, parcel: Parcel):
        self.value, self.parcel = value, parcel

    def get(self) -> Any:
        """Return the value."""
        return self.value

    def __reduce__(self) -> tuple[type, tuple[Any]]:
        """Travel with the value where something else than the engine sends it."""
        return Carried, (self.value,)


class _Pickler(cloudpickle.Pickler):
    """Notes the shared values that it meets, and lays large buffers aside."""

    def __init__(self, file: io.BytesIO, apart: Callable[[pickle.PickleBuffer], bool]):
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL, buffer_callback=apart)
        self.met: list[Sent] = []

    def persistent_id(self, value: Any) -> Packed | None:
        """Return what stands for a shared value in the pickle."""
        if isinstance(value, Sent):
            self.met.append(value)
            return value.parcel.packed
        return None


class Parcel(NamedTuple):
    """A packed value and all large arrays that unpacking asks for, also those of shared values in it."""

    packed: Packed
    blobs: dict[str, Blob]


def pack(value: Any, large: int = LARGE) -> Parcel:
    """Return a value as it travels.

    Examples
    --------
    >>> parcel = pack({"rows": np.arange(10000.0), "C": 1.0})
    >>> len(parcel.packed.head) < 400, [blob.nbytes for blob in parcel.blobs.values()]
    (True, [80000])
    """
    apart: list[Blob] = []

    def lay_aside(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < large:
            return True
        apart.append(np.frombuffer(raw, np.uint8))
        return False

    file = io.BytesIO()
    pickler = _Pickler(file, lay_aside)
    pickler.dump(value)
    head = file.getvalue()
    if len(head) >= large:
        apart.append(np.frombuffer(head, np.uint8))
        head = b""
    names = tuple(digest(blob) for blob in apart)
    name = digest(head, *(text.encode() for text in names))
    blobs = dict(zip(names, apart))
    for one in pickler.met:
        blobs |= one.parcel.blobs
    return Parcel(Packed(name, head, names), blobs)


def unpack(packed: Packed, fetch: Callable[[str], Blob], refer: Callable[[Packed], Any]) -> Any:
    """Return a value that arrived.

    Parameters
    ----------
    packed : the value
    fetch : returns a large array by its name
    refer : returns a shared value
    """
    blobs = [_usable(fetch(name)) for name in packed.blobs]
    head = packed.head or blobs.pop().tobytes()
    unpickler = _Unpickler(io.BytesIO(head), buffers=blobs)
    unpickler.refer = refer
    return unpickler.load()


class _Unpickler(pickle.Unpickler):
    refer: Callable[[Packed], Any]

    def persistent_load(self, pid: Any) -> Any:
        return Carried(self.refer(pid))


def _usable(blob: Blob) -> Blob:
    """Return bytes that compiled loops take like any other array: aligned, and not marked as read-only."""
    start = blob.__array_interface__["data"][0]
    if blob.flags.writeable and start % ALIGNED == 0:
        return blob
    room = np.empty(blob.nbytes + ALIGNED, np.uint8)
    shift = -room.__array_interface__["data"][0] % ALIGNED
    room = room[shift : shift + blob.nbytes]
    room[:] = blob
    return room


ALIGNED = 64
"""Bytes at whose multiples an array begins: a line of the cache."""


def digest(*parts: Any) -> str:
    """Return the hash of some bytes."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part)
    return total.hexdigest()[:40]
