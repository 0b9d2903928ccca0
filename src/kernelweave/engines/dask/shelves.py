"""Where a client lays large arrays for its workers: in tasks that hold them, or in files of a shared directory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from distributed import Client, Future

from kernelweave.engines.dask.packing import Blob, Parcel, Sent
from kernelweave.engines.dask.work import hold

SPREAD = 5.0
"""Seconds to wait for copies of arrays on all workers; where that takes longer, workers fetch them with their parts."""

KEPT_ROUNDS = 4
"""Rounds after whose end an array that no function carried is taken away; solvers alternate between a few functions."""


class Shelf(ABC):
    """Large arrays by the hash of their content, kept while a shared value or one of the last rounds needs them."""

    def __init__(self) -> None:
        self.used: dict[str, int] = {}
        self.round, self.lock = 0, Lock()
        self.handles: weakref.WeakSet[Sent] = weakref.WeakSet()

    @abstractmethod
    def put(self, name: str, blob: Blob) -> None:
        """Lay down an array that is not there."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Take an array away."""

    @abstractmethod
    def futures(self, names: Iterable[str]) -> list[Future]:
        """Return what a task depends on to get some arrays."""

    def spread(self, names: Iterable[str]) -> None:  # noqa: B027 - a shelf that every worker reads has nothing to do
        """Bring arrays to all workers before parts that need them are handed out."""

    def pin(self, handle: Sent) -> None:
        """Keep what a shared value needs until nobody holds it."""
        self.handles.add(handle)

    def lay(self, parcel: Parcel) -> None:
        """Lay down what is not there yet; those of the last rounds are kept, older ones dropped."""
        with self.lock:
            self.round += 1
            for name, blob in parcel.blobs.items():
                if name not in self.used:
                    self.put(name, blob)
            self.used |= dict.fromkeys(parcel.blobs, self.round)
            pinned = {name for handle in self.handles for name in handle.parcel.blobs}
            for name in [name for name, last in self.used.items() if last <= self.round - KEPT_ROUNDS]:
                if name not in pinned:
                    self.drop(name)
                    del self.used[name]

    def clear(self) -> None:
        """Take everything away."""
        for name in self.used:
            self.drop(name)
        self.used.clear()


class Tasks(Shelf):
    """Arrays in pure tasks: each worker gets one once, from the scheduler or a worker that has it.

    Where all workers that had it die, the scheduler runs the task again.
    """

    def __init__(self, client: Client):
        super().__init__()
        self.client = client
        self.held: dict[str, Future] = {}

    def put(self, name: str, blob: Blob) -> None:
        """Submit a task that holds the array."""
        with large_graphs():
            self.held[name] = self.client.submit(hold, np.array(blob), key=f"kernelweave-{name}")

    def spread(self, names: Iterable[str]) -> None:
        """Copy arrays to all workers: the scheduler hands parts to those that have them, and else to a single one."""
        held = self.futures(names)
        if held:
            with contextlib.suppress(Exception, asyncio.CancelledError):  # parts fetch what they lack
                self.client.replicate(held, callback_timeout=SPREAD)

    def drop(self, name: str) -> None:
        """Release the task."""
        self.held.pop(name).release()

    def futures(self, names: Iterable[str]) -> list[Future]:
        """Return the tasks that hold some arrays."""
        return [self.held[name] for name in names]


class Files(Shelf):
    """Arrays in files named after their content, in a directory of this engine below one that all workers share."""

    def __init__(self, directory: str | os.PathLike[str]):
        super().__init__()
        self.directory: str
        Path(directory).mkdir(parents=True, exist_ok=True)
        self.directory = tempfile.mkdtemp(prefix="kernelweave-", dir=directory)
        Path(self.directory).chmod(0o755)
        weakref.finalize(self, shutil.rmtree, self.directory, ignore_errors=True)

    def put(self, name: str, blob: Blob) -> None:
        """Write the array aside and rename it, so that nobody reads half of it."""
        path = Path(self.directory) / name
        aside = path.with_suffix(".tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            aside.write_bytes(blob.data)
            aside.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise OSError(
                f"{blob.nbytes:,} bytes for the workers could not be written to {self.directory} ({error.strerror}); "
                "make room there or name another directory."
            ) from error

    def drop(self, name: str) -> None:
        """Remove the file."""
        Path(self.directory, name).unlink(missing_ok=True)

    def futures(self, names: Iterable[str]) -> list[Any]:
        """Return nothing: workers read files themselves."""
        return []

    def clear(self) -> None:
        """Remove the directory; it is there again when something is laid down."""
        super().clear()
        shutil.rmtree(self.directory, ignore_errors=True)


@contextlib.contextmanager
def large_graphs() -> Iterator[None]:
    """Keep Dask from a warning about megabytes in tasks: here they travel once, and by intent."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")
        yield
