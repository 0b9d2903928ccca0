"""Mismatch kernel: shared k-mers, where up to m letters may differ.

    phi_u(x) = number of k-mers of x that differ from the k-mer u in at most m letters,      K = sum_u phi_u(x) phi_u(y)

For k-mers v and w that differ in d letters, c[d] counts the u near both.  Let u agree with v at i, with w at j and with
neither at r = d - i - j of those letters, and differ from both at t of the k - d others; |A| letters:

    c[d] = sum  d! / (i! j! r!) (|A| - 2)^r  C(k - d, t) (|A| - 1)^t      over  d - i + t <= m,  d - j + t <= m
"""

from __future__ import annotations

from math import comb
from numbers import Integral
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.kernels.base import Array
from kernelweave.kernels.checks import check_count
from kernelweave.kernels.strings.columns import as_alphabet, check_known, name
from kernelweave.kernels.strings.counting import emit
from kernelweave.kernels.strings.inexact.near import NearKmers, kmer_starts, longest_row, place_values
from kernelweave.kernels.strings.numbering import Numbering


class Mismatch(NearKmers):
    """Shared k-mers of two sequences, counted wherever they stand and with up to m letters different.

    ``Mismatch(k, 0)`` is ``Spectrum(k)``.  A k-mer that contains a masked letter is not counted.  Of lattices, expected
    counts are compared.

    Parameters
    ----------
    k : length of the k-mers
    m : how many letters may differ, fewer than k
    reverse_complement : take a k-mer and its reverse complement for the same one (dna and rna)

    Examples
    --------
    >>> from kernelweave.data.strings.sequences import Sequences
    >>> X = Sequences.from_strings(["AC", "CC", "GT"], alphabet="dna")
    >>> Mismatch(2, 1).gram(X)
    array([[7., 4., 2.],
           [4., 7., 2.],
           [2., 2., 7.]])
    >>> Mismatch(2, 1).names(Mismatch(2, 1).features(X)[[0]].indices)
    ['AA', 'AC', 'AG', 'AT', 'CC', 'GC', 'TC']
    """

    kind = "strings"

    def __init__(self, k: int, m: int, reverse_complement: bool = False):
        self.k = k
        self.m = m
        self.reverse_complement = reverse_complement

    def check(self) -> None:
        """Raise unless 0 <= m < k."""
        check_count(self, "k", self.k)
        if not isinstance(self.m, Integral) or isinstance(self.m, bool) or not 0 <= self.m < self.k:
            raise ValueError(f"m={self.m!r} of Mismatch must be a whole number from 0 to k - 1, that is {self.k - 1}.")

    def window(self) -> tuple[int, int]:
        """Return k twice: all letters of a feature are fixed."""
        return int(self.k), int(self.k)

    def coefficients(self, size: int) -> list[int]:
        """Return how many k-mers are near two others, by the number of letters in which those differ.

        Examples
        --------
        >>> Mismatch(5, 1).coefficients(4)
        [16, 4, 2]
        """
        k, m = int(self.k), int(self.m)
        table = []
        for d in range(min(2 * m, k) + 1):
            total = 0
            for t in range(min(m, k - d) + 1):
                for i in range(d + 1):
                    for j in range(d - i + 1):
                        if max(d - i, d - j) + t <= m:
                            ways = comb(d, i) * comb(d - i, j) * max(size - 2, 0) ** (d - i - j)
                            total += ways * comb(k - d, t) * (size - 1) ** t
            table.append(total)
        return table

    def counts_occurrences(self) -> bool:
        """Return True: every k-mer counts for those near it."""
        return True

    def n_columns(self, size: int) -> int:
        """Return the number of k-mers."""
        return size**self.k

    def arguments(self, size: int) -> tuple[Any, ...]:
        """Return the loop over neighbours, k, m and how many neighbours a k-mer has."""
        return _count_near, int(self.k), int(self.m), self.coefficients(size)[0]

    def letters(self, codes: Array, alphabet: str | Alphabet) -> Array:
        """Return the letters of the k-mers that codes (m, 1) or columns (m,) name, (m, k) int32."""
        self.check()
        numbering = Numbering.of(as_alphabet(alphabet).size, int(self.k), cumulative=False)
        return numbering.spelled(np.asarray(codes).reshape(-1, 1))

    def spell(self, codes: Array, alphabet: str | Alphabet) -> list[str]:
        """Return the k-mers that feature columns count.

        Examples
        --------
        >>> Mismatch(3, 1).names([0, 6])
        ['AAA', 'ACG']
        """
        self.check()
        alphabet = as_alphabet(alphabet)
        known = check_known(self, codes, self.n_columns(alphabet.size), alphabet)
        return [name(column, self.k, alphabet) for column in known.tolist()]


@jit
def _count_near(  # type: ignore[no-untyped-def]
    letters, offsets, mask, base, k, m, near, turn, own, columns, first, last, codes, values, filled, bounds
):
    longest = longest_row(offsets, first, last)
    worth, starts = place_values(base, k), np.empty(longest, np.int64)
    found, turned, changed = np.empty(near, np.int64), np.empty(near, np.int64), np.empty(near, np.int64)
    dense = columns <= longest * near  # counters for all columns are then smaller than the list of neighbours
    counters = np.zeros(columns if dense else 0, np.int64)
    buffer = np.empty(0 if dense else longest * near, np.int64)
    spare = np.empty_like(buffer)
    bits = 0
    while bits < 63 and (columns - 1) >> bits > 0:
        bits += 1
    for row in range(first, last):
        n = 0
        for s in range(kmer_starts(letters, offsets[row], offsets[row + 1], mask, k, starts)):
            _neighbours(letters, starts[s], base, k, m, worth, turn, found, turned, changed)
            for t in range(near):
                if own and found[t] != turned[t]:
                    continue
                code = min(found[t], turned[t]) if turn.shape[0] > 0 else found[t]
                if dense:
                    counters[code] += 1
                else:
                    buffer[n] = code
                    n += 1
        if dense:
            filled = _emit_counters(counters, codes, values, filled)
        else:
            filled = emit(buffer, spare, n, bits, 0, 1.0, False, codes, values, filled)
        bounds[row + 1] = filled
    return filled


@jit
def _neighbours(letters, start, base, k, m, worth, turn, found, turned, changed):  # type: ignore[no-untyped-def]
    # Letters are changed from left to right, so that each neighbour is met once.
    found[0], turned[0], changed[0] = 0, 0, -1
    for i in range(k):
        found[0] += letters[start + i] * worth[i]
        if turn.shape[0] > 0:
            turned[0] += turn[letters[start + i]] * worth[k - 1 - i]
    begin, end = 0, 1
    for _ in range(m):
        stop = end
        for item in range(begin, stop):
            for i in range(changed[item] + 1, k):
                old = np.int64(letters[start + i])
                for new in range(base):
                    if new != old:
                        found[end] = found[item] + (new - old) * worth[i]
                        if turn.shape[0] > 0:
                            turned[end] = turned[item] + (turn[new] - turn[old]) * worth[k - 1 - i]
                        changed[end] = i
                        end += 1
        begin = stop


@jit
def _emit_counters(counters, codes, values, filled):  # type: ignore[no-untyped-def]
    for code in range(counters.shape[0]):
        if counters[code] > 0:
            codes[filled], values[filled] = code, counters[code]
            filled += 1
            counters[code] = 0
    return filled
