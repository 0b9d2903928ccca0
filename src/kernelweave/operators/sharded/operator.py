"""Kernels on rows that are worked through part by part, by an engine, through scores of the kept rows.

    add_to      out[part] += sum_j steps_j K(x_part, x_j)     linadd over parts: what Algorithm 4 of Sonnenburg et al.
                                                              (2006) asks of each computer
    scored      any pure function of a part's outputs         one number or a few rows come back, never the outputs
    subset      some rows in memory, in the form that the planner chooses for them

Nothing of the rows is held between two calls.  A part's outputs depend on the part and on the classifier alone, so
results have the same bits whoever computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from kernelweave.data.blocks import spans
from kernelweave.data.kinds import n_rows, take
from kernelweave.engines.base import Engine, Shared
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.sharded.model import PartModel, SharedRows

FEWEST_PARTS, SMALLEST_PART, LARGEST_PART = 4, 1 << 14, 1 << 18
"""Rows are cut into at least so many parts where each then has the smallest size; more rows would gain little: sorting
them in with the kept rows costs the same for each, and so does the memory."""


def part_size(n: int) -> int:
    """Return the rows of a part of n rows.

    Examples
    --------
    >>> part_size(1000), part_size(100_000), part_size(10_000_000)
    (16384, 25000, 262144)
    """
    return min(max(-(-n // FEWEST_PARTS), SMALLEST_PART), LARGEST_PART)


class ShardedRows:
    """What one kernel and several of them have in common.

    Parameters
    ----------
    kernels : with every learned parameter filled in
    X : rows, on disk or in memory
    engine : where parts are worked on
    bind : binds the kernels to some rows in memory
    most_rows : so many of them fit
    """

    def __init__(self, kernels: Sequence[Kernel], X: Any, engine: Engine, bind: Callable[[Any], Any], most_rows: int):
        self.kernels, self.X, self.engine, self.bind, self.most_rows = list(kernels), X, engine, bind, most_rows
        self.n = n_rows(X)
        self.parts = spans(self.n, part_size(self.n))
        handle = None if hasattr(X, "fingerprint") else engine.share(X)
        self.rows = SharedRows(X, handle)

    def subset(self, rows: Array) -> Any:
        """Return the kernels on some rows, in memory."""
        return self.bind(take(self.X, rows))

    def model(self, weights: Array, rows: Array, coef: Array) -> PartModel:
        """Return a classifier as parts take it."""
        used = np.flatnonzero(coef)
        return PartModel(self.kernels, weights, rows[used], coef[used])

    def scored(
        self, weights: Array, rows: Array, coef: Array, fn: Callable[..., Any], jobs: list[Any]
    ) -> tuple[list[Any], int]:
        """Return ``fn(outputs, job)`` for every part, and about how many bytes that took there and back."""
        model = self.model(weights, rows, coef)
        handle = self.engine.share(model)
        found = self.engine.map(partial(_scored, fn, self.rows, handle), list(zip(self.parts, jobs)))
        return found, model.nbytes + _bytes(jobs) + _bytes(found)

    def outputs(self, weights: Array, rows: Array, coef: Array, each: bool = False) -> Array:
        """Return the outputs of all rows, (n,), or those of each kernel before its weight, (m, n)."""
        handle = self.engine.share(self.model(weights, rows, coef))
        out = np.zeros((len(self.kernels), self.n) if each else self.n)
        fill = partial(_contributed if each else _filled, self.rows, handle)
        self.engine.map_into([out[..., part] for part in self.parts], fill, self.parts)
        return out


class ShardedOperator(ShardedRows):
    """One kernel on rows that are worked through part by part."""

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.kernels[0]

    def diag(self) -> Array:
        """Return the diagonal, (n,)."""
        found = self.engine.map(partial(_diagonal, self.kernel, self.rows), self.parts)
        return np.concatenate([np.zeros(0), *found])

    def columns(self, rows: Array) -> Array:
        """Return ``K[:, rows]``, (n, len(rows))."""
        found = self.engine.map(partial(_columns, self.kernel, self.rows, np.asarray(rows)), self.parts)
        return np.concatenate([np.zeros((0, len(rows))), *found])

    def submatrix(self, rows: Array) -> Array:
        """Return ``K[rows][:, rows]``."""
        return self.kernel.gram(take(self.X, rows))

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out`, computed by the parts."""
        if len(rows):
            order = np.argsort(rows)
            out += self.outputs(np.ones(1), np.asarray(rows)[order], np.asarray(steps, dtype=np.float64)[order])


class ShardedSet(ShardedRows):
    """Many kernels on rows that are worked through part by part."""

    @property
    def m(self) -> int:
        """Number of kernels."""
        return len(self.kernels)

    def each_add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K_k[:, rows] @ steps`` to ``out[k]``, (m, n), computed by the parts."""
        if len(rows):
            order = np.argsort(rows)
            out += self.outputs(np.ones(self.m), np.asarray(rows)[order], np.asarray(steps)[order], each=True)

    def each_inside(self, rows: Array, steps: Array) -> Array:
        """Return ``K_k[rows][:, rows] @ steps`` for every kernel, (m, len(rows))."""
        some = take(self.X, rows)
        return np.stack([kernel.gram(some) @ steps for kernel in self.kernels])

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,)."""
        rows = np.flatnonzero(alpha)
        energies: Array = self.subset(rows).energies(alpha[rows]) if len(rows) else np.zeros(self.m)
        return energies

    def combined(self, weights: Array) -> ShardedOperator:
        """Return the weighted sum of the kernels."""
        return _Weighted(self, weights)

    def combined_submatrix(self, weights: Array, rows: Array) -> Array:
        """Return the weighted sum on some rows."""
        some = take(self.X, rows)
        out: Array = sum(w * kernel.gram(some) for w, kernel in zip(weights, self.kernels) if w > 0)
        return np.zeros((len(rows), len(rows))) if isinstance(out, int) else np.ascontiguousarray(out)

    def diagonals(self) -> Array:
        """Return the diagonal of every kernel, (m, n)."""
        found = [self.engine.map(partial(_diagonal, kernel, self.rows), self.parts) for kernel in self.kernels]
        return np.stack([np.concatenate([np.zeros(0), *parts]) for parts in found])


class _Weighted(ShardedOperator):
    """The weighted sum of a set of kernels."""

    def __init__(self, kernels: ShardedSet, weights: Array):
        self.whole, self.weights = kernels, np.asarray(weights, dtype=np.float64)
        self.n, self.parts, self.most_rows, self.engine = kernels.n, kernels.parts, kernels.most_rows, kernels.engine

    def diag(self) -> Array:
        """Return the diagonal, (n,)."""
        return self.weights @ self.whole.diagonals()

    def columns(self, rows: Array) -> Array:
        """Return columns of the sum."""
        unit = np.eye(len(rows))
        return np.stack([self.whole.outputs(self.weights, np.asarray(rows), line) for line in unit], axis=1)

    def submatrix(self, rows: Array) -> Array:
        """Return the sum on some rows."""
        return self.whole.combined_submatrix(self.weights, rows)

    def subset(self, rows: Array) -> Any:
        """Return the sum on some rows, in memory."""
        return self.whole.subset(rows).combined(self.weights)

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out`."""
        if len(rows):
            order = np.argsort(rows)
            out += self.whole.outputs(self.weights, np.asarray(rows)[order], np.asarray(steps)[order])


def _scored(fn: Callable[..., Any], rows: SharedRows, model: Shared[PartModel], job: tuple[slice, Any]) -> Any:
    part, rest = job
    return fn(model.get().scores(rows.get(), part), rest)


def _filled(rows: SharedRows, model: Shared[PartModel], part: slice, out: Array) -> None:
    out[:] = model.get().scores(rows.get(), part)


def _contributed(rows: SharedRows, model: Shared[PartModel], part: slice, out: Array) -> None:
    out[:] = model.get().contributions(rows.get(), part)


def _diagonal(kernel: Kernel, rows: SharedRows, part: slice) -> Array:
    return kernel.diag(take(rows.get(), part))


def _columns(kernel: Kernel, rows: SharedRows, others: Array, part: slice) -> Array:
    return kernel.gram(take(rows.get(), part), take(rows.get(), others))


def _bytes(value: Any) -> int:
    """Return the bytes of arrays inside of lists and tuples; a number counts as eight."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, list | tuple):
        return sum(map(_bytes, value))
    return 8
