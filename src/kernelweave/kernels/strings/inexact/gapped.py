"""Gapped k-mer kernel of gkm-SVM: l-mers of which only k letters count, the others being wildcards.

    phi_u(x) = number of l-mers of x that agree with the gapped k-mer u at its k places,     K = sum_u phi_u(x) phi_u(y)

Two l-mers that differ in d letters share one for each choice of k of the l - d other places: c[d] = C(l - d, k).
Feature u has the column  choice * |A|^k + number(letters of u), choices of places in the order of
`itertools.combinations` (see `columns`).
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.kernels.base import Array
from kernelweave.kernels.checks import check_count
from kernelweave.kernels.strings.columns import WILDCARD, as_alphabet, check_known, written
from kernelweave.kernels.strings.counting import emit
from kernelweave.kernels.strings.inexact.near import NearKmers, kmer_starts, longest_row, place_values


class GappedKmer(NearKmers):
    """Shared gapped k-mers of two sequences: k letters within a window of l, counted wherever they stand.

    ``GappedKmer(l, l)`` is ``Spectrum(l)``.  A window that contains a masked letter is not counted.  Of lattices,
    expected counts are compared.

    Parameters
    ----------
    l : length of the window
    k : how many of its letters count, at most l
    reverse_complement : take a gapped k-mer and its reverse complement for the same one (dna and rna)

    Examples
    --------
    >>> from kernelweave.data.strings.sequences import Sequences
    >>> X = Sequences.from_strings(["ACG", "ATG"], alphabet="dna")
    >>> GappedKmer(3, 2).gram(X)
    array([[3., 1.],
           [1., 3.]])
    >>> GappedKmer(3, 2).names(GappedKmer(3, 2).features(X)[[0]].indices)
    ['AC.', 'A.G', '.CG']
    """

    def __init__(self, l: int, k: int, reverse_complement: bool = False):
        self.l = l
        self.k = k
        self.reverse_complement = reverse_complement

    def check(self) -> None:
        """Raise unless 1 <= k <= l."""
        check_count(self, "l", self.l)
        check_count(self, "k", self.k)
        if self.k > self.l:
            raise ValueError(f"k={self.k!r} of GappedKmer must be at most l={self.l!r}.")

    def window(self) -> tuple[int, int]:
        """Return l and k."""
        return int(self.l), int(self.k)

    def coefficients(self, size: int) -> list[int]:
        """Return how many gapped k-mers two l-mers share, by the number of letters in which they differ.

        Examples
        --------
        >>> GappedKmer(5, 3).coefficients(4)
        [10, 4, 1]
        """
        return [comb(self.l - d, self.k) for d in range(self.l - self.k + 1)]

    def n_columns(self, size: int) -> int:
        """Return the number of gapped k-mers."""
        return comb(self.l, self.k) * size**self.k

    def arguments(self, size: int) -> tuple[Any, ...]:
        """Return the loop over choices of places, l, the choices, and which choice is the mirror image of each."""
        choices = list(combinations(range(self.l), self.k))
        number = {choice: i for i, choice in enumerate(choices)}
        mirrored = [number[tuple(self.l - 1 - place for place in choice[::-1])] for choice in choices]
        return _count_gapped, int(self.l), np.array(choices), np.array(mirrored)

    def spell(self, codes: Array, alphabet: str | Alphabet) -> list[str]:
        """Return the gapped k-mers that feature columns count, with dots for wildcards.

        Examples
        --------
        >>> GappedKmer(3, 2).names([0, 17, 47])
        ['AA.', 'A.C', '.TT']
        """
        self.check()
        alphabet = as_alphabet(alphabet)
        known = check_known(self, codes, self.n_columns(alphabet.size), alphabet)
        shown = {**dict(enumerate(alphabet.letters)), alphabet.mask: WILDCARD}
        letters = self.letters(known, alphabet).tolist()
        return [written([shown[letter] for letter in row], alphabet) for row in letters]

    def letters(self, codes: Array, alphabet: str | Alphabet) -> Array:
        """Return the letters of gapped k-mers, (m, l) int32, with the code of a masked letter where any letter fits.

        Examples
        --------
        >>> GappedKmer(3, 2).letters(np.array([17]), "dna")
        array([[  0, 255,   1]], dtype=int32)
        """
        alphabet = as_alphabet(alphabet)
        choice, number = np.divmod(np.asarray(codes).reshape(-1).astype(np.int64), alphabet.size**self.k)
        places = np.array(list(combinations(range(self.l), self.k)))[choice]
        letters = np.full((len(choice), self.l), alphabet.mask, np.int32)
        for digit in range(self.k - 1, -1, -1):
            number, letter = np.divmod(number, alphabet.size)
            letters[np.arange(len(choice)), places[:, digit]] = letter
        return letters


@jit
def _count_gapped(  # type: ignore[no-untyped-def]
    letters, offsets, mask, base, l, choices, mirrored, turn, own, columns, first, last, codes, values, filled, bounds
):
    longest = longest_row(offsets, first, last)
    k = choices.shape[1]
    worth, starts = place_values(base, k), np.empty(longest, np.int64)
    buffer, spare = np.empty(2 * longest, np.int64), np.empty(2 * longest, np.int64)
    bits = 0
    while bits < 63 and (worth[0] * base - 1) >> bits > 0:
        bits += 1
    for row in range(first, last):
        windows = kmer_starts(letters, offsets[row], offsets[row + 1], mask, l, starts)
        for c in range(choices.shape[0]):
            symmetric = mirrored[c] == c
            if turn.shape[0] > 0 and (mirrored[c] < c or (own and not symmetric)):
                continue  # counted with its mirror image
            n = _read(letters, starts, windows, l, choices[c], worth, turn, symmetric, own, buffer)
            filled = emit(buffer, spare, n, bits, c * worth[0] * base, 1.0, False, codes, values, filled)
        bounds[row + 1] = filled
    return filled


@jit
def _read(letters, starts, windows, l, choice, worth, turn, symmetric, own, out):  # type: ignore[no-untyped-def]
    n = 0
    for s in range(windows):
        code, turned = 0, 0
        for t in range(choice.shape[0]):
            code += letters[starts[s] + choice[t]] * worth[t]
            if turn.shape[0] > 0:
                turned += turn[letters[starts[s] + l - 1 - choice[t]]] * worth[t]
        if turn.shape[0] == 0:
            out[n] = code
            n += 1
        elif not symmetric:
            out[n], out[n + 1] = code, turned
            n += 2
        elif not own or code == turned:
            out[n] = min(code, turned)
            n += 1
    return n
