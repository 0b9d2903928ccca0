"""Several named views of the same rows, and choosing columns or views for one kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.rows import row_numbers
from kernelweave.data.strings.sequences import Sequences

Array = np.ndarray
Strings = Sequences | Lattices
"""Blocks whose rows are strings or distributions over strings."""


class Views:
    """Immutable named blocks with the same rows: tables, sparse tables, `Sequences` and `Lattices`.

    ``X[rows]`` selects rows of every block, ``X["name"]`` gives one block.

    Parameters
    ----------
    blocks : mapping from name to a table (a one-dimensional array is one column), a scipy sparse matrix,
        Sequences or Lattices

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.data import Sequences, Views
    >>> X = Views({"size": [1.0, 2.0, 3.0], "dna": Sequences.from_strings(["AC", "GT", "CC"])})
    >>> X.shape, X[[0, 2]]["dna"].to_strings(), X["size"].shape
    ((3, 2), ['AC', 'CC'], (3, 1))
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, blocks: Mapping[str, Any]):
        if not blocks:
            raise ValueError("Views need at least one named block, got none.")
        made = {}
        for name, block in blocks.items():
            if not isinstance(name, str):
                raise TypeError(f"A view is named by a string, not by {name!r}.")
            made[name] = _as_block(name, block)
        counts = {name: int(block.shape[0]) for name, block in made.items()}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name!r} has {n}" for name, n in counts.items())
            raise ValueError(f"Views must have the same number of rows, but {listed}.")
        self._blocks = made

    @classmethod
    def from_frame(cls, frame: Any) -> Self:
        """Return one numeric one-column view for each column of a DataFrame."""
        return cls({str(name): np.asarray(frame[name]) for name in frame.columns})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the views, in order."""
        return tuple(self._blocks)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Iterate over (name, block)."""
        return iter(self._blocks.items())

    @property
    def shape(self) -> tuple[int, int]:
        """``(number of rows, number of views)``."""
        return len(self), len(self._blocks)

    def __len__(self) -> int:
        return int(next(iter(self._blocks.values())).shape[0])

    def __contains__(self, name: object) -> bool:
        return name in self._blocks

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._blocks:
                raise KeyError(_unknown_view(key, self.names))
            return self._blocks[key]
        if isinstance(key, tuple):
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("Views are indexed by a name or by rows: X['name'], X[rows] or X[rows, ...].")
            key = key[0]
        if not isinstance(key, slice):
            key = row_numbers([key] if np.ndim(key) == 0 else key, len(self))
        return type(self)({name: block[key] for name, block in self._blocks.items()})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Views):
            return NotImplemented
        return self.names == other.names and all(_equal(block, other[name]) for name, block in self.items())

    def __repr__(self) -> str:
        inner = ", ".join(f"{name!r}: {' x '.join(map(str, block.shape))}" for name, block in self.items())
        return f"Views({{{inner}}})"


def select(X: Any, key: Any) -> Any:
    """Return the part of X a kernel looks at: columns of a table, one view, or several views side by side.

    Parameters
    ----------
    X : a table (numpy, scipy sparse, DataFrame, list of rows) or Views (or a dict of blocks)
    key : for a table a column number, a list of them, a slice or a boolean mask; for views (or the columns of a
        DataFrame) a name or a list of names

    Returns
    -------
    A two-dimensional table with the rows of X, Sequences or Lattices.

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
        X = Views(X)
    if names is not None:
        if not isinstance(X, Views) and hasattr(X, "columns"):
            _known(names, [str(name) for name in X.columns])
            X = Views({name: np.asarray(X[name]) for name in names})
        if not isinstance(X, Views):
            raise TypeError(f"The view {names[0]!r} was asked for, but X is a {type(X).__name__} without named views.")
        return _side_by_side(X, names)
    if isinstance(X, Views):
        raise TypeError(f"Views are selected by name, not by {key!r}; known names are {', '.join(X.names)}.")
    if isinstance(X, Strings):
        raise TypeError(f"Columns are selected from a table, but X is {type(X).__name__}.")
    table: Any = X.tocsr() if _is_sparse(X) else np.asarray(X)
    if table.ndim != 2:
        raise ValueError(f"Columns are selected from a two-dimensional table, but X has shape {table.shape}.")
    return table[:, column_numbers(key, table.shape[1])]


def column_numbers(key: Any, n_columns: int) -> Any:
    """Return a slice or non-negative column numbers; a column that does not exist is an error."""
    if isinstance(key, slice):
        return key
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


def _side_by_side(X: Views, names: list[str]) -> Any:
    _known(names, list(X.names))
    blocks = [X[name] for name in names]
    if len(blocks) == 1:
        return blocks[0]
    for name, block in zip(names, blocks):
        if isinstance(block, Strings):
            held = "sequences" if isinstance(block, Sequences) else "lattices"
            raise TypeError(f"The view {name!r} holds {held} and cannot be put side by side with other views.")
    if any(_is_sparse(block) for block in blocks):
        from scipy import sparse

        return sparse.hstack(blocks, format="csr")
    return np.hstack(blocks)


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
            raise ValueError(_unknown_view(name, known))


def _unknown_view(name: str, known: Any) -> str:
    return f"There is no view {name!r}; known names are {', '.join(known)}."


def _as_block(name: str, block: Any) -> Any:
    if isinstance(block, Strings):
        return block
    if _is_sparse(block):
        return block.tocsr()
    try:
        table = np.asarray(block)
    except ValueError:
        raise ValueError(f"View {name!r} has rows of different lengths; expected a table.") from None
    if table.dtype.kind not in "biuf":
        raise TypeError(
            f"View {name!r} holds {table.dtype} values; expected numbers, or strings wrapped by Sequences.from_strings."
        )
    if table.ndim == 1:
        return table[:, None]
    if table.ndim != 2:
        raise ValueError(f"View {name!r} has {table.ndim} dimensions; expected a table of rows and columns.")
    return table


def _is_sparse(block: Any) -> bool:
    return hasattr(block, "tocsr")


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Strings) or isinstance(b, Strings):
        return bool(a == b)
    if a.shape != b.shape or _is_sparse(a) != _is_sparse(b):
        return False
    return (a != b).nnz == 0 if _is_sparse(a) else bool(np.array_equal(a, b))
