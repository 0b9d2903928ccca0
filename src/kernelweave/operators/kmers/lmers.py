"""The l-mers of rows, read from the letters as numbers of l digits in base 4, and tables over all 4^l of them.

    scatter   table[u] += sum_i steps_i g(place)   over the places at which row i has the l-mer u
    gather    out_i += sum over the places of row i of  g(place) table[u]

Letters are read anew each time: a number takes one shift, and rows take a byte for each letter.  An l-mer with a masked
letter is passed over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.kernels.abilities import Hamming
from kernelweave.kernels.base import Array

LETTERS = 4
"""Most letters of an alphabet whose l-mers are numbers of two bits a letter."""


class LmerRows:
    """The letters of n rows, and the weight of each place.

    Parameters
    ----------
    X : Sequences over at most four letters
    kernel : says l, and how much an l-mer counts by its place
    """

    def __init__(self, X: Any, kernel: Hamming):
        self.letters, self.mask = np.ascontiguousarray(X.codes), X.alphabet.mask
        self.offsets = np.ascontiguousarray(X.offsets, np.int64)
        self.n, self.length = len(self.offsets) - 1, kernel.window()[0]
        self.weights, self.starts = _place_weights(kernel, np.diff(self.offsets))

    @property
    def nbytes(self) -> int:
        """Bytes of the letters and of the weights of places."""
        return sum(part.nbytes for part in (self.letters, self.offsets, self.weights, self.starts))

    def scatter(self, rows: Array, steps: Array, table: Array) -> None:
        """Add the l-mers of some rows, each times the step of its row."""
        rows, steps = np.asarray(rows, np.int64), np.ascontiguousarray(steps, np.float64)
        _scatter(*self._arrays(), rows, steps, table)

    def gather(self, table: Array, first: int, out: Array) -> None:
        """Add to `out` the sums of the table over the l-mers of as many rows from `first` on."""
        _gather(*self._arrays(), table, first, out)

    def credit(self, table: Array, place: int, out: Array) -> None:
        """Add what the table has of an l-mer to its letter at `place`, for every letter of the rows."""
        _credit(*self._arrays(), table, place, out)

    def _arrays(self) -> tuple[Any, ...]:
        return self.letters, self.offsets, self.mask, self.length, self.weights, self.starts


def _place_weights(kernel: Hamming, lengths: Array) -> tuple[Array, Array]:
    """Return the weights of the places of all lengths behind one another, and where those of each row begin."""
    some, which = np.unique(lengths, return_inverse=True)
    each = [kernel.place_weights(int(length)) for length in some]
    if all(one is None for one in each):
        return np.empty(0), np.zeros(1, np.int64)
    sizes = np.maximum(some - kernel.window()[0] + 1, 0)
    filled = [np.ones(size) if one is None else np.asarray(one, np.float64) for one, size in zip(each, sizes)]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in filled])[:-1]])
    return np.concatenate(filled), starts[which.reshape(-1)]


@jit
def _scatter(letters, offsets, mask, length, weights, starts, rows, steps, table):  # type: ignore[no-untyped-def]
    low = len(table) - 1
    for r in range(len(rows)):
        row, step, code, run = rows[r], steps[r], 0, 0
        start = offsets[row]
        for i in range(start, offsets[row + 1]):
            letter = letters[i]
            code, run = ((code << 2) | letter) & low, 0 if letter == mask else run + 1
            if run >= length:
                if len(weights):
                    table[code] += step * weights[starts[row] + i - start - length + 1]
                else:
                    table[code] += step


@jit
def _gather(letters, offsets, mask, length, weights, starts, table, first, out):  # type: ignore[no-untyped-def]
    low = len(table) - 1
    for r in range(len(out)):
        row, code, run, total = first + r, 0, 0, 0.0
        start = offsets[row]
        for i in range(start, offsets[row + 1]):
            letter = letters[i]
            code, run = ((code << 2) | letter) & low, 0 if letter == mask else run + 1
            if run >= length:
                if len(weights):
                    total += table[code] * weights[starts[row] + i - start - length + 1]
                else:
                    total += table[code]
        out[r] += total


@jit
def _credit(letters, offsets, mask, length, weights, starts, table, place, out):  # type: ignore[no-untyped-def]
    low = len(table) - 1
    for row in range(len(offsets) - 1):
        code, run, start = 0, 0, offsets[row]
        for i in range(start, offsets[row + 1]):
            letter = letters[i]
            code, run = ((code << 2) | letter) & low, 0 if letter == mask else run + 1
            if run >= length:
                first = i - length + 1
                share = table[code] * (weights[starts[row] + first - start] if len(weights) else 1.0)
                out[first + place] += share
