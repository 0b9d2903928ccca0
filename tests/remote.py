"""Engines that share no memory with the caller: what they are given is pickled, and so is what they give back."""

from __future__ import annotations

import atexit
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import cloudpickle

from kernelweave.engines import Remote


class Pickled(Remote):
    """Pickles functions, parts and results, and works in the calling process."""

    workers = 1

    def map(self, fn, parts):
        sent = cloudpickle.dumps(fn)
        return [cloudpickle.loads(work(sent, cloudpickle.dumps(part))) for part in parts]


class Processes(Remote):
    """Spreads parts over two other processes, which start with nothing of what the caller has in memory."""

    workers = 2

    def map(self, fn, parts):
        sent = cloudpickle.dumps(fn)
        results = [pool().submit(work, sent, cloudpickle.dumps(part)) for part in parts]
        return [cloudpickle.loads(result.result()) for result in results]


@cache
def dask_cluster():
    """A cluster of two processes with one thread each, made once for all tests."""
    from distributed import LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50)
    atexit.register(cluster.close)
    return cluster


@cache
def dask_client():
    from distributed import Client

    client = Client(dask_cluster(), set_as_default=False)
    atexit.register(client.close)
    return client


@cache
def dask_engine():
    from kernelweave.engines.dask import Dask

    return Dask(dask_client())


class DaskProcesses(Remote):
    """The engine of that cluster, which starts when it is first needed."""

    workers = 2

    def map(self, fn, parts):
        return dask_engine().map(fn, parts)

    def share(self, value):
        return dask_engine().share(value)


def work(fn, part):
    return cloudpickle.dumps(cloudpickle.loads(fn)(cloudpickle.loads(part)))


@cache
def pool():
    return ProcessPoolExecutor(Processes.workers, multiprocessing.get_context("spawn"))
