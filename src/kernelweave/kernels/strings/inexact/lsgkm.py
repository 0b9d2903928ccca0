"""Kernels of LS-GKM on l-mers of dna: gapped k-mers, estimated l-mer counts, weights that fall off from the centre.

    K(x, y) = sum_i sum_j g_i g_j (h[d(x_i, y_j)] + h[d(x_i, y~_j)])

over the l-mers x_i of x and y_j of y, d being their Hamming distance and y~_j the reverse complement of y_j.  h is

    filter=None         C(l - m, k), the number of gapped k-mers that both have
    filter="full"       the inner product of l-mer counts that are estimated from gapped k-mer counts
    filter="truncated"  the same, of an estimate without its negative entries (see `filters`)

and zero beyond d mismatches, if d is given.  With ``center_weight=(M, H)``, g falls off from the middle l-mer by half
every H letters, g_i = min(M, floor(M 2^(-|i - middle| / H) + 1)); else g = 1.

Cutting h at d leaves a matrix over all l-mers that may have negative eigenvalues: then Gram matrices are checked on
training rows before they are trusted.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, log
from typing import Any

import numpy as np

from kernelweave._numba.symmetric import mirror
from kernelweave.data.blocks import sample_rows
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_count, check_positive, check_sequences
from kernelweave.kernels.strings.columns import partners
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.inexact.filters import FILTERS, eigenvalues, filtered
from kernelweave.kernels.strings.inexact.hamming import pair_sums, within_rows
from kernelweave.kernels.strings.inexact.lmers import StringLmers

LETTERS = 4
"""Letters of the alphabet: dna or rna."""
LARGEST_WEIGHT = 255
"""Largest M; LS-GKM keeps weights in a byte."""
CHECKED_ROWS = 128
"""Training rows whose Gram matrix is checked for negative eigenvalues."""
INDEFINITE = 1e-10
"""Share of the largest eigenvalue below zero that counts as rounding."""


class LSGKM(Kernel):
    """Shared gapped k-mers, k letters out of l neighbours, weighted as LS-GKM does.

    The parameters have the defaults of LS-GKM, which divides by the norms as ``normalize="cosine"`` does.  Its
    ``-t 0`` is ``filter=None``, ``-t 1`` ``filter="full"``, ``-t 2`` the default and ``-t 4`` (wgkm)
    ``center_weight=(50, 50)``.  An l-mer that contains a masked letter is not counted.

    Parameters
    ----------
    l : length of the l-mers
    k : how many of their letters count, at most l
    d : the most letters in which two l-mers may differ to count at all; None for l
    filter : "truncated" or "full" to compare estimated l-mer counts, None to compare counts of gapped k-mers
    center_weight : (M, H) to give the middle l-mer the weight M, which falls by half every H letters; None for no such
        weights
    reverse_complement : compare both strands
    trusted : take the Gram matrix for positive semi-definite without a check; `fitted` sets it

    Examples
    --------
    >>> from kernelweave.data.strings.sequences import Sequences
    >>> X = Sequences.from_strings(["ACGTACGTTGCA", "ACGAACGTTGCA", "TTTTTTTTTTTT"], alphabet="dna")
    >>> LSGKM().normalized().gram(X).round(3)
    array([[1.   , 0.275, 0.   ],
           [0.275, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    """

    def __init__(
        self, l: int = 11, k: int = 7, d: int | None = 3, filter: str | None = "truncated",
        center_weight: tuple[float, float] | None = None, reverse_complement: bool = True, trusted: bool = False,
    ):  # fmt: skip
        self.l = l
        self.k = k
        self.d = d
        self.filter = filter
        self.center_weight = center_weight
        self.reverse_complement = reverse_complement
        self.trusted = trusted

    def check(self) -> None:
        """Raise unless the parameters make sense."""
        check_count(self, "l", self.l)
        check_count(self, "k", self.k)
        if self.k > self.l:
            raise ValueError(f"k={self.k!r} of LSGKM must be at most l={self.l!r}.")
        if self.d is not None and self.d != 0:
            check_count(self, "d", self.d)
        if self.filter is not None and self.filter not in FILTERS:
            raise ValueError(f"filter={self.filter!r} of LSGKM is not one of None, 'full', 'truncated'.")
        if self.center_weight is not None:
            self._check_weight(self.center_weight)

    def _check_weight(self, given: Any) -> None:
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ValueError(f"center_weight={given!r} of LSGKM must be None or a pair (M, H), such as (50, 50).")
        check_count(self, "M of center_weight", given[0])
        check_positive(self, "H of center_weight", given[1])
        if given[0] > LARGEST_WEIGHT:
            raise ValueError(f"M={given[0]!r} of center_weight must be at most {LARGEST_WEIGHT}.")

    @property
    def definite(self) -> bool:
        """Whether the matrix over all l-mers has no negative eigenvalue, or the check of `fitted` was passed."""
        if self.trusted or self.d is None:
            return True
        self.check()
        return min(eigenvalues(self.exact(LETTERS), int(self.l), LETTERS)) >= 0

    def fitted(self, X: Any, sample_weight: Array | None = None) -> Kernel:
        """Return the kernel; one that need not be definite is checked on (at most 128 of) these rows first."""
        if self.definite:
            return self
        rows = sample_rows(len(X), CHECKED_ROWS)
        found = np.linalg.eigvalsh(self.normalized().gram(X[rows])) if len(rows) else np.zeros(1)
        if found[0] < -INDEFINITE * abs(found).max():
            raise ValueError(
                f"{self!r} is not positive semi-definite: its normalised Gram matrix on {len(rows)} training rows has "
                f"the eigenvalue {found[0]:.6g}; with d=None it always is."
            )
        return type(self)(**{**self.get_params(deep=False), "trusted": True})

    def window(self) -> tuple[int, int]:
        """Return l and k."""
        return int(self.l), int(self.k)

    def exact(self, size: int) -> list[Fraction]:
        """Return h without rounding, up to the last distance at which it is not zero."""
        length, letters = self.window()
        table = (
            [Fraction(comb(length - m, letters)) for m in range(length + 1)]
            if self.filter is None
            else list(filtered(length, letters, size, self.filter))
        )
        table = table if self.d is None else table[: self.d + 1]
        while len(table) > 1 and table[-1] == 0:
            table.pop()
        return table

    def coefficients(self, size: int) -> list[float]:
        """Return h[0], h[1], ..: what two l-mers add, by the number of letters in which they differ.

        Examples
        --------
        >>> LSGKM(5, 3, filter=None).coefficients(4), len(LSGKM().coefficients(4)), len(LSGKM(d=None).coefficients(4))
        ([10.0, 4.0, 1.0], 4, 5)
        """
        return [float(h) for h in self.exact(size)]

    def place_weights(self, length: int) -> Array | None:
        """Return g of the l-mers of a row of so many letters; None where all are 1.

        Examples
        --------
        >>> LSGKM(3, 2, center_weight=(8, 1)).place_weights(8)
        array([2., 3., 5., 8., 5., 3.])
        """
        if self.center_weight is None:
            return None
        most, half = self.center_weight
        places = np.arange(max(length - int(self.l) + 1, 0))
        away = np.abs(places - len(places) // 2)
        return np.minimum(most, np.floor(most * np.exp(-log(2) * away / half) + 1)).astype(np.float64)

    def own_features(self, X: Any) -> Counts | None:
        """Return None: both strands are compared as they are."""
        return None

    def prepare(self, X: Any) -> Any:
        """Return the l-mers of each row with their weights, also of the other strand if it counts."""
        self.check()
        check_sequences(self, X)
        if X.alphabet.size != LETTERS:
            raise ValueError(f"LSGKM compares dna or rna, but the rows are over the {X.alphabet.name} alphabet.")
        turn = partners(self, X.alphabet, self.reverse_complement)
        lmers = self._lmers(X)
        return (lmers, self._lmers(X.reverse_complement(), turned=True)) if turn.size else lmers

    def _lmers(self, X: Sequences, turned: bool = False) -> StringLmers:
        return StringLmers(X, int(self.l), None if self.center_weight is None else self.place_weights, turned)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the sums over pairs of l-mers."""
        (first, *_), (second, *others) = (side if isinstance(side, tuple) else (side,) for side in (A, B))
        table = self.exact(first.alphabet.size)
        values = pair_sums(first, second, int(self.l), table)
        if others:
            values += pair_sums(first, others[0], int(self.l), table)
            if A is B:
                mirror(values)  # the two strands are added up in another order on the other side
        return values.astype(dtype, copy=False)

    def diagonal(self, A: Any) -> Array:
        """Return the sums over pairs of l-mers within each row."""
        first, *others = A if isinstance(A, tuple) else (A,)
        return within_rows(self, first, others, self.exact(first.alphabet.size))
