"""linadd: ``out += K[:, rows] @ steps`` for kernels of k-mers with a place, without a kernel value.

The rows that move make a sparse normal vector, w = sum_j steps_j Phi(x_j), whose weights sit on the nodes of one trie
for each position.  Every training row then reads its own path:

    k <= D   the tries' upper levels, summed along each path, are one table of all prefixes of D letters a position;
             a row looks its prefix up, one address for all of its k-mers of up to D letters
    k >  D   few rows share so long a k-mer with a moving row; they are its neighbours in the sorted order (`prefixes`)

so a step costs n * length look-ups in first-level cache, whatever the degree and almost whatever the number of rows
that move.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.blocks import LINES_TOGETHER, LOOKUP_ROWS, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Positional
from kernelweave.kernels.base import Array, Kernel, count, take
from kernelweave.operators.gram.dense import above_diagonal, mirrored
from kernelweave.operators.kmers.descent import PathDescent
from kernelweave.operators.kmers.neighbours import add_deep, own_sums, pair_sums
from kernelweave.operators.kmers.nodes import SharedNodes
from kernelweave.operators.kmers.paths import Paths, own_cells
from kernelweave.operators.kmers.prefixes import PrefixIndex, Spelling, has_masked, read_only
from kernelweave.operators.kmers.stores import STORES
from kernelweave.operators.kmers.sweep import block_rows, can_sweep, sweep_scores

DEEP_PARTS = 4
"""Parts into which positions are cut for the long k-mers; fixed, so that sums have the same order on any machine."""
TABLE_COST = {12: 0.8, 14: 1.7}
"""Nanoseconds of a look-up in a table of so many bits; larger tables leave the second-level cache."""
LARGE_COST = 5.0
NEIGHBOUR_COST = 12.0
"""Nanoseconds for a neighbour in the sorted order."""
SWEPT = 256
"""Rows that move from which on a product may be a sweep, which takes as long for one as for many."""


class LetterRows:
    """The letters of n training rows of one length, and what is derived from them once it is needed.

    Parameters
    ----------
    prepared : rows prepared by a `Positional` kernel
    degree : longest k-mer of any kernel on these rows
    """

    def __init__(self, prepared: Any, degree: int, engine: Engine):
        codes, alphabet = prepared.codes, prepared.alphabet
        self.spelling = Spelling(alphabet, has_masked(codes, alphabet))
        self.symbols, self.degree, self.engine = self.spelling.symbols(codes), degree, engine

    @cached_property
    def index(self) -> PrefixIndex:
        """The sorted orders that linadd works on."""
        return PrefixIndex(self.symbols, self.spelling, self.degree, self.engine)

    @cached_property
    def shared(self) -> SharedNodes:
        """The long k-mers that rows share, for coordinate descent."""
        return SharedNodes(self.symbols, self.spelling, self.degree, self.engine)


class PositionalOperator:
    """A kernel of positioned k-mers bound to training rows; nothing of the Gram matrix is kept.

    Parameters
    ----------
    kernel : with the ability `Positional`
    rows : the letters of the training rows; operators of other weights on the same rows share them
    given : (2S + 1, length, degree), what cells give to each other, see `prefixes.spread`
    """

    def __new__(cls, kernel: Kernel | None, prepared: Any, rows: LetterRows, given: Array) -> PositionalOperator:
        """Without shifts, return an operator that can do more."""
        return super().__new__(PathOperator if len(given) == 1 else cls)

    def __getnewargs__(self) -> tuple[None, None, None, Array]:
        """Return what `__new__` chooses by, for copies and pickles; their state follows."""
        return None, None, None, self.given

    def __init__(self, kernel: Kernel | None, prepared: Any, rows: LetterRows, given: Array):
        self.kernel, self.prepared, self.rows, self.engine = kernel, prepared, rows, rows.engine
        self.n, self.given = count(prepared), given
        self.sums = np.concatenate([np.zeros((*self.given.shape[:2], 1)), np.cumsum(self.given, axis=2)], axis=2)
        if len(given) > 1:
            self._diagonal = own_sums(rows.symbols, rows.spelling.mask, self.sums)
        else:
            self._diagonal = own_cells(rows.symbols, rows.spelling.mask, self.sums[0], given.shape[2])

    def diag(self) -> Array:
        """Return the diagonal, (n,)."""
        return self._diagonal

    def columns(self, rows: Array) -> Array:
        """Return ``K[:, rows]``, (n, len(rows))."""
        out, rows = np.empty((self.n, len(rows))), np.asarray(rows, dtype=np.int64)
        every = np.arange(self.n)
        self.engine.map_into(
            out, lambda cut, lines: self._fill(lines, every[cut], rows, False), spans(self.n, LOOKUP_ROWS)
        )
        return out

    def submatrix(self, rows: Array) -> Array:
        """Return ``K[rows][:, rows]``."""
        out, rows = np.empty((len(rows), len(rows))), np.asarray(rows, dtype=np.int64)
        cuts = spans(len(rows), LINES_TOGETHER)

        def fill(pair: tuple[int, int], tile: Array, *lower: Array) -> None:
            i, j = (cuts[number] for number in pair)
            self._fill(tile, rows[i], rows[j], i == j)
            for one in lower:
                one[:] = tile.T

        pairs = above_diagonal(len(cuts))
        self.engine.map_into(mirrored(out, cuts, pairs), fill, pairs)
        return out

    def block(self, rows: Array, others: Array) -> Array:
        """Return ``K[rows][:, others]``."""
        out = np.empty((len(rows), len(others)))
        self.engine.map_into(
            out, lambda cut, lines: self._fill(lines, rows[cut], others, False), spans(len(rows), LINES_TOGETHER)
        )
        return out

    def _fill(self, out: Array, rows: Array, others: Array, same: bool) -> None:
        if self.kernel is None:
            pair_sums(self.rows.symbols, rows, others, self.rows.spelling.mask, self.sums, same, out)
        else:
            chosen = take(self.prepared, rows)
            out[:] = self.kernel.block(chosen, chosen if same else take(self.prepared, others))

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out` through the normal vector."""
        if len(rows) == 0:
            return
        index, rows = self.rows.index, np.asarray(rows, dtype=np.int64)
        steps = np.ascontiguousarray(steps, dtype=np.float64)
        depth = table_depth(index, len(rows) * len(self.given))
        table = upper_levels(index, depth, rows, steps, self.given, self.engine)
        drop, prefix = index.spelling.bits * (index.depth - depth), index.prefix

        def fill(shard: slice, target: Array) -> None:
            look_up(prefix, drop, table, shard.start, target)

        self.engine.map_into(out, fill, spans(self.n, LOOKUP_ROWS))
        if index.degree > depth:
            self._add_deep(out, depth, rows, steps)

    def narrowed(self, rows: Array) -> PositionalOperator:
        """Return the kernel on some of the rows."""
        letters = LetterRows(take(self.prepared, rows), self.rows.degree, self.engine)
        return PositionalOperator(self.kernel, take(self.prepared, rows), letters, self.given)

    def through(self, store: str, rows_at_once: int | None = None) -> StoredWeights:
        """Return the same operator with its normal vector kept in a store of this name, some rows at a time."""
        if not isinstance(self.kernel, Positional):
            raise ValueError(f"store={store!r} holds the normal vector of one kernel, not of a weighted sum.")
        made = STORES[store](
            self.kernel.cells(self.given.shape[1]), self.kernel.shift_weights(), self.prepared.alphabet.size,
            self.prepared.alphabet.mask,
        )  # fmt: skip
        if rows_at_once is not None and rows_at_once < self.n:
            made.reserve(rows_at_once)
        return StoredWeights(self, made, rows_at_once or self.n)

    def _add_deep(self, out: Array, depth: int, rows: Array, steps: Array) -> None:
        index, sums, parts = self.rows.index, self.sums, np.zeros((DEEP_PARTS, self.n))

        def fill(part: int, target: Array) -> None:
            add_deep(
                index.symbols, index.order, index.rank, index.lcp, index.spelling.masked, index.spelling.mask, depth,
                sums, rows, steps, part, DEEP_PARTS, target,
            )  # fmt: skip

        self.engine.map_into(parts, fill, range(DEEP_PARTS))
        for part in parts:
            out += part


class StoredWeights:
    """An operator whose products go through a store of sparse weights: clear, add the rows that move, look all up.

    Parameters
    ----------
    store : empty
    rows_at_once : most rows that are in the store together; more of them take turns
    """

    def __init__(self, operator: PositionalOperator, store: Any, rows_at_once: int):
        self.operator, self.store, self.n, self.rows_at_once = operator, store, operator.n, rows_at_once
        self.diag, self.columns = operator.diag, operator.columns
        self.submatrix, self.block = operator.submatrix, operator.block

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out`."""
        codes, store, steps = self.operator.prepared.codes, self.store, np.asarray(steps, dtype=np.float64)
        for turn in spans(len(rows), self.rows_at_once):
            store.clear()
            store.add(codes[rows[turn]], steps[turn])
            self.operator.engine.map_into(
                out, lambda part, some: store.batch(codes[part], some), spans(self.n, LOOKUP_ROWS)
            )

    def narrowed(self, rows: Array) -> StoredWeights:
        """Return the kernel on some of the rows, through the same store: each product fills it afresh."""
        return StoredWeights(self.operator.narrowed(rows), self.store, self.rows_at_once)


class PathOperator(PositionalOperator):
    """The same without shifts: each row has a path of its own at every position, along which descent may go."""

    @cached_property
    def paths(self) -> Paths:
        """The paths of all rows."""
        return Paths(self.rows.shared, self.given[0])

    def whole_product(self, alpha: Array) -> Array | None:
        """Return ``K @ alpha`` by sweeps over the positions, as long as no index has been sorted; else None."""
        alphabet, support, letters = self.prepared.alphabet, np.flatnonzero(alpha), self.rows
        if "index" in vars(letters) or len(support) < SWEPT or not can_sweep(alphabet, 0, self.given.shape[2]):
            return None
        kept, coef = np.ascontiguousarray(letters.symbols[support].T), alpha[support]

        def score(part: slice, target: Array) -> None:
            new = np.ascontiguousarray(letters.symbols[part].T)
            target[:] = sweep_scores(kept, new, int(alphabet.size), self.sums[0], coef)

        out = np.zeros(self.n)
        self.engine.map_into(out, score, spans(self.n, block_rows(self.n, len(support))))
        return out

    def descent(self, rows: Array | None, dtype: type) -> PathDescent:
        """Return a normal vector over some rows, for coordinate descent."""
        if rows is None:
            return PathDescent(self.paths, self._diagonal, dtype)
        letters = self.rows
        shared = SharedNodes(read_only(letters.symbols[rows]), letters.spelling, letters.degree, self.engine)
        return PathDescent(Paths(shared, self.given[0]), self._diagonal[rows], dtype)


def table_depth(index: PrefixIndex, moving: int) -> int:
    """Return how many letters of a word the table covers: the cheapest choice for so many moving rows."""
    bits, costs = index.spelling.bits, {}
    for depth in range(index.spelling.shallow, index.depth + 1):
        size = 1 << (bits * depth)
        look_ups = next((cost for most, cost in TABLE_COST.items() if bits * depth <= most), LARGE_COST)
        costs[depth] = index.n * look_ups + size + moving * index.n / size * NEIGHBOUR_COST
    return min(costs, key=lambda depth: costs[depth])


def upper_levels(index: PrefixIndex, depth: int, rows: Array, steps: Array, given: Array, engine: Engine) -> Array:
    """Return, for each position and prefix of so many letters, the sum of the weights along its path."""
    bits = index.spelling.bits
    table = np.empty((index.length, 1 << (bits * depth)))
    fill = partial(_fill_table, *moved_words(index, rows), steps, given, bits, index.depth, depth)
    engine.map_into(table, lambda part, some: fill(part.start, some), spans(index.length, 16))
    return table


@jit
def _fill_table(codes, whole, steps, given, bits, letters, depth, start, table):  # type: ignore[no-untyped-def]
    length, degree = given.shape[1], given.shape[2]
    levels = min(depth, degree)
    sums = np.empty(pyramid_size(bits, depth))
    above = np.zeros(1 << (bits * depth))
    below = np.zeros(1 << (bits * depth))
    for position in range(start, start + len(table)):
        above[0] = 0.0
        summed = sum_levels(codes, whole, steps, given, bits, letters, position, min(levels, length - position), sums)
        for k in range(levels):
            add_below(codes, whole, steps, given, bits, letters, position, k, summed, sums, above, below)
            above, below = below, above
        rest = bits * (depth - levels)
        for c in range(table.shape[1]):
            table[position - start, c] = above[c >> rest]


@jit
def pyramid_size(bits, depth):  # type: ignore[no-untyped-def]
    """Return how many prefixes of 0 to `depth` letters there are."""
    return ((1 << (bits * (depth + 1))) - 1) // ((1 << bits) - 1)


@jit
def sum_levels(codes, whole, steps, given, bits, letters, position, levels, sums):  # type: ignore[no-untyped-def]
    """Sum the steps by prefix of 1 to `levels` letters at a position; tell whether that could be done.

    The deepest level is read from the rows and every other one from the level below it, so each row is read once.  That
    holds where every prefix goes on (no masked letters) and weights of one position do not reach another (no shifts).
    """
    if len(whole) > 0 or given.shape[0] > 1 or levels < 1:
        return False
    first = pyramid_size(bits, levels - 1)
    sums[first : first + (1 << (bits * levels))] = 0.0
    drop = bits * (letters - levels)
    for j in range(len(steps)):
        sums[first + (codes[position, j] >> drop)] += steps[j]
    fan = 1 << bits
    for k in range(levels - 1, 0, -1):
        upper = pyramid_size(bits, k - 1)
        for c in range(1 << (bits * k)):
            total = 0.0
            for letter in range(fan):
                total += sums[first + c * fan + letter]
            sums[upper + c] = total
        first = upper
    return True


@jit
def add_below(codes, whole, steps, given, bits, letters, position, k, summed, sums, above, below):  # type: ignore[no-untyped-def]
    """Write level k + 1 of a position: what the level above has, plus the weighted steps of its own prefixes."""
    reach, length, size = given.shape[0] // 2, given.shape[1], 1 << (bits * (k + 1))
    if summed and position + k < length:
        first, weight = pyramid_size(bits, k), given[0, position, k]
        for c in range(size):
            below[c] = above[c >> bits] + weight * sums[first + c]
        return
    for c in range(size):
        below[c] = above[c >> bits]
    for s in range(given.shape[0]):
        source, weight = position + s - reach, given[s, position, k]
        if weight != 0.0 and source >= 0 and source + k < length:
            add_level(codes, whole, steps, weight, source, k, bits * (letters - k - 1), below)


def moved_words(index: PrefixIndex, rows: Array) -> tuple[Array, Array]:
    """Return the prefixes of some rows at every position, (length, rows), and how many of their letters are not masked.

    The second is empty where no letter is masked.
    """
    spelling = index.spelling
    whole = np.empty((index.length if spelling.masked else 0, len(rows)), np.uint8)
    if spelling.masked:
        _whole_letters(index.symbols, rows, spelling.mask, spelling.depth, whole)
    return index.prefix[:, rows], whole


@jit
def _whole_letters(symbols, rows, mask, depth, out):  # type: ignore[no-untyped-def]
    for j in range(len(rows)):
        run = 0
        for position in range(symbols.shape[1] - 1, -1, -1):
            run = min(run + 1, depth) if symbols[rows[j], position] != mask else 0
            out[position, j] = run


@jit
def add_level(codes, whole, steps, weight, source, k, drop, level):  # type: ignore[no-untyped-def]
    """Add the k + 1 letters that moved rows have at `source` to a level; `drop` are the bits of the letters beyond."""
    if len(whole) == 0:
        for j in range(len(steps)):
            level[codes[source, j] >> drop] += weight * steps[j]
    else:
        for j in range(len(steps)):
            if whole[source, j] > k:
                level[codes[source, j] >> drop] += weight * steps[j]


@jit
def look_up(prefix, drop, table, start, out):  # type: ignore[no-untyped-def]
    """``out +=`` what the table has for the prefixes of rows, from row `start` on, less their last `drop` bits."""
    total = np.zeros(len(out))
    for position in range(prefix.shape[0]):
        values, codes = table[position], prefix[position, start : start + len(out)]
        for i in range(len(total)):
            total[i] += values[codes[i] >> drop]
    for i in range(len(total)):
        out[i] += total[i]
