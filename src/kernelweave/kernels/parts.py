"""Features of many rows, made a few rows at a time: beside the result there is never a second table of its size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from kernelweave.data.kinds import convert, n_rows
from kernelweave.kernels.base import Array
from kernelweave.kernels.strings.columns import unit_rows

ROWS_AT_ONCE = 2048
"""Rows whose features are made together: enough for matrix products, few enough to stay near the processor."""


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
    make : turns some of the rows into their features, an array or a CSR array
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
    first = make(X[:ROWS_AT_ONCE])
    if n <= ROWS_AT_ONCE:
        return first.astype(dtype, copy=False)
    spans = [slice(start, start + ROWS_AT_ONCE) for start in range(ROWS_AT_ONCE, n, ROWS_AT_ONCE)]
    if sparse.issparse(first):
        return sparse.vstack([first, *(make(X[span]) for span in spans)], format="csr", dtype=dtype)
    out: Array = np.empty((n, first.shape[1]), dtype)
    out[:ROWS_AT_ONCE] = first
    for span in spans:
        out[span] = make(X[span])
    return out


def beside(tables: list[Any]) -> Any:
    """Return tables with the same rows side by side, sparse where one of them is."""
    if any(sparse.issparse(table) for table in tables):
        return sparse.hstack(tables, format="csr")
    return np.concatenate(tables, axis=1)


def unit(table: Any) -> Any:
    """Return a table with each row divided by its length; a row of zeros stays."""
    if sparse.issparse(table):
        return unit_rows(table.copy())
    norms = np.sqrt(np.einsum("ij,ij->i", table, table))
    return table / np.where(norms > 0, norms, 1.0)[:, None]
