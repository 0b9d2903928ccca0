"""Where work runs: one thread, several threads, other processes, a cluster."""

from kernelweave.engines.base import Engine, Serial, Shared
from kernelweave.engines.blas import one_blas_thread
from kernelweave.engines.choose import choose_engine, idle_cores, is_client, is_cluster
from kernelweave.engines.local import Threads
from kernelweave.engines.remote import Remote, map_fits

__all__ = [
    "Engine",
    "Remote",
    "Serial",
    "Shared",
    "Threads",
    "choose_engine",
    "idle_cores",
    "is_client",
    "is_cluster",
    "map_fits",
    "one_blas_thread",
]
