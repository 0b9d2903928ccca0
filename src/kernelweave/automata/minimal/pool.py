"""Lists of weighted items on arrays that grow, with free lists for what is given back.

An entry is a list of items (label, target, weight).  Items of an entry stand together, in a block whose size is a
power of two; entries and blocks that are given back are used again.  Jitted code cannot grow arrays: it asks for
`reserve` before it takes any, and where something is full it returns to Python, which calls `grown` and goes on.
Entries of one hash are chained, from `heads`; `register` finds equal lists that way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave.automata.base import EPSILON

Array = np.ndarray

NOTHING = -1

START, COUNT, ROOM, REFERENCES, NEXT = range(5)
ENTRY_TOP, FREE_ENTRY, ITEM_TOP, LIVE, ITEMS, ENDS, WANTED, LONGEST = range(8)
FREE_BLOCKS = 8
CLASSES = 32
FINE, FULL_ENTRIES, FULL_ITEMS, FULL_HEADS, OUT_OF_RANGE = range(5)
FIRST_ENTRIES = 64


class Pool(NamedTuple):
    """Entries and their items.

    Attributes
    ----------
    entries : (capacity, 5) int32, for each entry: START, COUNT of its items, ROOM (2^ROOM items fit), REFERENCES (0 for
        a free entry) and NEXT (of the same head, or of the list of free entries)
    keys : (capacity,) uint64 hashes
    items : (capacity, 2) int32 label and target
    weights : (capacity,) float64
    heads : (power of two,) int32, first entry for each hash, NOTHING for none
    tops : (FREE_BLOCKS + CLASSES,) int64 counters, and the first free block of each size
    """

    entries: Array
    keys: Array
    items: Array
    weights: Array
    heads: Array
    tops: Array

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self)


def new_pool(entries: int = FIRST_ENTRIES, items: int = FIRST_ENTRIES) -> Pool:
    """Return an empty pool with some room."""
    tops = np.zeros(FREE_BLOCKS + CLASSES, np.int64)
    tops[FREE_ENTRY] = tops[FREE_BLOCKS:] = NOTHING
    heads = np.full(1 << max(6, int(entries).bit_length()), NOTHING, np.int32)
    rows, size = max(entries, 1), max(items, 1)
    keys, pairs, weights = np.zeros(rows, np.uint64), np.empty((size, 2), np.int32), np.empty(size)
    return Pool(np.zeros((rows, 5), np.int32), keys, pairs, weights, heads, tops)


def grown(pool: Pool, status: int) -> Pool:
    """Return a pool with twice the room of what was full."""
    if status == FULL_ENTRIES:
        return pool._replace(entries=_doubled(pool.entries), keys=_doubled(pool.keys))
    if status == FULL_ITEMS:
        more = int(pool.tops[WANTED])
        return pool._replace(items=_doubled(pool.items, more), weights=_doubled(pool.weights, more))
    larger = pool._replace(heads=np.full(2 * len(pool.heads), NOTHING, np.int32))
    refill(larger.entries, larger.keys, larger.heads, pool.tops[ENTRY_TOP])
    return larger


def roomy(pool: Pool, entries: int, items: int) -> Pool:
    """Return a pool in which so many more entries and items fit, blocks of items counted in full."""
    while pool.tops[ENTRY_TOP] + entries > len(pool.entries):
        pool = grown(pool, FULL_ENTRIES)
    while pool.tops[ITEM_TOP] + items > len(pool.weights):
        pool.tops[WANTED] = items
        pool = grown(pool, FULL_ITEMS)
    while pool.tops[LIVE] + entries > len(pool.heads):
        pool = grown(pool, FULL_HEADS)
    return pool


def _doubled(array: Array, more: int = 0) -> Array:
    larger = np.zeros((2 * len(array) + more, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


@jit
def refill(entries, keys, heads, top):  # type: ignore[no-untyped-def]
    """Hang all living entries that were registered (their key is not 0) under new heads."""
    mask = np.uint64(heads.shape[0] - 1)
    for entry in range(top):
        if entries[entry, REFERENCES] > 0 and keys[entry] != np.uint64(0):
            head = np.int64(keys[entry] & mask)
            entries[entry, NEXT] = heads[head]
            heads[head] = entry


@jit
def size_class(count):  # type: ignore[no-untyped-def]
    """Return the smallest power of two that is not below a count."""
    power = 0
    while (1 << power) < count:
        power += 1
    return power


@jit
def reserve(pool, count):  # type: ignore[no-untyped-def]
    """Return FINE if one more entry of that many items fits, or what is full."""
    tops = pool.tops
    if tops[FREE_ENTRY] == NOTHING and tops[ENTRY_TOP] == pool.entries.shape[0]:
        return FULL_ENTRIES
    power = size_class(count)
    tops[WANTED] = 1 << power
    if tops[FREE_BLOCKS + power] == NOTHING and tops[ITEM_TOP] + (1 << power) > pool.weights.shape[0]:
        return FULL_ITEMS
    return FULL_HEADS if tops[LIVE] >= pool.heads.shape[0] else FINE


@jit
def new_entry(pool):  # type: ignore[no-untyped-def]
    """Return an entry without items, referred to once; `reserve` has said that it fits."""
    tops, entry = pool.tops, pool.tops[FREE_ENTRY]
    if entry == NOTHING:
        entry = tops[ENTRY_TOP]
        tops[ENTRY_TOP] += 1
    else:
        tops[FREE_ENTRY] = pool.entries[entry, NEXT]
    pool.entries[entry, START] = pool.entries[entry, ROOM] = NOTHING
    pool.entries[entry, COUNT] = 0
    pool.entries[entry, REFERENCES] = 1
    pool.keys[entry] = np.uint64(0)
    tops[LIVE] += 1
    return entry


@jit
def free_entry(pool, entry):  # type: ignore[no-untyped-def]
    """Give back an entry that is not in the register, with its items."""
    drop_items(pool, entry)
    pool.entries[entry, REFERENCES] = 0
    pool.entries[entry, NEXT] = pool.tops[FREE_ENTRY]
    pool.tops[FREE_ENTRY] = entry
    pool.tops[LIVE] -= 1


@jit
def drop_items(pool, entry):  # type: ignore[no-untyped-def]
    """Give back the items of an entry."""
    start, count = np.int64(pool.entries[entry, START]), pool.entries[entry, COUNT]
    if count > 0:
        pool.tops[ITEMS] -= count
        pool.tops[ENDS] -= pool.items[start, 0] == EPSILON
    if start != NOTHING:
        free = FREE_BLOCKS + pool.entries[entry, ROOM]
        pool.items[start, 1] = pool.tops[free]
        pool.tops[free] = start
    pool.entries[entry, START] = pool.entries[entry, ROOM] = NOTHING
    pool.entries[entry, COUNT] = 0


@jit
def write_items(pool, entry, items, weights, start, stop):  # type: ignore[no-untyped-def]
    """Give an entry without items those of start..stop of the arrays."""
    tops, count = pool.tops, stop - start
    if count == 0:
        return
    power = size_class(count)
    at = tops[FREE_BLOCKS + power]
    if at == NOTHING:
        at = tops[ITEM_TOP]
        tops[ITEM_TOP] += 1 << power
    else:
        tops[FREE_BLOCKS + power] = pool.items[at, 1]
    pool.entries[entry, START], pool.entries[entry, COUNT], pool.entries[entry, ROOM] = at, count, power
    mine, my_weights = pool.items, pool.weights
    for k in range(count):
        mine[at + k, 0], mine[at + k, 1] = items[start + k, 0], items[start + k, 1]
        my_weights[at + k] = weights[start + k]
    tops[ITEMS] += count
    tops[ENDS] += items[start, 0] == EPSILON
    tops[LONGEST] = max(tops[LONGEST], count)
