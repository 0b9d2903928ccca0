"""Spectrum kernel: how often two sequences share each k-mer, wherever it stands.

    K(x, y) = sum over k-mers u of  count_u(x) count_u(y),        cumulative:  sum_{j=1..k} weight_j K_j(x, y)

Feature u has the value sqrt(weight_|u|) count_u(x), in column  number(u)  (see `numbering`).  On lattices the counts
are expected ones (see `lattice_counts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelweave.data.kinds import kind_of
from kernelweave.data.lattices.rows import Lattices
from kernelweave.kernels.base import Array
from kernelweave.kernels.checks import check_strings
from kernelweave.kernels.strings.columns import partners
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.grams import Grams
from kernelweave.kernels.strings.kmers import count_kmers, count_long_kmers
from kernelweave.kernels.strings.lattices.counts import both_strands, expected_counts


class Spectrum(Grams):
    """Shared k-mers of two sequences, counted wherever they stand; sequences may differ in length.

    A k-mer that contains a masked letter is not counted.  Of lattices, expected counts are compared.

    Parameters
    ----------
    k : length of the k-mers
    cumulative : count k-mers of all lengths from 1 to k
    weights : (k,) non-negative weight of each length in the kernel, for cumulative ones; None for 1
    binary : ask whether a k-mer is there instead of how often
    reverse_complement : take a k-mer and its reverse complement for the same one (dna and rna)

    Examples
    --------
    >>> from kernelweave.data.strings.sequences import Sequences
    >>> X = Sequences.from_strings(["ACAC", "CACG"], alphabet="dna")
    >>> Spectrum(2).gram(X)
    array([[5., 3.],
           [3., 3.]])
    >>> table = Spectrum(2).features(X)
    >>> table.shape, table[[0]].data, Spectrum(2).names(table[[0]].indices)
    ((2, 16), array([2., 1.]), ['AC', 'CA'])
    >>> Spectrum(2, cumulative=True).names([3, 4, 19])
    ['T', 'AA', 'TT']
    """

    length_name = "k"

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
        k, name = self.longest, type(self).__name__
        if self.weights is None:
            return np.ones(k) if self.cumulative else np.append(np.zeros(k - 1), 1.0)
        if not self.cumulative:
            raise ValueError(f"weights of {name} are for strings of several lengths; they need cumulative=True.")
        weights = np.asarray(self.weights, float)
        if weights.shape != (k,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError(
                f"weights={self.weights!r} of {name} must be {k} non-negative numbers, one for each length."
            )
        return weights

    def window_lengths(self) -> tuple[int, ...]:
        """Return the lengths of the k-mers; none for a binary kernel.

        Examples
        --------
        >>> Spectrum(3).window_lengths(), Spectrum(2, cumulative=True).window_lengths()
        ((3,), (1, 2))
        """
        return () if self.binary else tuple((np.flatnonzero(self.length_weights()) + 1).tolist())

    def counts_occurrences(self) -> bool:
        """Return whether features count k-mers; those of a binary kernel ask whether one is there."""
        return not self.binary

    def prepare(self, X: Any) -> Counts:
        """Return the k-mers of each row with the values of their features."""
        weights = self.length_weights()
        check_strings(self, X)
        turn = partners(self, X.alphabet, self.reverse_complement)
        sizes = np.flatnonzero(weights) + 1
        numbering = self.numbering(X.alphabet)
        if kind_of(X).uncertain:
            return self._expected(X, np.sqrt(weights[: sizes.max(initial=0)]), turn)
        scales, binary = np.sqrt(weights[sizes - 1]), bool(self.binary)
        if numbering.columns is None and sizes.size:
            return count_long_kmers(X, sizes, scales, turn, numbering.base, numbering.raised, binary)
        firsts = numbering.firsts[sizes - 1]
        return count_kmers(X, sizes, scales, firsts, numbering.columns or 0, turn, X.alphabet.size, binary)

    def _expected(self, X: Lattices, scales: Array, turn: Array) -> Counts:
        if self.binary:
            raise ValueError(
                f"binary=True of {type(self).__name__} asks whether a row has a string, but a lattice holds many rows, "
                "with and without it; use binary=False, or the best path of each, lattices.one_best()."
            )
        numbering = self.numbering(X.alphabet)
        counts = expected_counts(X, numbering, scales)
        return both_strands(counts, numbering, turn) if turn.size else counts
