"""Kernels whose features are columns of one table, each times a number: what all of them need of rows at once.

A dense table gives dense features, a sparse one features with codes: the code is the place of a column among those that
its kernel selects, and columns that are empty on all training rows have no feature (`maps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kernelweave._numba.csr import CSR
from kernelweave.data.selection import column_numbers, has_names
from kernelweave.kernels.abilities import representatives
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.tree import On, Scaled, leaves
from kernelweave.operators.features.design.maps import CodedMap, ColumnMap, DenseMap
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
        if not _plain(X) or X.ndim != 2 or X.dtype != np.float64:
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
        return np.concatenate([[0], np.cumsum(self.sizes)])

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
        kept, places = np.flatnonzero(rows_with), np.arange(len(self.columns)) - self.offsets[owner]
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

    def maps(self, kernels: Sequence[Kernel], X: Any) -> list[ColumnMap]:
        """Return what makes the features of each kernel from new rows."""
        sample = X[:1]
        if self.codes is None:
            return [DenseMap(kernel, size, sample) for kernel, size in zip(kernels, self.sizes.tolist())]
        ends, codes = self.offsets.tolist(), self.codes[:, None]
        return [CodedMap(kernel, codes[i:j], sample) for kernel, i, j in zip(kernels, ends, ends[1:])]

    def fill(self, X: Array, cut: Any, target: Array) -> None:
        """Write the features of some rows of a dense table."""
        np.multiply(X[cut].take(self.columns, axis=1), self.scale, out=target, casting="same_kind")

    def rows(self, X: Any, dtype: type) -> CSR:
        """Return the features of the rows of a sparse table."""
        made = X[:, self.columns]
        made.sort_indices()
        values = (made.data * self.scale[made.indices]).astype(dtype, copy=False)
        return CSR(made.indices.astype(np.uint32), values, made.indptr.astype(np.int64))


def _plain(X: Any) -> bool:
    """Tell whether a table is an array, or sparse rows that list each column once, in order."""
    return isinstance(X, np.ndarray) or (sparse.issparse(X) and X.format == "csr" and bool(X.has_canonical_format))


def _selections(kernels: Sequence[Kernel]) -> tuple[list[float], list[Any]] | None:
    """Return the factor and the columns (None: all) of each kernel, None where some kernel is more than that."""
    factors, level = [1.0] * len(kernels), list[Any](kernels)
    if set(map(type, level)) == {Scaled}:
        factors, level = [kernel.factor for kernel in level], [kernel.kernel for kernel in level]
    if set(map(type, level)) == {On} and all(map(_is_identity, {type(kernel.kernel) for kernel in level})):
        keys = [kernel.columns for kernel in level]
    else:
        each = [list(leaves(kernel)) for kernel in representatives(kernels)]
        if not all(len(some) == 1 and some[0].direct and _is_identity(type(some[0].kernel)) for some in each):
            return None
        found = [next(leaves(kernel)) for kernel in kernels]
        factors, keys = [leaf.factor for leaf in found], [leaf.view[0] if leaf.view else None for leaf in found]
        if any(len(leaf.view) > 1 for leaf in found):
            return None
    named = any(type(key) in (str, list, tuple) and has_names(key) for key in _unlike_numbers(keys))
    return None if named or not all(factor > 0 for factor in factors) else (factors, keys)


def _is_identity(cls: type) -> bool:
    return bool(getattr(cls, "identity", False))


def _unlike_numbers(keys: list[Any]) -> list[Any]:
    """Return the selections that are more than a number or a list that begins with one."""
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
