"""Strings that need not stand in one piece, and strings on lattices: what each letter or arc takes part in.

A masked letter is part of no string.  So the features of a row less those of the row with one letter masked are what
the occurrences add that use this letter, and an occurrence of a string u uses |u| letters:

    share of place p = sum_u w_u / |u| (phi_u(x) - phi_u(x with p masked))

adds up to the sum of w_u phi_u(x).  On lattices the places are arcs, and counts expected ones.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from kernelweave.data.masked import masked_one_by_one, places
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array
from kernelweave.kernels.tree import Leaf
from kernelweave.operators.features.vocabulary import Vocabulary

PLACES_TOGETHER = 1 << 16
"""Letters or arcs of the copies whose features are made together."""


def by_masking(leaf: Leaf, known: Vocabulary, w: Array, X: Any) -> Array:
    """Return what strings give to the letters of sequences, or to the arcs of lattices, rows behind one another."""
    sizes = places(X)
    ends = np.cumsum(sizes)
    out = np.zeros(int(ends[-1]) if len(ends) else 0)
    copies = np.cumsum((sizes + 1) * np.maximum(sizes, 1))
    first = 0
    while first < len(sizes):
        done = copies[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(copies, done + PLACES_TOGETHER, side="right")))
        some = X[first:last]
        scores = _per_letter(leaf, known, w, masked_one_by_one(some))
        starts = np.cumsum(sizes[first:last] + 1) - sizes[first:last] - 1
        whole = np.repeat(scores[starts], sizes[first:last])
        masked = np.delete(scores, starts)
        begin = int(ends[first - 1]) if first else 0
        out[begin : begin + len(masked)] = whole - masked
        first = last
    return out


def _per_letter(leaf: Leaf, known: Vocabulary, w: Array, rows: Any) -> Array:
    """Return the sums of w_u phi_u / |u| of rows."""
    found = cast(Features, leaf.kernel).counts(rows)
    place = known.find(found.codes)
    kept = np.flatnonzero(place >= 0)
    length = (cast(Any, leaf.kernel).letters(found.codes[kept], rows.alphabet) >= 0).sum(axis=1)
    row = np.repeat(np.arange(len(rows)), np.diff(found.starts))[kept]
    return np.bincount(row, w[place[kept]] * found.values[kept] / np.maximum(length, 1), len(rows))
