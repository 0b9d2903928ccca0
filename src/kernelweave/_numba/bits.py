"""Letters as bits: 64 positions of a row in one machine word, so that 64 letters are compared at once.

The code of a letter is written in binary, one bit *plane* for each binary digit, and one more plane (the last) says
where a letter can match at all: it is 0 at masked letters and behind the end of the row.  Two letters are equal where
no digit differs, so for rows a and b with planes a_p, b_p and validity v

    match = NOT (OR_p (a_p XOR b_p)) AND v_a AND v_b,

bit i of word w standing for position 64 w + i.  A shared k-mer starts where k bits in a row are set:

    match_1 = match,        match_{k+1} = match_k AND (match_k moved down by one position),

and counting the bits of match_1, match_2, .. gives the number of shared k-mers of every length in turn.  The masks
soon run empty, and the work ends there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kernelweave._numba.jit import jit

Array = np.ndarray
WORD = 64
"""Positions in one word."""
ONE = np.uint64(1)
NONE = np.uint64(0)
TOP = np.uint64(WORD - 1)


@intrinsic
def popcount(context: Any, word: Any) -> Any:
    """Return the number of bits set in a word (jitted code only)."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def reversed_bits(context: Any, word: Any) -> Any:
    """Return a word with bit i moved to bit 63 - i (jitted code only)."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitreverse(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def trailing_zeros(context: Any, word: Any) -> Any:
    """Return how many bits below the lowest bit set are zero; 64 for an empty word (jitted code only)."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.false_bit)

    return types.int64(types.uint64), generate


def bit_planes(codes: Array, size: int, mask: int) -> Array:
    """Return the planes of rows of letters, (n, words, planes) uint64, validity last.

    Parameters
    ----------
    codes : (n, length) integers below `size`, or `mask`
    size : number of letters
    mask : code of a letter that matches nothing
    """
    n, length = codes.shape
    planes = np.zeros((n, max(1, -(-length // WORD)), (size - 1).bit_length() + 1), np.uint64)
    pack(codes, mask, planes)
    return planes


def bit_window(length: int, start: int, stop: int) -> Array:
    """Return the words whose bits start..stop-1 are set, (words,) uint64."""
    bits = np.zeros(max(1, -(-length // WORD)) * WORD, np.uint8)
    bits[max(start, 0) : max(stop, 0)] = 1
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64)


@jit
def pack(codes, mask, planes):  # type: ignore[no-untyped-def]
    """Write rows of codes as planes."""
    last = planes.shape[2] - 1
    for a in range(codes.shape[0]):
        for w in range(planes.shape[1]):
            start, stop = w * WORD, min((w + 1) * WORD, codes.shape[1])
            valid = NONE
            for i in range(start, stop):
                valid |= np.uint64(codes[a, i] != mask) << np.uint64(i - start)
            planes[a, w, last] = valid
            for p in range(last):
                digits = NONE
                for i in range(start, stop):
                    digits |= ((np.uint64(codes[a, i]) >> np.uint64(p)) & ONE) << np.uint64(i - start)
                planes[a, w, p] = digits & valid
