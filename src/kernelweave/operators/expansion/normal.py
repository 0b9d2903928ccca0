"""Scores of new rows through the normal vector of a trained model: no kernel value, no row of the training data.

    f(x) = <w, Phi(x)>,     w = sum_j coef_j Phi(x_j)

For k-mers with a place the sum over a position's trie is cut at D letters (see `positional`): up to D letters it is one
entry of a table; of the kept rows that share more than D letters with x at that place, few are left, and they stand
together.  For other explicit features w is a table behind a vocabulary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Counted, FeatureMap, Positional
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.expansion.cross import spans
from kernelweave.operators.features.vocabulary import FeatureRows, Vocabulary, feature_rows
from kernelweave.operators.kmers.prefixes import PREFIX_BITS, Spelling, has_masked, pack

BLOCK = 2048
"""New rows that are scored together."""
BUCKET = 0.5
"""Kept rows of one prefix that are looked at one by one, on average, at most..."""
TABLE_BYTES = 600e6
"""...unless the tables would take more than this."""


class PositionalScorer:
    """The normal vector of kept rows for k-mers with a place.

    Parameters
    ----------
    prepared : kept rows, prepared by the kernel
    given : (2S + 1, length, degree), what cells give to each other
    coef : (kept rows,)
    """

    def __init__(self, prepared: Any, given: Array, coef: Array):
        self.prepared, self.given, self.coef = prepared, given, np.ascontiguousarray(coef, dtype=np.float64)
        self.sums = np.concatenate([np.zeros((*given.shape[:2], 1)), np.cumsum(given, axis=2)], axis=2)
        self.masked = has_masked(prepared.codes, prepared.alphabet)
        self._build()

    def _build(self) -> None:
        codes = self.prepared.codes
        self.spelling = Spelling(self.prepared.alphabet, self.masked)
        self.symbols = self.spelling.symbols(codes)
        n, length = self.symbols.shape
        self.depth = _depth(n * len(self.given), length, self.given.shape[2], self.spelling.bits)
        size, bits = 1 << (self.spelling.bits * self.depth), self.spelling.bits
        words = np.zeros((length, n), np.int64)
        by_position = np.ascontiguousarray(self.symbols.T)
        for position in range(length):
            letters = min(self.depth, length - position)
            part = pack(by_position[position : position + letters], bits)
            words[position] = part << (bits * (self.depth - letters))
        self.table = np.zeros((length, size))
        self.starts = np.zeros((length, size + 1), np.int32)
        entries = n * len(self.given)
        self.members: Array = np.zeros((length, entries), np.int32 if n < 2**31 else np.int64)
        self.lags = np.zeros((length, entries), np.uint16)
        _fill(
            words, self.symbols, self.spelling.mask, self.coef, self.given, bits, self.depth,
            self.table, self.starts, self.members, self.lags,
        )  # fmt: skip

    def add_to(self, out: Array, prepared: Any, engine: Engine) -> None:
        """Add the scores of prepared new rows to `out`, (rows,)."""
        if not self.masked and has_masked(prepared.codes, prepared.alphabet):
            self.masked = True
            self._build()
        symbols, spelling = self.spelling.symbols(prepared.codes), self.spelling

        def score(part: slice) -> None:
            _score(
                symbols[part], self.symbols, spelling.mask, spelling.bits, self.depth, self.table, self.starts,
                self.members, self.lags, self.coef, self.sums, out[part],
            )  # fmt: skip

        engine.map(score, spans(len(symbols), BLOCK))


class FeatureScorer:
    """The normal vectors of all outputs over the explicit features of kept rows."""

    def __init__(self, features: FeatureRows, coef: Array):
        self.vocabulary = Vocabulary(features.codes.shape[1])
        number, sizes = self.vocabulary.number(features.codes), np.diff(features.bounds)
        self.w = np.stack([
            np.bincount(number, weights=features.values * np.repeat(row, sizes), minlength=self.vocabulary.size)
            for row in coef
        ])  # fmt: skip

    def add_to(self, out: Array, features: FeatureRows, engine: Engine) -> None:
        """Add the scores of new rows, given by their features, to `out`, (rows, outputs)."""
        codes, values, bounds = features

        def score(part: slice) -> None:
            first, last = bounds[part.start], bounds[part.stop]
            number = self.vocabulary.find(codes[first:last])
            _dot(number, values[first:last], bounds[part.start : part.stop + 1], self.w, out[part])

        engine.map(score, spans(len(bounds) - 1, BLOCK))


class NormalVector:
    """Scores of one or several outputs of a model whose kernel has explicit features.

    Parameters
    ----------
    kernel : with the ability `Positional`, `Counted` or `FeatureMap`
    given : (outputs, 2S + 1, length, degree) for k-mers with a place, else None
    kept : rows the model keeps
    coef : (outputs, kept rows)
    """

    def __init__(self, kernel: Kernel, given: Array | None, kept: Any, coef: Array):
        self.kernel, self.given, self.one = kernel, given, kernel.prepare(kept[:1])
        if given is not None:
            prepared = kernel.prepare(kept)
            self.positional = [PositionalScorer(prepared, part, row) for part, row in zip(given, coef)]
        else:
            self.counted = FeatureScorer(feature_rows(kernel, kept), coef)

    def add_to(self, out: Array, X: Any, engine: Engine) -> None:
        """Add the scores of new rows to `out`, (rows, outputs)."""
        if X.shape[0]:
            self.kernel.block(self.kernel.prepare(X[:1]), self.one)  # says what is wrong with rows of another kind
        if self.given is None:
            self.counted.add_to(out, feature_rows(self.kernel, X), engine)
            return
        rows = self.kernel.prepare(X)
        for output, scorer in enumerate(self.positional):
            column = np.zeros(len(out))
            scorer.add_to(column, rows, engine)
            out[:, output] += column


def explicit(kernel: Kernel, kept: Any) -> bool:
    """Tell whether a model with this kernel can be scored through its normal vector."""
    if isinstance(kernel, Positional):
        alphabet = kernel.prepare(kept[:1]).alphabet
        return Spelling(alphabet, True).bits <= PREFIX_BITS
    return isinstance(kernel, FeatureMap | Counted)


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
        for c in range(len(above)):
            table[position, c] = above[c]
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
                out[i] += _beyond(
                    new[i], position, symbols, members[position, t], lags[position, t], mask, depth, coef, sums
                )


@jit
def _beyond(x, position, symbols, j, s, mask, depth, coef, sums):  # type: ignore[no-untyped-def]
    # What kept row j gives beyond the letters that the table knows.
    source, k = position + s - sums.shape[0] // 2, 0
    longest = min(sums.shape[2] - 1, sums.shape[1] - max(position, source))
    while k < longest and x[position + k] == symbols[j, source + k] and x[position + k] != mask:
        k += 1
    return coef[j] * (sums[s, position, k] - sums[s, position, depth]) if k > depth else 0.0


@jit
def _dot(number, values, bounds, w, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        for output in range(w.shape[0]):
            total = 0.0
            for t in range(bounds[i] - bounds[0], bounds[i + 1] - bounds[0]):
                if number[t] >= 0:
                    total += values[t] * w[output, number[t]]
            out[i, output] += total
