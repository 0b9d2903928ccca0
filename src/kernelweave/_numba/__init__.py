"""The one room that imports numba: the house decorator, random numbers and loops shared by other rooms."""

from kernelweave._numba.cache import listen
from kernelweave._numba.jit import compiled_functions, jit, jit_finite

__all__ = ["compiled_functions", "jit", "jit_finite", "listen"]
