"""Explicit features of k-mers that have a place: one column for each pair of a position and a k-mer.

    column = r P + P_k + number of the k-mer,        P_k = |A| + .. + |A|^{k-1},        P = P_{d+1}

where r is the position and k the length, so what a column counts depends on neither data nor length of the rows.
Without shifts the k-mer u that starts at i has the value sqrt(c_ik) in column (i, u).  With shifts, let T = C C' be the
Cholesky factorisation of the banded matrix T_ij = m_|i-j|; then u has the values sqrt(c_ik) C_ir in the columns (r, u)
with r = i - S .. i, and inner products of such rows are the kernel:

    sum_r (sum_i C_ir v_i(x)) (sum_j C_jr v_j(y)) = v(x)' T v(y).
"""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.csr import CSR
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.kernels.abilities import sparse_table
from kernelweave.kernels.base import Array
from kernelweave.kernels.strings.columns import code_type, spell, written


def positional_features(codes: Array, alphabet: Alphabet, cells: Array, shifts: Array) -> CSR:
    """Return the features of rows of one length, with the numbers of their columns as codes.

    Parameters
    ----------
    codes : (n, length) letters
    alphabet : what they are spelled with
    cells : (length, degree) weights of k-mers that start at each position
    shifts : (S + 1,) m
    """
    n, length = codes.shape
    starts = column_starts(alphabet, cells.shape[1])
    band = _band_factor(shifts, length)
    bounds = np.zeros(n + 1, np.int64)
    _count(codes, alphabet.mask, cells, len(shifts), bounds)
    np.cumsum(bounds, out=bounds)
    columns = np.empty(bounds[-1], code_type(length * starts[-1]))
    values = np.empty(bounds[-1])
    _fill(codes, alphabet.mask, alphabet.size, np.sqrt(cells), band, np.array(starts), bounds, columns, values)
    rows = CSR(columns[:, None], values, bounds)
    return _merged(rows, length * starts[-1]) if len(shifts) > 1 else rows


def _merged(rows: CSR, width: int) -> CSR:
    """Sort the columns of each row and add equal ones: a k-mer may stand at several places that share a column."""
    table = sparse_table(rows, width)
    table.has_sorted_indices = table.has_canonical_format = False
    table.sum_duplicates()
    return CSR(table.indices[:, None], table.data, table.indptr)


def positional_names(columns: Any, alphabet: Alphabet, degree: int) -> list[tuple[str, int]]:
    """Return the k-mer and the position that each column counts."""
    known = np.asarray(columns)
    if known.ndim == 2 and known.shape[1] == 1:
        known = known[:, 0]
    if known.size and (known.ndim != 1 or known.dtype.kind not in "iu" or known.min() < 0):
        raise ValueError(f"Feature columns are a list of non-negative integers, but got {reprlib.repr(columns)}.")
    starts = column_starts(alphabet, degree)
    names = []
    for column in known.tolist():
        position, rest = divmod(column, starts[-1])
        k = next(k for k in range(degree, 0, -1) if starts[k - 1] <= rest)
        names.append((written(spell(rest - starts[k - 1], k, alphabet), alphabet), position))
    return names


def column_starts(alphabet: Alphabet, degree: int) -> list[int]:
    """Return the first column of the k-mers of each length within a position and, last, the columns of a position."""
    starts = [0]
    for k in range(1, degree + 1):
        starts.append(starts[-1] + alphabet.size**k)
    return starts


def _band_factor(shifts: Array, length: int) -> Array:
    """Return the Cholesky factor of T by diagonals: entry (s, r) is C_{r+s, r}."""
    from scipy.linalg import cholesky_banded

    band = np.zeros((len(shifts), max(1, length)))
    band[:, :] = shifts[:, None]
    return cholesky_banded(band[: max(1, length)], lower=True)


@jit
def _count(codes, mask, cells, width, bounds):  # type: ignore[no-untyped-def]
    """Write the number of features of row a into ``bounds[a + 1]``."""
    length, degree = cells.shape
    for a in range(codes.shape[0]):
        total = 0
        for i in range(length):
            for k in range(min(degree, length - i)):
                if codes[a, i + k] == mask:
                    break
                if cells[i, k] > 0:
                    total += min(i + 1, width)
        bounds[a + 1] = total


@jit
def _fill(codes, mask, size, roots, band, starts, bounds, columns, values):  # type: ignore[no-untyped-def]
    """Write columns and values of every row, by position and by length."""
    length, degree = roots.shape
    for a in range(codes.shape[0]):
        place = bounds[a]
        for i in range(length):
            number = 0
            for k in range(min(degree, length - i)):
                if codes[a, i + k] == mask:
                    break
                number = number * size + np.int64(codes[a, i + k])
                if roots[i, k] > 0:
                    for r in range(max(0, i - band.shape[0] + 1), i + 1):
                        columns[place] = r * starts[-1] + starts[k] + number
                        values[place] = roots[i, k] * band[i - r, r]
                        place += 1
