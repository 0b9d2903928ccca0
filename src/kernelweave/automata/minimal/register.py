"""A register of normalised lists of weighted items: what finds out that two states are the same.

An entry is a list of items (label, target, weight) in the order of their labels.  A state of a deterministic automaton
is such a list: an item for each arc, and before them the item (EPSILON, NOTHING, w) where a string may end with
weight w.  A weighted subset is one, too.  Two lists whose weights are proportional mean the same up to a factor, so
lists are *normalised*: divided by their first weight, or, where all numbers are whole (`exact`), by their greatest
common divisor with the sign of the first.  Normalised lists are equal, or they are not proportional.

Doubles are rounded, so lists are taken as equal where labels and targets are and each weight agrees to a relative
`tolerance` tau.  To find such lists without comparing all, each list gets the number

    s = sum over items of c(label, target) |weight|,        c a fixed hash into [1, 2),

which for equal lists agrees to tau (plus the rounding of the sum).  The doubles are cut into buckets of 2^`shift`
neighbours, and the key is a hash of labels, targets and the bucket of s; where s is within `margin` of the edge of its
bucket, the bucket next to it is searched as well.  A search costs the length of the list.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.hashing import GOLDEN
from kernelweave.automata.minimal.pool import COUNT, NEXT, NOTHING, START

Array = np.ndarray

TOLERANCE = 2.0**-44
"""Relative distance up to which normalised weights count as equal: 256 to 512 units in the last place."""
LARGEST_TOLERANCE = 2.0**-20
LARGEST_WHOLE = 2.0**53 - 1
"""Whole numbers up to this size are exact in double precision, and a sum that passes it is seen to do so."""
SPREAD = np.uint64(0xBF58476D1CE4E5B9)
"""An odd constant of splitmix64, which stirs bits by multiplication."""


class Rules(NamedTuple):
    """When two lists are the same; `rules_for` works out the buckets."""

    exact: bool
    tolerance: float
    shift: int
    margin: int


def rules_for(exact: bool, tolerance: float) -> Rules:
    """Return the rules of exact arithmetic on whole numbers, or of doubles to a tolerance."""
    if not 0 <= tolerance <= LARGEST_TOLERANCE:
        raise ValueError(f"tolerance={tolerance!r} must lie between 0 and 2^-20 = {LARGEST_TOLERANCE:.2g}.")
    tolerance = 0.0 if exact else float(tolerance)
    margin = int(2 * tolerance * 2.0**53) + 64
    return Rules(exact, tolerance, (64 * margin).bit_length(), margin)


def check_whole(*weights: Array) -> None:
    """Raise unless all weights are whole numbers that doubles hold exactly."""
    for array in weights:
        if not ((array == np.rint(array)) & (abs(array) <= LARGEST_WHOLE)).all():
            raise ValueError("With exact=True weights are whole numbers below 2^53; scale them, or use exact=False.")


@jit
def normalise(weights, start, stop, exact):  # type: ignore[no-untyped-def]
    """Normalise weights in place; return the factor by which they were divided, 0 if a ratio is not representable."""
    factor = weights[start]
    if exact:
        divisor = np.int64(0)
        for k in range(start, stop):
            other = np.int64(abs(weights[k]))
            while other != 0:
                divisor, other = other, divisor % other
        factor = math.copysign(np.float64(divisor), factor)
    if factor == 1.0:
        return factor
    for k in range(start, stop):
        weights[k] /= factor
        if weights[k] == 0.0 or not np.isfinite(weights[k]):
            return 0.0
    return factor


@jit
def find(pool, rules, items, weights, start, stop):  # type: ignore[no-untyped-def]
    """Return the entry that equals items start..stop of the arrays, or NOTHING, and the key under which to enter it."""
    structure, s = summary(items, weights, start, stop)
    bits = np.float64(s).view(np.int64)
    bucket = bits >> rules.shift
    low = bits - (bucket << rules.shift)
    key = key_of(structure, bucket)
    entry = find_key(pool, rules, key, items, weights, start, stop)
    if entry == NOTHING and low < rules.margin:
        entry = find_key(pool, rules, key_of(structure, bucket - 1), items, weights, start, stop)
    if entry == NOTHING and low >= (1 << rules.shift) - rules.margin:
        entry = find_key(pool, rules, key_of(structure, bucket + 1), items, weights, start, stop)
    return entry, key


@jit
def find_key(pool, rules, key, items, weights, start, stop):  # type: ignore[no-untyped-def]
    """Return the entry of this key that equals a list, or NOTHING."""
    entries, keys, mine, my_weights = pool.entries, pool.keys, pool.items, pool.weights
    entry = np.int64(pool.heads[np.int64(key & np.uint64(pool.heads.shape[0] - 1))])
    while entry != NOTHING:
        if keys[entry] == key and entries[entry, COUNT] == stop - start:
            shift = np.int64(entries[entry, START]) - start
            same = True
            for k in range(start, stop):
                a, b = my_weights[shift + k], weights[k]
                same &= (mine[shift + k, 0] == items[k, 0]) & (mine[shift + k, 1] == items[k, 1])
                same &= abs(a - b) <= rules.tolerance * max(abs(a), abs(b))
            if same:
                return entry
        entry = np.int64(entries[entry, NEXT])
    return NOTHING


@jit
def summary(items, weights, start, stop):  # type: ignore[no-untyped-def]
    """Return the hash of labels and targets, and the number s of the weights."""
    key, s = np.uint64(0), 0.0
    for k in range(start, stop):
        pair = (np.uint64(items[k, 0] + 1) << np.uint64(32)) | np.uint64(items[k, 1] + 1)
        stirred = (pair + GOLDEN) * SPREAD
        stirred ^= stirred >> np.uint64(29)
        key = (key ^ stirred) * GOLDEN
        s += (1.0 + np.float64(stirred >> np.uint64(12)) * 2.0**-52) * abs(weights[k])
    return key, s


@jit
def key_of(structure, bucket):  # type: ignore[no-untyped-def]
    """Return the hash of a list, never 0."""
    return mixed(structure ^ mixed(np.uint64(bucket))) | np.uint64(1)


@jit
def mixed(word):  # type: ignore[no-untyped-def]
    """Return a word with all its bits stirred (the finaliser of splitmix64)."""
    word ^= word >> np.uint64(30)
    word *= SPREAD
    word ^= word >> np.uint64(27)
    word *= np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@jit
def enter(pool, entry, key):  # type: ignore[no-untyped-def]
    """Hang an entry under its key."""
    head = np.int64(key & np.uint64(pool.heads.shape[0] - 1))
    pool.keys[entry] = key
    pool.entries[entry, NEXT] = pool.heads[head]
    pool.heads[head] = entry


@jit
def leave(pool, entry):  # type: ignore[no-untyped-def]
    """Take an entry from the register; its list stays."""
    head = np.int64(pool.keys[entry] & np.uint64(pool.heads.shape[0] - 1))
    at = np.int64(pool.heads[head])
    if at == entry:
        pool.heads[head] = pool.entries[entry, NEXT]
    else:
        while pool.entries[at, NEXT] != entry:
            at = np.int64(pool.entries[at, NEXT])
        pool.entries[at, NEXT] = pool.entries[entry, NEXT]
    pool.keys[entry] = np.uint64(0)
