"""Kernels whose features are columns of one table, each times a number: what all of them need of rows at once.

A dense table gives dense features, a sparse one features with codes: the code is the place of a column among those that
its kernel selects, and columns that are empty on all training rows have no feature (`maps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kernelweave._numba.csr import CSR
from kernelweave.data.selection import column_numbers, has_names
from kernelweave.data.tables import is_hollow
from kernelweave.kernels.abilities import representatives
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.tree import On, Scaled, leaves
from kernelweave.operators.features.design.maps import ColumnMap, column_map
from kernelweave.operators.features.vocabulary import HOT, commonest_first


class TableColumns(NamedTuple):
    """The columns of a table that kernels select.

    Attributes
    ----------
    columns, scale : (width,) of all kernels side by side
    sizes : (m,) columns of each kernel
    codes : (width,) the place of each column in the selection of its kernel, for a sparse table; None for a dense one
    """

    columns: Array
    scale: Array
    sizes: Array
    codes: Array | None = None

    @classmethod
    def of(cls, kernels: Sequence[Kernel], X: Any) -> TableColumns | None:
        """Return the columns of kernels on a table of float64, None where some have other features."""
        if not _plain(X) or X.ndim != 2 or X.dtype != np.float64 or is_hollow(X):
            return None
        found = _selections(kernels)
        if found is None:
            return None
        factors, keys = found
        sizes, columns = _numbers(keys, X.shape[1])
        return cls(columns, np.repeat(np.sqrt(factors), sizes), sizes)

    @property
    def offsets(self) -> Array:
        """The first column of each kernel, and the number of all, (m + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def times(self, factors: Array) -> TableColumns:
        """Return the columns of the kernels times factors, (m,)."""
        return self._replace(scale=self.scale * np.repeat(np.sqrt(factors), self.sizes))

    def whole(self, X: Any) -> bool:
        """Tell whether the columns side by side are the table itself."""
        width = X.shape[1]
        return (
            len(self.columns) == width
            and bool((self.scale == 1.0).all())
            and bool((self.columns == np.arange(width)).all())
        )

    def squares(self, X: Any, share: Array) -> Array:
        """Return the mean diagonal of each kernel on rows with these shares, (m,)."""
        if sparse.issparse(X):
            each = np.bincount(X.indices, np.repeat(share, np.diff(X.indptr)) * X.data**2, X.shape[1])
        else:
            each = np.einsum("i,ij,ij->j", share, X, X)
        owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return np.bincount(owner, each[self.columns] * self.scale**2, len(self.sizes))

    def present(self, X: Any) -> TableColumns:
        """Return the columns that some row of a sparse table has, in the order in which they become features."""
        rows_with = np.bincount(X.indices, minlength=X.shape[1])[self.columns]
        owner = np.repeat(np.arange(len(self.sizes)), self.sizes)
        kept, places = np.flatnonzero(rows_with), np.arange(len(self.columns)) - self.offsets[:-1][owner]
        sizes = np.bincount(owner[kept], minlength=len(self.sizes))
        for k in np.flatnonzero(sizes > HOT):
            mine = kept[owner[kept] == k]
            kept[owner[kept] == k] = mine[commonest_first(places[mine, None], rows_with[mine])]
        return TableColumns(self.columns[kept], self.scale[kept], sizes, places[kept])

    def entries(self, X: Any) -> int:
        """Return how many features all rows have together."""
        if not sparse.issparse(X):
            return int(X.shape[0] * len(self.columns))
        return int(np.bincount(X.indices, minlength=X.shape[1])[self.columns].sum())

    def codes_of(self) -> list[Array | None]:
        """Return the codes of the columns of each kernel, (columns, 1), None where they have none."""
        if self.codes is None:
            return [None] * len(self.sizes)
        ends, codes = self.offsets.tolist(), self.codes[:, None]
        if (self.sizes == 1).all():
            return list(codes[:, None])
        return [codes[i:j] for i, j in pairwise(ends)]

    def maps(self, kernels: Sequence[Kernel], X: Any) -> TableMaps:
        """Return what makes the features of each kernel from new rows."""
        return TableMaps(self, kernels, X[:1])

    def shared(self, X: Any, dtype: type) -> Array | None:
        """Return a dense table whose rows are the features already, None where they have to be made."""
        ready = isinstance(X, np.ndarray) and X.dtype == dtype and X.flags.c_contiguous and X.flags.writeable
        return np.asarray(X) if ready and self.whole(X) else None

    def fill(self, X: Array, cut: Any, target: Array) -> None:
        """Write the features of some rows of a dense table."""
        np.multiply(X[cut].take(self.columns, axis=1), self.scale, out=target, casting="same_kind")

    def rows(self, X: Any, dtype: type) -> CSR:
        """Return the features of the rows of a sparse table."""
        if self.whole(X):
            return CSR(X.indices.astype(np.uint32), X.data.astype(dtype, copy=False), X.indptr.astype(np.int64))
        made = X[:, self.columns]
        made.sort_indices()
        values = (made.data * self.scale[made.indices]).astype(dtype, copy=False)
        return CSR(made.indices.astype(np.uint32), values, made.indptr.astype(np.int64))


class TableMaps(Sequence[ColumnMap]):
    """The maps of kernels that select columns of a table, made when somebody asks for one.

    Parameters
    ----------
    table : the columns of all kernels
    sample : a row of the training data, by which rows of another kind are recognised
    """

    def __init__(self, table: TableColumns, kernels: Sequence[Kernel], sample: Any):
        self.table, self.kernels, self.sample = table, kernels, sample

    @cached_property
    def _made(self) -> list[ColumnMap]:
        each = zip(self.kernels, self.table.codes_of(), self.table.sizes.tolist())
        return [column_map(kernel, codes, size, self.sample) for kernel, codes, size in each]

    def __len__(self) -> int:
        return len(self.kernels)

    def __getitem__(self, number: Any) -> Any:
        return self._made[number]


def offsets_of(maps: Sequence[ColumnMap]) -> Array:
    """Return the first column of each kernel, and the number of all, (m + 1,)."""
    if isinstance(maps, TableMaps):
        return maps.table.offsets
    return np.concatenate([[0], np.cumsum([one.width for one in maps])]).astype(np.int64)


def codes_of(maps: Sequence[ColumnMap]) -> list[Array | None]:
    """Return the codes of the columns of each kernel, None where they have none."""
    return maps.table.codes_of() if isinstance(maps, TableMaps) else [one.codes for one in maps]


def have_codes(maps: Sequence[ColumnMap]) -> bool:
    """Tell whether the columns of some kernel have codes."""
    return maps.table.codes is not None if isinstance(maps, TableMaps) else any(one.codes is not None for one in maps)


def sampled(maps: Sequence[ColumnMap], sample: Any) -> Sequence[ColumnMap]:
    """Return the maps with a row of the training data by which they recognise rows of another kind."""
    if isinstance(maps, TableMaps):
        return TableMaps(maps.table, maps.kernels, sample)
    for one in maps:
        one.sample = sample
    return list(maps)


def _plain(X: Any) -> bool:
    """Tell whether a table is an array, or sparse rows that list each column once, in order."""
    return isinstance(X, np.ndarray) or (sparse.issparse(X) and X.format == "csr" and bool(X.has_canonical_format))


def _selections(kernels: Sequence[Kernel]) -> tuple[list[float], list[Any]] | None:
    """Return the factor and the columns (None: all) of each kernel, None where some kernel is more than that."""
    factors, level = [1.0] * len(kernels), list[Any](kernels)
    if set(map(type, level)) == {Scaled}:
        factors, level = list(map(attrgetter("factor"), level)), list(map(attrgetter("kernel"), level))
    if set(map(type, level)) == {On} and all(map(_is_identity, set(map(type, map(attrgetter("kernel"), level))))):
        keys = list(map(attrgetter("columns"), level))
    else:
        each = [list(leaves(kernel)) for kernel in representatives(kernels)]
        if not all(len(some) == 1 and some[0].direct and _is_identity(type(some[0].kernel)) for some in each):
            return None
        found = [next(leaves(kernel)) for kernel in kernels]
        factors, keys = [leaf.factor for leaf in found], [leaf.view[0] if leaf.view else None for leaf in found]
        if any(len(leaf.view) > 1 for leaf in found):
            return None
    named = any(type(key) in (str, list, tuple) and has_names(key) for key in _unlike_numbers(keys))
    return None if named or not min(factors, default=1.0) > 0 else (factors, keys)


def _is_identity(cls: type) -> bool:
    return bool(getattr(cls, "identity", False))


def _unlike_numbers(keys: list[Any]) -> list[Any]:
    """Return the selections that are more than a number or a list that begins with one."""
    if set(map(type, keys)) == {list} and set(map(type, chain.from_iterable(keys))) == {int}:
        return []
    return [key for key in keys if type(key) is not int and not (type(key) is list and key and type(key[0]) is int)]


def _numbers(keys: list[Any], width: int) -> tuple[Array, Array]:
    """Return how many columns each selection has, and the numbers of them all."""
    if set(map(type, keys)) == {int}:
        keys = [[key] for key in keys]
    sizes, flat = list[int](), list[Any]()
    if set(map(type, keys)) == {list}:
        sizes, flat = list(map(len, keys)), list(chain.from_iterable(keys))
    if not (flat and all(sizes) and set(map(type, flat)) == {int} and min(flat) >= 0 and max(flat) < width):
        every = np.arange(width)
        picks = [every if key is None else every[column_numbers(key, width)] for key in keys]
        return np.array(list(map(len, picks)), np.int64), np.concatenate([[], *picks]).astype(np.int64)
    return np.array(sizes), np.array(flat)
