"""Sorting the codes of a row together with their values, codes of one word or of several."""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.sorting import bit_length, sort_order


@jit
def sort_row(codes, values, start, stop):  # type: ignore[no-untyped-def]
    """Sort ``codes[start:stop]`` (non-negative) in place, and the values with them."""
    n, words = stop - start, codes.shape[1]
    order, digits = np.arange(n), np.empty(n, np.int64)
    for word in range(words - 1, -1, -1):
        most = np.int64(0)
        for i in range(n):
            digits[i] = codes[start + order[i], word]
            most = max(most, digits[i])
        step, before = sort_order(digits, bit_length(most)), order.copy()
        for i in range(n):
            order[i] = before[step[i]]
    held, worth = np.empty((n, words), codes.dtype), np.empty(n)
    for i in range(n):
        worth[i] = values[start + order[i]]
        for word in range(words):
            held[i, word] = codes[start + order[i], word]
    for i in range(n):
        values[start + i] = worth[i]
        for word in range(words):
            codes[start + i, word] = held[i, word]


@jit
def _less(codes, i, j):  # type: ignore[no-untyped-def]
    for word in range(codes.shape[1]):
        if codes[i, word] != codes[j, word]:
            return codes[i, word] < codes[j, word]
    return False


@jit
def merge_rows(codes, values, bounds):  # type: ignore[no-untyped-def]
    """Return rows of codes (total, words) in any order as codes, values and bounds: sorted, equal codes added up."""
    codes, values, ends, filled = codes.copy(), values.copy(), np.zeros_like(bounds), 0
    for row in range(bounds.shape[0] - 1):
        sort_row(codes, values, bounds[row], bounds[row + 1])
        first = filled
        for i in range(bounds[row], bounds[row + 1]):
            if filled > first and not _less(codes, filled - 1, i):
                values[filled - 1] += values[i]
            else:
                values[filled] = values[i]
                for word in range(codes.shape[1]):
                    codes[filled, word] = codes[i, word]
                filled += 1
        ends[row + 1] = filled
    return codes[:filled].copy(), values[:filled].copy(), ends
