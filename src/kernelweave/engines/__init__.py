"""Where work runs: one thread, several threads."""

from kernelweave.engines.base import Engine
from kernelweave.engines.local import Serial, Threads, choose_engine

__all__ = ["Engine", "Serial", "Threads", "choose_engine"]
