"""What k-mers with a place give to the letters of new rows, by tables of weights for each length.

The k-mer u at position i adds w_ik(u), which is divided among its k letters: letter i + t gets

    sum_{t < k <= m} w_ik(x_i .. x_{i+k-1}) / k

Up to D letters the weights are entries of tables, one for each position and length; what rows share beyond is found in
the buckets of `positional.Tables`, which hold the kept rows by their first D letters.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.blocks import FEATURE_ROWS, spans
from kernelweave.data.strings.sequences import Sequences
from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array
from kernelweave.operators.expansion.positional import Tables, prefix_words
from kernelweave.operators.expansion.terms import Term
from kernelweave.operators.kmers.prefixes import Spelling, has_masked

FEW_ROWS = 16
"""New rows up to which comparing them with all kept rows costs no more than making tables."""


def by_place(term: Term, coef: Array, given: Array, X: Sequences, engine: Engine) -> Array:
    """Return what k-mers give to the letters of rows of one length, (letters of all rows behind one another,).

    Parameters
    ----------
    term : one of the kernels that share rows and coefficients
    coef : of its rows
    given : (2S + 1, length, degree) what cells give to each other under all of the kernels
    """
    new, kept = term.kernel.prepare(X), term.kernel.prepare(term.rows)
    masked = has_masked(kept.codes, kept.alphabet) or has_masked(new.codes, new.alphabet)
    each = np.concatenate([np.zeros((*given.shape[:2], 1)), given / np.arange(1, given.shape[2] + 1)], axis=2)
    shares = np.cumsum(each, axis=2)
    spelling = Spelling(kept.alphabet, masked)
    symbols = spelling.symbols(new.codes)
    out = np.zeros(symbols.shape)
    if len(symbols) <= FEW_ROWS:
        _compare(symbols, spelling.symbols(kept.codes), spelling.mask, coef, shares, out)
        return out.ravel()
    tables = Tables(kept, given, coef, masked)
    levels, firsts = _levels(tables)

    def fill(part: slice, target: Array) -> None:
        _credit(
            symbols[part], tables.symbols, spelling.mask, spelling.bits, tables.depth, levels, firsts, tables.starts,
            tables.members, tables.lags, coef, shares, target,
        )  # fmt: skip

    engine.map_into(out, fill, spans(len(symbols), FEATURE_ROWS))
    return out.ravel()


def _levels(tables: Tables) -> tuple[Array, Array]:
    """Return the weights of k-mers of each length up to the depth of tables, and where those of a length begin."""
    bits, depth = tables.spelling.bits, tables.depth
    firsts = np.concatenate([[0], np.cumsum([1 << (bits * k) for k in range(1, depth + 1)])])
    levels = np.zeros((tables.symbols.shape[1], firsts[-1]))
    words = prefix_words(tables.symbols, bits, depth)
    _fill_levels(words, tables.symbols, tables.spelling.mask, tables.coef, tables.given, bits, depth, firsts, levels)
    return levels, firsts


@jit
def _fill_levels(words, symbols, mask, coef, given, bits, depth, firsts, levels):  # type: ignore[no-untyped-def]
    shifts, length = given.shape[:2]
    for position in range(length):
        level = levels[position]
        for s in range(shifts):
            source = position + s - shifts // 2
            if source < 0 or source >= length:
                continue
            for j in range(words.shape[1]):
                for k in range(min(depth, length - max(source, position))):
                    if symbols[j, source + k] == mask:
                        break
                    place = firsts[k] + (words[source, j] >> (bits * (depth - k - 1)))
                    level[place] += given[s, position, k] * coef[j]


@jit
def _credit(  # type: ignore[no-untyped-def]
    new, symbols, mask, bits, depth, levels, firsts, starts, members, lags, coef, shares, out
):
    # Position by position, so that its tables stay in the cache for all rows of the block.
    length, high, shifts = shares.shape[1], bits * (depth - 1), shares.shape[0]
    codes = np.zeros(len(new), np.int64)
    for position in range(length - 1, -1, -1):
        level, first, letters = levels[position], starts[position], min(depth, length - position)
        for i in range(len(new)):
            code = (codes[i] >> bits) | (np.int64(new[i, position]) << high)
            codes[i] = code
            running = 0.0
            for k in range(letters, 0, -1):
                running += level[firsts[k - 1] + (code >> (bits * (depth - k)))] / k
                out[i, position + k - 1] += running
            for t in range(first[code], first[code + 1]):
                j, s = members[position, t], lags[position, t]
                source, k = position + s - shifts // 2, 0
                longest = min(shares.shape[2] - 1, length - max(position, source))
                while k < longest and new[i, position + k] == symbols[j, source + k] and new[i, position + k] != mask:
                    k += 1
                if k > depth:
                    for a in range(k):
                        out[i, position + a] += coef[j] * (shares[s, position, k] - shares[s, position, max(a, depth)])


@jit
def _compare(new, symbols, mask, coef, shares, out):  # type: ignore[no-untyped-def]
    shifts, length, degree = shares.shape[0], shares.shape[1], shares.shape[2] - 1
    for i in range(len(new)):
        for j in range(len(symbols)):
            for position in range(length):
                for s in range(shifts):
                    source, k = position + s - shifts // 2, 0
                    longest = min(degree, length - max(position, source)) if source >= 0 else 0
                    while k < longest and new[i, position + k] == symbols[j, source + k]:
                        if new[i, position + k] == mask:
                            break
                        k += 1
                    for t in range(k):
                        out[i, position + t] += coef[j] * (shares[s, position, k] - shares[s, position, t])
