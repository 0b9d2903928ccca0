"""Kernels that look at l-mers one by one, carried over from strings to lattices.

Where a feature of a string adds up over its l-mers, phi(x) = sum_v count_v(x) f(v), that of a lattice is
phi(X) = sum_v E[count_v(X)] f(v): each l-mer v is a string of its own, and what it adds is weighted by how often it is
expected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelweave.data.kinds import kind_of
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels.strings.counting import cuts_at, gather
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.lattices.counts import expected_counts
from kernelweave.kernels.strings.numbering import Numbering
from kernelweave.kernels.strings.sorting import merge_rows

LMERS_AT_A_TIME = 2**12
"""Lattices with so many l-mers together are counted before their features are put to the others."""


def on_strings(X: Any, length: int, count: Callable[[Sequences], Counts]) -> Counts:
    """Return what `count` makes of sequences, or its expectation on lattices.

    Parameters
    ----------
    X : Sequences or Lattices
    length : of the l-mers; `count` must add up over those
    count : from sequences to their features
    """
    if not kind_of(X).uncertain:
        return count(X)
    numbering = Numbering.of(X.alphabet.size, length, cumulative=False)
    lmers = expected_counts(X, numbering, np.append(np.zeros(length - 1), 1.0))
    letters = numbering.spelled(lmers.codes).astype(X.alphabet.dtype)
    strings = Sequences(letters.ravel(), length * np.arange(len(letters) + 1), X.alphabet)

    def some(first: int, last: int) -> Any:
        ends = lmers.starts[first : last + 1]
        found = count(strings[ends[0] : ends[-1]])
        values = found.values * np.repeat(lmers.values[ends[0] : ends[-1]], np.diff(found.starts))
        return merge_rows(found.codes.astype(np.int64), values, found.starts[ends - ends[0]])

    like = count(strings[:0]).codes
    cuts = cuts_at(lmers.starts, LMERS_AT_A_TIME)
    return Counts(*gather(cuts, like.shape[1], like.dtype.type, some), X.alphabet)
