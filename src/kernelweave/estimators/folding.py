"""Scores of new rows by columns of several kernels, each kernel in the way that costs least.

    f_o(x) = sum_k sum_j a_koj K_k(x, x_j)        k kernels, j the rows whose columns kernel k has, o outputs

    weights     the kernel is an inner product of explicit features: w_ko = sum_j a_koj phi_k(x_j), and a new row costs
                its features, however many columns there are (Linear; approximations by landmarks or frequencies;
                polynomials, where their monomials are fewer than the columns' numbers)
    quadratic   (g x'z + c)^2 = g^2 x'zz'x + 2 g c x'z + c^2: with M = g^2 sum_j a_j z_j z_j', v = 2 g c sum_j a_j z_j
                and s = c^2 sum_j a_j it is x'Mx + v'x + s, d^2 numbers however many columns, whatever the sign of c
    strings     k-mers and n-grams: the normal vector over the codes that the columns' rows have (`operators.normal`)
    values      all others: kernel values, those of kernels with a common base (Gaussians of several widths) from one
                computation of it; so the cost of a model follows the columns of these kernels

The folded form of a model is made at its first prediction and kept for the next ones; it is neither saved nor pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

import numpy as np

from kernelweave.engines.base import Engine
from kernelweave.estimators.scoring import Kept
from kernelweave.kernels import Kernel, Polynomial
from kernelweave.kernels.abilities import Counted, Embedding, FeatureMap, Positional
from kernelweave.kernels.base import Array, take
from kernelweave.kernels.base import width as row_width
from kernelweave.kernels.vector.table import as_table
from kernelweave.operators.expansion.cross import KEPT_ROWS, NEW_ROWS, spans
from kernelweave.operators.gram.mixture import Family

BLOCK = 2048
"""New rows whose features are made together."""
MAKING, CURVE = 240.0, 120.0
"""Cost of making a feature that is not a column of the table, and of turning an inner product into a kernel value, in
multiplications of a matrix product (measured: 30 and 15 ns against 0.12 ns)."""
WIDEST = 4096
"""Columns of a table up to which a quadratic form is held as a matrix."""

Target = Callable[[int], Array]
"""The array (rows, outputs) to which the scores of a kernel, by its number, are added."""


@dataclass(frozen=True)
class Share:
    """The columns of one kernel: which kernel, which of the kept rows (c,) rising, coefficients (c, outputs)."""

    kernel: int
    places: Array
    coef: Array


class Part(Protocol):
    """A way to score new rows by some of the kernels."""

    way: str

    def add_to(self, target: Target, X: Any, engine: Engine) -> None:
        """Add the scores of new rows."""


class Weights:
    """One weight for each explicit feature and output; (features, outputs)."""

    way = "weights"

    def __init__(self, kernel: Kernel, share: Share, kept: Any):
        self.kernel, self.number = cast(Embedding, kernel), share.kernel
        some = kept[share.places]
        self.w: Array = np.zeros(0)
        for part in spans(len(share.places), BLOCK):
            made = np.asarray(self.kernel.embedding(some[part]).T @ share.coef[part])
            self.w = self.w + made if self.w.size else made

    def add_to(self, target: Target, X: Any, engine: Engine) -> None:
        """Add features times weights."""
        out = target(self.number)

        def score(part: slice) -> None:
            out[part] += self.kernel.embedding(X[part]) @ self.w

        engine.map(score, spans(X.shape[0], BLOCK))


class Quadratic:
    """A quadratic function of the table for each output: the columns of a polynomial kernel of degree 2."""

    way = "quadratic"

    def __init__(self, kernel: Kernel, share: Share, kept: Any):
        self.number = share.kernel
        self.leaf = next(kernel.leaves())
        power = cast(Polynomial, self.leaf.kernel)
        z, a = self._table(kept[share.places]), self.leaf.factor * share.coef
        g, c = float(power.rate(z.shape[1])), float(power.coef0)
        self.M = [np.ascontiguousarray(g * g * (z.T * line) @ z) for line in a.T]
        self.v, self.s = 2.0 * g * c * (z.T @ a), c * c * a.sum(axis=0)

    def _table(self, X: Any) -> Array:
        rows = as_table(self.leaf.select(X))
        return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float64)

    def add_to(self, target: Target, X: Any, engine: Engine) -> None:
        """Add x'Mx + v'x + s."""
        out = target(self.number)

        def score(part: slice) -> None:
            x = self._table(X[part])
            values = x @ self.v + self.s
            for o, M in enumerate(self.M):
                values[:, o] += np.einsum("ij,ij->i", x @ M, x)
            out[part] += values

        engine.map(score, spans(X.shape[0], BLOCK))


class Vectors:
    """The normal vector of a kernel whose features have codes."""

    way = "strings"

    def __init__(self, number: int, vector: Any):
        self.number, self.vector = number, vector

    def add_to(self, target: Target, X: Any, engine: Engine) -> None:
        """Add the scores of the normal vector."""
        self.vector.add_to(target(self.number), X, engine)


class Values:
    """Kernel values of kernels with one base: it is computed once, on the rows that any of them has columns of."""

    way = "values"

    def __init__(self, kernels: Sequence[Kernel], shares: Sequence[Share], kept: Any):
        self.family, self.shares = Family(kernels), list(shares)
        self.base = self.family.bases[0]
        union = np.unique(np.concatenate([share.places for share in self.shares]))
        self.kept = self.base.prepare(kept[union])
        self.inner = [np.searchsorted(union, share.places) for share in self.shares]
        self.size = len(union)

    def add_to(self, target: Target, X: Any, engine: Engine) -> None:
        """Add kernel values times coefficients, tile by tile."""
        new = self.base.prepare(X)
        parts = [(take(self.kept, span), span) for span in spans(self.size, KEPT_ROWS)]

        def score(tile: slice) -> None:
            rows = take(new, tile)
            for kept, span in parts:
                base = self.base.block(rows, kept, np.float64)
                for k, (share, inner) in enumerate(zip(self.shares, self.inner)):
                    mine = np.flatnonzero((inner >= span.start) & (inner < span.stop))
                    if len(mine) == 0:
                        continue
                    used_up = k == len(self.shares) - 1 and len(mine) == base.shape[1]
                    values = self.family.finish(k, base if used_up else base[:, inner[mine] - span.start])
                    target(share.kernel)[tile] += values @ share.coef[mine]

        engine.map(score, spans(X.shape[0], NEW_ROWS))


class Folded:
    """A model over kernel columns, ready to score new rows.

    Parameters
    ----------
    kernels : of the model, every learned parameter filled in
    kept : rows the model keeps
    shares : the columns, one share for each kernel that has any
    outputs : number of outputs

    Examples
    --------
    >>> from kernelweave.engines import Serial
    >>> from kernelweave.kernels import Linear, RBF
    >>> rows = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]])
    >>> shares = [Share(0, np.array([0, 1]), np.array([[1.0], [0.5]])), Share(1, np.array([2]), np.array([[2.0]]))]
    >>> model = Folded([Linear(), RBF(width=1.0)], rows, shares, 1)
    >>> model.ways, model.scores(np.array([[1.0, 1.0]]), Serial())
    ({0: 'weights', 1: 'values'}, array([[4.]]))
    """

    def __init__(self, kernels: Sequence[Kernel], kept: Any, shares: Sequence[Share], outputs: int):
        self.m, self.outputs, self.parts = len(kernels), outputs, cast(list[Part], [])
        self.ways: dict[int, str] = {}
        bare: list[Share] = []
        for share in shares:
            part = _folded(kernels[share.kernel], share, kept)
            if part is None:
                bare.append(share)
            else:
                self._use(part, [share])
        family = Family([kernels[share.kernel] for share in bare])
        for members in family.members:
            some = [bare[i] for i in members]
            self._use(Values([family.kernels[i] for i in members], some, kept), some)

    def _use(self, part: Part, shares: Sequence[Share]) -> None:
        self.parts.append(part)
        self.ways.update({share.kernel: part.way for share in shares})

    def scores(self, X: Any, engine: Engine) -> Array:
        """Return the scores of new rows, (rows, outputs)."""
        out = np.zeros((X.shape[0], self.outputs))
        for part in self.parts:
            part.add_to(lambda kernel: out, X, engine)
        return out

    def contributions(self, X: Any, engine: Engine) -> Array:
        """Return what every kernel contributes, (m, rows, outputs)."""
        out = np.zeros((self.m, X.shape[0], self.outputs))
        for part in self.parts:
            part.add_to(lambda kernel: out[kernel], X, engine)
        return out


_rooms: WeakKeyDictionary[Any, tuple[Any, Folded]] = WeakKeyDictionary()


def folded(model: Any, key: Any, make: Callable[[], Folded]) -> Folded:
    """Return the folded form of a model, made once as long as `key` (what it is made of) is the same object."""
    known = _rooms.get(model)
    if known is None or known[0] is not key:
        known = _rooms[model] = (key, make())
    return known[1]


def _folded(kernel: Kernel, share: Share, kept: Any) -> Part | None:
    """Return the cheapest way that needs no kernel values, or None where they cost less."""
    columns, outputs = share.coef.shape
    if isinstance(kernel, Positional | FeatureMap | Counted):
        vector = Kept().of([kernel], np.ones((outputs, 1)), kept[share.places], np.ascontiguousarray(share.coef.T))
        return None if vector is None else Vectors(share.kernel, vector)
    leaf = next(kernel.leaves())
    square = leaf.direct and isinstance(leaf.kernel, Polynomial) and leaf.kernel.degree == 2
    if not square and not isinstance(kernel, Embedding):
        return None
    size = row_width(kernel.prepare(kept[share.places[:1]]))
    costs: dict[type[Weights | Quadratic], float] = {}
    if square and size <= WIDEST:
        costs[Quadratic] = float(outputs) * size * (size + 2)
    width = _width(kernel, kept[share.places[:1]])
    if width is not None:
        costs[Weights] = float(width) * (outputs + (MAKING if width > size else 0.0))
    best = min(costs, key=lambda way: costs[way], default=None)
    if best is None or costs[best] > columns * (size + CURVE):
        return None
    return best(kernel, share, kept)


def _width(kernel: Kernel, row: Any) -> int | None:
    """Return the number of explicit features, or None where there are none or too many."""
    if not isinstance(kernel, Embedding):
        return None
    try:
        return int(kernel.embedding(row).shape[1])
    except ValueError:  # too many monomials, or some of negative weight
        return None
