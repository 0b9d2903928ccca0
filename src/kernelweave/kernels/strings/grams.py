"""What kernels share whose features are the strings of n letters, or of up to n letters.

Feature u has the column  number(u)  (see `numbering`); codes of several words stand for it where there are more columns
than a sparse table can number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_count, check_strings
from kernelweave.kernels.strings.columns import as_alphabet, check_known, written
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.numbering import Numbering


class Grams(Kernel, Features):
    """A kernel of sequences and of lattices whose features count strings of letters.

    A subclass says in `prepare` how much of each string a row has.
    """

    kind = "strings"
    cumulative: bool
    length_name = "n"
    """The parameter that says how long the strings are."""

    @property
    def longest(self) -> int:
        """Most letters of a feature."""
        check_count(self, self.length_name, getattr(self, self.length_name))
        return int(getattr(self, self.length_name))

    def numbering(self, alphabet: Alphabet) -> Numbering:
        """Return how the features are numbered over an alphabet."""
        return Numbering.of(alphabet.size, self.longest, bool(self.cumulative))

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the inner products of the features."""
        return A.gram(B, dtype)

    def diagonal(self, A: Any) -> Array:
        """Return the sums of the squared features."""
        return A.diagonal()

    def rows(self, X: Any, dtype: type = np.float64) -> Counts:
        """Return the features of each row by code; codes take several words where one cannot tell them apart."""
        counts: Counts = self.prepare(X)
        return counts.astype(dtype)

    def n_features(self, X: Any) -> int:
        """Return the number of strings over the alphabet of X."""
        check_strings(self, X)
        return self._columns(X.alphabet)

    def letters(self, codes: Array, alphabet: str | Alphabet) -> Array:
        """Return the letters of the strings that codes name, (m, longest) int32, -1 behind the end.

        Parameters
        ----------
        codes : (m, words) as in `rows`, or (m,) columns
        alphabet : Alphabet or its name
        """
        codes = np.asarray(codes)
        return self.numbering(as_alphabet(alphabet)).spelled(codes if codes.ndim == 2 else codes.reshape(-1, 1))

    def spell(self, codes: Array, alphabet: str | Alphabet) -> list[str]:
        """Return the strings that features count.

        Parameters
        ----------
        codes : (m, words) as in `rows`, or (m,) columns
        alphabet : Alphabet or its name
        """
        alphabet = as_alphabet(alphabet)
        letters = self._known(np.asarray(codes), alphabet)
        return [written([alphabet.letters[code] for code in row if code >= 0], alphabet) for row in letters.tolist()]

    def _known(self, codes: Array, alphabet: Alphabet) -> Array:
        """Return the letters of features; raise where one is none of this kernel."""
        numbering = self.numbering(alphabet)
        if codes.ndim != 2 or numbering.columns is not None:
            codes = codes[:, 0] if codes.ndim == 2 and codes.shape[1] == 1 else codes
            known = check_known(self, codes, self._columns(alphabet), alphabet)
            return numbering.spelled(known.reshape(-1, 1))
        if codes.dtype.kind not in "iu" or not 1 <= codes.shape[1] <= numbering.words(self.longest):
            raise TypeError(f"Codes are whole numbers in {numbering.words(self.longest)} columns, but got {codes!r}.")
        letters = numbering.spelled(codes)
        strange = (numbering.numbered(letters)[:, : codes.shape[1]] != codes).any(axis=1)
        if not self.cumulative:
            strange |= (letters < 0).any(axis=1)
        if strange.any():
            code = codes[np.argmax(strange)].tolist()
            raise ValueError(f"The code {code} is not a feature of {self!r} over the {alphabet.name} alphabet.")
        return letters

    def _columns(self, alphabet: Alphabet) -> int:
        lengths = range(1 if self.cumulative else self.longest, self.longest + 1)
        return sum(alphabet.size**length for length in lengths)
