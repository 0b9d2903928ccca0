"""What runs on a worker: unpack a function once, call it for a part, send the result back."""

from __future__ import annotations

import mmap
import os
import sys
from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import cloudpickle
import numpy as np

from kernelweave._version import __version__
from kernelweave.engines.blas import one_blas_thread
from kernelweave.engines.dask.packing import Blob, Packed, digest, unpack

KEPT_VALUES = 4
"""Unpacked functions and shared values that a worker keeps: those of this round and of the one before."""

Versions = tuple[tuple[str, str], ...]


class VersionMismatch(ImportError):
    """A worker has another version of something that numbers depend on."""


class Order(NamedTuple):
    """What all parts of a round have in common.

    Attributes
    ----------
    fn : the function
    versions : of the client
    names : of the large arrays that come along, in the order of `blobs` of `run_part`
    directory : where large arrays lie otherwise
    """

    fn: Packed
    versions: Versions
    names: tuple[str, ...]
    directory: str | None


class Answer(NamedTuple):
    """What comes back for a part: the pickled result, and the most memory that the worker has used."""

    result: bytes
    peak: int


def run_part(part: Packed, order: Order, blobs: list[Blob]) -> Answer:
    """Return the result of a part."""
    check_versions(order.versions)
    store = Store(dict(zip(order.names, blobs)), order.directory)
    fn = store.value(order.fn)
    with one_blas_thread():
        result = fn(unpack(part, store.fetch, store.value))
    return Answer(cloudpickle.dumps(result), peak_memory())


def hold(blob: Blob) -> Blob:
    """Return large bytes, as a task that others depend on: whoever needs them gets them from a worker that has them."""
    return blob


class Store:
    """Where a worker finds what a part needs: arrays that came along, or a directory."""

    def __init__(self, blobs: Mapping[str, Blob], directory: str | None):
        self.blobs, self.directory = blobs, directory

    def value(self, packed: Packed) -> Any:
        """Return an unpacked value, kept from an earlier part if it is among the last."""
        with _lock:
            if packed.name in _values:
                _values.move_to_end(packed.name)
                return _values[packed.name]
        made = unpack(packed, self.fetch, self.value)
        with _lock:
            _values[packed.name] = made
            while len(_values) > KEPT_VALUES:
                _values.popitem(last=False)
        return made

    def fetch(self, name: str) -> Blob:
        """Return a large array by the hash of its content."""
        if name in self.blobs:
            return self.blobs[name]
        if self.directory is None:
            raise KeyError(f"The array {name} did not come along.")
        return _mapped(Path(self.directory) / name)


_values: OrderedDict[str, Any] = OrderedDict()
_lock = Lock()


def _mapped(path: Path) -> Blob:
    """Return the content of a file, mapped; what is written into it stays in this process."""
    try:
        with path.open("rb") as file:
            blob = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)
    except OSError as error:
        raise OSError(
            f"A worker cannot read {path}, which the client wrote ({error.strerror}); the directory of the engine must "
            "lie on a file system that all workers share."
        ) from error
    if _content(path, path.stat().st_mtime_ns) != path.name:
        raise OSError(f"{path} does not hold what the client wrote; the file was changed or cut short.")
    return blob


@cache
def _content(path: Path, changed: int) -> str:
    """Return the hash of a file, read once in a process as long as it is not changed."""
    return digest(path.read_bytes())


def versions() -> Versions:
    """Return the versions that numbers and pickles depend on."""
    return (("kernelweave", __version__), *_others())


@cache
def _others() -> Versions:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (("python", python), *((name, _installed(name)) for name in ("numpy", "numba", "cloudpickle")))


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def check_versions(wanted: Versions) -> None:
    """Raise one sentence if this process has other versions than the client; it costs a comparison."""
    here = versions()
    if here == wanted:
        return
    other = [f"{name} {mine} instead of {one[1]}" for (name, mine), one in zip(here, wanted) if mine != one[1]]
    raise VersionMismatch(
        f"The worker with process id {os.getpid()} on {os.uname().nodename} has {', '.join(other)}; install the same "
        "versions on the client and on all workers."
    )


def peak_memory() -> int:
    """Return the most memory in bytes that this process has used, 0 where that is not known."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
