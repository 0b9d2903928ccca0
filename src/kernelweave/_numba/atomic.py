"""Integers by which two threads in jitted loops say how far they are: what was written before is seen after.

A number that is stored carries everything that its thread wrote until then to the thread that loads it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

BYTES = 8


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


@intrinsic
def load(context: Any, numbers: Any, at: Any) -> Any:
    """Return an item of an int64 array (jitted code only)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_place(context, builder, signature, arguments), "acquire", BYTES)

    return types.int64(numbers, types.int64), generate


@intrinsic
def store(context: Any, numbers: Any, at: Any, value: Any) -> Any:
    """Set an item of an int64 array (jitted code only)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[2], _place(context, builder, signature, arguments), "release", BYTES)
        return context.get_dummy_value()

    return types.void(numbers, types.int64, types.int64), generate


@intrinsic
def claim(context: Any, numbers: Any, at: Any, value: Any) -> Any:
    """Raise an item of an int64 array by one if it is `value`; tell whether it was (jitted code only)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        more = builder.add(arguments[2], ir.Constant(ir.IntType(64), 1))
        place = _place(context, builder, signature, arguments)
        found = builder.cmpxchg(place, arguments[2], more, "acq_rel", "acquire")
        return builder.zext(builder.extract_value(found, 1), ir.IntType(64))

    return types.int64(numbers, types.int64, types.int64), generate
