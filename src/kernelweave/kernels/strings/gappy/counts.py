"""All n-grams with gaps of any size of a string, in one pass over its letters.

For every string z of fewer than n letters that has been begun, a table keeps

    p_z = sum over places of z so far of  decay^(letters skipped inside z and behind it)

The next letter c adds p_z to the feature z c, for all z at once, then makes z c one of the strings begun; all decay:

    phi_zc += p_z,        p_zc <- decay p_zc + p_z,        p_z <- decay p_z

The decay is kept as one common factor f, p_z = f q_z, so that only q_zc changes, by q_z / decay.  When f gets small, it
is multiplied out.  Features stand in a table (letter of the row, string begun), so that a letter adds one line to
another.  Strings begun are numbered as they come; `children` says which is z c.  Walking it letter by letter gives the
features in the order of their codes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels.base import Array
from kernelweave.kernels.strings.counting import cuts_at, gather, longer
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.numbering import Numbering
from kernelweave.kernels.strings.sorting import sort_row

LOW = 1e-100
"""The common factor is multiplied out before it falls below this."""
NOTHING = 1e-280
"""Weights below this are dropped when it is: smaller numbers would slow the processor down."""
CAPACITY = 64
"""Strings begun for which tables have room at first."""
MOST = 2**27
"""Larger tables than this for one row are refused: they would take gigabytes."""
LETTERS_AT_A_TIME = 2**14
"""Rows with so many letters together are counted before their features are put to the others."""


def count_gappy(X: Sequences, numbering: Numbering, scales: Array, decay: float) -> Counts:
    """Return the n-grams with gaps of each row.

    Parameters
    ----------
    numbering : of the n-grams
    scales : (n,) factor of the features of each length; 0 leaves a length out
    decay : factor for each letter that is skipped
    """
    words = numbering.words(len(scales))
    spelling = numbering.base, numbering.raised, numbering.per_word, words, numbering.firsts
    offsets = np.asarray(X.offsets)

    def count(first: int, last: int) -> Any:
        return _count(X.codes, offsets, X.alphabet.size, np.asarray(scales, float), decay, spelling, MOST, first, last)

    cuts = cuts_at(offsets, LETTERS_AT_A_TIME)
    return Counts(*gather(cuts, words, numbering.dtype, count), X.alphabet)


@jit
def _count(letters, offsets, size, scales, decay, spelling, most, first, last):  # type: ignore[no-untyped-def]
    words, order = spelling[3], scales.shape[0]
    local, capacity = np.empty(size, np.int64), np.int64(CAPACITY)
    codes, values, filled = np.empty((CAPACITY, words), np.int64), np.empty(CAPACITY), np.int64(0)
    bounds = np.zeros(last - first + 1, np.int64)
    for row in range(first, last):
        text = letters[offsets[row] : offsets[row + 1]]
        used = _letters_used(text, size, local)
        tables, begun = _read(text, local, used.shape[0], size, order, decay, most, capacity)
        if begun < 0:
            bounds[0] = row + 1
            return codes[:0], values[:0], bounds
        capacity = np.int64(CAPACITY)
        while capacity < begun:  # the next row will need about as much
            capacity *= 2
        for length in range(1, order + 1):
            if length == 1:
                level = np.zeros(1, np.int64)
                prefixes = np.zeros((1, words), np.int64)
            else:
                level, prefixes = _next_level(level, prefixes, tables, used, length - 1, spelling)
            if scales[length - 1] > 0.0:
                codes, values = longer(codes, values, filled, filled + level.shape[0] * used.shape[0])
                filled = _emit(tables[0], level, prefixes, used, length, scales, spelling, codes, values, filled)
        if words > 1:
            sort_row(codes, values, bounds[row - first], filled)
        bounds[row - first + 1] = filled
    return codes[:filled], values[:filled], bounds


@jit
def _letters_used(text, size, local):  # type: ignore[no-untyped-def]
    # The distinct letters of a row, rising; local[letter] becomes their place.
    distinct = np.int64(0)
    for i in range(text.shape[0]):
        if text[i] < size:
            local[text[i]] = -1
    used = np.empty(min(text.shape[0], size), np.int64)
    for i in range(text.shape[0]):
        if text[i] < size and local[text[i]] < 0:
            local[text[i]] = distinct
            used[distinct] = text[i]
            distinct += 1
    used = np.sort(used[:distinct])
    for i in range(distinct):
        local[used[i]] = i
    return used


@jit
def _read(text, local, size_here, size, order, decay, most, capacity):  # type: ignore[no-untyped-def]
    # String 0 is the empty one.  Inner strings are short enough to become others that are begun.
    tables = _empty(size_here, capacity)
    begun, inner, factor = np.int64(1), np.int64(1 if order > 1 else 0), 1.0
    tables[3][0], tables[4][0], tables[5][0] = 0, 0, 0
    for i in range(text.shape[0]):
        if factor * decay < LOW:
            _multiply_out(tables[1], begun, factor)
            factor = 1.0
        if text[i] < size:
            if (begun + inner) * size_here > most:
                return tables, np.int64(-1)
            tables = _grown(tables, begun, inner, begun + inner)
            begun, inner = _step(tables, local[text[i]], begun, inner, order, factor, decay)
        factor *= decay
    return tables, begun


@jit
def _empty(size_here, capacity):  # type: ignore[no-untyped-def]
    # features (letter, string), weights q, children (letter, inner string), inner strings, their numbers, lengths.
    features, weights, children = (
        np.zeros((size_here, capacity)),
        np.zeros(capacity),
        np.empty((size_here, capacity), np.int32),
    )
    children[:, :1] = -1
    return (
        features,
        weights,
        children,
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
    )


@jit
def _grown(tables, begun, inner, needed):  # type: ignore[no-untyped-def]
    capacity = tables[1].shape[0]
    if needed <= capacity:
        return tables
    while capacity < needed:
        capacity *= 2
    larger = _empty(tables[0].shape[0], capacity)
    for letter in range(tables[0].shape[0]):
        for i in range(begun):
            larger[0][letter, i] = tables[0][letter, i]
        for i in range(inner):
            larger[2][letter, i] = tables[2][letter, i]
    for i in range(begun):
        larger[1][i], larger[4][i], larger[5][i] = tables[1][i], tables[4][i], tables[5][i]
    for i in range(inner):
        larger[3][i] = tables[3][i]
    return larger


@jit
def _step(tables, letter, begun, inner, order, factor, decay):  # type: ignore[no-untyped-def]
    features, weights, children, strings, numbers, lengths = tables
    line = features[letter]
    line[0] += 1.0
    for i in range(1, begun):
        line[i] += factor * weights[i]
    shares = np.empty(inner)  # as they were before this letter
    for i in range(inner):
        shares[i] = weights[strings[i]] / decay if i > 0 else 1.0 / (factor * decay)
    for i in range(shares.shape[0]):
        child = np.int64(children[letter, i])
        if child < 0:
            child = begun
            begun += 1
            children[letter, i], weights[child] = child, 0.0
            lengths[child] = lengths[strings[i]] + 1
            if lengths[child] < order - 1:
                strings[inner], numbers[child] = child, inner
                for other in range(children.shape[0]):
                    children[other, inner] = -1
                inner += 1
        weights[child] += shares[i]
    return begun, inner


@jit
def _multiply_out(weights, begun, factor):  # type: ignore[no-untyped-def]
    for i in range(begun):
        weights[i] *= factor
        if weights[i] < NOTHING:
            weights[i] = 0.0


@jit
def _next_level(level, prefixes, tables, used, length, spelling):  # type: ignore[no-untyped-def]
    # Strings begun with one more letter, in the order of their codes, and those codes.
    children, numbers = tables[2], tables[4]
    base, raised, per_word, words, _ = spelling
    longer = np.empty(level.shape[0] * used.shape[0], np.int64)
    codes = np.empty((longer.shape[0], words), np.int64)
    n, at = 0, (length - 1) // per_word
    for i in range(level.shape[0]):
        for letter in range(used.shape[0]):
            child = children[letter, numbers[level[i]]]
            if child >= 0:
                longer[n] = child
                for word in range(words):
                    codes[n, word] = prefixes[i, word]
                codes[n, at] = codes[n, at] * base + used[letter] + raised
                n += 1
    return longer[:n].copy(), codes[:n].copy()


@jit
def _emit(features, level, prefixes, used, length, scales, spelling, codes, values, filled):  # type: ignore[no-untyped-def]
    base, raised, per_word, words, firsts = spelling
    at, scale = (length - 1) // per_word, scales[length - 1]
    for i in range(level.shape[0]):
        for letter in range(used.shape[0]):
            value = features[letter, level[i]]
            if value > 0.0:
                for word in range(words):
                    codes[filled, word] = prefixes[i, word]
                codes[filled, at] = codes[filled, at] * base + used[letter] + raised
                codes[filled, 0] += firsts[length - 1]
                values[filled] = value * scale
                filled += 1
    return filled
