"""The part of the rows that one kernel looks at: columns of a table, or named views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelweave.data.kinds import blocks_of, convert, kind_of
from kernelweave.data.tables import is_sparse
from kernelweave.data.views import unknown_view


def select(X: Any, key: Any) -> Any:
    """Return the part of X a kernel looks at: columns of a table, one view, or several views side by side.

    Parameters
    ----------
    X : a table (numpy, scipy sparse, DataFrame, list of rows) or Views (or a dict of blocks)
    key : for a table a column number, a list of them, a slice or a boolean mask; for views (or the columns of a
        DataFrame) a name or a list of names

    Returns
    -------
    A two-dimensional table with the rows of X, or the view as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.data import select
    >>> select(np.arange(6).reshape(2, 3), [0, 2])
    array([[0, 2],
           [3, 5]])
    """
    names = _names(key)
    if isinstance(X, Mapping):
        X = convert(X)
    blocks = blocks_of(X)
    if names is not None:
        if blocks is None and hasattr(X, "columns"):
            _known(names, [str(name) for name in X.columns])
            blocks = blocks_of(convert({name: np.asarray(X[name]) for name in names}))
        if blocks is None:
            raise TypeError(f"The view {names[0]!r} was asked for, but X is a {type(X).__name__} without named views.")
        return _side_by_side(blocks, names)
    if blocks is not None:
        raise TypeError(f"Views are selected by name, not by {key!r}; known names are {', '.join(blocks)}.")
    if not kind_of(X).tabular:
        raise TypeError(f"Columns are selected from a table, but X is {type(X).__name__}.")
    table: Any = X.tocsr() if is_sparse(X) else np.asarray(X)
    if table.ndim != 2:
        raise ValueError(f"Columns are selected from a two-dimensional table, but X has shape {table.shape}.")
    return table[:, column_numbers(key, table.shape[1])]


def column_numbers(key: Any, n_columns: int) -> Any:
    """Return a slice or non-negative column numbers; a column that does not exist is an error."""
    if isinstance(key, slice):
        return key
    if type(key) is list and key and all(type(column) is int and 0 <= column < n_columns for column in key):
        return np.array(key)
    columns = np.atleast_1d(np.asarray(key))
    if columns.dtype == bool and np.ndim(key) == 1:
        if columns.size != n_columns:
            raise ValueError(f"The boolean mask has {columns.size} entries for {n_columns} columns.")
        return np.flatnonzero(columns)
    if columns.size == 0:
        raise ValueError("No columns are selected: the list is empty.")
    if columns.ndim != 1 or columns.dtype.kind not in "iu":
        raise TypeError(f"Columns are selected by integers, a slice, a boolean mask or names, not by {key!r}.")
    columns = columns.astype(np.int64)
    for column in columns:
        if not -n_columns <= column < n_columns:
            raise ValueError(f"Column {column} does not exist: the table has {n_columns} columns.")
    return np.where(columns < 0, columns + n_columns, columns)


def _side_by_side(X: dict[str, Any], names: list[str]) -> Any:
    _known(names, list(X))
    blocks = [X[name] for name in names]
    if len(blocks) == 1:
        return blocks[0]
    for name, block in zip(names, blocks):
        if not kind_of(block).tabular:
            held = kind_of(block).noun
            raise TypeError(f"The view {name!r} holds {held} and cannot be put side by side with other views.")
    if any(map(is_sparse, blocks)):
        from scipy import sparse

        return sparse.hstack(blocks, format="csr")
    return np.hstack(blocks)


def has_names(key: Any) -> bool:
    """Tell whether a key selects views by name, not columns by number."""
    return _names(key) is not None


def _names(key: Any) -> list[str] | None:
    """Return the names a key lists, None for a key of columns."""
    if isinstance(key, str):
        return [key]
    if isinstance(key, list | tuple) and key and all(isinstance(name, str) for name in key):
        return list(key)
    return None


def _known(names: list[str], known: list[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(unknown_view(name, known))
