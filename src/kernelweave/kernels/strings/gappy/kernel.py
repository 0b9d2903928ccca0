"""Gappy n-gram kernel: n-grams whose letters need not be neighbours; every letter that is skipped costs.

    phi_u(x) = sum over places i_1 < .. < i_n that spell u of  decay^(i_n - i_1 - n + 1),    K = sum_u phi_u(x) phi_u(y)

On lattices phi_u(X) = sum over strings x of  X(x) phi_u(x).  Strings with gaps of any size are counted by tables of
all n-grams begun so far (`gappy_counts`), n-grams with small gaps are listed (`gappy_windows`), and lattices, as the
rest, take the sweep of `lattice_counts`.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from kernelweave.data.kinds import kind_of
from kernelweave.data.lattices.rows import Lattices
from kernelweave.kernels.checks import check_strings
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.gappy.counts import count_gappy
from kernelweave.kernels.strings.gappy.windows import can_list, count_windows
from kernelweave.kernels.strings.grams import Grams
from kernelweave.kernels.strings.lattices.counts import expected_counts

LEAST_DECAY = 1e-200
"""Below this a single skipped letter leaves nothing that double precision can add up safely."""


class GappyNGram(Grams):
    """Shared n-grams with gaps of two sequences or lattices.

    A masked letter is part of no n-gram, but can be skipped as any other; epsilons of lattices are no letters.  With
    gaps of any size a row has up to (letters of the row)^n features.

    Parameters
    ----------
    n : letters of an n-gram
    decay : factor for each letter skipped, above 0 and at most 1; 1 counts all subsequences alike
    max_gap : most letters skipped between two neighbours of an n-gram; None for any number
    cumulative : count n-grams of all lengths from 1 to n

    Examples
    --------
    >>> from kernelweave.data.strings.sequences import Sequences
    >>> X = Sequences.from_strings(["GAT", "GACT"])
    >>> GappyNGram(2).gram(X)
    array([[2.25  , 1.625 ],
           [1.625 , 3.5625]])
    >>> table = GappyNGram(2).features(X)[[1]]
    >>> dict(zip(GappyNGram(2).names(table.indices), table.data.tolist()))
    {'AC': 1.0, 'AT': 0.5, 'CT': 1.0, 'GA': 1.0, 'GC': 0.5, 'GT': 0.25}
    """

    def __init__(self, n: int, decay: float = 0.5, max_gap: int | None = None, cumulative: bool = False):
        self.n = n
        self.decay = decay
        self.max_gap = max_gap
        self.cumulative = cumulative

    def check(self) -> None:
        """Raise unless the parameters make sense."""
        if not isinstance(self.decay, Real) or not LEAST_DECAY <= float(self.decay) <= 1.0:
            raise ValueError(
                f"decay={self.decay!r} of GappyNGram must be a number above 0 (at least {LEAST_DECAY}) and at most 1; "
                "n-grams without gaps are those of NGram."
            )
        if self.max_gap is None:
            return
        if not isinstance(self.max_gap, Integral) or isinstance(self.max_gap, bool) or self.max_gap < 0:
            raise ValueError(f"max_gap={self.max_gap!r} of GappyNGram must be a non-negative integer or None.")

    def counts_occurrences(self) -> bool:
        """Return True: every choice of places that spells an n-gram counts."""
        return True

    def prepare(self, X: Any) -> Counts:
        """Return the n-grams of each row with the values of their features."""
        self.check()
        check_strings(self, X)
        scales = np.append(np.full(self.longest - 1, float(bool(self.cumulative))), 1.0)
        numbering = self.numbering(X.alphabet)
        uncertain = kind_of(X).uncertain
        most = int((X.state_counts if uncertain else X.lengths).max(initial=0))
        gaps = -1 if self.max_gap is None or self.max_gap >= most else int(self.max_gap)
        if uncertain:
            return expected_counts(X, numbering, scales, gaps, float(self.decay))
        if gaps < 0:
            return count_gappy(X, numbering, scales, float(self.decay))
        if can_list(numbering, gaps):
            return count_windows(X, numbering, scales, gaps, float(self.decay))
        return expected_counts(Lattices.from_sequences(X), numbering, scales, gaps, float(self.decay))
