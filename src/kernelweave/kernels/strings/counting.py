"""Sorting and counting codes within a row: the loops under every kernel that counts k-mers.

A row hands over its codes in any order; `emit` sorts them and writes each code once, with its number of occurrences.
Codes are sorted digit by digit (least digit first), so that time grows with the number of codes, not with its
logarithm; a digit that all codes share costs one look.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.sorting import sort_codes

Array = np.ndarray

COUNTED_ENTRIES = 2**20
"""Entries for which room is made at a time while rows are counted."""


def collect(rooms: Array, dtype: type, fill: Callable[..., int]) -> tuple[Array, Array, Array]:
    """Return the codes (total,), values (total,) and bounds (n + 1,) that `fill` writes for all rows.

    Parameters
    ----------
    rooms : (n,) the most entries each row can have
    dtype : of the codes
    fill : called as ``fill(first, last, codes, values, filled, bounds)``; writes the entries of rows first..last-1
        from place `filled` on and their ends into `bounds`, and returns the new `filled`
    """
    ends = np.cumsum(rooms)
    bounds = np.zeros(len(rooms) + 1, np.int64)
    codes: Array = np.empty(0, dtype)
    values: Array = np.empty(0)
    first = filled = 0
    while first < len(rooms):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + COUNTED_ENTRIES, side="right")))
        room = filled + int(ends[last - 1]) - before
        if room > codes.size:
            # The tail is remapped, not copied, so that memory stays near the size of the result.
            codes.resize(room, refcheck=False)
            values.resize(room, refcheck=False)
        filled = fill(first, last, codes, values, filled, bounds)
        first = last
    codes.resize(filled, refcheck=False)
    values.resize(filled, refcheck=False)
    return codes, values, bounds


def gather(cuts: Array, words: int, dtype: type, count: Callable[[int, int], Any]) -> tuple[Array, Array, Array]:
    """Return the codes (total, words), values (total,) and bounds (n + 1,) that `count` finds in all rows.

    Parameters
    ----------
    cuts : rows are counted from each cut to the next; 0 first, n last
    words, dtype : of the codes
    count : called as ``count(first, last)``; returns codes, values and bounds of those rows, bounds[0] being 0, or
        the number of a row plus 1 to say that it has too many
    """
    codes: Array = np.empty((0, words), dtype)
    values: Array = np.empty(0)
    bounds = np.zeros(int(cuts[-1]) + 1, np.int64)
    for first, last in pairwise(cuts.tolist()):
        found, its_values, ends = count(first, last)
        if ends[0]:
            raise ValueError(
                f"Row {ends[0] - 1} has too many different strings to count; take shorter ones, or bound their gaps by "
                "max_gap."
            )
        filled, total = len(values), len(values) + len(its_values)
        codes.resize((total, words), refcheck=False)  # as in `collect`: grown in place
        values.resize(total, refcheck=False)
        codes[filled:], values[filled:] = found, its_values
        bounds[first + 1 : last + 1] = filled + ends[1:]
    return codes, values, bounds


def cuts_at(work: Array, most: int) -> Array:
    """Return where to cut rows so that each part has about `most` work; 0 first, n last.

    Parameters
    ----------
    work : (n + 1,) work before each row, and in all

    Examples
    --------
    >>> cuts_at(np.array([0, 3, 6, 9, 30, 31]), 10)
    array([0, 4, 5])
    """
    parts = work[:-1] // most
    inner = np.flatnonzero(parts[1:] != parts[:-1]) + 1
    return np.unique(np.concatenate([[0], inner, [len(parts)]]))


@jit
def emit(codes, spare, n, bits, offset, scale, binary, out, values, filled):  # type: ignore[no-untyped-def]
    """Write each of ``codes[:n]`` once, raised by `offset`, with `scale` times its count (or presence); return the end.

    The codes come out in rising order.
    """
    if n == 0:
        return filled
    ordered = sort_codes(codes, spare, n, bits)
    code, times = ordered[0], 1
    for i in range(1, n):
        if ordered[i] != code:
            out[filled] = code + offset
            values[filled] = scale if binary else scale * times
            filled += 1
            code, times = ordered[i], 0
        times += 1
    out[filled] = code + offset
    values[filled] = scale if binary else scale * times
    return filled + 1


@jit
def longer(codes, values, filled, needed):  # type: ignore[no-untyped-def]
    """Return codes (room, words) and values (room,) with room for as many as are needed, and the filled ones in them.

    They are the arrays themselves while these suffice, else arrays twice as long as needed.
    """
    if needed <= values.shape[0]:
        return codes, values
    more_codes, more_values = np.empty((2 * needed, codes.shape[1]), np.int64), np.empty(2 * needed)
    for i in range(filled):
        more_values[i] = values[i]
        for word in range(codes.shape[1]):
            more_codes[i, word] = codes[i, word]
    return more_codes, more_values
