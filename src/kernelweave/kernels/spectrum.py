"""Spectrum kernel: how often two sequences share each k-mer, wherever it stands.

    K(x, y) = sum over k-mers u of  count_u(x) count_u(y),        cumulative:  sum_{j=1..k} weight_j K_j(x, y)

Feature u has the value sqrt(weight_|u|) count_u(x), in column  number(u) + |A| + |A|^2 + .. + |A|^(|u| - 1)  for
cumulative lengths and  number(u)  for one length (see `columns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelweave.data.alphabet import Alphabet
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_count, check_sequences
from kernelweave.kernels.columns import LARGEST, as_alphabet, as_csr, check_columns, check_known, name, partners
from kernelweave.kernels.counts import Counts
from kernelweave.kernels.kmers import count_kmers, count_long_kmers


class Spectrum(Kernel):
    """Shared k-mers of two sequences, counted wherever they stand; sequences may differ in length.

    A k-mer that contains a masked letter is not counted.

    Parameters
    ----------
    k : length of the k-mers
    cumulative : count k-mers of all lengths from 1 to k
    weights : (k,) non-negative weight of each length in the kernel, for cumulative ones; None for 1
    binary : ask whether a k-mer is there instead of how often
    reverse_complement : take a k-mer and its reverse complement for the same one (dna and rna)

    Examples
    --------
    >>> from kernelweave.data.sequences import Sequences
    >>> X = Sequences.from_strings(["ACAC", "CACG"], alphabet="dna")
    >>> Spectrum(2).gram(X)
    array([[5., 3.],
           [3., 3.]])
    >>> table = Spectrum(2).features(X)
    >>> table.shape, table[[0]].data, Spectrum(2).names(table[[0]].indices)
    ((2, 16), array([2., 1.]), ['AC', 'CA'])
    """

    def __init__(
        self,
        k: int,
        cumulative: bool = False,
        weights: Sequence[float] | None = None,
        binary: bool = False,
        reverse_complement: bool = False,
    ):
        self.k = k
        self.cumulative = cumulative
        self.weights = weights
        self.binary = binary
        self.reverse_complement = reverse_complement

    def length_weights(self) -> Array:
        """Return the weight of each length 1..k in the kernel, (k,).

        Examples
        --------
        >>> Spectrum(3).length_weights(), Spectrum(3, cumulative=True).length_weights()
        (array([0., 0., 1.]), array([1., 1., 1.]))
        """
        check_count(self, "k", self.k)
        if self.weights is None:
            return np.ones(self.k) if self.cumulative else np.append(np.zeros(self.k - 1), 1.0)
        if not self.cumulative:
            raise ValueError("weights of Spectrum are for k-mers of several lengths; they need cumulative=True.")
        weights = np.asarray(self.weights, float)
        if weights.shape != (self.k,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError(
                f"weights={self.weights!r} of Spectrum must be {self.k} non-negative numbers, one for each length."
            )
        return weights

    def prepare(self, X: Any) -> Counts:
        """Return the k-mers of each sequence with the values of their features."""
        weights = self.length_weights()
        check_sequences(self, X)
        turn = partners(self, X.alphabet, self.reverse_complement)
        sizes = np.flatnonzero(weights) + 1
        scales = np.sqrt(weights[sizes - 1])
        starts = self._starts(X.alphabet)
        binary = bool(self.binary)
        if starts[-1] > LARGEST and sizes.size:
            return count_long_kmers(X, sizes, scales, turn, X.alphabet.size + 1, 1, binary)
        firsts = np.array([starts[size - 1] for size in sizes], np.int64)
        return count_kmers(X, sizes, scales, firsts, starts[-1], turn, X.alphabet.size, binary)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the inner products of the features."""
        return A.gram(B, dtype)

    def diagonal(self, A: Any) -> Array:
        """Return the sums of the squared features."""
        return A.diagonal()

    def features(self, X: Any) -> Any:
        """Return how often each k-mer occurs, times the root of its weight, CSR (n, number of k-mers)."""
        check_count(self, "k", self.k)
        check_sequences(self, X)
        columns = self._starts(X.alphabet)[-1]
        check_columns(self, columns, X.alphabet)
        counts = self.prepare(X)
        return as_csr(counts.codes[:, 0], counts.values, counts.bounds, columns)

    def names(self, columns: Array, alphabet: str | Alphabet = "dna") -> list[str]:
        """Return the k-mers that feature columns count.

        Examples
        --------
        >>> Spectrum(2, cumulative=True).names([3, 4, 19])
        ['T', 'AA', 'TT']
        """
        check_count(self, "k", self.k)
        alphabet = as_alphabet(alphabet)
        starts = self._starts(alphabet)
        names = []
        for column in check_known(self, columns, starts[-1], alphabet).tolist():
            length = self.k
            while starts[length - 1] > column:
                length -= 1
            names.append(name(column - starts[length - 1], length, alphabet))
        return names

    def _starts(self, alphabet: Alphabet) -> list[int]:
        """Return the first column of each length 1..k and, last, the number of columns."""
        starts = [0]
        for length in range(1, self.k + 1):
            starts.append(starts[-1] + (alphabet.size**length if self.cumulative or length == self.k else 0))
        return starts
