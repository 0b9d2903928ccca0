"""A weighted sum of many kernels that shares work: kernels with the same base number compute it once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from kernelweave.kernels.abilities import Decaying, Elementwise, which_have
from kernelweave.kernels.base import Array, Kernel, count
from kernelweave.operators.gram.curves import Curve, curve_of

STRIP = 128
"""Rows of kernel values that are made and used together."""
MEMBERS = 5
"""Exponentials of one number whose sum is looked up in a table: fewer are made in less time."""


class Family:
    """An ordered collection of kernels, grouped by the number they are functions of.

    Ten Gaussian widths on the same columns form one group: their squared distances are computed once.

    Parameters
    ----------
    kernels : with every learned parameter filled in
    """

    def __init__(self, kernels: Sequence[Kernel]):
        self.kernels = list(kernels)
        # Asked once: the answer costs more than the values of a small tile.
        self.able = which_have(Elementwise, self.kernels)
        self.bases: list[Kernel] = []
        self.members: list[list[int]] = []
        self.group = np.empty(len(self.kernels), np.int64)
        groups: dict[tuple[type, str], int] = {}
        for k, kernel in enumerate(self.kernels):
            base = cast(Elementwise, kernel).base() if self.able[k] else kernel
            group = groups.setdefault((type(base), repr(base)), len(groups))
            if group == len(self.bases):
                self.bases.append(base)
                self.members.append([])
            self.members[group].append(k)
            self.group[k] = group

    def selected(self, kernels: Array) -> tuple[Family, list[int]]:
        """Return the family of some of the kernels, and the numbers that its groups have here."""
        some: Family = object.__new__(Family)
        some.kernels, some.able = [self.kernels[k] for k in kernels], [self.able[k] for k in kernels]
        some.bases, some.members, some.group = [], [], np.empty(len(kernels), np.int64)
        places: dict[int, int] = {}
        for place, k in enumerate(kernels):
            group = places.setdefault(int(self.group[k]), len(places))
            if group == len(some.bases):
                some.bases.append(self.bases[self.group[k]])
                some.members.append([])
            some.members[group].append(place)
            some.group[place] = group
        return some, list(places)

    def prepare(self, X: Any) -> tuple[Any, ...]:
        """Return the prepared rows of every base."""
        return tuple(base.prepare(X) for base in self.bases)

    def base_block(self, group: int, A: Any, B: Any, dtype: type) -> Array:
        """Return the base values of one group for two prepared inputs."""
        left = A[group]
        return self.bases[group].block(left, left if A is B else B[group], dtype)

    def finished(self, group: int, values: Array, wanted: Array | None = None) -> Iterator[tuple[int, Array]]:
        """Turn base values into the kernel values of each member, one after the other; `values` is used up."""
        members = [k for k in self.members[group] if wanted is None or wanted[k]]
        for k in members[:-1]:
            yield k, self.finish(k, values.copy())
        if members:
            yield members[-1], self.finish(members[-1], values)

    def strips(self, group: int, base: Array, wanted: Array | None = None) -> Iterator[tuple[int, slice, Array]]:
        """Give the kernel values of each member, a strip of rows of `base` at a time, small enough for the cache.

        Yields (kernel, rows, values); the values are overwritten by the next ones, `base` is kept.
        """
        members = [k for k in self.members[group] if wanted is None or wanted[k]]
        buffer = np.empty((min(STRIP, len(base)), base.shape[1]), base.dtype)
        for start in range(0, len(base), STRIP):
            rows = slice(start, min(start + STRIP, len(base)))
            values = buffer[: rows.stop - rows.start]
            for k in members:
                values[:] = base[rows]
                yield k, rows, self.finish(k, values)

    def finish(self, k: int, values: Array) -> Array:
        """Turn base values into those of kernel k, in place."""
        return cast(Elementwise, self.kernels[k]).finish(values) if self.able[k] else values


class Mixture(Kernel):
    """``sum_k weights[k] K_k(x, y)``; kernels of weight zero cost nothing.

    Parameters
    ----------
    kernels : list of Kernel
    weights : (m,), non-negative

    Examples
    --------
    >>> from kernelweave.kernels.vector.kernels import RBF
    >>> Mixture(RBF.grid([1.0, 2.0]), [0.5, 0.5]).gram([[0.0], [1.0]]).round(3)
    array([[1.   , 0.487],
           [0.487, 1.   ]])
    """

    def __init__(self, kernels: Sequence[Kernel], weights: Sequence[float] | Array):
        self.kernels = kernels
        self.weights = weights
        self._grouped: tuple[Family, Array, list[Curve | None]] | None = None

    @property
    def definite(self) -> bool:
        """Whether every kernel is."""
        return all(kernel.definite for kernel in self.kernels)

    def _active(self) -> tuple[Family, Array, list[Curve | None]]:
        """Return the kernels that have weight, their weights, and the curve of each group that has a table."""
        if self._grouped is None:
            weights = np.asarray(self.weights, dtype=float)
            keep = [int(k) for k in np.flatnonzero(weights)]
            family, weights = Family([self.kernels[k] for k in keep]), weights[keep]
            self._grouped = family, weights, [weighted_curve(family, members, weights) for members in family.members]
        return self._grouped

    def prepare(self, X: Any) -> Any:
        """Return the prepared rows of every base in use (of the first kernel where all weights are zero)."""
        family = self._active()[0]
        return family.prepare(X) if family.kernels else (self.kernels[0].prepare(X),)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the weighted sum, base by base."""
        family, weights, curves = self._active()
        out: Array = np.zeros((count(A), count(B)), dtype)
        for group, curve in enumerate(curves):
            if curve is not None:
                curve.add_to(out, family.base_block(group, A, B, np.float64))
                continue
            for k, values in family.finished(group, family.base_block(group, A, B, dtype)):
                values *= weights[k]
                out += values
        return out

    def diagonal(self, A: Any) -> Array:
        """Return the weighted sum of the diagonals."""
        family, weights, _ = self._active()
        out = np.zeros(count(A))
        for group, members in enumerate(family.members):
            for k in members:
                out += weights[k] * family.kernels[k].diagonal(A[group])
        return out


def weighted_curve(family: Family, members: list[int], weights: Array) -> Curve | None:
    """Return the table of the weighted sum of a group, or None where its kernels are few or no exponentials."""
    if len(members) < MEMBERS or not all(which_have(Decaying, [family.kernels[k] for k in members])):
        return None
    factors, rates = np.array([cast(Decaying, family.kernels[k]).decay() for k in members]).T
    return curve_of(weights[members] * factors, rates)
