"""From rows to columns of a design, one map for each kernel: what training made can be made again for new rows.

A dense embedding has its columns in a fixed order.  Features with codes get a column when training rows have them, the
codes rising, the commonest first (so that most steps stay in a part of w that the caches hold); features that no
training row has have no weight, so that new rows may leave them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kernelweave._numba import jit
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Counted, Embedding, FeatureMap
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.expansion.cross import spans
from kernelweave.operators.features.operator import HOT
from kernelweave.operators.features.vocabulary import FeatureRows, Vocabulary, as_rows, feature_rows

BLOCK = 2048
"""New rows that are scored together."""


class Columns(NamedTuple):
    """Numbered features of n rows: columns (total,) from 0 on, -1 where unknown; values (total,); bounds (n + 1,)."""

    columns: Array
    values: Array
    bounds: Array


def has_features(kernel: Kernel) -> bool:
    """Tell whether a kernel can take part in a design."""
    return isinstance(kernel, Embedding | Counted | FeatureMap)


def features_of(kernel: Kernel, X: Any) -> Array | FeatureRows:
    """Return the features of rows: a table (n, d) float64, or rows of codes."""
    if not isinstance(kernel, Embedding):
        return feature_rows(kernel, X)
    table = kernel.embedding(X)
    if not hasattr(table, "tocsr"):
        return np.ascontiguousarray(table, np.float64)
    table = table.tocsr()
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return as_rows(table)


class DenseMap:
    """The columns of a kernel with a dense embedding.

    Parameters
    ----------
    kernel : with the ability `Embedding`
    width : number of its features
    sample : a row of the training data, or None; rows of another kind are told by it
    """

    codes = None

    def __init__(self, kernel: Kernel, width: int, sample: Any = None):
        self.kernel, self.width, self.sample = kernel, width, sample

    def columns(self, X: Any) -> Array:
        """Return the features of rows, (n, width) float64."""
        found = features_of(self.kernel, X)
        table = written_out(found, self.width) if isinstance(found, FeatureRows) else found
        if table.shape[1] != self.width:
            raise ValueError(f"{self.kernel!r} was trained on {self.width} features, but X has {table.shape[1]}.")
        return table

    def scores(self, X: Any, w: Array, engine: Engine | None = None) -> Array:
        """Return ``<phi(x_i), w_o>``, (rows, outputs), for weights (outputs, width)."""
        return _scores(self, X, w, engine, lambda rows: self.columns(rows) @ w.T)


class CodedMap:
    """The columns of a kernel whose features have codes.

    Parameters
    ----------
    kernel : with the ability `Counted`, `FeatureMap`, or `Embedding` into a sparse table
    codes : (width, words) what each column is
    sample : a row of the training data, or None; rows of another kind are told by it
    """

    def __init__(self, kernel: Kernel, codes: Array, sample: Any = None):
        self.kernel, self.codes, self.sample, self.width = kernel, codes, sample, len(codes)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The number of each code, which is its column."""
        known = Vocabulary(self.codes.shape[1])
        known.number(self.codes)
        return known

    def columns(self, X: Any) -> Columns:
        """Return the features of rows."""
        found = features_of(self.kernel, X)
        if not isinstance(found, FeatureRows):
            found = as_codes(found)
        return Columns(self.vocabulary.find(found.codes), found.values, found.bounds)

    def scores(self, X: Any, w: Array, engine: Engine | None = None) -> Array:
        """Return ``<phi(x_i), w_o>``, (rows, outputs), for weights (outputs, width)."""
        across, outputs = np.ascontiguousarray(w.T), len(w)

        def score(rows: Any) -> Array:
            out = np.zeros((rows.shape[0], outputs))
            _sum_known(*self.columns(rows), across, out)
            return out

        return _scores(self, X, w, engine, score)


ColumnMap = DenseMap | CodedMap


def column_map(kernel: Kernel, codes: Array | None, width: int, sample: Any = None) -> ColumnMap:
    """Return a map from what a saved model keeps of it: codes (width, words), or None for a dense embedding."""
    return DenseMap(kernel, width, sample) if codes is None else CodedMap(kernel, codes, sample)


def number_codes(maps: Iterable[ColumnMap]) -> list[Vocabulary]:
    """Number the codes of maps: before workers ask, each of which would number them for itself."""
    return [one.vocabulary for one in maps if isinstance(one, CodedMap)]


def written_out(found: FeatureRows, width: int) -> Array:
    """Return the rows of a sparse table as a dense one."""
    out = np.zeros((len(found.bounds) - 1, width))
    out[np.repeat(np.arange(len(out)), np.diff(found.bounds)), found.codes[:, 0]] = found.values
    return out


def as_codes(table: Array) -> FeatureRows:
    """Return a dense table as rows of codes, its column numbers."""
    n, width = table.shape
    return FeatureRows(np.tile(np.arange(width), n)[:, None], table.ravel(), width * np.arange(n + 1))


def ordered(known: Vocabulary, rows_with: Array) -> Array:
    """Return the numbers of a vocabulary in the order of the columns: commonest first, else rising with the codes."""
    order = np.lexsort(known.codes().T[::-1])
    if len(order) <= HOT:
        return order
    common = rows_with[order] > np.partition(rows_with, -HOT)[-HOT]
    return np.concatenate([order[common], order[~common]])


def _scores(
    map_: ColumnMap, X: Any, w: Array, engine: Engine | None, score: Callable[[Any], Array]
) -> Array:  # fmt: skip
    if w.ndim != 2 or w.shape[1] != map_.width:
        raise ValueError(f"Weights of {map_.kernel!r} must have the shape (outputs, {map_.width}), not {w.shape}.")
    if map_.sample is not None and X.shape[0]:
        kernel = map_.kernel
        kernel.block(kernel.prepare(X[:1]), kernel.prepare(map_.sample))  # says what is wrong with rows of another kind
    number_codes([map_])
    cuts = spans(X.shape[0], BLOCK)
    made = [score(X[cut]) for cut in cuts] if engine is None else engine.map(lambda cut: score(X[cut]), cuts)
    return np.concatenate(made) if made else np.zeros((0, len(w)))


@jit
def _sum_known(columns, values, bounds, across, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        for t in range(bounds[i], bounds[i + 1]):
            if columns[t] >= 0:
                row = across[columns[t]]
                for o in range(len(row)):
                    out[i, o] += values[t] * row[o]
