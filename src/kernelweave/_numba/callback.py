"""Functions of three numbers that compiled loops take as an argument.

A loop that takes a callback has one type whatever is called, so that it is compiled once, and what it calls is compiled
by itself: a loop needs no list of all the functions that it may have to call.

A callback is handed over as the address of its machine code.  numba's own function arguments may raise, and what a loop
must do then (it counts the references to its slices) costs more than the call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from kernelweave._numba.cache import DiskCache
from kernelweave._numba.jit import REASSOCIATE

NUMBERS = 3


@cache
def compiled(function: Callable[[float, float, float], float]) -> Any:
    """Compile a pure function of three numbers, when it is first asked for; the disk keeps it.

    Its `address` is what a loop takes and hands to `call`; its machine code lives as long as the process.
    """
    signature = (types.float64,) * NUMBERS, types.float64
    made: Any = CFunc(function, signature, {}, {"fastmath": REASSOCIATE, "error_model": "numpy"})
    made._cache = DiskCache(function)
    made.compile()
    return made


@intrinsic
def call(typingctx, address, first, second, third):  # type: ignore[no-untyped-def]
    """Call the function at an address, in a compiled loop."""
    signature = types.float64(types.int64, types.float64, types.float64, types.float64)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        number = ir.DoubleType()
        function = builder.inttoptr(args[0], ir.FunctionType(number, [number] * NUMBERS).as_pointer())
        return builder.call(function, args[1:], attrs=("nounwind", "readnone"))

    return signature, codegen
