"""Weighted-degree kernel: k-mers that two sequences of one length share at the same place.

    K(x, y) = sum_{k=1..d} beta_k sum_i [x_i .. x_{i+k-1} = y_i .. y_{i+k-1}],    beta_k = 2 (d - k + 1) / (d (d + 1))

The r-th letter of a run of matches ends one shared k-mer of each length up to r, so it adds the weights
beta_1 + .. + beta_min(r, d): one look-up per letter, whatever the degree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.alphabet import Alphabet
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_alphabets, check_count, check_sequences


@dataclass(frozen=True)
class CodeRows:
    """Sequences of one length: (n, length) codes, and the alphabet they are spelled with."""

    codes: Array
    alphabet: Alphabet

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> CodeRows:
        return CodeRows(self.codes[rows], self.alphabet)


class WeightedDegree(Kernel):
    """Shared k-mers at the same position, of all lengths up to `degree`; a masked letter matches nothing.

    Parameters
    ----------
    degree : length of the longest k-mer that counts
    weights : (degree,) non-negative weight of each length 1..degree; None for 2 (d - k + 1) / (d (d + 1))

    Examples
    --------
    >>> from kernelweave.data.sequences import Sequences
    >>> X = Sequences.from_strings(["ACGT", "ACGA"], alphabet="dna")
    >>> WeightedDegree(2, weights=[1, 1]).gram(X)
    array([[7., 5.],
           [5., 7.]])
    """

    def __init__(self, degree: int, weights: Sequence[float] | None = None):
        self.degree = degree
        self.weights = weights

    def degree_weights(self) -> Array:
        """Return the weight of each k-mer length, (degree,).

        Examples
        --------
        >>> WeightedDegree(3).degree_weights()
        array([0.5       , 0.33333333, 0.16666667])
        """
        check_count(self, "degree", self.degree)
        d = int(self.degree)
        if self.weights is None:
            return 2.0 * np.arange(d, 0, -1) / (d * (d + 1))
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (d,) or not np.all(np.isfinite(weights)) or np.any(weights < 0):
            raise ValueError(
                f"weights={self.weights!r} of WeightedDegree must be {d} non-negative numbers, one for each length."
            )
        return weights

    def prepare(self, X: Any) -> CodeRows:
        """Return the letters as a matrix."""
        self.degree_weights()
        check_sequences(self, X)
        if len(X) == 0:
            return CodeRows(np.empty((0, 0), X.codes.dtype), X.alphabet)
        if not X.is_fixed_length:
            lengths = np.diff(X.offsets)
            row = int(np.argmax(lengths != lengths[0]))
            raise ValueError(
                f"WeightedDegree compares sequences of one length, but row 0 has {lengths[0]} letters and row {row} "
                f"has {lengths[row]}."
            )
        return CodeRows(np.ascontiguousarray(X.matrix), X.alphabet)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the weighted numbers of shared k-mers."""
        check_alphabets(A.alphabet, B.alphabet)
        if A.codes.shape[1] != B.codes.shape[1] and len(A) and len(B):
            raise ValueError(
                f"WeightedDegree compares sequences of one length, but one side has {A.codes.shape[1]} letters a row "
                f"and the other {B.codes.shape[1]}."
            )
        out: Array = np.empty((len(A), len(B)), dtype)
        _shared(A.codes, B.codes, A.alphabet.mask, self._gains(A.codes.shape[1]), A is B, out)
        return out

    def diagonal(self, A: Any) -> Array:
        """Return the weighted number of k-mers without masked letter in each row."""
        out = np.empty(len(A))
        _own(A.codes, A.alphabet.mask, self._gains(A.codes.shape[1]), out)
        return out

    def _gains(self, length: int) -> Array:
        """Return what the r-th letter of a run of matches adds, for r = 0..length."""
        total = np.concatenate([[0.0], np.cumsum(self.degree_weights())])
        return total[np.minimum(np.arange(length + 1), int(self.degree))]


@jit
def _shared(codes, others, mask, gains, same, out):  # type: ignore[no-untyped-def]
    for a in range(out.shape[0]):
        for b in range(a + 1 if same else out.shape[1]):
            total, run = 0.0, 0
            for i in range(codes.shape[1]):
                run = run + 1 if codes[a, i] == others[b, i] and codes[a, i] != mask else 0
                total += gains[run]
            out[a, b] = total
            if same:
                out[b, a] = total


@jit
def _own(codes, mask, gains, out):  # type: ignore[no-untyped-def]
    for a in range(codes.shape[0]):
        total, run = 0.0, 0
        for i in range(codes.shape[1]):
            run = run + 1 if codes[a, i] != mask else 0
            total += gains[run]
        out[a] = total
