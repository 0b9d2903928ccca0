"""Where a key belongs in a hash table with open addresses: one rule for every room."""

from __future__ import annotations

import numpy as np

from kernelweave._numba.jit import jit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio: the high bits of its multiples fill a table evenly (Knuth, TAOCP 3, 6.4)."""
_FOLD, _DOWN = np.uint64(29), np.uint64(20)


@jit
def folded(key):  # type: ignore[no-untyped-def]
    """Return a word with its high bits stirred into its low ones, to go on with another word of the same key."""
    key = np.uint64(key) * GOLDEN
    return key ^ (key >> _FOLD)


@jit
def home(key, size):  # type: ignore[no-untyped-def]
    """Return the address of a folded key in a table of `size` lines, a power of two."""
    return np.int64((key * GOLDEN) >> _DOWN) & (size - 1)
