"""Arrays that are not counted.

A jitted function counts the references to the arrays it is given: one atomic instruction up and one down for every
array of every tuple in every call that is not optimised away.  Where functions take tens of nanoseconds, this is most
of the time.  A borrowed array is not counted: its owner, which was passed from outside, lives until the outermost call
returns.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def borrowed(context: Any, arrays: Any) -> Any:
    """Return a tuple of arrays whose references are not counted (jitted code only; never return or keep them)."""
    if not isinstance(arrays, types.BaseTuple):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = arguments[0]
        for place, kind in enumerate(arrays.types):
            fields = context.make_array(kind)(context, builder, builder.extract_value(arguments[0], place))
            fields.meminfo = cgutils.get_null_value(fields.meminfo.type)
            fields.parent = cgutils.get_null_value(fields.parent.type)
            made = builder.insert_value(made, fields._getvalue(), place)
        return made

    return arrays(arrays), generate
