"""All n-grams with bounded gaps of a string, listed and then added up.

With at most g letters skipped between neighbours, (g + 1)^(j - 1) strings of j letters end at a place; those of j + 1
letters are those that end up to g + 1 places before it with its letter added:

    E_1(t) = {(x_t, 1)},        E_{j+1}(t) = {(z x_t, p decay^d) : (z, p) in E_j(t - 1 - d), d = 0..g}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels.base import Array
from kernelweave.kernels.strings.counting import cuts_at, gather
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.numbering import Numbering
from kernelweave.kernels.strings.sorting import merge_rows

MOST_AT_A_PLACE = 4096
"""More n-grams than this at one place are not listed: merging them on the way is cheaper then."""
ENTRIES_AT_A_TIME = 2**18
"""Rows with so many n-grams together are sorted before their features are put to the others."""


def can_list(numbering: Numbering, gaps: int) -> bool:
    """Return whether the n-grams at a place are few, and have numbers of one word."""
    return numbering.columns is not None and (gaps + 1) ** (numbering.longest - 1) <= MOST_AT_A_PLACE


def count_windows(X: Sequences, numbering: Numbering, scales: Array, gaps: int, decay: float) -> Counts:
    """Return the n-grams with bounded gaps of each row.

    Parameters
    ----------
    numbering : of the n-grams
    scales : (n,) factor of the features of each length; 0 leaves a length out
    gaps : most letters skipped between two neighbours
    decay : factor for each letter that is skipped
    """
    offsets = np.asarray(X.offsets)
    at_a_place = sum((gaps + 1) ** (length - 1) for length in range(1, len(scales) + 1) if scales[length - 1] > 0)
    powers = decay ** np.arange(gaps + 1)
    rules = X.alphabet.size, numbering.firsts, np.asarray(scales, float), powers, at_a_place

    def count(first: int, last: int) -> Any:
        return merge_rows(*_list(X.codes, offsets, *rules, first, last))

    cuts = cuts_at(offsets * at_a_place, ENTRIES_AT_A_TIME)
    return Counts(*gather(cuts, 1, numbering.dtype, count), X.alphabet)


@jit
def _list(letters, offsets, size, firsts, scales, powers, at_a_place, first, last):  # type: ignore[no-untyped-def]
    order, capacity = scales.shape[0], (offsets[last] - offsets[first]) * at_a_place
    codes, values, filled = np.empty((capacity, 1), np.int64), np.empty(capacity), 0
    bounds = np.zeros(last - first + 1, np.int64)
    for row in range(first, last):
        text = letters[offsets[row] : offsets[row + 1]]
        ends, strings, weights = _single(text, size)
        for length in range(1, order + 1):
            if length > 1:
                ends, strings, weights = _longer(text, size, ends, strings, weights, powers)
            if scales[length - 1] > 0.0:
                for i in range(strings.shape[0]):
                    codes[filled, 0] = strings[i] + firsts[length - 1]
                    values[filled] = weights[i] * scales[length - 1]
                    filled += 1
        bounds[row - first + 1] = filled
    return codes[:filled], values[:filled], bounds


@jit
def _single(text, size):  # type: ignore[no-untyped-def]
    # The letters of a row: where the strings that end at each place stop, the strings, their weights.
    n, ends = 0, np.zeros(text.shape[0] + 1, np.int64)
    strings, weights = np.empty(text.shape[0], np.int64), np.ones(text.shape[0])
    for i in range(text.shape[0]):
        if text[i] < size:
            strings[n] = text[i]
            n += 1
        ends[i + 1] = n
    return ends, strings[:n], weights[:n]


@jit
def _longer(text, size, ends, strings, weights, powers):  # type: ignore[no-untyped-def]
    # The same of strings with one more letter.
    n, capacity, gaps = 0, strings.shape[0] * powers.shape[0], powers.shape[0] - 1
    longer, shares = np.empty(capacity, np.int64), np.empty(capacity)
    stops = np.zeros_like(ends)
    for i in range(text.shape[0]):
        if text[i] < size:
            for place in range(max(i - 1 - gaps, 0), i):
                power = powers[i - 1 - place]
                for j in range(ends[place], ends[place + 1]):
                    longer[n], shares[n] = strings[j] * size + text[i], weights[j] * power
                    n += 1
        stops[i + 1] = n
    return stops, longer[:n], shares[:n]
