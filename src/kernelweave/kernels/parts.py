"""Features of many rows, made a few rows at a time: beside the result there is never a second table of its size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse

from kernelweave._numba.csr import CSR, coded, interleaved, stacked
from kernelweave.data.blocks import FEATURE_ROWS, spans
from kernelweave.data.kinds import convert, n_rows
from kernelweave.kernels.abilities import MOST_COLUMNS
from kernelweave.kernels.base import Array


def sliced(X: Any) -> Any:
    """Return X in a form whose rows can be cut out with a slice."""
    if sparse.issparse(X):
        return X.tocsr()
    return convert(X) if isinstance(X, Mapping) else X


def by_rows(X: Any, make: Callable[[Any], Any], dtype: type) -> Any:
    """Return ``make(X)``, made part by part: a function of rows that gives each row the same columns.

    Parameters
    ----------
    X : n rows of anything
    make : turns some of the rows into their features, an array or a `CSR` block
    dtype : of the result

    Examples
    --------
    >>> by_rows(np.ones((3, 2)), lambda part: 2 * part, np.float32)
    array([[2., 2.],
           [2., 2.],
           [2., 2.]], dtype=float32)
    """
    X = sliced(X)
    n = n_rows(X)
    first = make(X[:FEATURE_ROWS])
    rest = spans(n, FEATURE_ROWS)[1:]
    if isinstance(first, CSR):
        return stacked([first, *(make(X[part]) for part in rest)]).astype(dtype)
    if not rest:
        return first.astype(dtype, copy=False)
    out: Array = np.empty((n, first.shape[1]), dtype)
    out[:FEATURE_ROWS] = first
    for part in rest:
        out[part] = make(X[part])
    return out


def unit(rows: CSR | Array) -> CSR | Array:
    """Return each row of features divided by its length; a row of zeros stays."""
    if isinstance(rows, CSR):
        return rows.unit()
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / np.where(norms > 0, norms, 1.0)[:, None]


def beside(rows: list[CSR | Array], widths: list[int]) -> CSR | Array:
    """Return the columns of several tables with the same rows side by side, sparse where one of them is."""
    if not any(isinstance(one, CSR) for one in rows):
        return np.concatenate(rows, axis=1)  # type: ignore[arg-type]
    offsets = np.cumsum([0, *widths])
    each = [one if isinstance(one, CSR) else coded(one) for one in rows]
    moved = [replace(one, columns=one.codes + offset) for one, offset in zip(each, offsets)]
    return merged(moved)


def joined_codes(parts: list[CSR], widths: list[int]) -> CSR:
    """Return the features of p kernels as those of their sum.

    Feature c of part i has the code  c p + i  where such numbers fit 63 bits; else one more word comes first: i plus p
    times the number of words of a code of that part.
    """
    p, words = len(parts), max(part.codes.shape[1] for part in parts)
    if words == 1 and p * max(widths) <= MOST_COLUMNS:
        dtype = np.int32 if p * max(widths) <= np.iinfo(np.int32).max else np.int64
        made = [
            CSR(part.codes[:, 0].astype(np.int64) * p + i, part.values, part.starts) for i, part in enumerate(parts)
        ]
        rows = reduce(interleaved, made)
        return CSR(rows.codes.astype(dtype), rows.values, rows.starts)
    made = []
    for first, part in sorted(zip((i + p * part.codes.shape[1] for i, part in enumerate(parts)), parts), key=_first):
        codes = np.zeros((part.entries, words + 1), np.int64)
        codes[:, 0], codes[:, 1 : part.codes.shape[1] + 1] = first, part.codes
        made.append(replace(part, columns=codes))
    return merged(made)


def _first(pair: tuple[int, CSR]) -> int:
    return pair[0]


def split_codes(codes: Array, p: int) -> list[tuple[Array, Array]]:
    """Return which codes of a sum of p parts belong to each part, and what they are there.

    Examples
    --------
    >>> split_codes(np.array([4, 7]), 2)
    [(array([0]), array([[2]])), (array([1]), array([[3]]))]
    """
    if codes.ndim == 1 or codes.shape[1] == 1:
        inner, owner = np.divmod(codes.reshape(-1, 1).astype(np.int64), p)
        places = [np.flatnonzero(owner[:, 0] == i) for i in range(p)]
        return [(some, inner[some]) for some in places]
    words, owner = np.divmod(codes[:, 0], p)
    places = [np.flatnonzero(owner == i) for i in range(p)]
    return [(some, codes[some, 1 : 1 + words[some].max(initial=1)]) for some in places]


def merged(parts: list[CSR]) -> CSR:
    """Return the entries of several blocks with the same rows, in each row those of the first block first."""
    sizes = np.stack([np.diff(part.starts) for part in parts])
    starts = np.concatenate([[0], np.cumsum(sizes.sum(axis=0))])
    total, words = int(starts[-1]), parts[0].codes.shape[1]
    columns, values = np.empty((total, words), np.int64), np.empty(total, np.result_type(*(p.values for p in parts)))
    filled = starts[:-1] + np.cumsum(sizes, axis=0) - sizes
    for part, first, size in zip(parts, filled, sizes):
        places = np.arange(part.entries) + np.repeat(first - part.starts[:-1], size)
        columns[places], values[places] = part.codes, part.values
    return CSR(columns, values, starts)
