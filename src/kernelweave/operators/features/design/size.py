"""What the features of kernels are like, judged by some of the rows: entries, columns, codes, precision.

The number of distinct coded features grows as a power of the number of rows; the power is read off how many more of
them there are in twice as many rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.csr import CSR
from kernelweave.data.blocks import sample_rows
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.features.design.maps import rows_of
from kernelweave.operators.features.vocabulary import FIRST_LINES, Vocabulary

JUDGED_ROWS = 64
"""Rows by which the features of all rows are judged."""
FINE_TOLERANCE = 1e-6
"""Below this tolerance the rounding of single precision would show in the certificate."""
TOO_LARGE = float(1 << 24)
"""Below this single precision holds every whole number; beyond it would lose what tells rows apart."""
MOST_COLUMNS = 1 << 32
"""Columns are numbered by 32 bits."""
WORD_BYTES, CODE_BYTES = 56, 80
"""For each coded feature: a word of its code, in its list and in a hash table; its line there, its order and count."""


class Form(NamedTuple):
    """What the features of a kernel are like: entries a row, columns of all rows, words of a code (0: no code)."""

    entries: float
    width: float
    words: int
    single: bool

    @property
    def code_bytes(self) -> float:
        """Bytes that codes and their numbers take, whatever the number of rows in memory."""
        return (WORD_BYTES * self.words + CODE_BYTES) * self.width + 8 * (self.words + 1) * FIRST_LINES


def some_rows(n: int) -> Array:
    """Return the numbers of the rows by which all n are judged."""
    return sample_rows(n, JUDGED_ROWS)


def measured(kernel: Kernel, sample: Any, n: int, tol: float) -> Form:
    """Judge the features of all n rows by some of them, those of `some_rows`."""
    if not isinstance(kernel, Features):
        raise TypeError(f"{kernel!r} has no explicit features; wrap it in IncompleteCholesky, Nystrom or Fourier.")
    some = some_rows(n)
    found = rows_of(kernel, sample)
    if not isinstance(found, CSR):
        return Form(found.shape[1], found.shape[1], 0, tol >= FINE_TOLERANCE and is_single(found, tol))
    entries = len(found.values) / max(1, len(some))
    every_other = np.repeat(np.arange(len(some)) % 2 == 0, np.diff(found.starts))
    few, many = _distinct(found.codes[every_other]), _distinct(found.codes)
    power = min(max(np.log2(max(many, 1) / max(few, 1)), 0.0), 1.0)
    width = min(many * (n / max(1, len(some))) ** power, entries * n)
    return Form(entries, width, found.codes.shape[1], is_single(found.values, tol))


def _distinct(codes: Array) -> int:
    known = Vocabulary(codes.shape[1])
    known.number(codes)
    return known.size


def is_single(values: Array, tol: float) -> bool:
    """Tell whether single precision will do: no value is too large, and all are exact where the tolerance is fine."""
    return bool(_is_single(values.ravel(), tol < FINE_TOLERANCE))


@jit
def _is_single(values, exact):  # type: ignore[no-untyped-def]
    largest, same = 0.0, True
    for value in values:
        largest = max(largest, abs(value))
        same = same and np.float64(np.float32(value)) == value
    return largest < TOO_LARGE and (same or not exact)
