"""Strings of up to n letters as numbers, and back.

    number(u) = u_1 |A|^(|u|-1) + .. + u_|u|,       plus |A| + |A|^2 + .. + |A|^(|u|-1) where several lengths count

Where such numbers do not fit 63 bits, a string is spelled with several words: digits 1..|A| in base |A| + 1, as many as
a word holds, from left to right.  A zero digit is then no letter, so that strings of different lengths stay apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelweave.data.lattices.rows import EPSILON
from kernelweave.kernels.abilities import MOST_COLUMNS
from kernelweave.kernels.strings.columns import code_type
from kernelweave.kernels.strings.kmers import digits_per_word

Array = np.ndarray


@dataclass(frozen=True)
class Numbering:
    """How strings over one alphabet are numbered.

    Attributes
    ----------
    longest : most letters of a string
    base : of the numbers
    raised : what is added to a letter to make its digit
    per_word : digits in a word
    firsts : (longest,) int64, number of the first string of each length
    columns : how many numbers of a single word there are; None where strings take several words
    """

    longest: int
    base: int
    raised: int
    per_word: int
    firsts: Array
    columns: int | None

    @staticmethod
    def of(size: int, longest: int, cumulative: bool) -> Numbering:
        """Return the numbering of strings of `longest` letters, or of all lengths up to that.

        Examples
        --------
        >>> Numbering.of(4, 3, True).firsts, Numbering.of(4, 3, False).columns, Numbering.of(4, 40, False).words(40)
        (array([ 0,  4, 20]), 64, 2)
        """
        firsts, columns = [], 0
        for length in range(1, longest + 1):
            firsts.append(columns)
            columns += size**length if cumulative or length == longest else 0
        if columns <= MOST_COLUMNS:
            return Numbering(longest, size, 0, longest, np.array(firsts, np.int64), columns)
        none = np.zeros(longest, np.int64)
        return Numbering(longest, size + 1, 1, digits_per_word(size + 1), none, None)

    def words(self, longest: int) -> int:
        """Return how many words strings of at most so many letters take."""
        return -(-longest // self.per_word)

    @property
    def dtype(self) -> type:
        """The smallest integer type that holds the words."""
        return np.int64 if self.columns is None else code_type(self.columns)

    def numbered(self, letters: Array) -> Array:
        """Return the codes of strings, (m, words) int64.

        Parameters
        ----------
        letters : (m, longest), EPSILON behind the end

        Examples
        --------
        >>> Numbering.of(4, 2, True).numbered(np.array([[3, -1], [0, 1]]))
        array([[3],
               [5]])
        """
        codes = np.zeros((len(letters), self.words(letters.shape[1])), np.int64)
        for place in range(letters.shape[1]):
            word, letter = codes[:, place // self.per_word], letters[:, place]
            word[:] = np.where(letter == EPSILON, word, word * self.base + letter + self.raised)
        if self.columns is not None and len(letters):
            codes[:, 0] += self.firsts[(letters != EPSILON).sum(axis=1) - 1]
        return codes

    def spelled(self, codes: Array) -> Array:
        """Return the letters of codes (m, words), (m, longest) int32, EPSILON behind the end.

        Examples
        --------
        >>> Numbering.of(4, 2, True).spelled(np.array([[3], [5]]))
        array([[ 3, -1],
               [ 0,  1]], dtype=int32)
        """
        letters = np.full((len(codes), self.longest), EPSILON, np.int32)
        for word in range(codes.shape[1]):
            rest = codes[:, word].astype(np.int64)
            digits = self._digits(rest)
            for count in np.unique(digits[digits > 0]).tolist():
                chosen = np.flatnonzero(digits == count)
                left = rest[chosen] - (self.firsts[count - 1] if self.columns is not None else 0)
                for place in range(count - 1, -1, -1):
                    left, digit = np.divmod(left, self.base)
                    at = word * self.per_word + place
                    if at < self.longest:  # more digits than letters: a code that names nothing
                        letters[chosen, at] = digit - self.raised
        return letters

    def _digits(self, words: Array) -> Array:
        """Return how many digits each number has."""
        if self.columns is not None:
            return np.searchsorted(self.firsts, words, side="right")
        return np.searchsorted([self.base**digits for digits in range(self.per_word)], words, side="right")
