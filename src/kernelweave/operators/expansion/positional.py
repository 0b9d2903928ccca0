"""The normal vector of k-mers with a place, as tables: scores of new rows without a kernel value.

    f(x) = sum_i sum_k w(i, x_i .. x_{i+k-1}),     w = sum_j coef_j Phi(x_j)

The sum over a position's trie is cut at D letters (see `kmers.positional`): up to D letters it is one entry of a table;
of the kept rows that share more than D letters with x at that place, few are left, and they stand together.

Tables take some fifty times the bytes of the rows they are made of (measured: 45 to 55 for 1,000 to 20,000 rows of 141
letters) and are made in less time than a file of that size is read, so a model file holds the rows.  A few new rows are
compared with the kept rows one by one: that needs no table at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.vector import copy_items
from kernelweave.data.blocks import FEATURE_ROWS, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Positional
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.expansion.base import Share, State
from kernelweave.operators.kmers.prefixes import PREFIX_BITS, Spelling, has_masked, pack, spread
from kernelweave.operators.kmers.sweep import block_rows, can_sweep, sweep_scores

BUCKET = 0.5
"""Kept rows of one prefix that are looked at one by one, on average, at most..."""
TABLE_BYTES = 600e6
"""...unless the tables would take more than this."""
SORTED_IN = 5
"""Kept rows for each new one up to which sorting them together costs less than a look-up in tables (measured: 17 ns
for each row and position against some 100)."""
FEW_ROWS = 16
"""New rows up to which comparing them with all kept rows costs no more than making tables (measured)."""


class PositionalTables:
    """Kernels of k-mers with a place that see the same letters and share coefficients: one sum for all of them.

    Parameters
    ----------
    kernels, shares : with the ability `Positional`, the same shift weights and selection, places and coefficients
    kept : rows the model keeps
    """

    way = "positions"

    def __init__(self, kernels: Sequence[Kernel], shares: Sequence[Share], kept: Any):
        self.kernels, self.shares = list(kernels), list(shares)
        self.numbers = tuple(share.kernel for share in self.shares)
        first = self.shares[0]
        self.kept = self.kernels[0].prepare(kept if len(first.places) == kept.shape[0] else kept[first.places])
        self.coef = [np.ascontiguousarray(line, np.float64) for line in first.coef.T]
        self.masked = has_masked(self.kept.codes, self.kept.alphabet)
        self._whole = self._given(range(len(self.kernels)))
        self._tables: dict[bool, list[Tables]] = {}

    def scores(self, X: Any, engine: Engine) -> Array:
        """Return the sums over tries, (rows, outputs)."""
        return self._scored(X, engine, self._whole, self._tables)

    def contributions(self, X: Any, engine: Engine) -> Array:
        """Return the sums over tries of one kernel after the other."""
        if len(self.kernels) == 1:
            return self.scores(X, engine)[None]
        return np.stack([self._scored(X, engine, self._given([k]), {}) for k in range(len(self.kernels))])

    def _given(self, some: Sequence[int]) -> Array:
        """Return what cells give to each other under the weights of some kernels, (outputs, 2S + 1, length, degree)."""
        length = self.kept.codes.shape[1]
        able = [cast(Positional, self.kernels[k]) for k in some]
        parts = [spread(kernel.cells(length), kernel.shift_weights()) for kernel in able]
        given = np.zeros((len(self.coef), *parts[0].shape[:2], max(part.shape[2] for part in parts)))
        for k, part in zip(some, parts):
            factor = np.broadcast_to(self.shares[k].factor, len(given))
            given[..., : part.shape[2]] += factor[:, None, None, None] * part
        return given

    def _scored(self, X: Any, engine: Engine, given: Array, tables: dict[bool, list[Tables]]) -> Array:
        if X.shape[0]:  # says what is wrong with rows of another kind
            self.kernels[0].block(self.kernels[0].prepare(X[:1]), self.kept[:1])
        rows = self.kernels[0].prepare(X)
        masked = self.masked or has_masked(rows.codes, rows.alphabet)
        if X.shape[0] <= FEW_ROWS:
            return _compared(rows.codes, self.kept, given, self.coef, masked)
        if self._sweeps(rows):
            return np.stack([self._swept(rows.codes, *one, engine) for one in zip(given, self.coef)], axis=1)
        made = self._made(given, tables, masked)
        return np.stack([one.scores(rows.codes, engine) for one in made], axis=1)

    def tables(self, masked: bool) -> list[Tables]:
        """Return the tables of each output, made at the first use; `masked` says whether new rows have such letters."""
        return self._made(self._whole, self._tables, masked)

    def _made(self, given: Array, tables: dict[bool, list[Tables]], masked: bool) -> list[Tables]:
        if masked not in tables:
            tables[masked] = [Tables(self.kept, part, coef, masked) for part, coef in zip(given, self.coef)]
        return tables[masked]

    def _sweeps(self, rows: Any) -> bool:
        """Tell whether sorting new rows in with the kept ones costs less than looking them up in tables."""
        few_letters = can_sweep(rows.alphabet, self._whole.shape[1] // 2, self._whole.shape[3])
        new, kept = len(rows.codes), len(self.kept.codes)
        blocks = -(-new // block_rows(new, kept))
        return few_letters and kept * blocks <= SORTED_IN * new

    def _swept(self, codes: Array, given: Array, coef: Array, engine: Engine) -> Array:
        """Return the scores of one output by sweeps over blocks of rows, (rows,)."""
        kept, letters = np.ascontiguousarray(self.kept.codes.T), int(self.kept.alphabet.size)
        sums = running(given)[0]

        def score(part: slice) -> Array:
            return sweep_scores(kept, np.ascontiguousarray(codes[part].T), letters, sums, coef)

        blocks = spans(len(codes), block_rows(len(codes), len(coef)))
        return np.concatenate([np.zeros(0), *engine.map(score, blocks)])

    def state(self) -> State:
        """Return nothing: tables are made again from the rows, where there are enough new rows to need them."""
        return {}

    @property
    def nbytes(self) -> int:
        """Bytes of rows, coefficients and the tables that were made."""
        made = sum(one.nbytes for tables in self._tables.values() for one in tables)
        return made + self.kept.codes.nbytes + sum(coef.nbytes for coef in self.coef)


class Tables:
    """The normal vector of one output.

    Parameters
    ----------
    prepared : kept rows, prepared by the kernel
    given : (2S + 1, length, degree), what cells give to each other
    coef : (kept rows,)
    masked : whether masked letters take a symbol of their own
    """

    def __init__(self, prepared: Any, given: Array, coef: Array, masked: bool):
        self.given, self.coef, self.sums = given, coef, running(given)
        self.spelling = Spelling(prepared.alphabet, masked)
        self.symbols = self.spelling.symbols(prepared.codes)
        n, length = self.symbols.shape
        self.depth = _depth(n * len(given), length, given.shape[2], self.spelling.bits)
        size, bits = 1 << (self.spelling.bits * self.depth), self.spelling.bits
        words = prefix_words(self.symbols, bits, self.depth)
        self.table = np.zeros((length, size))
        self.starts = np.zeros((length, size + 1), np.int32)
        entries = n * len(given)
        self.members: Array = np.zeros((length, entries), np.int32 if n < 2**31 else np.int64)
        self.lags = np.zeros((length, entries), np.uint16)
        _fill(
            words, self.symbols, self.spelling.mask, self.coef, self.given, bits, self.depth,
            self.table, self.starts, self.members, self.lags,
        )  # fmt: skip

    def scores(self, codes: Array, engine: Engine) -> Array:
        """Return the scores of new rows by their letters, (rows,)."""
        symbols, spelling = self.spelling.symbols(codes), self.spelling

        def score(part: slice) -> Array:
            out = np.zeros(part.stop - part.start)
            _score(
                symbols[part], self.symbols, spelling.mask, spelling.bits, self.depth, self.table, self.starts,
                self.members, self.lags, self.coef, self.sums, out,
            )  # fmt: skip
            return out

        return np.concatenate([np.zeros(0), *engine.map(score, spans(len(symbols), FEATURE_ROWS))])

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return sum(part.nbytes for part in (self.table, self.starts, self.members, self.lags, self.sums))


def prefix_words(symbols: Array, bits: int, depth: int) -> Array:
    """Return the first letters of the word of every row at every position, (length, n) int64, padded with zeros."""
    n, length = symbols.shape
    words, by_position = np.zeros((length, n), np.int64), np.ascontiguousarray(symbols.T)
    for position in range(length):
        letters = min(depth, length - position)
        part = pack(by_position[position : position + letters], bits)
        words[position] = part << (bits * (depth - letters))
    return words


def has_tables(kernel: Kernel, kept: Any) -> bool:
    """Tell whether a kernel of k-mers with a place can be scored through tables: its alphabet must be small enough."""
    if not isinstance(kernel, Positional):
        return False
    return Spelling(cast(Any, kernel).prepare(kept[:1]).alphabet, True).bits <= PREFIX_BITS


def running(given: Array) -> Array:
    """Return what k-mers of up to k letters give together, (2S + 1, length, degree + 1)."""
    return np.concatenate([np.zeros((*given.shape[:2], 1)), np.cumsum(given, axis=2)], axis=2)


def _compared(codes: Array, kept: Any, given: Array, coef: Sequence[Array], masked: bool) -> Array:
    """Return the scores of new rows, each compared with every kept row."""
    spelling = Spelling(kept.alphabet, masked)
    new, known = spelling.symbols(codes), spelling.symbols(kept.codes)
    out = np.zeros((len(coef), len(new)))
    for line, part, alpha in zip(out, given, coef):
        _compare(new, known, spelling.mask, alpha, running(part), line)
    return np.ascontiguousarray(out.T)


def _depth(words: int, length: int, degree: int, bits: int) -> int:
    """Return how many letters the tables cover."""
    depth = 1
    while (
        depth < min(degree, length)
        and words > BUCKET * (1 << (bits * depth))
        and 12 * length * (1 << (bits * (depth + 1))) <= TABLE_BYTES
    ):
        depth += 1
    return depth


@jit
def _fill(words, symbols, mask, coef, given, bits, depth, table, starts, members, lags):  # type: ignore[no-untyped-def]
    shifts, length, degree = given.shape
    reach, n = shifts // 2, words.shape[1]
    for position in range(length):
        above, below = np.zeros(table.shape[1]), np.zeros(table.shape[1])
        for k in range(depth):
            for c in range(1 << (bits * (k + 1))):
                below[c] = above[c >> bits]
            for s in range(shifts):
                source, weight = position + s - reach, given[s, position, k]
                if weight != 0.0 and source >= 0 and source + k < length:
                    for j in range(n):
                        if _spelled(symbols, j, source, k + 1, mask):
                            below[words[source, j] >> (bits * (depth - k - 1))] += weight * coef[j]
            above, below = below, above
        copy_items(above, 0, table[position], 0, len(above))
        if degree > depth:
            _bucket(words, position, shifts, reach, length, depth, starts[position], members[position], lags[position])


@jit
def _spelled(symbols, j, source, letters, mask):  # type: ignore[no-untyped-def]
    whole = True
    for k in range(source, source + letters):
        whole = whole and symbols[j, k] != mask
    return whole


@jit
def _bucket(words, position, shifts, reach, length, depth, starts, members, lags):  # type: ignore[no-untyped-def]
    # Kept rows by their first letters.
    n = words.shape[1]
    for s in range(shifts):
        source = position + s - reach
        if source >= 0 and source + depth < length:
            for j in range(n):
                starts[words[source, j] + 1] += 1
    for c in range(len(starts) - 1):
        starts[c + 1] += starts[c]
    for s in range(shifts):
        source = position + s - reach
        if source >= 0 and source + depth < length:
            for j in range(n):
                at = starts[words[source, j]]
                members[at], lags[at] = j, s
                starts[words[source, j]] = at + 1
    for c in range(len(starts) - 1, 0, -1):  # what was filled now ends where the next begins
        starts[c] = starts[c - 1]
    starts[0] = 0


@jit
def _score(  # type: ignore[no-untyped-def]
    new, symbols, mask, bits, depth, table, starts, members, lags, coef, sums, out
):
    # Position by position, so that its table stays in the cache for all rows of the block.
    length, high = sums.shape[1], bits * (depth - 1)
    codes = np.zeros(len(new), np.int64)
    for position in range(length - 1, -1, -1):
        values, first = table[position], starts[position]
        for i in range(len(new)):
            code = (codes[i] >> bits) | (np.int64(new[i, position]) << high)
            codes[i] = code
            out[i] += values[code]
        for i in range(len(new)):
            for t in range(first[codes[i]], first[codes[i] + 1]):
                out[i] += beyond(
                    new[i], position, symbols, members[position, t], lags[position, t], mask, depth, coef, sums
                )


@jit
def beyond(x, position, symbols, j, s, mask, depth, coef, sums):  # type: ignore[no-untyped-def]
    """Return what kept row j gives to a row at a position beyond the letters that the table knows."""
    source, k = position + s - sums.shape[0] // 2, 0
    longest = min(sums.shape[2] - 1, sums.shape[1] - max(position, source))
    while k < longest and x[position + k] == symbols[j, source + k] and x[position + k] != mask:
        k += 1
    return coef[j] * (sums[s, position, k] - sums[s, position, depth]) if k > depth else 0.0


@jit
def _compare(new, symbols, mask, coef, sums, out):  # type: ignore[no-untyped-def]
    for i in range(len(new)):
        for j in range(len(symbols)):
            if coef[j] != 0.0:
                for position in range(sums.shape[1]):
                    for s in range(sums.shape[0]):
                        source = position + s - sums.shape[0] // 2
                        if source >= 0 and source < sums.shape[1] and new[i, position] == symbols[j, source]:
                            out[i] += beyond(new[i], position, symbols, j, s, mask, 0, coef, sums)
