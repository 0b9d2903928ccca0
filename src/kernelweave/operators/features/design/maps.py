"""From rows to columns of a design, one map for each kernel: what training made can be made again for new rows.

Features that are a table have their columns in a fixed order.  Features with codes get a column when training rows have
them, the codes rising, the commonest first; features that no training row has have no weight, so that new rows may
leave them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, cast

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.csr import CSR
from kernelweave.data.blocks import FEATURE_ROWS, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.features.vocabulary import Vocabulary


def rows_of(kernel: Kernel, X: Any) -> Array | CSR:
    """Return the features of rows: a table (n, d) float64, or rows of codes."""
    found = cast(Features, kernel).rows(X)
    return found if isinstance(found, CSR) else np.ascontiguousarray(found, np.float64)


class DenseMap:
    """The columns of a kernel whose features are a table.

    Parameters
    ----------
    kernel : with the ability `Features`
    width : number of its features
    sample : a row of the training data, or None; rows of another kind are recognised by it
    """

    codes = None

    def __init__(self, kernel: Kernel, width: int, sample: Any = None):
        self.kernel, self.width, self.sample = kernel, width, sample

    def columns(self, X: Any) -> Array:
        """Return the features of rows, (n, width) float64."""
        found = rows_of(self.kernel, X)
        table = found.dense(self.width) if isinstance(found, CSR) else found
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
    kernel : with the ability `Features`
    codes : (width, words) what each column is
    sample : a row of the training data, or None; rows of another kind are recognised by it
    """

    def __init__(self, kernel: Kernel, codes: Array, sample: Any = None):
        self.kernel, self.codes, self.sample, self.width = kernel, codes, sample, len(codes)

    @classmethod
    def of(cls, kernel: Kernel, vocabulary: Vocabulary, sample: Any = None) -> CodedMap:
        """Return the map whose columns are the numbers of a vocabulary."""
        made = cls(kernel, vocabulary.codes(), sample)
        made.vocabulary = vocabulary
        return made

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The number of each code, which is its column."""
        known = Vocabulary(self.codes.shape[1], len(self.codes))
        known.number(self.codes)
        return known

    def columns(self, X: Any) -> CSR:
        """Return the features of rows with their columns, -1 for one that has none."""
        found = cast(Features, self.kernel).counts(X)
        return CSR(self.vocabulary.find(found.codes), found.values, found.starts)

    def scores(self, X: Any, w: Array, engine: Engine | None = None) -> Array:
        """Return ``<phi(x_i), w_o>``, (rows, outputs), for weights (outputs, width)."""
        across, outputs = np.ascontiguousarray(w.T), len(w)

        def score(rows: Any) -> Array:
            out = np.zeros((rows.shape[0], outputs))
            _sum_known(*self.columns(rows).arrays(), across, out)
            return out

        return _scores(self, X, w, engine, score)


ColumnMap = DenseMap | CodedMap


def column_map(kernel: Kernel, codes: Array | None, width: int, sample: Any = None) -> ColumnMap:
    """Return a map from what a saved model keeps of it: codes (width, words), or None for a table."""
    return DenseMap(kernel, width, sample) if codes is None else CodedMap(kernel, codes, sample)


def number_codes(maps: Iterable[ColumnMap]) -> list[Vocabulary]:
    """Number the codes of maps: before workers ask, each of which would number them for itself."""
    return [one.vocabulary for one in maps if isinstance(one, CodedMap)]


def _scores(
    map_: ColumnMap, X: Any, w: Array, engine: Engine | None, score: Callable[[Any], Array]
) -> Array:  # fmt: skip
    if w.ndim != 2 or w.shape[1] != map_.width:
        raise ValueError(f"Weights of {map_.kernel!r} must have the shape (outputs, {map_.width}), not {w.shape}.")
    if map_.sample is not None and X.shape[0]:
        kernel = map_.kernel
        kernel.block(kernel.prepare(X[:1]), kernel.prepare(map_.sample))  # says what is wrong with rows of another kind
    number_codes([map_])
    cuts = spans(X.shape[0], FEATURE_ROWS)
    made = [score(X[cut]) for cut in cuts] if engine is None else engine.map(lambda cut: score(X[cut]), cuts)
    return np.concatenate(made) if made else np.zeros((0, len(w)))


@jit
def _sum_known(starts, columns, values, across, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        for t in range(starts[i], starts[i + 1]):
            if columns[t] >= 0:
                row = across[columns[t]]
                for o in range(len(row)):
                    out[i, o] += values[t] * row[o]
