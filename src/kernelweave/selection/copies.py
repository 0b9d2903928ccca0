"""Rows that are copies of one another, or nearly: they must not stand on both sides of a test.

Two sequences are compared by the k-mers that they have in common, wherever these stand and, for DNA and RNA, on either
strand, as a share of those of the one that has fewer.  Comparing all pairs would take too long, so each sequence keeps
a sketch, the `SKETCH` smallest hashes of its k-mers (Broder 1997), and only pairs that share one of them are compared.
Two sequences of one length with the share c of their k-mers in common have the Jaccard similarity j = c / (2 - c) and
are passed over with a probability of about (1 - j)^SKETCH: 0.15 % for c = 1/2, less for closer ones.

Rows of tables, and of other kinds, are copies if they are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from kernelweave._numba import jit
from kernelweave.data.blocks import spans
from kernelweave.data.kinds import alphabet_of, blocks_of, kind_of
from kernelweave.estimators.checks.distinct import row_codes
from kernelweave.kernels import Spectrum
from kernelweave.kernels.abilities import Features

Array = np.ndarray
NEAR, CLUSTERED = 0.8, 0.5
"""Share of common k-mers of near copies, and of sequences that belong to one cluster."""
SKETCH = 16
TOGETHER = 8192
"""Rows whose k-mers are made together."""
CROWD = 24
"""Of more rows that share a hash, only neighbours are compared: repeats, of which there are many."""
LENGTHS = {"dna": 12, "rna": 12, "protein": 5, "words": 3}
"""Length of the k-mers; two random sequences of some hundred letters hardly share one."""
USUAL_LENGTH = 8
MIXED = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
"""Odd constants of the SplitMix64 generator."""
HALF, THIRD = np.uint64(30), np.uint64(27)


@dataclass(frozen=True)
class Copies:
    """Pairs of rows that are copies or nearly.

    Attributes
    ----------
    pairs : (m, 2) row numbers; of two files a row of the first and one of the second
    shares : (m,) the part of their k-mers that they have in common; 1 for equal rows
    """

    pairs: Array
    shares: Array

    def __len__(self) -> int:
        return len(self.pairs)


def near_copies(X: Any, Y: Any = None, share: float = NEAR) -> Copies:
    """Return pairs of rows that are copies of one another, or nearly.

    Parameters
    ----------
    X : rows
    Y : other rows of the same kind: pairs are then of a row of X and a row of Y; None for pairs within X
    share : the smallest part of their k-mers that two sequences have in common; rows of other kinds must be equal

    Examples
    --------
    >>> import kernelweave as kw
    >>> X = kw.Sequences.from_strings(["ACGTTGCAACGGTACCGTAA", "TTACGGTACCGTTGCAACGT", "GGGGGGCCCCTTTTTTAAAA"])
    >>> kw.near_copies(X).pairs.tolist()  # the second is the first, read from the other strand
    [[0, 1]]
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share={share!r} must be between 0 and 1.")
    rows = X if Y is None else kind_of(X).concatenate([X, Y])
    pairs, shares = _pairs_of(rows, share)
    if Y is None:
        return Copies(pairs, shares)
    n = X.shape[0]
    between = (pairs[:, 0] < n) & (pairs[:, 1] >= n)
    return Copies(pairs[between] - [0, n], shares[between])


def copies_note(X: Any, groups: Any = None) -> str | None:
    """Return a sentence about near copies that folds may tear apart, None where there are none.

    Parameters
    ----------
    X : rows
    groups : (n,) what rows belong to, which folds keep together; None where they do not
    """
    found = near_copies(X)
    apart = np.ones(len(found), dtype=bool)
    if groups is not None:
        apart = groups[found.pairs[:, 0]] != groups[found.pairs[:, 1]]
    if not apart.any():
        return None
    pairs, shares = found.pairs[apart], found.shares[apart]
    many, (first, second) = len(np.unique(pairs)), pairs[np.argmax(shares)]
    return (
        f"{many} of {X.shape[0]} rows are near copies of other rows, such as {_named(X, first)} and "
        f"{_named(X, second)}: with copies on both sides of a fold, scores promise too much"
    )


def copies_between_note(X: Any, known: Any) -> str | None:
    """Return a sentence about rows that are near copies of rows a model has been trained on, None where there are none.

    Parameters
    ----------
    X : new rows
    known : rows that the model keeps, or None
    """
    if known is None or not X.shape[0] or not known.shape[0] or kind_of(X) is not kind_of(known):
        return None
    try:
        found = near_copies(kind_of(X).take(X, slice(None)), known)
    except (KeyError, TypeError, ValueError):  # rows that cannot be put behind one another
        return None
    many = len(np.unique(found.pairs[:, 0]))
    if not many:
        return None
    return f"{many} of {X.shape[0]} rows are near copies of training rows: scores promise too much for new ones"


def _named(X: Any, row: int) -> str:
    ids = getattr(X, "ids", None)
    return f"row {row}" if ids is None else str(ids[row])


def clusters(X: Any, share: float = CLUSTERED) -> Array:
    """Return the cluster of each row, (n,): near copies, and copies of copies, are in one."""
    pairs, n = near_copies(X, share=share).pairs, X.shape[0]
    links = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1])


def _pairs_of(X: Any, share: float) -> tuple[Array, Array]:
    if alphabet_of(X) is None or kind_of(X).uncertain:
        found = _equal(_row_hashes(X))
        return found, np.ones(len(found))
    sketches = np.concatenate([_sketches(*_kmers(X[cut])) for cut in spans(X.shape[0], TOGETHER)])
    candidates = _candidates(sketches)
    if not len(candidates):
        return candidates, np.ones(0)
    used, places = np.unique(candidates, return_inverse=True)
    shares = np.empty(len(candidates))
    starts, words = _kmers(X[used])
    _shares(starts, words, places.reshape(-1, 2).astype(np.int64), shares)
    near = shares >= share
    return candidates[near], shares[near]


def _kmers(X: Any) -> tuple[Array, Array]:
    """Return the distinct k-mers of rows as sorted words, and where each row begins; a short row is one word."""
    alphabet = X.alphabet
    name = "words" if alphabet.kind == "words" else alphabet.name
    k, strands = LENGTHS.get(name, USUAL_LENGTH), name in ("dna", "rna")
    counted = cast(Features, Spectrum(k, reverse_complement=strands)).counts(X)
    words = _stirred(np.ascontiguousarray(counted.codes))
    starts, lengths = counted.starts, np.diff(counted.starts)
    short = np.flatnonzero(lengths == 0)
    if len(short):
        texts = (X.codes[a:b].tobytes() for a, b in zip(X.offsets[short], X.offsets[short + 1]))
        whole = np.array([_digest(text) for text in texts], np.uint64)
        words = np.insert(words, starts[short], whole)
        lengths = np.maximum(lengths, 1)
        starts = np.concatenate([[0], np.cumsum(lengths)])
    _sort_rows(starts, words)
    return starts, words


def _digest(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def _stirred(codes: Array) -> Array:
    words = np.zeros(len(codes), np.uint64)
    for column in (codes if codes.ndim == 2 else codes[:, None]).T:
        words = (words ^ column.astype(np.uint64)) * MIXED[0]
        words = (words ^ (words >> HALF)) * MIXED[1]
        words ^= words >> THIRD
    return words


def _sketches(starts: Array, words: Array) -> Array:
    """Return the smallest words of each row, (n, SKETCH); a row of fewer repeats its last."""
    at = np.minimum(starts[:-1, None] + np.arange(SKETCH), starts[1:, None] - 1)
    return words[at]


def _candidates(sketches: Array) -> Array:
    """Return pairs of rows that share a word of their sketches, (m, 2), each once, the smaller number first."""
    rows = np.repeat(np.arange(len(sketches)), sketches.shape[1])
    words = sketches.ravel()
    order = np.lexsort((rows, words))
    rows, words = rows[order], words[order]
    single = np.ones(len(rows), dtype=bool)
    single[1:] = (words[1:] != words[:-1]) | (rows[1:] != rows[:-1])
    rows, words = rows[single], words[single]
    found = np.empty((_listed(words, rows, np.empty((0, 2), np.int64)), 2), np.int64)
    _listed(words, rows, found)
    return np.unique(found, axis=0)


def _row_hashes(X: Any) -> Array:
    blocks = blocks_of(X)
    if blocks is not None:
        parts = [_row_hashes(block) for block in blocks.values()]
        return _stirred(np.stack(parts, axis=1))
    if kind_of(X).tabular:
        return row_codes(X)
    if alphabet_of(X) is not None and not kind_of(X).uncertain:
        return np.array([_digest(text.encode()) for text in X.to_strings()], np.uint64)
    return np.arange(X.shape[0], dtype=np.uint64)  # lattices: distributions are compared by nobody


def _equal(hashes: Array) -> Array:
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    return np.sort(np.stack([order[same], order[same + 1]], axis=1), axis=1).reshape(-1, 2)


@jit
def _sort_rows(starts, words):  # type: ignore[no-untyped-def]
    for i in range(len(starts) - 1):
        words[starts[i] : starts[i + 1]] = np.sort(words[starts[i] : starts[i + 1]])


@jit
def _listed(words, rows, out):  # type: ignore[no-untyped-def]
    # Pairs of rows with one word; only counted where `out` has no room.
    count, first = 0, 0
    for last in range(1, len(words) + 1):
        if last < len(words) and words[last] == words[first]:
            continue
        crowd = last - first > CROWD
        for a in range(first, last):
            for b in range(a + 1, min(last, a + 2) if crowd else last):
                if len(out):
                    out[count, 0], out[count, 1] = rows[a], rows[b]
                count += 1
        first = last
    return count


@jit
def _shares(starts, words, pairs, out):  # type: ignore[no-untyped-def]
    for t in range(len(pairs)):
        a, b = starts[pairs[t, 0]], starts[pairs[t, 1]]
        end_a, end_b = starts[pairs[t, 0] + 1], starts[pairs[t, 1] + 1]
        fewer, same = min(end_a - a, end_b - b), 0
        while a < end_a and b < end_b:
            if words[a] == words[b]:
                same += 1
                a += 1
                b += 1
            elif words[a] < words[b]:
                a += 1
            else:
                b += 1
        out[t] = same / fewer
