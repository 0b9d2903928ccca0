"""Sums over all pairs of l-mers of two rows that look only at the number of letters in which the two differ.

    K(x, y) = sum_{v in x} sum_{w in y} c[d(v, w)],        d = Hamming distance,  c[d] = 0 for d > reach

Three exact ways, and the cheapest one is taken:

    bits       over small alphabets, 64 pairs at once (see `bitwise`)
    pairs      compare every l-mer of x with every l-mer of y: one XOR and one count of bits for each pair
    patterns   c[d] = sum_j a_j C(l - d, j), and C(l - d, j) counts the choices of j places at which v and w agree; so
               for each choice of places (at least l - reach of them) count the l-mers that agree there, as codes with
               the other letters blanked out.  For large blocks this is far less than all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.bits import WORD, popcount
from kernelweave._numba.hashing import GOLDEN
from kernelweave._numba.symmetric import mirror
from kernelweave.kernels.abilities import MOST_PATTERNS, Table, pattern_shares
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_alphabets
from kernelweave.kernels.strings.bitwise.counts import own_counts, pair_cost, pair_counts, suits
from kernelweave.kernels.strings.columns import partners
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.inexact.lmers import WORD_BITS, Lmers, StringLmers, field_bits, packed

PAIR_COST = 1.3
"""Nanoseconds to compare two l-mers."""
SORT_COST = 15.0
"""Nanoseconds to sort and look up one l-mer for one choice of places."""
MATCH_COST = 1.5
"""Nanoseconds to add one match."""
EVEN_LETTERS = 16
"""Letters of a large alphabet match by chance as often as those of an even one of this size."""


def pair_sums(A: Lmers, B: Lmers, length: int, table: Table) -> Array:
    """Return K for the l-mers of rows, (rows of A, rows of B).

    Parameters
    ----------
    A, B : l-mers
    length : l
    table : c[0] .. c[reach], whole numbers or fractions
    """
    check_alphabets(A.alphabet, B.alphabet)
    shares, same = pattern_shares(length, table), A is B
    fast = isinstance(A, StringLmers) and isinstance(B, StringLmers) and suits(A.alphabet.size, length)
    if not _patterns_are_cheaper(A, B, length, shares, pair_cost(A.alphabet.size, length) if fast else PAIR_COST):
        if isinstance(A, StringLmers) and isinstance(B, StringLmers) and fast:
            return pair_counts(A.rows, B.rows, length, table, (A.weights, B.weights), same)
        shares = {}
    A, B = packed(A), packed(B)
    if shares:
        return _by_patterns(A, B, length, shares)
    out = np.empty((len(A), len(B)))
    _all_pairs(*_flat(A), *_flat(B), A.codes.shape[1], *_fields(A), np.array(table, float), A is B, out)
    return out


def within_rows(kernel: Kernel, rows: Lmers, turned: Sequence[Lmers], table: Table) -> Array:
    """Return K of each row with itself, (n,), and with its other strand where `turned` holds that."""
    if isinstance(rows, StringLmers) and suits(rows.alphabet.size, rows.length):
        turn = partners(kernel, rows.alphabet, len(turned) > 0)
        return own_counts(rows.rows, rows.length, table, turn, rows.weights)
    return sum((_own_sums(rows, other, table) for other in turned), _own_sums(rows, rows, table))


def _own_sums(A: Lmers, B: Lmers, table: Table) -> Array:
    A, B = packed(A), packed(B)
    out = np.empty(len(A))
    _same_rows(*_flat(A), *_flat(B), A.codes.shape[1], *_fields(A), np.array(table, float), out)
    return out


def _flat(counts: Counts) -> tuple[Array, Array, Array]:
    return counts.codes.astype(np.uint64).ravel(), counts.values, counts.starts


def _fields(counts: Counts) -> tuple[int, np.uint64]:
    """Return how many bits a field has, and the word whose lowest bit in each field is set."""
    bits = field_bits(counts.alphabet.size)
    return bits, np.uint64(sum(1 << at for at in range(0, WORD_BITS, bits)))


def _patterns_are_cheaper(A: Lmers, B: Lmers, length: int, shares: dict[int, float], pair: float) -> bool:
    if (
        not shares
        or length * field_bits(A.alphabet.size) > WORD_BITS
        or sum(comb(length, j) for j in shares) > MOST_PATTERNS
    ):
        return False
    entries, pairs = float(A.entries + B.entries), float(A.entries) * B.entries
    even = min(A.alphabet.size, EVEN_LETTERS)
    cost = sum(comb(length, j) * (SORT_COST * entries + MATCH_COST * pairs / even**j) for j in shares)
    return cost < pair * pairs


def _by_patterns(A: Counts, B: Counts, length: int, shares: dict[int, float]) -> Array:
    bits = field_bits(A.alphabet.size)
    field = (1 << bits) - 1
    left, right = (counts.codes[:, 0].astype(np.uint64) for counts in (A, B))
    rows = np.repeat(np.arange(len(B), dtype=np.int32), np.diff(B.starts))
    slot_bits = max(len(right), 1).bit_length()
    down = np.uint64(WORD - slot_bits)
    starts = np.empty((1 << slot_bits) + 1, np.int64)
    lists = np.empty_like(right), np.empty_like(rows), np.empty_like(B.values)
    out = np.zeros((len(A), len(B)))
    for j, share in shares.items():
        for places in combinations(range(length), j):
            kept = np.uint64(sum(field << bits * place for place in places))
            _lay_out(right & kept, rows, B.values, down, starts, *lists)
            _add_matches(left & kept, share * A.values, A.starts, down, starts, *lists, A is B, out)
    if A is B:
        mirror(out)
    return out


@jit
def _lay_out(codes, rows, values, down, starts, listed, listed_rows, listed_values):  # type: ignore[no-untyped-def]
    # Rows that share a slot of a hash table stand behind one another, rising.
    starts[:] = 0
    for i in range(codes.shape[0]):
        starts[(codes[i] * GOLDEN) >> down] += 1
    for slot in range(1, starts.shape[0]):
        starts[slot] += starts[slot - 1]
    for i in range(codes.shape[0] - 1, -1, -1):
        slot = (codes[i] * GOLDEN) >> down
        starts[slot] -= 1
        place = starts[slot]
        listed[place], listed_rows[place], listed_values[place] = codes[i], rows[i], values[i]


@jit
def _add_matches(codes, values, bounds, down, starts, listed, rows, others, same, out):  # type: ignore[no-untyped-def]
    # Codes are compared in full: two that fall into one slot by chance count nothing.
    for a in range(out.shape[0]):
        for i in range(bounds[a], bounds[a + 1]):
            slot = (codes[i] * GOLDEN) >> down
            for place in range(starts[slot], starts[slot + np.uint64(1)]):
                if same and rows[place] > a:
                    break
                if listed[place] == codes[i]:
                    out[a, rows[place]] += values[i] * others[place]


@jit
def _distance(codes, i, others, j, words, bits, low):  # type: ignore[no-untyped-def]
    distance = 0
    for word in range(words):
        differ = codes[i * words + word] ^ others[j * words + word]
        step = 1
        while step < bits:
            differ |= differ >> np.uint64(step)
            step *= 2
        distance += popcount(differ & low)
    return distance


@jit
def _row_pair(  # type: ignore[no-untyped-def]
    codes, values, start, stop, others, other_values, first, last, words, bits, low, table
):
    reach = table.shape[0] - 1
    total = 0.0
    for i in range(start, stop):
        part = 0.0
        if words == 1 and bits == 2:
            for j in range(first, last):
                differ = codes[i] ^ others[j]
                distance = popcount((differ | (differ >> np.uint64(1))) & low)
                if distance <= reach:
                    part += table[distance] * other_values[j]
        else:
            for j in range(first, last):
                distance = _distance(codes, i, others, j, words, bits, low)
                if distance <= reach:
                    part += table[distance] * other_values[j]
        total += part * values[i]
    return total


@jit
def _all_pairs(  # type: ignore[no-untyped-def]
    codes, values, bounds, others, other_values, other_bounds, words, bits, low, table, same, out
):
    for a in range(out.shape[0]):
        for b in range(a + 1 if same else out.shape[1]):
            out[a, b] = _row_pair(
                codes, values, bounds[a], bounds[a + 1],
                others, other_values, other_bounds[b], other_bounds[b + 1], words, bits, low, table,
            )  # fmt: skip
            if same:
                out[b, a] = out[a, b]


@jit
def _same_rows(  # type: ignore[no-untyped-def]
    codes, values, bounds, others, other_values, other_bounds, words, bits, low, table, out
):
    for a in range(out.shape[0]):
        out[a] = _row_pair(
            codes, values, bounds[a], bounds[a + 1],
            others, other_values, other_bounds[a], other_bounds[a + 1], words, bits, low, table,
        )  # fmt: skip
