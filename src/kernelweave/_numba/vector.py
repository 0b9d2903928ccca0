"""The largest of many numbers, by vector instructions.

The compiler does not turn a loop for a maximum into vectors by itself, and a loop over eight lanes, spelled out, takes
a third of a second to compile for each precision.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16
"""Numbers that are compared at once: enough for several vectors, which do not wait for each other."""


@intrinsic
def largest(context: Any, numbers: Any, groups: Any) -> Any:
    """Return the largest of the first ``LANES * groups`` numbers of an array without NaN (jitted code only).

    Parameters
    ----------
    numbers : (n,) contiguous, n >= LANES * groups
    groups : at least 1
    """
    if not (isinstance(numbers, types.Array) and numbers.layout == "C" and isinstance(groups, types.Integer)):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(numbers)(context, builder, arguments[0])
        item = context.get_data_type(numbers.dtype)
        vector, align = ir.VectorType(item, LANES), context.get_abi_sizeof(item)
        first = builder.bitcast(array.data, vector.as_pointer())
        best = cgutils.alloca_once_value(builder, builder.load(first, align=align))
        with cgutils.for_range(builder, arguments[1]) as loop:
            here, so_far = builder.load(builder.gep(first, [loop.index]), align=align), builder.load(best)
            builder.store(builder.select(builder.fcmp_ordered(">", here, so_far), here, so_far), best)
        lanes = builder.load(best)
        top = builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))
        for lane in range(1, LANES):
            other = builder.extract_element(lanes, ir.Constant(ir.IntType(32), lane))
            top = builder.select(builder.fcmp_ordered(">", other, top), other, top)
        return top

    return numbers.dtype(numbers, types.intp), generate
