"""Equal rows are solved once: a row that is there twice and a row of weight 2 are the same problem, to the last bit.

Rows of a table that agree in features and targets are merged into one whose weight is the sum of theirs; rows of weight
zero are left out.  The merged rows are ordered by a hash of their content, so that neither the order of the rows nor
the way in which weights are spelled reaches the solver.  Afterwards every row gets its share of the dual coefficient of
the merged one, in proportion to its cost: that is feasible, and makes the same classifier and the same objectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from kernelweave._numba import jit
from kernelweave.data.kinds import kind_of
from kernelweave.data.stores import is_stored
from kernelweave.estimators.targets import Targets
from kernelweave.solvers.result import Result

Array = np.ndarray
MOST_VALUES = 1 << 24
"""Larger tables are solved as they are: hashing and copying them would cost more than equal bits are worth."""
BLOCK_VALUES = 1 << 18
"""Values that are copied together where a table has another type or order."""
MULTIPLIERS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Odd constants of the SplitMix64 generator (Steele, Lea and Flood 2014)."""
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
ZERO, ONE = np.uint64(0), np.uint64(1)


@dataclass(frozen=True)
class DistinctRows:
    """The rows that a solver sees, and how those that were given belong to them.

    Attributes
    ----------
    X, targets : the distinct rows and their targets
    group : (n,) for each given row its distinct row, -1 for a row of weight zero; None where nothing was merged
    """

    X: Any
    targets: Targets
    group: Array | None = None

    def summed(self, cost: Array) -> Array:
        """Return costs (n,) of the given rows, added up over those that were merged."""
        if self.group is None:
            return cost
        used = self.group >= 0
        return np.bincount(self.group[used], cost[used], minlength=len(self.targets.weight))

    def spread(self, results: Sequence[Result], cost: Array) -> list[Result]:
        """Return results about the given rows: each has the share of its cost (n,) in what its distinct row has."""
        group = self.group
        if group is None:
            return list(results)
        whole = self.summed(cost)[np.maximum(group, 0)]
        share = np.divide(cost, whole, out=np.zeros(len(cost)), where=(group >= 0) & (whole > 0))

        def every(point: Any) -> Any:
            return replace(point, alpha=np.asarray(point.alpha)[..., np.maximum(group, 0)] * share)

        return [replace(r, primal=every(r.primal), dual=r.dual and every(r.dual)) for r in results]


def distinct_rows(X: Any, targets: Targets, gram: bool = False) -> DistinctRows:
    """Return the distinct rows of a table; rows of another kind, and those of a Gram matrix (`gram`), as they are.

    Examples
    --------
    >>> targets = Targets(np.ones(3), np.ones((1, 3)), np.ones(3), np.array([1.0, 1.0, 2.0]))
    >>> found = distinct_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]), targets)
    >>> len(found.X), sorted(found.targets.weight.tolist())
    (2, [1.0, 3.0])
    """
    same = DistinctRows(X, targets)
    if gram or is_stored(X) or not kind_of(X).tabular or X.shape[0] * (X.shape[1] + 1) > MOST_VALUES:
        return same
    codes = row_codes(X) + row_codes(targets.values.T) * MULTIPLIERS[1]
    used = np.flatnonzero(targets.weight > 0)
    used = used[np.argsort(codes[used], kind="stable")]
    first = np.ones(len(used), dtype=bool)
    again = np.flatnonzero(codes[used][1:] == codes[used][:-1]) + 1
    if len(again):
        first[again] = ~_equal(X, targets.values, used[again - 1], used[again])
    if first.all() and np.all(targets.weight == 1.0) and np.all(targets.cost == targets.cost[:1]):
        return same
    group = np.full(len(codes), -1)
    group[used] = np.cumsum(first) - 1
    rows = used[first]
    found = DistinctRows(X[rows], replace(targets, y=targets.y[rows], values=targets.values[:, rows]), group)
    weight = np.bincount(group[used], targets.weight[used])
    cost = np.bincount(group[used], targets.cost[used])
    return replace(found, targets=replace(found.targets, weight=weight, cost=cost))


def row_codes(X: Any) -> Array:
    """Return a hash of the content of every row, (n,) uint64: the sum over its entries but zeros, dense or sparse."""
    if scipy.sparse.issparse(X):
        X = X.tocsr()
        out = np.zeros(X.shape[0], dtype=np.uint64)
        _hash_sparse(X.data.astype(np.float64).view(np.uint64), X.indices, X.indptr, out)
        return out
    X = np.asarray(X)
    out = np.zeros(len(X), dtype=np.uint64)
    step = max(1, BLOCK_VALUES // max(1, X.shape[1]))
    for start in range(0, len(X), step):
        some = np.ascontiguousarray(X[start : start + step], dtype=np.float64)
        _hash_rows(some.view(np.uint64), out[start : start + step])
    return out


def _equal(X: Any, values: Array, left: Array, right: Array) -> Array:
    """Tell for pairs of rows whether they agree in features and targets."""
    other = X[left] != X[right]
    differ = np.asarray(other.sum(axis=1)).ravel() > 0
    return ~differ & (values[:, left] == values[:, right]).all(axis=0)


@jit
def _mixed(bits, column):  # type: ignore[no-untyped-def]
    # A word for a value at its column; zero for both zeros, which differ in their first bit.
    if bits << ONE == ZERO:
        return ZERO
    mixed = bits + (np.uint64(column) + ONE) * MULTIPLIERS[0]
    mixed = (mixed ^ (mixed >> SHIFTS[0])) * MULTIPLIERS[1]
    mixed = (mixed ^ (mixed >> SHIFTS[1])) * MULTIPLIERS[2]
    return mixed ^ (mixed >> SHIFTS[2])


@jit
def _hash_rows(bits, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        total = ZERO
        for j in range(bits.shape[1]):
            total += _mixed(bits[i, j], j)
        out[i] = total


@jit
def _hash_sparse(bits, columns, starts, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        total = ZERO
        for t in range(starts[i], starts[i + 1]):
            total += _mixed(bits[t], columns[t])
        out[i] = total
