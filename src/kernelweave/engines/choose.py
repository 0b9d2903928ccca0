"""How a user's wish becomes an engine."""

from __future__ import annotations

from typing import Any

from kernelweave.engines.base import Engine, Serial
from kernelweave.engines.local import Threads, available_cores

LOCAL = ("serial", "threads")
"""Engines that have a name and need nothing but this process."""


def choose_engine(engine: Any = None, n_jobs: int | None = None) -> Engine:
    """Return the engine a user asked for.

    Parameters
    ----------
    engine : an Engine, "serial", "threads", or None (threads when there is more than one worker); for a Dask cluster a
        distributed.Client, the address of a scheduler such as "tcp://10.0.0.1:8786", or "dask" for the current client,
        and where there is none, processes on this machine
    n_jobs : number of workers; -1 for every core, -2 for all but one, and so on; None as in scikit-learn for 1, unless
        a ``joblib.parallel_config`` around the call says otherwise, and for every core where an engine is named

    Examples
    --------
    >>> choose_engine("threads", 3).workers
    3
    """
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; use -1 for every core or 1 for one thread.")
    workers = _workers(engine, n_jobs)
    if is_cluster(engine):
        return _dask(engine, workers)
    if engine is not None and not isinstance(engine, str):
        if not isinstance(engine, Engine):
            raise TypeError(
                f"engine={engine!r} is not an engine, which has workers, map and map_into; use 'serial', 'threads', "
                "'dask', a Dask client or an Engine object."
            )
        return engine
    if engine not in (None, *LOCAL):
        raise ValueError(
            f"engine={engine!r} is unknown; use 'serial', 'threads', 'dask', the address of a Dask scheduler or an "
            "Engine object."
        )
    return Serial() if engine == "serial" or workers == 1 else Threads(workers)


def _workers(engine: Any, n_jobs: int | None) -> int:
    """Return how many workers are meant."""
    cores = available_cores()
    if n_jobs is None and engine is None:
        from joblib import effective_n_jobs  # scikit-learn's own reading of None

        return int(effective_n_jobs(None))
    return cores if n_jobs is None else n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def idle_cores(engine: Any, n_jobs: int | None) -> int:
    """Return how many cores stay idle because nobody said how many to use.

    Examples
    --------
    >>> idle_cores(None, -1), idle_cores("serial", None)
    (0, 0)
    """
    return available_cores() - _workers(None, None) if engine is None and n_jobs is None else 0


def is_cluster(engine: Any) -> bool:
    """Tell whether somebody names a Dask cluster: "dask", an address, or a client.

    Examples
    --------
    >>> is_cluster("tcp://10.0.0.1:8786"), is_cluster("threads")
    (True, False)
    """
    if isinstance(engine, str):
        return engine == "dask" or "://" in engine
    return is_client(engine)


def is_client(engine: Any) -> bool:
    """Tell whether this is a client of Dask, without importing Dask."""
    return any(base.__module__.partition(".")[0] == "distributed" for base in type(engine).__mro__)


def _dask(engine: Any, workers: int) -> Engine:
    try:
        from kernelweave.engines.dask import dask_engine
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"engine={engine!r} needs Dask; install it with: pip install 'kernelweave[dask]'"
        ) from error
    return dask_engine(engine, workers)
