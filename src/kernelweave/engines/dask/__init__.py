"""Work on a Dask cluster: pure tasks that run on any worker, and again elsewhere when one dies."""

from kernelweave.engines.dask.engine import Dask
from kernelweave.engines.dask.known import close_own, dask_engine

__all__ = ["Dask", "close_own", "dask_engine"]
