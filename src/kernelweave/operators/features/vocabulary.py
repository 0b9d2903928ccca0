"""Features by code, and a number for each distinct code.

A feature is named by one or several 63-bit words (an n-gram of ten letters takes two), of which a training set uses a
small part.  `Vocabulary` numbers the codes it meets in the order in which they come, so that common ones, which come
early, stand together.  It is a hash table with open addresses: a line holds the words of a code and its number, so that
a look-up costs one cache line.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.hashing import home_of_words, line_of_words, move_lines
from kernelweave.kernels.base import Array

FIRST_LINES = 1 << 12
LINES_PER_CODE = 4
"""Lines for each code right after the table has grown; it grows again at two."""
AHEAD = 16
"""Codes whose lines are fetched together."""
HOT = 1 << 15
"""Columns whose weights lie together in the second-level cache."""


class Vocabulary:
    """Distinct codes and their numbers.

    Parameters
    ----------
    words : of a code
    expected : how many codes will come, where that is known: the table then need not grow

    Examples
    --------
    >>> known = Vocabulary(1)
    >>> known.number(np.array([[70], [5], [70]])), known.find(np.array([[5], [6]])), known.size
    (array([0, 1, 0], dtype=int32), array([ 1, -1], dtype=int32), 2)
    """

    def __init__(self, words: int, expected: int = 0):
        self.words, self.size = words, 0
        self.lines = _empty(max(FIRST_LINES, 2 * expected), words)

    def number(self, codes: Array) -> Array:
        """Return the numbers of codes (total, words); those not met before get the next ones."""
        out, done = np.empty(len(codes), np.int32), 0
        while True:
            done, self.size, _ = _number(codes, done, self.lines, self.size, out)
            if done == len(codes):
                return out
            larger = _empty(LINES_PER_CODE * max(self.size, FIRST_LINES), self.words)
            move_lines(self.lines, larger)
            self.lines = larger

    def find(self, codes: Array) -> Array:
        """Return the numbers of codes, -1 for those that are not known."""
        out = np.empty(len(codes), np.int32)
        _find(codes, self.lines, out)
        return out

    def codes(self) -> Array:
        """Return the codes in the order of their numbers, (size, words)."""
        out = np.empty((self.size, self.words), np.int64)
        used = self.lines[:, -1] >= 0
        out[self.lines[used, -1]] = self.lines[used, :-1]
        return out

    def copy(self) -> Vocabulary:
        """Return a vocabulary that may grow while this one stays."""
        made = Vocabulary(self.words)
        made.lines, made.size = self.lines.copy(), self.size
        return made

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return self.lines.nbytes


def commonest_first(codes: Array, rows_with: Array) -> Array:
    """Return the order in which features get columns: the commonest first, else rising with the codes.

    Walking along a row, whose codes rise, then walks along w, and most steps stay in a part of w that the caches hold.

    Parameters
    ----------
    codes : (m, words), distinct
    rows_with : (m,) how many rows have each feature
    """
    order = np.lexsort(codes.T[::-1])
    if len(order) <= HOT:
        return order
    common = rows_with[order] > np.partition(rows_with, -HOT)[-HOT]
    return np.concatenate([order[common], order[~common]])


def _empty(least: int, words: int) -> Array:
    return np.full((1 << (least - 1).bit_length(), words + 1), -1, np.int64)


@jit
def _touch(codes, start, stop, lines):  # type: ignore[no-untyped-def]
    # Reads the first line of several codes: unlike look-ups, these reads do not wait for each other.
    total = 0
    for i in range(start, stop):
        total ^= lines[home_of_words(codes, i, lines), 0]
    return total


@jit
def _number(codes, start, lines, size, out):  # type: ignore[no-untyped-def]
    words, most, seen = codes.shape[1], lines.shape[0] // 2, 0
    for i in range(start, codes.shape[0]):
        if (i - start) % AHEAD == 0:
            seen ^= _touch(codes, i, min(i + AHEAD, codes.shape[0]), lines)
        at = line_of_words(codes, i, lines)
        if lines[at, words] < 0:
            if size >= most:
                return i, size, seen
            for word in range(words):
                lines[at, word] = codes[i, word]
            lines[at, words] = size
            size += 1
        out[i] = lines[at, words]
    return codes.shape[0], size, seen


@jit
def _find(codes, lines, out):  # type: ignore[no-untyped-def]
    words, seen = codes.shape[1], 0
    for i in range(codes.shape[0]):
        if i % AHEAD == 0:
            seen ^= _touch(codes, i, min(i + AHEAD, codes.shape[0]), lines)
        out[i] = lines[line_of_words(codes, i, lines), words]
    return seen
