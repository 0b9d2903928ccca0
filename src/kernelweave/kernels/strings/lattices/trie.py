"""A dictionary of prefixes that grows while a lattice is read.

Nodes are strings; 0 is the empty one.  A node is found by its parent and its last letter in a hash table with open
addresses; keys are compared in full, so that no two strings are taken for one.  An address holds the node alone: with
the key beside it, as in `hashing`, a trie that is filled and emptied for every row takes 4 % longer.

A trie is the tuple

    heads    (2 room,) int32      node at each address, -1 for none
    keys     (room,) int64        parent and letter of each node
    slots    (room,) int64        address of each node
    lengths  (room,) int32        its number of letters
    values   (room,) float64      what it has been worth so far
    codes    (room, words) int64  its number (see `numbering`)
    place    (room * width,)      free for the caller, -1 in a new node
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.hashing import folded, home


@jit
def new_trie(room, words, width):  # type: ignore[no-untyped-def]
    """Return a trie that holds the empty string; `room` is a power of two."""
    heads, keys, slots = np.empty(2 * room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64)
    lengths, values, codes = np.zeros(room, np.int32), np.zeros(room), np.zeros((room, words), np.int64)
    heads[:] = -1
    return heads, keys, slots, lengths, values, codes, np.empty(room * width, np.int64)


@jit
def _address(heads, keys, key):  # type: ignore[no-untyped-def]
    # Where a key is, or where it belongs.
    last = heads.shape[0] - 1
    at = home(folded(key), heads.shape[0])
    while heads[at] >= 0 and keys[heads[at]] != key:
        at = (at + 1) & last
    return at


@jit
def child_of(trie, nodes, parent, letter, spelling):  # type: ignore[no-untyped-def]
    """Return the node of a string with one more letter, and how many nodes there now are; there must be room."""
    heads, keys, slots, lengths, values, codes, place = trie
    key = (np.int64(parent) << 32) | np.int64(letter)
    at = _address(heads, keys, key)
    if heads[at] >= 0:
        return np.int64(heads[at]), nodes
    heads[at], keys[nodes], slots[nodes] = nodes, key, at
    lengths[nodes], values[nodes] = lengths[parent] + 1, 0.0
    base, raised, per_word = spelling[0], spelling[1], spelling[2]
    word = lengths[parent] // per_word
    for i in range(codes.shape[1]):
        codes[nodes, i] = codes[parent, i]
    codes[nodes, word] = codes[nodes, word] * base + letter + raised
    width = place.shape[0] // keys.shape[0]
    for i in range(nodes * width, (nodes + 1) * width):
        place[i] = -1
    return np.int64(nodes), nodes + 1


@jit
def grown(trie, nodes, needed):  # type: ignore[no-untyped-def]
    """Return the trie itself where it has room for so many nodes, or a copy that has."""
    _, keys, _, lengths, values, codes, place = trie
    room = keys.shape[0]
    if needed <= room:
        return trie
    width = place.shape[0] // room
    while room < needed:
        room *= 2
    larger = new_trie(room, codes.shape[1], width)
    for node in range(nodes):
        larger[1][node], larger[3][node], larger[4][node] = keys[node], lengths[node], values[node]
        for word in range(codes.shape[1]):
            larger[5][node, word] = codes[node, word]
    for i in range(nodes * width):
        larger[6][i] = place[i]
    for node in range(1, nodes):
        at = _address(larger[0], larger[1], keys[node])
        larger[0][at], larger[2][node] = node, at
    return larger


@jit
def forget(trie, nodes):  # type: ignore[no-untyped-def]
    """Empty the trie, at a cost that follows its nodes."""
    heads, slots = trie[0], trie[2]
    for node in range(1, nodes):
        heads[slots[node]] = -1
