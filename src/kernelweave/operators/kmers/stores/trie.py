"""Tries: one for each position, weights on all nodes, chains of only children written out as runs.

Every node of a trie is a *slot* with its weight.  A slot either has a block of children, or its only child is the
next slot: what hangs below the last branching of a path is a run of slots, one after the other.  On random letters
q rows branch in the first log_size(q) levels only, so nearly all nodes cost 8 bytes of weight, 4 of link and one
letter, and a walk ends or turns into a comparison of letters after a few steps.

    links[s] > 0    the children of slot s are in block links[s]
    links[s] = 0    the child of slot s is slot s + 1 with the letter letters[s + 1]

The first slot of a run carries the mask as its letter, which matches nothing: so the run before it ends there.
Blocks 1..length are the roots.  Alphabets too large for one block of all letters spell each letter in base 16, with
one level of blocks a digit.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.blocks import LOOKUP_ROWS
from kernelweave.operators.kmers.stores.base import (
    WHILE_GROWING,
    Array,
    PositionalStore,
    grown,
    most_kmers,
)

WIDEST_BLOCK = 32
"""Up to this many letters a block has one child for each."""

DIGIT_BITS = 4
"""Letters of larger alphabets are spelled in digits of this many bits."""

_SLOTS, _BLOCKS = 0, 1  # where `used` counts slots and blocks; number 0 of both means "none"


class Trie(PositionalStore):
    """Sparse weights on tries; any degree and any alphabet.

    Parameters are those of `PositionalStore`.

    Examples
    --------
    >>> store = Trie(np.array([[1.0, 1.0], [1.0, 0.0]]), np.ones(1), size=4, mask=255)
    >>> store.add(np.array([[0, 1], [0, 2]], np.uint8), np.array([10.0, 1.0]))
    >>> store.look_up(np.array([0, 1], np.uint8))  # A at 0: 11, AC at 0: 10, C at 1: 10
    31.0
    >>> store.nodes
    5
    """

    def _reserve(self) -> None:
        self._digits, self._width = _blocks(self.size)
        self._used = np.zeros(2, np.int64)
        self._weights = np.empty(2)
        self._links = np.empty(2, np.int32)
        self._letters = np.empty(2, np.min_scalar_type(self.mask))
        self._children = np.empty((len(self._reach) + 1, self._width), np.int32)

    @classmethod
    def most_bytes(cls, rows: int, cells: Array, shifts: int, size: int, reserved: bool = False) -> float:
        """Return the bytes of slots and blocks while they grow: a path branches once, digit by digit."""
        slots, blocks = _most(rows, cells, shifts, size)
        letter = np.dtype(np.min_scalar_type(size)).itemsize
        return (1.0 if reserved else WHILE_GROWING) * (slots * (8 + 4 + letter) + blocks * _blocks(size)[1] * 4)

    def reserve(self, rows: int) -> None:
        """Make room for so many rows."""
        slots, blocks = _most(rows, self._roots, len(self._shifts), self.size)
        self._grow(slots - int(self._used[_SLOTS]), blocks - int(self._used[_BLOCKS]))

    def clear(self) -> None:
        """Forget everything, keep the memory."""
        roots = len(self._reach) + 1
        self._used[:] = 1, roots
        self._children[:roots] = 0
        self._letters[1] = self.mask

    @property
    def nodes(self) -> int:
        """Number of nodes, the roots not counted: the k-mers that were added, over all positions."""
        return int(self._used[_SLOTS]) - 1

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return sum(part.nbytes for part in (self._weights, self._links, self._letters, self._children))

    def _add(self, codes: Array, steps: Array) -> None:
        done, paths = 0, len(codes) * len(self._reach) * (2 * len(self._shifts) - 1)
        while True:
            done = _insert(
                codes, steps, self._roots, self._shifts, self._reach, self.mask, self._digits, done,
                self._used, self._weights, self._links, self._letters, self._children,
            )  # fmt: skip
            if done == paths:
                return
            self._grow(self._depth + 1, 2 * self._digits)

    def _grow(self, slots: int, blocks: int) -> None:
        """Make room for some more slots and blocks, whichever is short of it."""
        if self._used[_SLOTS] + slots > len(self._weights):
            least = int(self._used[_SLOTS]) + slots
            self._weights, self._links, self._letters = (
                grown(part, least) for part in (self._weights, self._links, self._letters)
            )
        if self._used[_BLOCKS] + blocks > len(self._children):
            self._children = grown(self._children, int(self._used[_BLOCKS]) + blocks)

    def _batch(self, codes: Array, out: Array) -> None:
        _walk(
            codes, self._reach, self.mask, self._digits,
            self._weights, self._links, self._letters, self._children, LOOKUP_ROWS, out,
        )  # fmt: skip


def _blocks(size: int) -> tuple[int, int]:
    """Return the digits of a letter and the children of a block."""
    if size <= WIDEST_BLOCK:
        return 1, max(size, 1)
    return -(-(size - 1).bit_length() // DIGIT_BITS), 1 << DIGIT_BITS


def _most(rows: int, cells: Array, shifts: int, size: int) -> tuple[int, int]:
    """Return the most slots and blocks that so many rows take: a path branches once, digit by digit."""
    digits, length = _blocks(size)[0], len(cells)
    slots = int(most_kmers(rows, cells, shifts, size).sum())
    paths = min(slots, rows * (2 * shifts - 1) * length)
    return slots + cells.shape[1] + 2, length + 1 + (paths + 1) * (1 if digits == 1 else 2 * digits) + 1


@jit
def _insert(codes, steps, roots, shifts, reach, mask, digits, start, used, weights, links, letters, children):  # type: ignore[no-untyped-def]
    # A path is one row at one source i for one target j, the targets outermost: the trie in work stays in the cache.
    # Returns the number of paths done, fewer than all of them when the arrays are full.
    q, length = codes.shape
    span = 2 * shifts.shape[0] - 1
    for path in range(start, q * length * span):
        row = path % q
        j = path // q // span
        i = j + path // q % span - (shifts.shape[0] - 1)
        if i < 0 or i >= length or steps[row] == 0.0:
            continue
        depth = min(reach[i], reach[j])
        if used[_SLOTS] + depth >= weights.shape[0] or used[_BLOCKS] + 2 * digits > children.shape[0]:
            return path
        step = steps[row] * shifts[abs(i - j)]
        slot, block, k = 0, j + 1, 0
        while k < depth and codes[row, i + k] != mask:
            letter = codes[row, i + k]
            if block == 0 and letters[slot + 1] == letter:
                slot += 1
            else:
                if block == 0:
                    block = _branch(slot, mask, digits, used, links, letters, children)
                leaf = _last_block(block, letter, digits, used, children)
                digit = _digit(letter, 0, digits)
                if children[leaf, digit] == 0:
                    children[leaf, digit] = used[_SLOTS]
                    _append(codes[row, i : i + depth], k, step, roots[i], roots[j], mask, used, weights, links, letters)
                    break
                slot = children[leaf, digit]
            weights[slot] += step * roots[i, k] * roots[j, k]
            block = links[slot]
            k += 1
    return q * length * span


@jit
def _digit(letter, place, digits):  # type: ignore[no-untyped-def]
    if digits == 1:
        return np.int64(letter)
    return (np.int64(letter) >> (DIGIT_BITS * place)) & ((1 << DIGIT_BITS) - 1)


@jit
def _new_block(used, children):  # type: ignore[no-untyped-def]
    block = used[_BLOCKS]
    used[_BLOCKS] += 1
    children[block] = 0
    return block


@jit
def _branch(slot, mask, digits, used, links, letters, children):  # type: ignore[no-untyped-def]
    # Gives a slot inside or at the end of a run a block of children, the rest of the run being the first of them.
    block = _new_block(used, children)
    links[slot] = block
    letter = letters[slot + 1]
    if letter != mask:
        leaf = _last_block(block, letter, digits, used, children)
        children[leaf, _digit(letter, 0, digits)] = slot + 1
    return block


@jit
def _last_block(block, letter, digits, used, children):  # type: ignore[no-untyped-def]
    # Descends by all digits of the letter but the last, making the blocks that are missing.
    for place in range(digits - 1, 0, -1):
        digit = _digit(letter, place, digits)
        if children[block, digit] == 0:
            children[block, digit] = _new_block(used, children)
        block = np.int64(children[block, digit])
    return block


@jit
def _append(word, k, step, root, other, mask, used, weights, links, letters):  # type: ignore[no-untyped-def]
    # Writes the letters k, k + 1, .. of the word as a new run.
    slot = used[_SLOTS]
    first = k
    while k < word.shape[0] and word[k] != mask:
        letters[slot] = mask if k == first else word[k]
        weights[slot] = step * root[k] * other[k]
        links[slot] = 0
        slot += 1
        k += 1
    letters[slot] = mask
    used[_SLOTS] = slot


@jit
def _walk(codes, reach, mask, digits, weights, links, letters, children, rows, out):  # type: ignore[no-untyped-def]
    n, length = codes.shape
    for begin in range(0, n, rows):
        for j in range(length):
            for row in range(begin, min(begin + rows, n)):
                total, slot, block = 0.0, 0, j + 1
                for k in range(j, j + reach[j]):
                    letter = codes[row, k]
                    if letter == mask:
                        break
                    if block > 0:
                        for place in range(digits - 1, 0, -1):
                            block = np.int64(children[block, _digit(letter, place, digits)])
                        slot = np.int64(children[block, _digit(letter, 0, digits)])
                        if slot == 0:
                            break
                    else:
                        slot += 1
                        if letters[slot] != letter:
                            break
                    total += weights[slot]
                    block = np.int64(links[slot])
                out[row] += total
