"""Two Markov chains, one for each class, as a classifier of sequences of one length: what people used before SVMs.

    s(x) = sum_j log P+_j (x_j | x_(j-k) ... x_(j-1))  -  log P-_j (x_j | x_(j-k) ... x_(j-1))

Every position j has probabilities of its own.  They are counted, with a pseudo-count for each letter; the first k
positions have fewer letters before them.  Order k and pseudo-count are chosen on validation rows.

Legend: n rows, L positions, S letters in the alphabet, k order; codes (n, L), the letters as numbers 0 .. S - 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from kernelweave.interpret import auprc

Array = np.ndarray
ORDERS = (0, 1, 2, 3, 4, 5, 6)
PSEUDO_COUNTS = (0.01, 0.1, 1.0, 10.0)


class MarkovChain:
    """Log-odds of two position-specific Markov chains.

    Parameters
    ----------
    order : how many letters before it the probability of a letter depends on
    pseudo_count : added to the count of each letter after each context
    letters : size of the alphabet

    Attributes
    ----------
    log_odds_ : a table for each position, (S^(min(j, k) + 1),)

    Examples
    --------
    >>> codes = np.array([[0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0]])
    >>> chain = MarkovChain(order=1, pseudo_count=1.0, letters=2).fit(codes, np.array([1, 1, -1, -1]))
    >>> np.round(np.exp(chain.decision_function(codes)), 2)
    array([4.5 , 4.5 , 0.22, 0.22])
    """

    def __init__(self, order: int, pseudo_count: float = 1.0, letters: int = 4):
        self.order = order
        self.pseudo_count = pseudo_count
        self.letters = letters

    def fit(self, codes: Array, y: Array) -> Self:
        """Count the letters after each context at each position, in both classes.

        Parameters
        ----------
        codes : (n, L) letters as numbers
        y : (n,) 1 and -1
        """
        if codes.max() >= self.letters:
            raise ValueError(f"codes has a letter outside the {self.letters} of the alphabet; leave such rows out.")
        true = y == 1
        tables = zip(self._words(codes[true]), self._words(codes[~true]))
        self.log_odds_ = [self._log_chances(j, a) - self._log_chances(j, b) for j, (a, b) in enumerate(tables)]
        return self

    def decision_function(self, codes: Array) -> Array:
        """Return the log-odds of each row, (n,)."""
        scores = np.zeros(len(codes))
        for table, words in zip(self.log_odds_, self._words(codes)):
            scores += table[words]
        return scores

    def _words(self, codes: Array) -> Iterator[Array]:
        """Yield, position by position, the number that context and letter spell, (n,)."""
        words = np.zeros(len(codes), np.int64)
        for column in codes.T:
            words = (words * self.letters + column) % self.letters ** (self.order + 1)
            yield words

    def _log_chances(self, j: int, words: Array) -> Array:
        """Return the logarithm of the chance of each letter after each context at position j, flat."""
        size = self.letters ** (min(j, self.order) + 1)
        counts = np.bincount(words, minlength=size).reshape(-1, self.letters) + self.pseudo_count
        return np.log(counts / counts.sum(axis=1, keepdims=True)).reshape(-1)


def choose_chain(
    codes: Array,
    y: Array,
    new_codes: Array,
    new_y: Array,
    orders: Sequence[int] = ORDERS,
    pseudo_counts: Sequence[float] = PSEUDO_COUNTS,
) -> tuple[MarkovChain, float]:
    """Return the chain whose area under the precision-recall curve is best on new rows, and that area.

    Parameters
    ----------
    codes, y : rows for counting
    new_codes, new_y : rows for choosing
    orders, pseudo_counts : what to try

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(2000, random_state=0)
    >>> chain, area = choose_chain(X.matrix[:1500], y[:1500], X.matrix[1500:], y[1500:])
    >>> chain.order, area > 0.8
    (0, True)
    """
    found = []
    for order in orders:
        for pseudo_count in pseudo_counts:
            chain = MarkovChain(order, pseudo_count).fit(codes, y)
            found.append((auprc(new_y, chain.decision_function(new_codes)), chain))
    area, best = max(found, key=lambda pair: pair[0])
    return best, area
