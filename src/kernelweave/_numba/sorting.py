"""Sorting whole numbers by their digits, the lowest first: stable, and linear in their number."""

from __future__ import annotations

import numpy as np

from kernelweave._numba.jit import jit

FEW = 32
"""Up to this many numbers are sorted by insertion."""
DIGIT = 8
"""Binary digits sorted at once."""
WIDE_DIGIT = 11
MANY = 2048
"""From this many numbers on, wider digits save more passes than their counters cost."""
ONE = np.uint64(1)


@jit
def bit_length(largest):  # type: ignore[no-untyped-def]
    """Return how many binary digits a non-negative number has."""
    bits = 0
    while bits < 63 and largest >> bits > 0:
        bits += 1
    return bits


@jit
def _digit_width(n, bits):  # type: ignore[no-untyped-def]
    # The width of the digits of n numbers below 2^bits: all passes have the same.
    wide = DIGIT if n < MANY else WIDE_DIGIT
    passes = -(-bits // wide)
    return -(-bits // max(passes, 1))


@jit
def _digit(key, shift, low):  # type: ignore[no-untyped-def]
    # Unsigned: a place that could be negative would be tested each time.
    return (np.uint64(key) >> np.uint64(shift)) & low


@jit
def _digit_starts(keys, n, shift, low, starts):  # type: ignore[no-untyped-def]
    # Writes where the keys of each digit begin; returns whether there is more than one digit.
    starts[:] = 0
    for i in range(n):
        starts[_digit(keys[i], shift, low)] += ONE
    if starts[_digit(keys[0], shift, low)] == n:
        return False
    place = starts[0]
    starts[0] = 0
    for digit in range(1, len(starts)):
        size = starts[digit]
        starts[digit] = place
        place += size
    return True


@jit
def sort_codes(codes, spare, n, bits):  # type: ignore[no-untyped-def]
    """Sort ``codes[:n]``, non-negative and below 2^bits; return the array that holds the result, codes or spare."""
    if n <= FEW:
        for i in range(1, n):
            code = codes[i]
            j = i - 1
            while j >= 0 and codes[j] > code:
                codes[j + 1] = codes[j]
                j -= 1
            codes[j + 1] = code
        return codes
    wide = _digit_width(n, bits)
    here, there = codes, spare
    starts, low = np.empty(1 << wide, np.uint64), np.uint64((1 << wide) - 1)
    for shift in range(0, bits, max(wide, 1)):
        if _digit_starts(here, n, shift, low, starts):
            for i in range(n):
                digit = _digit(here[i], shift, low)
                place = starts[digit]
                there[place] = here[i]
                starts[digit] = place + ONE
            here, there = there, here
    return here


@jit
def sort_carrying(keys, carried, bits):  # type: ignore[no-untyped-def]
    """Return keys (n,), non-negative and below 2^bits, in their stable order, and what they carry, (n,), with them.

    Both arrays are used up.
    """
    n = keys.shape[0]
    wide = _digit_width(n, bits)
    starts, low = np.empty(1 << wide, np.uint64), np.uint64((1 << wide) - 1)
    here, there, order, moved = keys, np.empty_like(keys), carried, np.empty_like(carried)
    for shift in range(0, bits if n > 1 else 0, max(wide, 1)):
        if _digit_starts(here, n, shift, low, starts):
            for i in range(n):
                digit = _digit(here[i], shift, low)
                place = starts[digit]
                there[place], moved[place] = here[i], order[i]
                starts[digit] = place + ONE
            here, there = there, here
            order, moved = moved, order
    return here, order


@jit
def sort_order(codes, bits):  # type: ignore[no-untyped-def]
    """Return the stable order of codes (n,), non-negative and below 2^bits."""
    return sort_carrying(codes.copy(), np.arange(codes.shape[0]), bits)[1]
