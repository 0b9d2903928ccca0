"""The long k-mers that at least two training rows share, as nodes: see `paths` for what they are part of.

At each position the rows are sorted by their words; every node is an interval of that order.  Positions are cut into
two halves, each with nodes of its own and with a list of them for every row, so that two threads can work on a row.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate

import numpy as np

from kernelweave._numba import jit
from kernelweave.engines.base import Engine
from kernelweave.operators.kmers.levels import direct_depth
from kernelweave.operators.kmers.prefixes import WORD_BITS, Spelling, pack, sort_words

Array = np.ndarray
Found = tuple[Array, Array, Array, Array]


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
    halves : the two halves of the positions
    """

    def __init__(self, symbols: Array, spelling: Spelling, degree: int, engine: Engine):
        self.symbols, self.spelling, self.degree, self.engine = symbols, spelling, degree, engine
        self.n, self.length = symbols.shape
        self.depth = direct_depth(self.n, self.length, degree, spelling.bits)
        by_position = np.ascontiguousarray(symbols.T)
        deep = [p for p in range(self.length) if degree > self.depth and p + self.depth < self.length]
        found = dict(zip(deep, engine.map(partial(_shared_at, self, by_position), deep)))
        middle = self.length // 2
        cuts = slice(0, middle), slice(middle, self.length)
        mine = [[(p, found[p]) for p in deep if cut.start <= p < cut.stop] for cut in cuts]
        self.halves = [HalfNodes(cut, self.n, some) for cut, some in zip(cuts, mine)]
        targets = [(half.starts, half.nodes) for half in self.halves]
        engine.map_into(targets, _list_nodes, [half.found for half in self.halves])
        for half in self.halves:
            half.found = []


class HalfNodes:
    """The nodes of some positions.

    Parameters
    ----------
    cut : the positions
    n : number of rows
    found : of those with nodes, the position and what was found there

    Attributes
    ----------
    starts, nodes : the nodes of row i are ``nodes[starts[i]:starts[i + 1]]``
    position, low, high : (nodes,) where a node lies; its k-mers have low < k <= high letters
    """

    def __init__(self, cut: slice, n: int, found: list[tuple[int, Found]]):
        self.cut, none = cut, np.empty(0, np.int32)
        sizes = [len(low) for _, (_, _, low, _) in found]
        first = [0, *accumulate(sizes)]
        self.position = np.repeat(np.array([position for position, _ in found], dtype=np.int32), sizes)
        self.low = np.concatenate([low for _, (_, _, low, _) in found] or [none])
        self.high = np.concatenate([high for _, (_, _, _, high) in found] or [none])
        self.starts = np.zeros(n + 1, np.int64)
        pairs = sum(len(rows) for _, (rows, _, _, _) in found)
        self.nodes: Array = np.zeros(pairs, np.int32 if first[-1] < 2**31 else np.int64)
        self.found = [(rows, nodes, offset) for (_, (rows, nodes, _, _)), offset in zip(found, first)]


def _shared_at(of: SharedNodes, by_position: Array, position: int) -> Found:
    """Return (row, node) pairs and the extent of the nodes of one position."""
    spelling, n = of.spelling, of.n
    whole = min(of.degree, of.length - position)
    letters = min(whole, WORD_BITS // spelling.bits)
    keys = pack(by_position[position : position + letters], spelling.bits)
    order, rank, lcp = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    sort_words(of.symbols, keys, position, letters, whole, spelling.bits, spelling.mask, order, rank, lcp)
    none = order[:0]
    pairs, nodes = _intervals(order, lcp, of.depth, of.degree, none, none, none, none, False)
    out = tuple(np.empty(size, np.int32) for size in (pairs, pairs, nodes, nodes))
    _intervals(order, lcp, of.depth, of.degree, *out, True)
    return out  # type: ignore[return-value]


def _list_nodes(found: list[tuple[Array, Array, int]], starts: Array, nodes: Array) -> None:
    """Write where the list of each row starts, and the lists."""
    for rows, _, _ in found:
        _count(rows, starts)
    np.cumsum(starts, out=starts)
    filled = starts[:-1].copy()
    for rows, numbers, offset in found:
        _place(rows, numbers, offset, filled, nodes)


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
