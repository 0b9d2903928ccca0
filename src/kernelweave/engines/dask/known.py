"""The engines of this process, one for each client: they know what their workers hold already."""

from __future__ import annotations

import atexit
import os
from typing import Any

from distributed import Client, LocalCluster, get_worker
from distributed.client import default_client

from kernelweave.engines.base import Engine, Serial
from kernelweave.engines.dask.engine import Dask, connected, local_cluster

_by_client: dict[Client, Dask] = {}
_by_address: dict[tuple[str, int], Client] = {}
_own: dict[int, tuple[LocalCluster, Client]] = {}


def dask_engine(wish: Any, workers: int) -> Engine:
    """Return the engine for a client, an address, or "dask".

    Parameters
    ----------
    wish : a client; the address of a scheduler; or "dask" for the current client, and where there is none, a cluster
        of processes on this machine that ends with this process
    workers : processes of a cluster on this machine
    """
    if _inside_worker():
        return Serial()  # a part is not spread further
    if isinstance(wish, Client):
        return _of(wish)
    if wish != "dask":
        key = (wish, os.getpid())
        if key not in _by_address or _by_address[key].status != "running":
            _by_address[key] = connected(wish)
        return _of(_by_address[key])
    try:
        return _of(default_client())
    except ValueError:
        return _of(_own_client(workers))


def _of(client: Client) -> Dask:
    for other in [one for one in _by_client if one.status == "closed" and one is not client]:
        del _by_client[other]
    if client not in _by_client:
        _by_client[client] = Dask(client)
    return _by_client[client]


def _own_client(workers: int) -> Client:
    """Return the client of the cluster that belongs to this process."""
    process = os.getpid()
    if process not in _own or _own[process][1].status != "running":
        cluster = local_cluster(workers)
        _own[process] = cluster, Client(cluster, set_as_default=False)
        atexit.register(close_own, process)
    return _own[process][1]


def close_own(process: int | None = None) -> None:
    """End the cluster that belongs to this process, if there is one."""
    process = os.getpid() if process is None else process
    if process == os.getpid() and process in _own:
        cluster, client = _own.pop(process)
        client.close()
        cluster.close()


def _inside_worker() -> bool:
    try:
        get_worker()
    except ValueError:
        return False
    return True
