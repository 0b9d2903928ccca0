"""What is quick only by vector instructions, and slow to compile when it is spelled out.

The compiler does not turn a loop for a maximum into vectors by itself, and a loop over eight lanes, spelled out, takes
a third of a second to compile for each precision.  Assigning a slice to a slice compiles the text of a shape error,
some forty functions; a loop over single items compiles quickly, but copies up to four times as slowly.
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


@intrinsic
def copy_items(context: Any, source: Any, first: Any, target: Any, at: Any, size: Any) -> Any:
    """``target[at : at + size] = source[first : first + size]`` for contiguous arrays of one type (jitted code only).

    Neither end is checked, further dimensions must agree, and the two pieces must not overlap.
    """
    arrays = all(isinstance(array, types.Array) and array.layout == "C" for array in (source, target))
    if not arrays or (source.dtype, source.ndim) != (target.dtype, target.ndim) or not target.mutable:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pieces = []
        for kind, k in ((source, 0), (target, 2)):
            array = context.make_array(kind)(context, builder, arguments[k])
            stride = cgutils.unpack_tuple(builder, array.strides, kind.ndim)[0]
            begin = builder.bitcast(array.data, ir.IntType(8).as_pointer())
            pieces.append(builder.gep(begin, [builder.mul(arguments[k + 1], stride)]))
        cgutils.raw_memcpy(builder, pieces[1], pieces[0], builder.mul(arguments[4], stride), 1)
        return context.get_dummy_value()

    return types.none(source, types.intp, target, types.intp, types.intp), generate
