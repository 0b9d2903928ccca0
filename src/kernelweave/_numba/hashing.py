"""Hash tables with open addresses.

A table is lines (size, words + 1) int64, the size a power of two and at least twice the number of keys.  A line holds
the words of a key and what belongs to it, -1 where it is empty, so that a look-up costs one cache line.  Keys are
compared in full: no two are taken for one.
"""

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


@jit
def line_of(key, lines):  # type: ignore[no-untyped-def]
    """Return the line of a key of one word, non-negative: its own, or the empty one where it belongs."""
    last = lines.shape[0] - 1
    at = home(folded(key), lines.shape[0])
    while lines[at, 0] >= 0 and lines[at, 0] != key:
        at = (at + 1) & last
    return at


@jit
def home_of_words(keys, i, lines):  # type: ignore[no-untyped-def]
    """Return the address of key i, of several words; of a single one it is the address that `line_of` begins with."""
    key = np.uint64(0)
    for word in range(keys.shape[1]):
        key = folded(key ^ np.uint64(keys[i, word]))
    return home(key, lines.shape[0])


@jit
def line_of_words(keys, i, lines):  # type: ignore[no-untyped-def]
    """Return the line of key i, of several words: its own, or the empty one where it belongs."""
    words, last = keys.shape[1], lines.shape[0] - 1
    at = home_of_words(keys, i, lines)
    while lines[at, words] >= 0:
        same = True
        for word in range(words):
            same = same and lines[at, word] == keys[i, word]
        if same:
            break
        at = (at + 1) & last
    return at


@jit
def move_lines(lines, larger):  # type: ignore[no-untyped-def]
    """Enter all keys of a table into a larger, empty one."""
    words = lines.shape[1] - 1
    for i in range(lines.shape[0]):
        if lines[i, words] >= 0:
            larger[line_of_words(lines[:, :words], i, larger)] = lines[i]
