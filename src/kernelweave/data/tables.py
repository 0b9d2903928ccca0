"""Tables as a row kind: dense arrays, sparse tables, and what becomes one of them (DataFrames, lists of rows)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kernelweave.data.blocks import PART_ROWS
from kernelweave.data.kinds import RowKind, register
from kernelweave.data.stores.packing import Facts, Head, Packing, Piece

Array = np.ndarray
NUMBERS = "biufc"
"""Kinds of NumPy types whose arrays are tables at once; texts and objects may be something else."""


STORED = ("float64", "float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
"""Types of the values of a table on disk."""


FEW_COLUMNS, HOLLOW = 1 << 20, 8
"""A sparse table of more columns than both, in all and for each entry, is hollow."""


class TablePacking(Packing):
    """Values row by row; of a sparse table data, columns and starts of the rows."""

    def head(self, X: Any) -> Head:
        """Return the number of columns, the type of the values and whether the table is sparse."""
        values = X.data if is_sparse(X) else np.asarray(X)
        if X.ndim != 2 or values.dtype.name not in (*STORED, "bool"):
            raise TypeError(f"A table of shape {X.shape} and dtype {values.dtype} cannot be stored; expected numbers.")
        dtype = "uint8" if values.dtype == bool else values.dtype.name
        return {"columns": int(X.shape[1]), "dtype": dtype, "sparse": is_sparse(X)}

    def content(self, head: Head) -> int:
        """Return the number of columns."""
        columns = head["columns"]
        if type(columns) is not int or columns < 0 or head["dtype"] not in STORED or type(head["sparse"]) is not bool:
            raise ValueError("columns")
        names = head.get("names")
        if names is not None and not _are_names(names, columns):
            raise ValueError("names")
        return columns

    def sections(self, X: Any) -> tuple[dict[str, Array], Facts]:
        """Return the values, and where they stand in a sparse table."""
        dtype = self.head(X)["dtype"]
        if not is_sparse(X):
            return {"values": np.ascontiguousarray(X, dtype).reshape(-1)}, {}
        X = X.tocsr()
        X.sum_duplicates()
        places = {"indices": X.indices.astype(np.int32), "indptr": X.indptr.astype(np.int64)}
        return {"values": X.data.astype(dtype), **places}, {"entries": int(X.nnz)}

    def check(self, head: Head, sections: Mapping[str, Array], facts: Facts, n: int) -> None:
        """Raise unless there is a value for each place."""
        columns, values = self.content(head), sections["values"]
        if values.dtype != head["dtype"] or (not head["sparse"] and values.size != n * columns):
            raise ValueError("values")
        if head["sparse"]:
            _sparse(sections, (n, columns)).check_format(full_check=True)

    def gather(self, head: Head, pieces: Sequence[Piece], ids: Array | None) -> Any:
        """Copy the chosen rows behind one another."""
        columns = head["columns"]
        if head["sparse"]:
            from scipy import sparse

            parts = [_sparse(piece.sections, (piece.n, columns))[piece.rows] for piece in pieces]
            return sparse.vstack([sparse.csr_array((0, columns), dtype=head["dtype"]), *parts], format="csr")
        out = np.empty((sum(piece.size for piece in pieces), columns), head["dtype"])
        first = 0
        for piece in pieces:
            out[first : first + piece.size] = piece.sections["values"].reshape(piece.n, columns)[piece.rows]
            first += piece.size
        return out

    def shape(self, head: Head, n: int, facts: Sequence[Facts]) -> tuple[int, ...]:
        """Return rows and columns."""
        return n, head["columns"]

    def nbytes(self, head: Head, n: int, facts: Sequence[Facts]) -> int:
        """Return the bytes of the values, and of their places in a sparse table."""
        each = np.dtype(head["dtype"]).itemsize
        if not head["sparse"]:
            return n * head["columns"] * each
        return sum(part["entries"] for part in facts) * (each + 4) + 8 * (n + 1)


def _are_names(names: Any, columns: int) -> bool:
    return type(names) is list and len(names) == columns and all(type(name) is str for name in names)


class TableKind(RowKind):
    """Rows of numbers with the same columns: arrays, sparse tables, DataFrames, lists of rows."""

    name, noun, family = "table", "a table", "table"
    rows = np.ndarray
    tabular = True
    packing = TablePacking()

    def holds(self, X: Any) -> bool:
        """Tell arrays of numbers and sparse tables."""
        return is_sparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in NUMBERS and X.ndim != 3)

    def content(self, X: Any) -> int:
        """Return the number of columns."""
        return int(np.shape(X)[1])

    def phrase(self, content: int) -> str:
        """Say how many columns there are."""
        return f"a table of {content} columns"

    def summary(self, X: Any) -> str:
        """Say how many rows and columns there are."""
        return f"{X.shape[0]} rows of {X.shape[1]} columns" + (" (sparse)" if is_sparse(X) else "")

    def facts(self, content: int) -> dict[str, Any]:
        """Return the number of columns."""
        return {"columns": content}

    def check(self, X: Any, where: str) -> None:
        """Raise unless all values are finite numbers, and the indices of a sparse table are inside it."""
        values = X.data if is_sparse(X) else X
        if is_sparse(X) and hasattr(X, "check_format"):
            try:
                X.check_format(full_check=True)
            except ValueError as error:
                raise ValueError(f"The {where} is a damaged sparse table: {error}.") from None
        if values.dtype.kind not in "iufb":
            raise ValueError(f"The {where} must hold numbers, but has dtype {values.dtype}.")
        place = first_not_finite(X) if values.dtype.kind == "f" else None
        if place is not None:
            raise ValueError(f"The {where} contains NaN or infinity (first in row {place[0]}, column {place[1]}).")

    def mismatch(self, given: int, trained: int, where: str) -> str | None:
        """Return the sentence about another number of columns."""
        if given == trained:
            return None
        return f"The {where} has {given} columns, but this model was trained on {trained}."

    def concatenate(self, parts: Sequence[Any]) -> Any:
        """Return the rows of tables of one width behind one another."""
        if any(map(is_sparse, parts)):
            from scipy import sparse

            return sparse.vstack(parts, format="csr")
        return np.concatenate([np.asarray(part) for part in parts])

    def take(self, X: Any, rows: Any) -> Any:
        """Return some rows of a table, also of a DataFrame or a list of rows."""
        if hasattr(X, "iloc"):
            return X.iloc[rows]
        if isinstance(X, list | tuple):
            return X[rows] if isinstance(rows, slice) else [X[row] for row in np.arange(len(X))[rows]]
        return X.tocsr()[rows] if is_sparse(X) else X[rows]

    def reading(self, content: int) -> dict[str, Any]:
        """Return the number of columns, which formats of sparse tables do not store."""
        return {"n_features": content}

    def save(self, X: Any) -> dict[str, Any]:
        """Return the arrays of a table."""
        if not is_sparse(X):
            return {"values": np.asarray(X)}
        from scipy import sparse

        X = X.tocsr()
        parts = {name: getattr(X, name) for name in ("data", "indices", "indptr")}
        return {"shape": list(X.shape), "array": isinstance(X, sparse.sparray), **parts}

    def load(self, state: Mapping[str, Any]) -> Any:
        """Return the table, every index of a sparse one checked."""
        if "values" in state:
            return state["values"]
        from scipy import sparse

        parts = tuple(state[name] for name in ("data", "indices", "indptr"))
        table = (sparse.csr_array if state["array"] else sparse.csr_matrix)(parts, shape=tuple(state["shape"]))
        table.check_format(full_check=True)
        return table


def _sparse(sections: Mapping[str, Array], shape: tuple[int, int]) -> Any:
    """Return the table whose sections are mapped."""
    from scipy import sparse

    return sparse.csr_array(tuple(sections[name] for name in ("values", "indices", "indptr")), shape=shape)


def is_sparse(X: Any) -> bool:
    """Tell a sparse table, without loading scipy."""
    return hasattr(X, "tocsr")


def is_hollow(X: Any, times: int = 1) -> bool:
    """Tell whether nearly all columns of a sparse table, or of so many like it, are empty.

    An array over its columns would take more than the table does; what a file declares costs nothing to declare.

    Examples
    --------
    >>> from scipy import sparse
    >>> is_hollow(sparse.csr_array((3, 2**40))), is_hollow(sparse.csr_array((3, 50)))
    (True, False)
    """
    return is_sparse(X) and X.shape[1] > max(FEW_COLUMNS, HOLLOW * times * X.nnz)


def canonical(X: Any) -> Any:
    """Return a sparse table whose rows list each column once, in order; itself where they do.

    Examples
    --------
    >>> from scipy import sparse
    >>> X = sparse.csr_array(([1.0, 2.0], [1, 0], [0, 2]))
    >>> canonical(X).indices.tolist(), X.indices.tolist()
    ([0, 1], [1, 0])
    """
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def first_not_finite(X: Any) -> tuple[int, int] | None:
    """Return row and column of the first stored value that is not finite, None where all are.

    Parameters
    ----------
    X : (n, d) floats, dense or CSR
    """
    if is_sparse(X):
        bad = ~np.isfinite(X.data)
        first = int(bad.argmax()) if bad.any() else -1
        return None if first < 0 else (int(np.searchsorted(X.indptr, first, side="right") - 1), int(X.indices[first]))
    for start in range(0, len(X), PART_ROWS):
        part = X[start : start + PART_ROWS]
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(part.sum()):  # a sum is not finite where a summand is not, and hardly ever elsewhere
                continue
        bad = ~np.isfinite(part)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            return start + int(row), int(column)
    return None


def check_list(X: Any) -> None:
    """Raise where X is a list of rows of different lengths, or of tables."""
    if not isinstance(X, list | tuple):
        return
    try:
        lengths = list(map(len, X))
    except TypeError:
        return
    if lengths and getattr(X[0], "ndim", 1) > 1:
        raise ValueError(
            f"X is a list of {len(X)} tables, expected rows of one table or square Gram matrices; several tables of "
            "the same rows are named views: {'first': A, 'second': B}."
        )
    if len(set(lengths)) > 1:
        odd = next(row for row, length in enumerate(lengths) if length != lengths[0])
        raise ValueError(
            f"Row {odd} has {lengths[odd]} values, but row 0 has {lengths[0]}; expected rows of one length."
        )


def check_frame(X: Any) -> None:
    """Raise where X is a DataFrame with a column of texts."""
    if not hasattr(X, "columns") or is_sparse(X):
        return
    for name in X.columns:
        values = np.asarray(X[name])
        text = next((one for one in values if isinstance(one, str)), None) if values.dtype.kind in "OUT" else None
        if text is not None:
            raise ValueError(
                f"The column {name!r} of X holds texts such as {text!r}, expected numbers; kw.ViewTransformer makes "
                f"views of columns of several kinds, and sequences or texts alone are one column: X[{name!r}]."
            )


register(TableKind())
