"""Rows of a Gram matrix that a user computed, as a row kind: a row knows which column is its own.

Cut to some rows, a matrix keeps all of its columns, and the numbers of the rows say which of them belong to the rows
that are left.  So matrices can be cut like tables, alone or among views, by whatever cuts rows into folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.kinds import RowKind, register
from kernelweave.data.tables import first_not_finite, is_sparse

Array = np.ndarray
ASYMMETRY = 1e-6
"""How far K and its transpose may differ, relative to the largest entry, to count as rounding (of float32)."""


class GramRows:
    """Rows of a Gram matrix.

    Parameters
    ----------
    values : (n, columns) similarities with all rows of the matrix, or None if only the numbers of the rows are known
    index : (n,) the column of each row, or None for rows that the matrix has no column for
    own : (n,) the similarity of each row with itself, where it is known without the others

    Examples
    --------
    >>> rows = GramRows.of(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> rows.shape, rows[1:].index
    ((2, 2), array([1]))
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Array | None, index: Array | None, own: Array | None = None):
        self.values, self.index, self.own = values, index, own

    @classmethod
    def of(cls, X: Any, origin: Array | None = None, whole: int = -1) -> GramRows:
        """Return rows of a matrix: a square symmetric one holds its own rows, others are compared with these.

        Parameters
        ----------
        X : 2-D numbers; or the numbers of rows, (k,) or (k, 1)
        origin : which rows of a matrix of `whole` rows these are, where they were cut from it
        """
        if isinstance(X, GramRows):
            return X
        if is_sparse(X):
            raise TypeError("A precomputed Gram matrix must be dense, but got a sparse one; use K.toarray().")
        values = np.atleast_1d(np.asarray(X))
        if values.dtype.kind in "iu" and values.shape in ((len(values),), (len(values), 1)):
            if values.min(initial=0) < 0:
                raise ValueError(f"Training rows are numbered from 0, but got {values.min()}.")
            return cls(None, values.ravel().astype(np.int64))
        if values.ndim != 2 or values.dtype.kind not in "biuf":
            raise ValueError(
                f"A precomputed Gram matrix is a 2-D array of numbers, but got {values.dtype} of shape {values.shape}."
            )
        if values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        if origin is not None and values.shape[1] == whole:
            return cls(values, origin if is_symmetric(values[:, origin]) else None)
        return cls(values, np.arange(len(values)) if is_symmetric(values) else None)

    @property
    def shape(self) -> tuple[int, int]:
        """``(rows, columns)``."""
        return len(self), 1 if self.values is None else int(self.values.shape[1])

    def __len__(self) -> int:
        return len(self.values if self.values is not None else self.index)  # type: ignore[arg-type]

    def __getitem__(self, rows: Any) -> GramRows:
        return GramRows(*(None if part is None else part[rows] for part in (self.values, self.index, self.own)))

    def diagonal(self) -> Array | None:
        """Return the similarity of each row with itself, (n,) float64, None where it is not known."""
        if self.own is not None or self.values is None or self.index is None:
            return self.own
        return self.values[np.arange(len(self)), self.index].astype(np.float64)

    def numbers(self, rows: Array) -> GramRows:
        """Return what is needed of some rows on the right-hand side: columns and diagonal, no similarities."""
        own = self.diagonal()
        return GramRows(None, None if self.index is None else self.index[rows], None if own is None else own[rows])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GramRows):
            return NotImplemented
        pairs = zip(vars(self).values(), vars(other).values())
        return all(a is b if a is None or b is None else np.array_equal(a, b) for a, b in pairs)

    def __repr__(self) -> str:
        return f"<{len(self)} rows of a Gram matrix of {self.shape[1]} columns>"


class GramKind(RowKind):
    """Rows of a Gram matrix."""

    name, noun, family = "matrix", "a Gram matrix", "matrix"
    rows = GramRows

    def content(self, X: GramRows) -> int:
        """Return the number of columns."""
        return X.shape[1]

    def phrase(self, content: int) -> str:
        """Say how many columns there are."""
        return f"a Gram matrix of {content} columns"

    def facts(self, content: int) -> dict[str, Any]:
        """Return the number of columns."""
        return {"columns": content}

    def check(self, X: GramRows, where: str) -> None:
        """Raise unless all values are finite."""
        place = None if X.values is None else first_not_finite(X.values)
        if place is not None:
            raise ValueError(f"The {where} contains NaN or infinity (first in row {place[0]}, column {place[1]}).")

    def mismatch(self, given: int, trained: int, where: str) -> str | None:
        """Return the sentence about another number of columns."""
        if given == trained:
            return None
        return (
            f"The {where} has {given} columns, but a Gram matrix against the training rows has one for each of "
            f"them, {trained}."
        )

    def concatenate(self, parts: Sequence[GramRows]) -> GramRows:
        """Return the rows of several parts behind one another."""
        each = [[part for part in some if part is not None] for some in zip(*(vars(one).values() for one in parts))]
        return GramRows(*(np.concatenate(some) if len(some) == len(parts) else None for some in each))

    def advice(self, X: GramRows) -> str:
        """Say which kernel takes matrices."""
        return "use kw.Precomputed()"

    def save(self, X: GramRows) -> dict[str, Any]:
        """Return what is known of the rows."""
        return {name: value for name, value in vars(X).items() if value is not None}

    def load(self, state: Mapping[str, Any]) -> GramRows:
        """Return the rows; numbers that are no columns raise."""
        values, index, own = state.get("values"), state.get("index"), state.get("own")
        known = values is not None or index is not None
        if not known or (values is not None and (values.ndim != 2 or values.dtype.kind != "f")):
            raise ValueError("Rows of a Gram matrix need a table of numbers, or the numbers of their columns.")
        if index is not None:
            low, high = int(index.min(initial=0)), int(index.max(initial=-1))
            fits = values is None or (len(values) == len(index) and high < values.shape[1])
            if index.ndim != 1 or index.dtype.kind not in "iu" or low < 0 or not fits:
                raise ValueError("The numbers of the rows of a Gram matrix must be columns of it, one for each row.")
        if own is not None and own.shape != (len(GramRows(values, index)),):
            raise ValueError("A row of a Gram matrix has one similarity with itself.")
        return GramRows(values, index, own)


def is_symmetric(values: Array) -> bool:
    """Tell whether a matrix is square and equals its transpose, but for rounding."""
    if values.shape[0] != values.shape[1]:
        return False
    extremes = np.zeros(2)
    _asymmetry(values, extremes)
    return bool(extremes[0] <= ASYMMETRY * extremes[1])


@jit
def _asymmetry(values, extremes):  # type: ignore[no-untyped-def]
    # Tiles, because the transposed side of a large matrix would otherwise miss the cache at each step.
    n, tile = values.shape[0], 64
    difference, largest = 0.0, 0.0
    for top in range(0, n, tile):
        for left in range(0, top + 1, tile):
            for i in range(top, min(top + tile, n)):
                for j in range(left, min(left + tile, n)):
                    difference = max(difference, abs(values[i, j] - values[j, i]))
                    largest = max(largest, abs(values[i, j]))
    extremes[0] = difference
    extremes[1] = largest


register(GramKind())
