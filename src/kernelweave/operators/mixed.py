"""Kernels on the same rows that are held in different forms: each form answers for its own ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelweave.operators.base import AtOnce, Operator, OperatorSet, Rounded, RoundedSet, product

Array = np.ndarray
VALUE_SECONDS = 1e-9
"""Of a value of a Gram matrix in a product."""


class SumOperator:
    """The sum of operators on the same rows, for solvers that need few products."""

    def __init__(self, parts: Sequence[Operator]):
        self.parts, self.n = list(parts), parts[0].n

    @property
    def product_seconds(self) -> float:
        """Roughly, the seconds of a product with any vector."""
        return sum(
            part.product_seconds if isinstance(part, AtOnce) else VALUE_SECONDS * self.n**2 for part in self.parts
        )

    def diag(self) -> Array:
        """Return the diagonal, (n,)."""
        return np.sum([part.diag() for part in self.parts], axis=0)

    def columns(self, rows: Array) -> Array:
        """Return ``K[:, rows]``, (n, len(rows))."""
        return np.sum([part.columns(rows) for part in self.parts], axis=0)

    def submatrix(self, rows: Array) -> Array:
        """Return ``K[rows][:, rows]``."""
        return np.sum([np.asarray(part.submatrix(rows), np.float64) for part in self.parts], axis=0)

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out`."""
        for part in self.parts:
            part.add_to(out, rows, steps)

    def exact_product(self, alpha: Array, rows: Array | None = None) -> Array | None:
        """Return ``K @ alpha`` in double precision, or None where every part has it already."""
        found = [part.exact_product(alpha) if isinstance(part, Rounded) else None for part in self.parts]
        if all(one is None for one in found):
            return None
        known = [product(part, alpha) if one is None else one for part, one in zip(self.parts, found)]
        whole = np.sum(known, axis=0)
        return whole if rows is None else whole[rows]


class MixedSet:
    """Several sets of kernels on the same rows as one.

    Parameters
    ----------
    sets : the kernels, in the forms in which they are held
    numbers : the numbers that the kernels of each set have among all
    """

    def __init__(self, sets: Sequence[OperatorSet], numbers: Sequence[Array]):
        self.sets, self.numbers = list(sets), [np.asarray(one, np.int64) for one in numbers]
        self.n, self.m = sets[0].n, sum(len(one) for one in numbers)

    @property
    def rounded(self) -> bool:
        """Whether some of the forms hold values in single precision."""
        return any(isinstance(some, RoundedSet) and some.rounded for some in self.sets)

    @property
    def product_seconds(self) -> float:
        """Roughly, the seconds of a product with the sum of all kernels."""
        return self.combined(np.ones(self.m)).product_seconds

    def combined(self, weights: Array) -> SumOperator:
        """Return ``sum_k weights[k] K_k`` as an operator; forms without weight cost nothing."""
        weights = np.asarray(weights, dtype=float)
        used = [i for i, one in enumerate(self.numbers) if weights[one].any()] or [0]
        return SumOperator([self.sets[i].combined(weights[self.numbers[i]]) for i in used])

    def combined_submatrix(self, weights: Array, rows: Array) -> Array:
        """Return ``sum_k weights[k] K_k[rows][:, rows]``."""
        pairs = zip(self.sets, self.numbers)
        return np.sum([some.combined_submatrix(np.asarray(weights)[one], rows) for some, one in pairs], axis=0)

    def diagonals(self) -> Array:
        """Return the diagonal of every kernel, (m, n)."""
        out = np.empty((self.m, self.n))
        for some, one in zip(self.sets, self.numbers):
            out[one] = some.diagonals()
        return out

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,)."""
        out = np.empty(self.m)
        for some, one in zip(self.sets, self.numbers):
            out[one] = some.energies(alpha)
        return out

    def each_inside(self, rows: Array, steps: Array) -> Array:
        """Return ``K_k[rows][:, rows] @ steps`` for every kernel, (m, len(rows))."""
        out = np.empty((self.m, len(rows)))
        for some, one in zip(self.sets, self.numbers):
            out[one] = some.each_inside(rows, steps)
        return out

    def each_add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K_k[:, rows] @ steps`` to ``out[k]``, (m, n), for every kernel."""
        for some, one in zip(self.sets, self.numbers):
            lines = np.zeros((len(one), self.n))
            some.each_add_to(lines, rows, steps)
            out[one] += lines
