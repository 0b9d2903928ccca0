"""The engine that spreads parts over a Dask cluster."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import cloudpickle
from distributed import Client, LocalCluster

from kernelweave.engines.base import Shared
from kernelweave.engines.dask.packing import Parcel, Sent, pack
from kernelweave.engines.dask.rounds import PARTS, Limits, Round
from kernelweave.engines.dask.shelves import Files, Shelf, Tasks, large_graphs
from kernelweave.engines.dask.work import Order, run_part, versions
from kernelweave.engines.remote import Remote

T = TypeVar("T")
R = TypeVar("R")

PATIENCE = 45.0
"""Seconds without a sign of life after which a round is given up: with what goes before, less than a minute."""

CONNECT = 20.0
"""Seconds to wait for a scheduler to answer."""

DIRECTORY = "KERNELWEAVE_SHARED_DIRECTORY"
"""The environment variable with the directory that client and workers share."""


class Dask(Remote):
    """Spreads parts over the workers of a Dask cluster, as pure tasks: none is bound to a worker.

    A worker that dies costs the parts that it was computing: they run again elsewhere, with the same bits.  What
    parts have in common travels once to each worker, large arrays under the hash of their content.

    Parameters
    ----------
    client : distributed.Client, or the address of a scheduler such as "tcp://10.0.0.1:8786"
    directory : on a file system that the client and all workers share: models and other large arrays are written
        there once rather than sent through the scheduler.  Default: the environment variable
        KERNELWEAVE_SHARED_DIRECTORY; without it, they are sent
    patience : seconds after which a scheduler or worker that does not answer ends the work with an error
    timeout : seconds in which at least one part must finish, None for no limit

    Examples
    --------
    >>> from distributed import Client, LocalCluster
    >>> with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster, Client(cluster) as client:
    ...     Dask(client).map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(
        self,
        client: Client | str,
        directory: str | os.PathLike[str] | None = None,
        patience: float = PATIENCE,
        timeout: float | None = None,
    ):
        self.client = connected(client) if isinstance(client, str) else client
        if self.client.asynchronous:
            raise TypeError("The engine needs a Client that is not asynchronous: Client(address).")
        self.patience, self.timeout = patience, timeout
        directory = directory or os.environ.get(DIRECTORY)
        self.shelf: Shelf = Files(directory) if directory else Tasks(self.client)
        self.workers, self.limit = self._cluster()

    def map(self, fn: Callable[[T], R], parts: Iterable[T]) -> list[R]:
        """Return ``[fn(part) for part in parts]``; a single part stays in the calling process."""
        parts = list(parts)
        if len(parts) < 2:
            return [fn(part) for part in parts]
        self.workers, self.limit = self._cluster()
        function, jobs = pack(fn), [pack(part, large=1 << 62) for part in parts]
        common = Parcel(function.packed, function.blobs.copy())
        for job in jobs:
            common.blobs.update(job.blobs)
        self.shelf.lay(common)
        if self.workers > 1:
            self.shelf.spread(common.blobs)
        try:
            answers = self._submit(common, [job.packed for job in jobs], parts).results()
        except ConnectionError:
            self.shelf.clear()
            raise
        return [cloudpickle.loads(answer.result) for answer in answers]

    def share(self, value: T) -> Shared[T]:
        """Return a handle to a value: it travels once to each worker, and not at all to one that has seen it."""
        handle = Sent(value, pack(value))
        self.shelf.pin(handle)
        return handle

    def close(self) -> None:
        """Take away what lies in the shared directory or on workers for this engine; the client stays open."""
        self.shelf.clear()

    def _submit(self, common: Parcel, jobs: list[Any], parts: list[Any]) -> Round:
        """Send the parts off."""
        names = tuple(common.blobs)
        blobs = self.shelf.futures(names)
        order = Order(common.packed, versions(), names if blobs else (), getattr(self.shelf, "directory", None))
        label = uuid.uuid4().hex
        keys = [f"{PARTS}{label}-{i}" for i in range(len(jobs))]
        with large_graphs():
            futures = self.client.map(run_part, jobs, key=keys, pure=False, order=order, blobs=blobs)
        return Round(self.client, futures, parts, Limits(self.patience, self.timeout, self.limit))

    def _cluster(self) -> tuple[int, int]:
        """Return how many parts can run at once, and the least memory of a worker."""
        if self.client.status not in ("running", "newly-created"):
            address = getattr(self.client.scheduler, "address", "an unknown address")
            raise ConnectionError(
                f"The connection to the Dask scheduler at {address} was lost; see that it runs and start again: with a "
                "checkpoint, a fit goes on where it was."
            )
        info = self.client.scheduler_info()
        limits = [worker["memory_limit"] or 0 for worker in info["workers"].values()]
        return max(1, int(info["total_threads"])), min(limits, default=0)


def connected(address: str) -> Client:
    """Return a client of the scheduler at an address."""
    try:
        return Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ConnectionError(
            f"No Dask scheduler answers at {address!r}; start one with 'dask scheduler' and give the address that it "
            "prints, such as 'tcp://10.0.0.1:8786'."
        ) from error


def local_cluster(workers: int) -> LocalCluster:
    """Return a cluster of processes with one thread each on this machine."""
    try:
        return LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        )
    except RuntimeError as error:
        raise RuntimeError(
            "The processes of a local Dask cluster did not start; in a script, engine='dask' must be used below "
            "`if __name__ == '__main__':`, because each process imports the script."
        ) from error
