"""Where work runs: one thread, several threads, other processes."""

from kernelweave.engines.base import Engine, Shared
from kernelweave.engines.blas import one_blas_thread
from kernelweave.engines.local import Serial, Threads, choose_engine
from kernelweave.engines.remote import Remote

__all__ = ["Engine", "Remote", "Serial", "Shared", "Threads", "choose_engine", "one_blas_thread"]
