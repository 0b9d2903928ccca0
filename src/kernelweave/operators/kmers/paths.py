"""The normal vector of positioned k-mers, held so that one training row reads and changes its path at machine speed.

At position l a row follows a path of k-mers of lengths 1, 2, ..., d.  The weights of the path are held in two parts:

    k <= D   an array over all k-mers, addressed by the letters themselves: nothing is stored for a row.  Consecutive
             levels are folded into the deeper of them: entry u of a folded group is the sum of the weights of u and
             of its prefixes in the group, so that reading takes one address and writing one cache line
    k >  D   nodes of the trie that at least two training rows share; nodes with the same rows are one node.  Each row
             keeps the list of its nodes.  A k-mer that no other row has never leaves its row: what it adds to the
             row's own output is alpha_i times a constant (`own`)

Letters: E (length, d) weights of the cells, alpha_i the dual variable of row i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.blocks import spans
from kernelweave.engines.base import Engine
from kernelweave.operators.kmers.prefixes import WORD_BITS, Spelling, pack, sort_words

Array = np.ndarray

FOLDED_BITS = 2
"""Entries of a folded group that one write changes: more would cost more to write than they save in reading."""
ENTRIES_A_ROW = 2.0
"""The directly addressed levels end where the deepest has more entries than this for each row."""
MOST_DIRECT, ITEM = 1.2e9, 4
"""Bytes beyond which no further level is addressed directly, and bytes of an entry."""
SHARED_BYTES = 9.0
"""Bytes that the shared nodes take for each row and position: half a node on splice sites and on random letters."""
PATH_ROWS = 8192
"""Rows of one part of a look-up."""


class SharedNodes:
    """The k-mers of more than D letters that rows share, as nodes; independent of any weights.

    Parameters
    ----------
    symbols : (n, length), see `Spelling`
    degree : longest k-mer that counts
    engine : positions are worked through in parallel

    Attributes
    ----------
    depth : D, how many levels are addressed by their letters
    starts, nodes : the nodes of row i are ``nodes[starts[i]:starts[i + 1]]``
    position, low, high : (nodes,) where a node lies; its k-mers have low < k <= high letters
    """

    def __init__(self, symbols: Array, spelling: Spelling, degree: int, engine: Engine):
        self.symbols, self.spelling, self.degree, self.engine = symbols, spelling, degree, engine
        self.n, self.length = symbols.shape
        self.depth = direct_depth(self.n, self.length, degree, spelling.bits)
        by_position = np.ascontiguousarray(symbols.T)
        deep = [p for p in range(self.length) if degree > self.depth and p + self.depth < self.length]
        found = engine.map(lambda position: self._shared_at(by_position, position), deep)
        sizes = np.array([len(low) for _, _, low, _ in found], dtype=np.int64)
        first = np.concatenate([[0], np.cumsum(sizes)])
        none = np.empty(0, np.int32)
        self.position = np.repeat(np.array(deep, dtype=np.int32), sizes)
        self.low = np.concatenate([low for _, _, low, _ in found] or [none])
        self.high = np.concatenate([high for _, _, _, high in found] or [none])
        counts = np.zeros(self.n + 1, np.int64)
        for rows, _, _, _ in found:
            _count(rows, counts)
        self.starts = np.cumsum(counts)
        self.nodes: Array = np.empty(self.starts[-1], np.int32 if first[-1] < 2**31 else np.int64)
        filled = self.starts[:-1].copy()
        for (rows, nodes, _, _), offset in zip(found, first):
            _place(rows, nodes, offset, filled, self.nodes)

    def _shared_at(self, by_position: Array, position: int) -> tuple[Array, Array, Array, Array]:
        """Return (row, node) pairs and the extent of the nodes of one position."""
        spelling, n = self.spelling, self.n
        whole = min(self.degree, self.length - position)
        letters = min(whole, WORD_BITS // spelling.bits)
        keys = pack(by_position[position : position + letters], spelling.bits)
        order, rank, lcp = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
        sort_words(self.symbols, keys, position, letters, whole, spelling.bits, spelling.mask, order, rank, lcp)
        none = order[:0]
        pairs, nodes = _intervals(order, lcp, self.depth, self.degree, none, none, none, none, False)
        out = tuple(np.empty(size, np.int32) for size in (pairs, pairs, nodes, nodes))
        _intervals(order, lcp, self.depth, self.degree, *out, True)
        return out  # type: ignore[return-value]


class Paths:
    """The paths of n rows with the weights of a kernel: what is needed to keep its normal vector.

    Parameters
    ----------
    shared : the nodes of the rows; kernels of other weights on the same rows use the same ones
    cells : (length, degree) weights
    """

    def __init__(self, shared: SharedNodes, cells: Array):
        self.shared, self.cells, self.engine, self.spelling = shared, cells, shared.engine, shared.spelling
        self.n, self.length, self.depth = shared.n, shared.length, shared.depth
        self.groups = folded(self.length, self.depth, self.spelling.bits)
        self.levels = np.ascontiguousarray(cells.T)
        sums = np.concatenate([np.zeros((self.length, 1)), np.cumsum(cells, axis=1)], axis=1)
        self.values = sums[shared.position, shared.high] - sums[shared.position, shared.low]
        # What a row's own step changes in its reading: the cells of the direct levels and of its shared nodes.
        self.held = own_cells(shared.symbols, self.spelling.mask, sums, self.depth)
        _add_shared(shared.starts, shared.nodes, self.values, self.held)

    def zeros(self, dtype: type) -> tuple[Array, Array]:
        """Return an empty normal vector: directly addressed weights, and weights of the shared nodes."""
        return np.zeros(int(self.groups[-1, 2]), dtype), np.zeros(len(self.values), dtype)

    def arrays(self) -> tuple[Any, ...]:
        """Return what the jitted loops read."""
        return (
            self.shared.symbols, self.spelling.bits, self.spelling.mask, self.depth, self.groups, self.levels,
            self.shared.starts, self.shared.nodes, self.values,
        )  # fmt: skip

    def vector(self, alpha: Array, dtype: type) -> tuple[Array, Array]:
        """Return the normal vector ``sum_i alpha_i Phi(x_i)``, but for what no two rows share."""
        made = self.zeros(dtype)
        write_rows(*self.arrays(), *made, np.flatnonzero(alpha), alpha)
        return made

    def outputs(self, vector: tuple[Array, Array]) -> Array:
        """Return what every row reads of a normal vector, (n,)."""
        out, arrays = np.empty(self.n), self.arrays()
        self.engine.map_into(
            out, lambda part, some: read_rows(*arrays, *vector, part.start, some), spans(self.n, PATH_ROWS)
        )  # fmt: skip
        return out


def direct_depth(n: int, length: int, degree: int, bits: int) -> int:
    """Return D, how many levels are addressed by their letters."""
    depth = 1
    while (
        depth < min(degree, length)
        and (1 << (bits * (depth + 1))) <= ENTRIES_A_ROW * n
        and length * ITEM * (1 << (bits * (depth + 1))) <= MOST_DIRECT
    ):
        depth += 1
    return depth


def path_bytes(n: int, length: int, degree: int, bits: int) -> float:
    """Return about how many bytes the paths of n rows take, with a normal vector in single precision."""
    entries = folded(length, direct_depth(n, length, degree, bits), bits)[-1, 2]
    return float(ITEM * entries + SHARED_BYTES * n * length)


def folded(length: int, depth: int, bits: int) -> Array:
    """Return the groups of levels, (groups + 1, 3): first level, last level, address of the group's first entry.

    The last line holds the total number of entries in its third column.
    """
    together = 1 + FOLDED_BITS // bits
    lines, last = [], depth
    while last > 0:
        lines.append((max(1, last - together + 1), last))
        last = lines[-1][0] - 1
    groups, base = np.zeros((len(lines) + 1, 3), np.int64), 0
    for g, (low, high) in enumerate(reversed(lines)):
        groups[g] = low, high, base
        base += length << (bits * high)
    groups[-1, 2] = base
    return groups


@jit
def _count(rows, counts):  # type: ignore[no-untyped-def]
    for row in rows:
        counts[row + 1] += 1


@jit
def _place(rows, nodes, offset, filled, out):  # type: ignore[no-untyped-def]
    for t in range(len(rows)):
        row = rows[t]
        out[filled[row]] = nodes[t] + offset
        filled[row] += 1


@jit
def _intervals(order, lcp, depth, degree, rows, nodes, lows, highs, fill):  # type: ignore[no-untyped-def]
    # Every node that several rows share is an interval of the order: opened where lcp rises, closed where it falls.
    n = len(order)
    heights, lefts = np.empty(degree + 2, np.int64), np.empty(degree + 2, np.int64)
    top, pairs, count = 0, 0, 0
    for t in range(1, n + 1):
        height = lcp[t] if t < n else 0
        if height <= depth:
            height = 0
        left = t - 1
        while top > 0 and heights[top - 1] > height:
            top -= 1
            left = lefts[top]
            if fill:
                lows[count] = max(height, heights[top - 1] if top > 0 else 0, depth)
                highs[count] = heights[top]
                for s in range(left, t):
                    rows[pairs + s - left] = order[s]
                    nodes[pairs + s - left] = count
            pairs += t - left
            count += 1
        if height > 0 and (top == 0 or heights[top - 1] < height):
            heights[top], lefts[top] = height, left
            top += 1
    return pairs, count


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
def _add_shared(starts, nodes, values, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        for t in range(starts[i], starts[i + 1]):
            out[i] += values[nodes[t]]


@jit
def spell(symbols, i, bits, depth, codes):  # type: ignore[no-untyped-def]
    """Write the first `depth` letters at every position of row i as numbers."""
    code, high = 0, bits * (depth - 1)
    for position in range(symbols.shape[1] - 1, -1, -1):
        code = (code >> bits) | (np.int64(symbols[i, position]) << high)
        codes[position] = code


@jit
def read(codes, bits, depth, groups, starts, nodes, direct, shared, i):  # type: ignore[no-untyped-def]
    """Return what row i reads of the normal vector."""
    total = 0.0
    for g in range(groups.shape[0] - 1):
        last, base = groups[g, 1], groups[g, 2]
        drop, width = bits * (depth - last), bits * last
        for position in range(len(codes)):
            total += direct[base + (position << width) + (codes[position] >> drop)]
    for t in range(starts[i], starts[i + 1]):
        total += shared[nodes[t]]
    return total


@jit
def write(symbols, bits, mask, depth, groups, cells, starts, nodes, values, codes, direct, shared, i, step):  # type: ignore[no-untyped-def]
    """Add step times row i to the normal vector; `cells` are (degree, length) here, one line a level."""
    masked = mask < (1 << bits)
    for g in range(groups.shape[0] - 1):
        first, last, base = groups[g, 0], groups[g, 1], groups[g, 2]
        for k in range(first, last + 1):
            width, drop, below = bits * last, bits * (depth - last), bits * (last - k)
            if masked:
                _write_masked(symbols[i], mask, k, codes, base, width, drop, below, cells[k - 1], step, direct)
            else:
                _write_level(codes, base, width, drop, below, cells[k - 1], step, direct)
    for t in range(starts[i], starts[i + 1]):
        shared[nodes[t]] += step * values[nodes[t]]


@jit
def _write_level(codes, base, width, drop, below, weights, step, direct):  # type: ignore[no-untyped-def]
    # Spelled out: a loop over a few entries costs several times as much as the additions in it.
    if below == 0:
        for position in range(len(codes)):
            direct[base + (position << width) + (codes[position] >> drop)] += step * weights[position]
    elif below == 2:
        for position in range(len(codes)):
            low = base + (position << width) + ((codes[position] >> (drop + 2)) << 2)
            amount = step * weights[position]
            direct[low] += amount
            direct[low + 1] += amount
            direct[low + 2] += amount
            direct[low + 3] += amount
    else:
        for position in range(len(codes)):
            low = base + (position << width) + ((codes[position] >> (drop + below)) << below)
            for u in range(low, low + (1 << below)):
                direct[u] += step * weights[position]


@jit
def _write_masked(letters, mask, k, codes, base, width, drop, below, weights, step, direct):  # type: ignore[no-untyped-def]
    run = 0
    for position in range(len(codes) - 1, -1, -1):
        run = run + 1 if letters[position] != mask else 0
        if run >= k:
            low = base + (position << width) + ((codes[position] >> (drop + below)) << below)
            for u in range(low, low + (1 << below)):
                direct[u] += step * weights[position]


@jit
def read_rows(  # type: ignore[no-untyped-def]
    symbols, bits, mask, depth, groups, cells, starts, nodes, values, direct, shared, start, out
):
    """Write what rows read, from row `start` on."""
    codes = np.empty(symbols.shape[1], np.int64)
    for i in range(len(out)):
        spell(symbols, start + i, bits, depth, codes)
        out[i] = read(codes, bits, depth, groups, starts, nodes, direct, shared, start + i)


@jit
def write_rows(  # type: ignore[no-untyped-def]
    symbols, bits, mask, depth, groups, cells, starts, nodes, values, direct, shared, rows, alpha
):
    """Add alpha times each of the rows to the normal vector."""
    codes = np.empty(symbols.shape[1], np.int64)
    for i in rows:
        spell(symbols, i, bits, depth, codes)
        write(symbols, bits, mask, depth, groups, cells, starts, nodes, values, codes, direct, shared, i, alpha[i])
