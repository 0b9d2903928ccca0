"""Spectrum kernel: how often two sequences share each k-mer, wherever it stands.

    K(x, y) = sum over k-mers u of  count_u(x) count_u(y),        cumulative: summed over the lengths 1..k

Each row becomes a sorted list of its k-mers with their counts, and two rows are compared by one merge.
A k-mer is spelled as a number whose digits are letters 1..size in base size + 1, so that k-mers of different lengths
stay apart; one that does not fit 63 bits takes several numbers.  Nothing is hashed: equal codes are equal k-mers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.alphabet import Alphabet
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_alphabets, check_count, check_sequences

LARGEST = 2**63 - 1


@dataclass(frozen=True)
class KmerCounts:
    """The k-mers of many rows, sorted within each row.

    Attributes
    ----------
    codes : (total, words) int64
    counts : (total,) float64
    bounds : (n + 1,) int64, where each row starts
    alphabet : what the codes are spelled with
    """

    codes: Array
    counts: Array
    bounds: Array
    alphabet: Alphabet

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, rows: Any) -> KmerCounts:
        chosen = np.arange(len(self))[rows]
        sizes = np.diff(self.bounds)[chosen]
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.arange(bounds[-1]) + np.repeat(self.bounds[chosen] - bounds[:-1], sizes)
        return KmerCounts(self.codes[entries], self.counts[entries], bounds, self.alphabet)


class Spectrum(Kernel):
    """Shared k-mers of two sequences, counted wherever they stand; sequences may differ in length.

    A k-mer that contains a masked letter is not counted.

    Parameters
    ----------
    k : length of the k-mers
    cumulative : count k-mers of all lengths from 1 to k

    Examples
    --------
    >>> from kernelweave.data.sequences import Sequences
    >>> Spectrum(2).gram(Sequences.from_strings(["ACAC", "CACG"], alphabet="dna"))
    array([[5., 3.],
           [3., 3.]])
    """

    def __init__(self, k: int, cumulative: bool = False):
        self.k = k
        self.cumulative = cumulative

    def prepare(self, X: Any) -> KmerCounts:
        """Return the sorted k-mers of each sequence with their counts."""
        check_count(self, "k", self.k)
        check_sequences(self, X)
        base = X.alphabet.size + 1
        per_word = max(digits for digits in range(1, 64) if base**digits <= LARGEST)
        shortest = 1 if self.cumulative else self.k
        lengths = np.diff(X.offsets)
        room = sum(int(np.maximum(lengths - size + 1, 0).sum()) for size in range(shortest, self.k + 1))
        codes = np.empty((room, -(-self.k // per_word)), np.int64)
        bounds = np.zeros(len(X) + 1, np.int64)
        _spell(X.codes, np.asarray(X.offsets), X.alphabet.mask, base, per_word, shortest, self.k, codes, bounds)
        counts = np.empty(bounds[-1])
        _sort_and_count(codes, bounds, counts)
        return KmerCounts(codes[: bounds[-1]].copy(), counts[: bounds[-1]].copy(), bounds, X.alphabet)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the inner products of the counts."""
        check_alphabets(A.alphabet, B.alphabet)
        out: Array = np.empty((len(A), len(B)), dtype)
        _merge(A.codes, A.counts, A.bounds, B.codes, B.counts, B.bounds, A is B, out)
        return out

    def diagonal(self, A: Any) -> Array:
        """Return the sums of the squared counts."""
        total = np.concatenate([[0.0], np.cumsum(A.counts**2)])
        return total[A.bounds[1:]] - total[A.bounds[:-1]]


@jit
def _spell(letters, offsets, mask, base, per_word, shortest, longest, codes, bounds):  # type: ignore[no-untyped-def]
    filled = 0
    words = codes.shape[1]
    for row in range(offsets.shape[0] - 1):
        for start in range(offsets[row], offsets[row + 1]):
            code = np.zeros(words, np.int64)
            for length in range(1, min(longest, offsets[row + 1] - start) + 1):
                letter = letters[start + length - 1]
                if letter == mask:
                    break
                word = (length - 1) // per_word
                code[word] = code[word] * base + letter + 1
                if length >= shortest:
                    codes[filled] = code
                    filled += 1
        bounds[row + 1] = filled


@jit
def _sort_and_count(codes, bounds, counts):  # type: ignore[no-untyped-def]
    # Shrinks `codes`, `bounds` and `counts` to distinct k-mers in place: the write position never passes the row.
    filled, start = 0, 0
    for row in range(bounds.shape[0] - 1):
        stop = bounds[row + 1]
        order = np.arange(start, stop)
        for word in range(codes.shape[1] - 1, -1, -1):
            order = order[np.argsort(codes[order, word], kind="mergesort")]
        ordered = codes[order]
        for i in range(ordered.shape[0]):
            if i > 0 and _compare(ordered, i - 1, ordered, i) == 0:
                counts[filled - 1] += 1.0
            else:
                codes[filled] = ordered[i]
                counts[filled] = 1.0
                filled += 1
        start = stop
        bounds[row + 1] = filled


@jit
def _compare(codes, i, others, j):  # type: ignore[no-untyped-def]
    for word in range(codes.shape[1]):
        if codes[i, word] < others[j, word]:
            return -1
        if codes[i, word] > others[j, word]:
            return 1
    return 0


@jit
def _merge(codes, counts, bounds, others, other_counts, other_bounds, same, out):  # type: ignore[no-untyped-def]
    for a in range(out.shape[0]):
        for b in range(a + 1 if same else out.shape[1]):
            total = 0.0
            i, j = bounds[a], other_bounds[b]
            while i < bounds[a + 1] and j < other_bounds[b + 1]:
                order = _compare(codes, i, others, j)
                if order == 0:
                    total += counts[i] * other_counts[j]
                i += order <= 0
                j += order >= 0
            out[a, b] = total
            if same:
                out[b, a] = total
