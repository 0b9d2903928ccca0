"""The normal vector of positioned k-mers, held so that one training row reads and changes its path at machine speed.

At position l a row follows a path of k-mers of lengths 1, 2, ..., d.  The weights of the path are held in two parts:

    k <= D   an array over all k-mers, addressed by the letters themselves: nothing is stored for a row.  Consecutive
             levels are folded into the deeper of them: entry u of a folded group is the sum of the weights of u and
             of its prefixes in the group, so that reading takes one address and writing one cache line
    k >  D   nodes of the trie that at least two training rows share; nodes with the same rows are one node.  Each row
             keeps the list of its nodes.  A k-mer that no other row has never leaves its row: what it adds to the
             row's own output is alpha_i times a constant (`own`)

All of this is there twice, for the first half of the positions and for the second: two halves share no memory, so two
threads can read or write a row together, and what a row reads is the sum of two numbers whoever found them.

Letters: E (length, d) weights of the cells, alpha_i the dual variable of row i.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.lanes import LANES, add_four, fetch
from kernelweave.data.blocks import spans
from kernelweave.operators.kmers.levels import folded
from kernelweave.operators.kmers.nodes import HalfNodes, SharedNodes

Array = np.ndarray
Vector = tuple[tuple[Array, Array], ...]
"""A normal vector: of both halves the directly addressed weights, and (nodes, 2) the weights of the shared nodes, each
beside what a step of one changes it by."""

PATH_ROWS = 8192
"""Rows of one part of a look-up."""


class Half(NamedTuple):
    """What the jitted loops know of one half of the positions."""

    first: int
    """The first of its positions."""
    groups: Array
    levels: Array
    """(degree, positions) weights of the cells, one line a level."""
    starts: Array
    nodes: Array


class Letters(NamedTuple):
    """The letters of all rows, (n, length), bits of a letter, the masked one, and D."""

    symbols: Array
    bits: int
    mask: int
    depth: int


class Paths:
    """The paths of n rows with the weights of a kernel: what is needed to keep its normal vector.

    Parameters
    ----------
    shared : the nodes of the rows; kernels of other weights on the same rows use the same ones
    cells : (length, degree) weights
    """

    def __init__(self, shared: SharedNodes, cells: Array):
        self.shared, self.engine, self.n = shared, shared.engine, shared.n
        spelling, depth = shared.spelling, shared.depth
        self.letters = Letters(shared.symbols, spelling.bits, spelling.mask, depth)
        sums = np.concatenate([np.zeros((shared.length, 1)), np.cumsum(cells, axis=1)], axis=1)
        self.halves = tuple(_half(half, cells, depth, spelling.bits) for half in shared.halves)
        self.values = [sums[half.position, half.high] - sums[half.position, half.low] for half in shared.halves]
        # What a row's own step changes in its reading: the cells of the direct levels and of its shared nodes.
        self.held: Array = np.empty(self.n)
        own = partial(_own, self.letters, self.halves, self.values, sums)
        self.engine.map_into(self.held, own, spans(self.n, PATH_ROWS))

    def zeros(self, dtype: type) -> Vector:
        """Return an empty normal vector."""

        def empty(half: Half, values: Array) -> tuple[Array, Array]:
            nodes: Array = np.zeros((len(values), 2), dtype)
            nodes[:, 1] = values
            return np.zeros(int(half.groups[-1, 2]), dtype), nodes

        return tuple(map(empty, self.halves, self.values))

    def vector(self, alpha: Array, dtype: type) -> Vector:
        """Return the normal vector ``sum_i alpha_i Phi(x_i)``, but for what no two rows share."""
        made = self.zeros(dtype)
        self.engine.map_into(list(made), partial(_write_rows, self.letters, np.flatnonzero(alpha), alpha), self.halves)
        return made

    def outputs(self, vector: Vector) -> Array:
        """Return what every row reads of a normal vector, (n,)."""
        out, parts = np.zeros((len(self.halves), self.n)), spans(self.n, PATH_ROWS)
        jobs = [(half, made, part) for half, made in zip(self.halves, vector) for part in parts]
        self.engine.map_into([some[part] for some in out for part in parts], partial(_read_rows, self.letters), jobs)
        return out[0] + out[1]


def _half(half: HalfNodes, cells: Array, depth: int, bits: int) -> Half:
    mine = cells[half.cut]
    return Half(half.cut.start, folded(len(mine), depth, bits), np.ascontiguousarray(mine.T), half.starts, half.nodes)


def _own(letters: Letters, halves: tuple[Half, ...], values: list[Array], sums: Array, part: slice, out: Array) -> None:
    """Write what the own steps of some rows change in their readings."""
    out[:] = own_cells(letters.symbols[part], letters.mask, sums, letters.depth)
    for half, mine in zip(halves, values):
        _add_shared(half.starts, half.nodes, mine, part.start, out)


def _write_rows(letters: Letters, rows: Array, alpha: Array, half: Half, direct: Array, shared: Array) -> None:
    write_rows(letters, half, direct, shared, rows, alpha)


def _read_rows(letters: Letters, job: tuple[Half, tuple[Array, Array], slice], out: Array) -> None:
    half, vector, part = job
    read_rows(letters, half, *vector, part.start, out)


@jit
def own_cells(symbols, mask, sums, depth):  # type: ignore[no-untyped-def]
    """Return the sum of the cells of each row's own k-mers of up to `depth` letters, (n,)."""
    out = np.empty(symbols.shape[0])
    for i in range(symbols.shape[0]):
        total, run = 0.0, 0
        for position in range(symbols.shape[1] - 1, -1, -1):
            run = run + 1 if symbols[i, position] != mask else 0
            total += sums[position, min(run, depth)]
        out[i] = total
    return out


@jit
def _add_shared(starts, nodes, values, first, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        for t in range(starts[first + i], starts[first + i + 1]):
            out[i] += values[nodes[t]]


@jit
def _positions(half):  # type: ignore[no-untyped-def]
    return half.levels.shape[1]


@jit
def spell(letters, half, i, codes):  # type: ignore[no-untyped-def]
    """Write the first D letters at every position of a half of row i as numbers."""
    stop = min(half.first + len(codes) + letters.depth - 1, letters.symbols.shape[1])
    row = letters.symbols[i, half.first : stop]
    code, high = 0, letters.bits * (letters.depth - 1)
    for position in range(len(row) - 1, len(codes) - 1, -1):
        code = (code >> letters.bits) | (np.int64(row[position]) << high)
    for position in range(len(codes) - 1, -1, -1):
        code = (code >> letters.bits) | (np.int64(row[position]) << high)
        codes[position] = code


@jit
def expect(letters, half, direct, shared, i, codes):  # type: ignore[no-untyped-def]
    """Spell row i, and ask for what it will read and change from where that takes long."""
    spell(letters, half, i, codes)
    last, base = half.groups[half.groups.shape[0] - 2, 1], half.groups[half.groups.shape[0] - 2, 2]
    for position in range(len(codes)):
        fetch(direct, base + (position << (letters.bits * last)) + codes[position])
    nodes = half.nodes[half.starts[i] : half.starts[i + 1]]
    for t in range(len(nodes)):
        fetch(shared, 2 * np.int64(nodes[t]))


@jit
def read(letters, half, direct, shared, i, codes):  # type: ignore[no-untyped-def]
    """Return what row i reads of one half of the normal vector."""
    total, groups = 0.0, half.groups
    for g in range(groups.shape[0] - 1):
        last, base = groups[g, 1], groups[g, 2]
        drop, width = letters.bits * (letters.depth - last), letters.bits * last
        for position in range(len(codes)):
            total += direct[base + (position << width) + (codes[position] >> drop)]
    nodes = half.nodes[half.starts[i] : half.starts[i + 1]]
    for t in range(len(nodes)):
        total += shared[nodes[t], 0]
    return total


@jit
def write(letters, half, direct, shared, i, step, codes, amounts):  # type: ignore[no-untyped-def]
    """Add step times row i to one half of the normal vector; `amounts` (2, length) is scratch of its type."""
    groups, bits = half.groups, letters.bits
    masked = letters.mask < (1 << bits)
    for g in range(groups.shape[0] - 1):
        first, last, base = groups[g, 0], groups[g, 1], groups[g, 2]
        width, drop = bits * last, bits * (letters.depth - last)
        if not masked and last - first == 1 and (1 << bits) == LANES:
            _write_two(codes, base, width, drop, half.levels[first - 1], half.levels[last - 1], step, amounts, direct)
            continue
        for k in range(first, last + 1):
            below, weights = bits * (last - k), half.levels[k - 1]
            if masked:
                _write_masked(letters, half.first, i, k, codes, base, width, drop, below, weights, step, direct)
            else:
                _write_level(codes, base, width, drop, below, weights, step, direct)
    nodes = half.nodes[half.starts[i] : half.starts[i + 1]]
    for t in range(len(nodes)):
        shared[nodes[t], 0] += step * shared[nodes[t], 1]


@jit
def _write_two(codes, base, width, drop, upper, lower, step, amounts, direct):  # type: ignore[no-untyped-def]
    """Write two levels of an alphabet of four letters: the upper one changes four entries, the lower one of them."""
    each, one = amounts[0], amounts[1]
    for position in range(len(codes)):
        each[position], one[position] = step * upper[position], step * lower[position]
    for position in range(len(codes)):
        code = codes[position] >> drop
        place = code & (LANES - 1)
        add_four(direct, base + (position << width) + (code - place), each[position], one[position], place)


@jit
def _write_level(codes, base, width, drop, below, weights, step, direct):  # type: ignore[no-untyped-def]
    if below == 0:  # spelled out: a loop over one entry costs several times as much as the addition in it
        for position in range(len(codes)):
            direct[base + (position << width) + (codes[position] >> drop)] += step * weights[position]
        return
    for position in range(len(codes)):
        low = base + (position << width) + ((codes[position] >> (drop + below)) << below)
        for u in range(low, low + (1 << below)):
            direct[u] += step * weights[position]


@jit
def _write_masked(  # type: ignore[no-untyped-def]
    letters, start, i, k, codes, base, width, drop, below, weights, step, direct
):
    run, stop = 0, min(start + len(codes) + k - 1, letters.symbols.shape[1])
    for position in range(stop - start - 1, -1, -1):
        run = run + 1 if letters.symbols[i, start + position] != letters.mask else 0
        if run >= k and position < len(codes):
            low = base + (position << width) + ((codes[position] >> (drop + below)) << below)
            for u in range(low, low + (1 << below)):
                direct[u] += step * weights[position]


@jit
def read_rows(letters, half, direct, shared, start, out):  # type: ignore[no-untyped-def]
    """Write what rows read of one half, from row `start` on."""
    codes = np.empty(_positions(half), np.int64)
    for i in range(len(out)):
        spell(letters, half, start + i, codes)
        out[i] = read(letters, half, direct, shared, start + i, codes)


@jit
def write_rows(letters, half, direct, shared, rows, alpha):  # type: ignore[no-untyped-def]
    """Add alpha times each of the rows to one half of the normal vector."""
    codes = np.empty(_positions(half), np.int64)
    amounts = np.empty((2, len(codes)), direct.dtype)
    for i in rows:
        spell(letters, half, i, codes)
        write(letters, half, direct, shared, i, alpha[i], codes, amounts)
