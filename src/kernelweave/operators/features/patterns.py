"""Kernels of l-mers by Hamming distance as features that only shared l-mers have.

    c[d] = sum_j a_j C(l - d, j):   two l-mers at distance d agree at C(l - d, j) choices of j places, so that
    K(x, y) = sum over choices P of places of  a_|P|  (pairs of l-mers of x and y that agree at P)

Where no a_j is negative, an l-mer has one feature for each choice P, its letters at P with the weight sqrt(a_|P|): 37
for `Mismatch(8, 1)`, where the kernel itself has 153 over 20 letters.  Of these, hardly any are shared by chance: a
table of bits tells which letters occur at P once only, and those features are never listed: they count for the
diagonal.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.csr import CSR
from kernelweave._numba.hashing import GOLDEN
from kernelweave.data.kinds import alphabet_of, kind_of
from kernelweave.kernels.abilities import MOST_PATTERNS, Hamming, pattern_shares
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.tree import Cosine, Leaf, On, Scaled
from kernelweave.operators.features.operator import SharedColumns

CODE_BITS = 63
"""Bits of the number that names the letters at some places, and these places."""
SLOTS = 16
"""Bits of the table for each l-mer: one in sixteen l-mers is listed without need."""
WORD, TOP = 6, np.uint64(63)
"""Bits of a word are numbered by six bits."""


class Patterns(NamedTuple):
    """The choices of places: which letters each keeps, how many, and the weight of a pair that agrees there."""

    masks: Array
    sizes: Array
    weights: Array
    bits: int
    length: int


def compares_lmers(kernel: Kernel) -> bool:
    """Tell whether a kernel is one sum over l-mers, perhaps scaled, normalised or on one view."""
    leaf, *others = kernel.leaves()
    plain = all(isinstance(node, Scaled | On | Cosine) for node in leaf.path)
    return not others and plain and isinstance(leaf.kernel, Hamming)


def patterns_of(kernel: Kernel, X: Any) -> tuple[Leaf, Patterns] | None:
    """Return the innermost kernel and its choices of places; None where it has none, or fewer features than those."""
    if not compares_lmers(kernel):
        return None
    leaf = next(kernel.leaves())
    assert isinstance(leaf.kernel, Hamming)
    seen = leaf.select(X)
    alphabet, length = alphabet_of(seen), leaf.kernel.window()[0]
    if alphabet is None or kind_of(seen).uncertain or leaf.kernel.reverse_complement or not seen.shape[0]:
        return None
    table, bits = leaf.kernel.coefficients(alphabet.size), max(1, (alphabet.size - 1).bit_length())
    shares = pattern_shares(length, table)  # type: ignore[arg-type]
    count = sum(comb(length, j) for j in shares)
    fits = length * bits + count.bit_length() <= CODE_BITS and count <= min(MOST_PATTERNS, float(table[0]))
    by_place = any(leaf.kernel.place_weights(int(size)) is not None for size in seen.lengths[:1])
    if not fits or by_place or min(shares.values()) < 0:
        return None
    field = (1 << bits) - 1
    chosen = [(places, share) for j, share in shares.items() for places in combinations(range(length), j)]
    masks = np.array([sum(field << bits * place for place in places) for places, _ in chosen], np.uint64)
    sizes, weights = np.array([len(places) for places, _ in chosen]), np.array([share for _, share in chosen])
    return leaf, Patterns(masks, sizes, weights, bits, length)


def pattern_columns(kernel: Kernel, X: Any) -> SharedColumns | None:
    """Return a kernel on rows by the patterns that several l-mers share, or None where it has no patterns."""
    found = patterns_of(kernel, X)
    if found is None:
        return None
    leaf, patterns = found
    rows, alone = listed(leaf.select(X), patterns)
    made = SharedColumns.of(rows)
    own, diagonal = made.own + alone, made.diagonal + alone
    factor, scale = leaf.factor, np.ones(len(own))
    cut = next((i for i, node in enumerate(leaf.path) if isinstance(node, Cosine)), None)
    if cut is not None:
        factor = float(np.prod([node.factor for node in leaf.path[:cut] if isinstance(node, Scaled)]))
        scale = np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0)
    scale *= np.sqrt(factor)
    square = scale * scale
    return SharedColumns(made.block.times(scale), square * own, square * diagonal, made.width)


def listed(X: Any, patterns: Patterns) -> tuple[CSR, Array]:
    """Return the features that may be shared, with their codes, and the weight of all others, (n,)."""
    offsets, n = np.ascontiguousarray(X.offsets, np.int64), X.shape[0]
    words, row = np.empty(len(X.codes), np.uint64), np.empty(len(X.codes), np.int32)
    m = _windows(X.codes, offsets, X.alphabet.mask, patterns.bits, patterns.length, words, row)
    words, row = words[:m], row[:m]
    slots = max(WORD + 1, (SLOTS * max(m, 1)).bit_length())
    seen, twice = np.empty(1 << (slots - WORD), np.uint64), np.empty(1 << (slots - WORD), np.uint64)
    alone, codes, places = np.zeros(n), [], []
    for number, (mask, weight) in enumerate(zip(patterns.masks, patterns.weights)):
        seen[:], twice[:] = 0, 0
        _mark(words, mask, np.uint64(64 - slots), seen, twice)
        which = np.empty(m, np.int32)
        which = which[: _chosen(words, mask, np.uint64(64 - slots), twice, row, weight, alone, which)]
        codes.append((words[which] & mask) | np.uint64(number << patterns.bits * patterns.length))
        places.append(row[which])
    every, rows = np.concatenate(codes), np.concatenate(places)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)
    ordered = np.empty_like(every)
    _by_row(every, rows, starts[:-1].copy(), ordered)
    values = np.empty(len(ordered))
    left = _merge(ordered, starts, patterns.bits * patterns.length, np.sqrt(patterns.weights), values)
    return CSR(ordered[:left].astype(np.int64)[:, None], values[:left], starts), alone


@jit
def _windows(letters, offsets, mask, bits, length, words, row):  # type: ignore[no-untyped-def]
    n, low = 0, (np.uint64(1) << np.uint64(bits * length)) - np.uint64(1)
    for i in range(len(offsets) - 1):
        run, code = 0, np.uint64(0)
        for at in range(offsets[i], offsets[i + 1]):
            run = 0 if letters[at] == mask else run + 1
            code = ((code << np.uint64(bits)) | np.uint64(letters[at])) & low
            if run >= length:
                words[n], row[n] = code, i
                n += 1
    return n


@jit
def _mark(words, mask, down, seen, twice):  # type: ignore[no-untyped-def]
    for i in range(len(words)):
        slot = ((words[i] & mask) * GOLDEN) >> down
        word, bit = slot >> np.uint64(WORD), np.uint64(1) << (slot & TOP)
        twice[word] |= seen[word] & bit
        seen[word] |= bit


@jit
def _chosen(words, mask, down, twice, row, weight, alone, which):  # type: ignore[no-untyped-def]
    n = 0
    for i in range(len(words)):
        slot = ((words[i] & mask) * GOLDEN) >> down
        if twice[slot >> np.uint64(WORD)] & (np.uint64(1) << (slot & TOP)):
            which[n] = i
            n += 1
        else:
            alone[row[i]] += weight
    return n


@jit
def _by_row(codes, rows, filled, out):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        out[filled[rows[i]]] = codes[i]
        filled[rows[i]] += 1


@jit
def _merge(codes, starts, shift, roots, values):  # type: ignore[no-untyped-def]
    # Equal codes of a row become one, whose value is their number times the root of their weight.
    n, start = 0, 0
    for i in range(len(starts) - 1):
        stop = starts[i + 1]
        some = np.sort(codes[start:stop])
        start, first = stop, n
        for code in some:
            if n > first and codes[n - 1] == code:
                values[n - 1] += roots[code >> np.uint64(shift)]
            else:
                codes[n], values[n] = code, roots[code >> np.uint64(shift)]
                n += 1
        starts[i + 1] = n
    return n
