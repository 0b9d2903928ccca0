"""What loops ask of the processor by name: four items changed at once, and lines of the cache fetched ahead of use."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 4


@intrinsic
def add_four(context: Any, array: Any, at: Any, each: Any, one: Any, place: Any) -> Any:
    """Add `each` to the items at, .., at + 3 of an array, and `one` to item at + place (jitted code only).

    Spelled as a loop this costs several times as much: the compiler unrolls four steps before it looks for vectors.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, word = signature.args[0], ir.IntType(32)
        item = context.get_data_type(kind.dtype)
        lanes, words = ir.VectorType(item, LANES), ir.VectorType(word, LANES)
        data = context.make_array(kind)(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), lanes.as_pointer())

        def spread(value: Any, to: Any) -> Any:
            empty, first = ir.Constant(to, ir.Undefined), ir.Constant(words, [0] * LANES)
            return builder.shuffle_vector(builder.insert_element(empty, value, word(0)), empty, first)

        place = spread(builder.trunc(arguments[4], word), words)
        here = builder.icmp_signed("==", place, ir.Constant(words, list(range(LANES))))
        each, both = spread(arguments[2], lanes), spread(builder.fadd(arguments[2], arguments[3]), lanes)
        old = builder.load(address)
        new = builder.store(builder.fadd(old, builder.select(here, both, each)), address)
        old.align = new.align = context.get_abi_sizeof(item)
        return context.get_dummy_value()

    return types.void(array, types.int64, array.dtype, array.dtype, types.int64), generate


@intrinsic
def fetch(context: Any, array: Any, at: Any) -> Any:
    """Ask for the line of the cache that holds an item of a flat array, without waiting for it (jitted code only)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        module = builder.module
        known = module.globals.get("llvm.prefetch.p0")
        builder.call(known or ir.Function(module, kind, "llvm.prefetch.p0"), [address, word(1), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate
