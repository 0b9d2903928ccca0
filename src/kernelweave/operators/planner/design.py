"""Whether the features of all rows are held in memory or made afresh for each part, judged by some of the rows.

The number of distinct coded features grows as a power of the number of rows; the power is read off how many more of
them there are in twice as many rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.csr import CSR
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.features.design.maps import rows_of
from kernelweave.operators.features.vocabulary import FIRST_LINES, Vocabulary
from kernelweave.operators.memory import memory_budget, show_bytes
from kernelweave.operators.planner.one import FINE_TOLERANCE, SAMPLE, Plan

TOO_LARGE = float(1 << 24)
"""Below this single precision holds every whole number; beyond it would lose what tells rows apart."""
MOST_COLUMNS = 1 << 32
"""Columns are numbered by 32 bits."""
CHUNK_ENTRIES, LONGEST_CHUNK, FEWEST_ROWS = 1 << 20, 8192, 16
"""Values that are made together by one worker, the most rows of such a chunk, and the fewest rows of a part."""
MAKING_BYTES = 40
"""Working space while one value is made: it, its code and its column, twice."""
VECTOR_BYTES = 64
"""Vectors over all columns: the weights of a solver and the sums of a product."""
WORD_BYTES, CODE_BYTES = 56, 80
"""For each coded feature: a word of its code, in its list and in a hash table; its line there, its order and count."""


class Form(NamedTuple):
    """What the features of a kernel are like: entries a row, columns of all rows, words of a code (0: no code)."""

    entries: float
    width: float
    words: int
    single: bool


class Layout(NamedTuple):
    """Rows that are made together, and rows of a part."""

    chunk: int
    rows: int


def measured(kernel: Kernel, X: Any, tol: float) -> Form:
    """Judge the features of all rows by some of them."""
    if not isinstance(kernel, Features):
        raise TypeError(f"{kernel!r} has no explicit features; wrap it in IncompleteCholesky, Nystrom or Fourier.")
    n = X.shape[0]
    some = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))
    found = rows_of(kernel, X[some])
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


def plan_design(
    forms: Sequence[Form], n: int, workers: int, limit: float | str | None, single: bool
) -> tuple[Plan, Layout]:
    """Choose between features in memory ("explicit") and made afresh part by part ("streamed").

    Examples
    --------
    >>> plan_design([Form(1000.0, 1000.0, 0, True)], 100_000, 2, "1GB", True)[0].reason
    '1000 features of 100000 rows take 400 MB in float32'
    >>> plan_design([Form(1000.0, 1000.0, 0, True)], 100_000, 2, "200MB", True)[0].kind
    'streamed'
    """
    budget, dtype = memory_budget(limit), np.float32 if single else np.float64
    entries, width = sum(form.entries for form in forms), sum(form.width for form in forms)
    item = np.dtype(dtype).itemsize
    row = entries * item if not any(form.words for form in forms) else entries * (4 + item) + 8
    fixed = VECTOR_BYTES * width + sum(code_bytes(form) for form in forms if form.words)
    shown = f"{width:.4g} features of {n} rows take {show_bytes(n * row)} in {np.dtype(dtype).name}"
    chunk = min(_power_of_two(CHUNK_ENTRIES / max(1.0, entries)), LONGEST_CHUNK)
    whole = n * row + fixed + MAKING_BYTES * entries * min(n, chunk * workers)
    if whole <= budget:
        return Plan("explicit", dtype, int(width), int(whole), shown), Layout(chunk, max(1, n))
    one = 2 * row + MAKING_BYTES * entries
    rows, least = int((budget - fixed) // one), min(n, FEWEST_ROWS)
    if rows < least:
        raise MemoryError(
            f"{shown}, and even {least} of them at a time {show_bytes(fixed + least * one)}, more than the "
            f"memory_limit of {show_bytes(budget)}; raise the limit or take kernels with fewer features."
        )
    chunk = min(chunk, _power_of_two(rows))
    rows = min(n, rows // chunk * chunk)
    reason = f"{shown}, with what their making needs more than the {show_bytes(budget)} allowed, so {rows} rows at a "
    return Plan("streamed", dtype, int(width), int(fixed + rows * one), reason + "time are made afresh"), Layout(
        chunk, rows
    )


def code_bytes(form: Form) -> float:
    """Return the bytes that codes and their numbers take, whatever the number of rows in memory."""
    return (WORD_BYTES * form.words + CODE_BYTES) * form.width + 8 * (form.words + 1) * FIRST_LINES


def _power_of_two(size: float) -> int:
    """Return the largest power of two up to a size, at least 1."""
    return 1 << max(0, int(size).bit_length() - 1)


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
