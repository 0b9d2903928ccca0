"""Rows of counted codes, and the inner products of all pairs of rows.

    K[a, b] = sum over codes u of  value_u(a) value_u(b)

One side is indexed by code (which rows have it, with which value); a row of the other side adds up the lists of its
own codes, so that only codes which two rows share cost anything.  Codes that a large share of the rows has are written
out as dense tables, which are multiplied.  Nothing is hashed: equal codes are equal k-mers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.csr import CSR
from kernelweave._numba.sorting import sort_order
from kernelweave._numba.symmetric import mirror
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.kernels.base import Array
from kernelweave.kernels.checks import check_alphabets

COMMON = 0.35
"""A code that this share of the rows has costs less in a dense product than along its list."""
FEWEST_ROWS = 16
"""Fewer rows than this do not repay writing the other side out as a table."""


@dataclass(frozen=True)
class Index:
    """Which rows have each code.

    Attributes
    ----------
    codes : (distinct, words) int, rising
    starts : (distinct + 1,) where the list of each code starts
    rows, values : (total,) the lists behind one another, rows rising in each
    place : (total,) which code each entry has, in the order of the rows
    """

    codes: Array
    starts: Array
    rows: Array
    values: Array
    place: Array


@dataclass(frozen=True)
class Counts(CSR):
    """Codes of many rows, each once a row, with a value of float64; a code beyond 63 bits takes several words.

    Attributes
    ----------
    alphabet : what the codes are spelled with
    """

    alphabet: Alphabet

    @cached_property
    def index(self) -> Index:
        """The rows by code, made when first asked for."""
        if self.codes.shape[1] == 1:
            codes = np.ascontiguousarray(self.codes[:, 0])
            order = sort_order(codes, int(codes.max(initial=0)).bit_length())
        else:
            order = np.lexsort(self.codes.T[::-1])
        firsts, place = np.empty(len(order) + 1, np.int64), np.empty(len(order), np.int64)
        distinct = _group(self.codes, order, firsts, place)
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))[order]
        codes = self.codes[order[firsts[:distinct]]]
        return Index(codes, firsts[: distinct + 1].copy(), rows, self.values[order], place)

    def places(self, known: Array) -> Array:
        """Return where each code stands among known ones (distinct, words), which rise; -1 for none."""
        return find_codes(self.codes, known)

    def gram(self, other: Counts, dtype: type = np.float64) -> Array:
        """Return the inner products with the rows of other counts; exactly symmetric where both are the same."""
        check_alphabets(self.alphabet, other.alphabet)
        index, same = other.index, self is other
        place = index.place if same else self.places(index.codes)
        common = np.diff(index.starts) > COMMON * len(other)
        columns = np.where(common, np.cumsum(common) - 1, -1)
        if len(self) < FEWEST_ROWS or not common.any():
            out: Array = np.zeros((len(self), len(other)), dtype)
        else:
            table = np.zeros((len(self), int(common.sum())))
            _write_out(self.starts, place, columns, self.values, table)
            others = table if same else np.zeros((len(other), table.shape[1]))
            if not same:
                _write_out(other.starts, index.place, columns, other.values, others)
            out = (table @ others.T).astype(dtype, copy=False)
            place = np.where(columns[place] >= 0, -1, place)
        _walk(self.starts, place, self.values, index.starts, index.rows, index.values, same, out)
        return out


@jit
def _compare(codes, i, others, j):  # type: ignore[no-untyped-def]
    for word in range(codes.shape[1]):
        if codes[i, word] < others[j, word]:
            return -1
        if codes[i, word] > others[j, word]:
            return 1
    return 0


@jit
def _group(codes, order, firsts, place):  # type: ignore[no-untyped-def]
    distinct = 0
    for i in range(order.shape[0]):
        if i == 0 or _compare(codes, order[i - 1], codes, order[i]) != 0:
            firsts[distinct] = i
            distinct += 1
        place[order[i]] = distinct - 1
    firsts[distinct] = order.shape[0]
    return distinct


@jit
def find_codes(codes, known):  # type: ignore[no-untyped-def]
    """Return where each code stands among the known ones, which rise; -1 for none."""
    found = np.full(codes.shape[0], -1)
    for i in range(codes.shape[0]):
        low, high = 0, known.shape[0]
        while low < high:
            middle = (low + high) >> 1
            if _compare(known, middle, codes, i) < 0:
                low = middle + 1
            else:
                high = middle
        if low < known.shape[0] and _compare(known, low, codes, i) == 0:
            found[i] = low
    return found


@jit
def _write_out(bounds, place, columns, values, table):  # type: ignore[no-untyped-def]
    for row in range(table.shape[0]):
        for i in range(bounds[row], bounds[row + 1]):
            if place[i] >= 0 and columns[place[i]] >= 0:
                table[row, columns[place[i]]] += values[i]


@jit
def _walk(bounds, place, values, starts, rows, others, same, out):  # type: ignore[no-untyped-def]
    line = np.empty(out.shape[1])
    for a in range(out.shape[0]):
        line[:] = 0.0
        for entry in range(bounds[a], bounds[a + 1]):
            if place[entry] < 0:
                continue
            value = values[entry]
            for i in range(starts[place[entry]], starts[place[entry] + 1]):
                if same and rows[i] > a:
                    break
                line[rows[i]] += value * others[i]
        for b in range(a + 1 if same else out.shape[1]):
            out[a, b] += line[b]
    if same:
        mirror(out)
