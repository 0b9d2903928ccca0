"""How the score of every window around a changed letter changes, for k-mers with a place, without scoring windows.

A letter at column c of a context changes what the k-mers add that start at c - d + 1 .. c, d the degree.  A start s
stands at position i of the window that begins at t = s - i, so that

    change[t] = sum_{s = c-d+1 .. c, i = s - t} ( v(i, after) - v(i, before) ),    v(i, x) what x_i .. adds

The sum goes position by position: the table of a position then serves all contexts while it is in the cache.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from kernelweave._numba import jit
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array
from kernelweave.operators.expansion.base import Expansion
from kernelweave.operators.expansion.positional import PositionalTables, Tables, beyond
from kernelweave.operators.kmers.prefixes import has_masked

CONTEXTS_TOGETHER = 512
"""Contexts whose sums and letters stay in the second-level cache while tables pass by."""


def has_changes(expansion: Expansion) -> bool:
    """Tell whether all kernels of an expansion are k-mers with a place that share one set of tables."""
    ways = [member for member in expansion.members if member.way != "constant"]
    return len(ways) == 1 and ways[0].way == "positions"


def window_changes(expansion: Expansion, before: Array, after: Array, output: int, engine: Engine) -> Array:
    """Return how the score of each window changes, (contexts, window).

    Parameters
    ----------
    before, after : (contexts, 2 window - 1) letter codes that differ in the middle column alone
    output : number of the decision value

    Returns
    -------
    change of the window that begins at column t, for each t
    """
    member = cast(PositionalTables, next(one for one in expansion.members if one.way == "positions"))
    alphabet = member.kept.alphabet
    masked = member.masked or has_masked(before, alphabet) or has_masked(after, alphabet)
    tables = member.tables(masked)[output]
    old, new = tables.spelling.symbols(before), tables.spelling.symbols(after)
    out = np.zeros((len(old), (old.shape[1] + 1) // 2))
    cuts = [slice(a, min(a + CONTEXTS_TOGETHER, len(old))) for a in range(0, len(old), CONTEXTS_TOGETHER)]
    engine.map_into(out, lambda cut, part: _add_changes(tables, old[cut], new[cut], part), cuts)
    return out


def _add_changes(tables: Tables, old: Array, new: Array, out: Array) -> None:
    spelling: Any = tables.spelling
    _changes(
        old, new, tables.symbols, spelling.mask, spelling.bits, tables.depth, tables.table, tables.starts,
        tables.members, tables.lags, tables.coef, tables.sums, out,
    )  # fmt: skip


@jit
def _changes(  # type: ignore[no-untyped-def]
    old, new, symbols, mask, bits, depth, table, starts, members, lags, coef, sums, out
):
    window, degree = out.shape[1], sums.shape[2] - 1
    centre = window - 1
    count = min(degree, window)
    codes = np.zeros((2, len(old), count), np.int64)  # the first `depth` letters from centre - count + 1 on
    for b in range(len(old)):
        for n in range(count):
            for k in range(depth):
                at = centre - count + 1 + n + k
                if at < old.shape[1]:
                    shift = bits * (depth - 1 - k)
                    codes[0, b, n] |= np.int64(old[b, at]) << shift
                    codes[1, b, n] |= np.int64(new[b, at]) << shift
    for i in range(window):
        values, first = table[i], starts[i]
        spare = bits * max(0, depth - (window - i))  # letters of the code that are behind the window
        for b in range(len(old)):
            for n in range(count):
                start = centre - count + 1 + n
                t = start - i
                if t < 0 or t >= window:
                    continue
                one, other = (codes[0, b, n] >> spare) << spare, (codes[1, b, n] >> spare) << spare
                change = values[other] - values[one]
                if degree > depth:
                    for q in range(first[other], first[other + 1]):
                        x = new[b, t : t + window]
                        change += beyond(x, i, symbols, members[i, q], lags[i, q], mask, depth, coef, sums)
                    for q in range(first[one], first[one + 1]):
                        x = old[b, t : t + window]
                        change -= beyond(x, i, symbols, members[i, q], lags[i, q], mask, depth, coef, sums)
                out[b, t] += change
