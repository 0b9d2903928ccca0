"""Kernels of l-mers by Hamming distance, as tables over all 4^l l-mers: no kernel value, no list of features.

    K alpha:    table[u] = sum_i alpha_i / norm_i  (how often row i has u)          one scatter over the letters
                table    = H table,   H[u, v] = c[d(u, v)]                          two Walsh-Hadamard transforms
                out_i    = sum of the table over the l-mers of row i, / norm_i      one look-up for each l-mer

so a product costs the table, whatever the number of rows, and a look-up for each letter.  With reverse complements the
table adds to each l-mer what its reverse complement has; features that are their own are taken off (`own_features`).

Kernels that differ in c alone share the scatter and, summed, the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from kernelweave._numba.walsh import add_other_strand, multiply, power, spectrum
from kernelweave.data.blocks import LOOKUP_ROWS, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Hamming
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.tree import Cosine, On, Scaled
from kernelweave.operators.expansion.terms import terms
from kernelweave.operators.features.operator import FeatureOperator, SharedColumns
from kernelweave.operators.gram.mixture import Mixture
from kernelweave.operators.kmers.lmers import LmerRows

TRANSFORM_COST = 20.0
"""Nanoseconds of both transforms, the other strand and the memory, for each entry of a table."""
LOOK_UP_COST = 3.4
"""Nanoseconds to scatter and to look up an l-mer."""


class Lmers:
    """The l-mers of training rows, with a factor for each row: what kernels with the same factors share.

    Parameters
    ----------
    X : rows over at most four letters
    kernel : with the ability `Hamming`; says l, the weights of places and whether both strands count
    scale : (n,) factor of each row, or None
    """

    def __init__(self, X: Any, kernel: Hamming, scale: Array | None = None):
        self.rows, self.scale = LmerRows(X, kernel), scale
        self.letters = kernel.window()[0]
        self.partner = X.alphabet.complement_codes[: X.alphabet.size] if kernel.reverse_complement else None
        if self.partner is not None and len(self.partner) < 4:
            self.partner = np.concatenate([self.partner, np.arange(len(self.partner), 4)])

    def scattered(self, rows: Array, steps: Array) -> Array:
        """Return the table of the rows that move."""
        table = np.zeros(4**self.letters)
        self.rows.scatter(rows, self.scaled(rows, steps), table)
        return table

    def scaled(self, rows: Array, steps: Array) -> Array:
        """Return steps times the factors of their rows."""
        return steps if self.scale is None else steps * self.scale[rows]

    def multiplied(self, table: Array, factors: Array) -> Array:
        """Return a table times H, in place, and what the other strand adds."""
        multiply(table, self.letters, factors)
        if self.partner is not None:
            add_other_strand(table, self.letters, self.partner)
        return table

    def look_up(self, table: Array, engine: Engine, out: Array) -> None:
        """Add to `out` the sums of a table over the l-mers of every row."""
        found = out if self.scale is None else np.zeros(self.rows.n)
        rows = self.rows
        engine.map_into(
            found, lambda shard, part: rows.gather(table, shard.start, part), spans(rows.n, LOOKUP_ROWS)
        )  # fmt: skip
        if self.scale is not None:
            out += self.scale * found

    def powers(self, rows: Array, steps: Array) -> Array:
        """Return what the energy of every kernel on these l-mers is made of, see `walsh.power`."""
        table = self.scattered(rows, steps)
        if self.partner is None:
            return power(table, self.letters)
        # sum_u sum_v t_u (H_uv + H_u~v) t_v is half of that of the table with both strands
        add_other_strand(table, self.letters, self.partner)
        return 0.5 * power(table, self.letters)


class Bound(NamedTuple):
    """An innermost kernel bound to l-mers: H by its spectrum, times its factor, and features to be taken off."""

    lmers: Lmers
    factors: Array
    own: FeatureOperator | None
    factor: float

    def energy(self, powers: Array, rows: Array, steps: Array) -> float:
        """Return ``steps'K steps`` from the powers of the rows that move."""
        value = float(powers @ self.factors) * 4.0**self.lmers.letters
        if self.own is not None:
            out = np.zeros(self.lmers.rows.n)
            scaled = self.factor * self.lmers.scaled(rows, steps)
            self.own.add_to(out, rows, scaled)
            value -= float(out[rows] @ scaled) / self.factor
        return value


class TableOperator:
    """A kernel made of `Hamming` kernels, bound to training rows.

    Parameters
    ----------
    kernel, X : the kernel and the training rows, for what little is asked of kernel values
    parts : its innermost kernels, bound to l-mers
    """

    def __init__(self, kernel: Kernel, X: Any, parts: Sequence[Bound], diagonal: Array, engine: Engine):
        self.kernel, self.X, self.parts, self.engine = kernel, X, list(parts), engine
        self.n, self._diagonal = len(diagonal), diagonal

    @classmethod
    def of(cls, kernel: Kernel, X: Any, engine: Engine) -> TableOperator:
        """Bind a kernel to training rows."""
        parts = bound(kernel, X, engine, [])
        return cls(kernel, X, parts, diagonal(kernel, X, parts), engine)

    def diag(self) -> Array:
        """Return the diagonal, (n,)."""
        return self._diagonal

    @property
    def product_seconds(self) -> float:
        """Roughly, the seconds of a product with any vector."""
        return sum(table_seconds(lmers.letters, len(lmers.rows.letters)) for lmers, _ in self._tables)

    @cached_property
    def _tables(self) -> list[tuple[Lmers, Array]]:
        """The l-mers, and the spectrum of all kernels on them together."""
        found: dict[int, tuple[Lmers, Array]] = {}
        for part in self.parts:
            _, former = found.get(id(part.lmers), (None, 0.0))
            found[id(part.lmers)] = part.lmers, former + part.factors
        return list(found.values())

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out` through one table for each length of l-mers."""
        if not len(rows):
            return
        rows, steps = np.asarray(rows, np.int64), np.asarray(steps, np.float64)
        for lmers, factors in self._tables:
            lmers.look_up(lmers.multiplied(lmers.scattered(rows, steps), factors), self.engine, out)
        for part in self.parts:
            take_off(part, rows, steps, out)

    def columns(self, rows: Array) -> Array:
        """Return ``K[:, rows]``, (n, len(rows))."""
        out = np.zeros((len(rows), self.n))
        for line, row in zip(out, rows):
            self.add_to(line, np.array([row]), np.ones(1))
        return out.T

    def submatrix(self, rows: Array) -> Array:
        """Return ``K[rows][:, rows]``, from kernel values."""
        return np.ascontiguousarray(self.kernel.gram(self.X[np.asarray(rows)]), np.float64)


class TableSet:
    """Many such kernels on the same rows; those with the same l-mers and factors of rows share one scatter.

    Parameters
    ----------
    kernels, X : the kernels and the training rows
    """

    curvature_rows = 200  # kernel values cost as much as all pairs of l-mers

    def __init__(self, kernels: Sequence[Kernel], X: Any, engine: Engine):
        self.kernels, self.X, self.engine = list(kernels), X, engine
        self.n, self.m, known = X.shape[0], len(kernels), cast(list[Lmers], [])
        self.parts = [bound(kernel, X, engine, known) for kernel in self.kernels]
        self._diagonals = np.stack([diagonal(kernel, X, part) for kernel, part in zip(self.kernels, self.parts)])

    @property
    def product_seconds(self) -> float:
        """Roughly, the seconds of a product with the sum of all kernels."""
        return self.combined(np.ones(self.m)).product_seconds

    def restricted(self, rows: Array) -> TableSet:
        """Return the same kernels on some of the rows."""
        return TableSet(self.kernels, self.X[np.asarray(rows)], self.engine)

    def combined(self, weights: Array) -> TableOperator:
        """Return ``sum_k weights[k] K_k`` as an operator; kernels of weight zero cost nothing."""
        used = [k for k in range(self.m) if weights[k] > 0.0]
        parts = [
            part._replace(factors=weights[k] * part.factors, factor=weights[k] * part.factor)
            for k in used
            for part in self.parts[k]
        ]
        kernel = Mixture([self.kernels[k] for k in used], [float(weights[k]) for k in used])
        return TableOperator(kernel, self.X, parts, np.asarray(weights) @ self._diagonals, self.engine)

    def combined_submatrix(self, weights: Array, rows: Array) -> Array:
        """Return ``sum_k weights[k] K_k[rows][:, rows]``."""
        out, some = np.zeros((len(rows), len(rows))), self.X[np.asarray(rows)]
        for kernel, weight in zip(self.kernels, weights):
            if weight > 0.0:
                out += weight * kernel.gram(some)
        return out

    def diagonals(self) -> Array:
        """Return the diagonal of every kernel, (m, n)."""
        return self._diagonals

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,), by one transform for each set of l-mers."""
        rows = np.flatnonzero(alpha)
        found: dict[int, Array] = {}
        out = np.zeros(self.m)
        for k, parts in enumerate(self.parts):
            for part in parts:
                if id(part.lmers) not in found:
                    found[id(part.lmers)] = part.lmers.powers(rows, alpha[rows])
                out[k] += part.energy(found[id(part.lmers)], rows, alpha[rows])
        return out

    def each_inside(self, rows: Array, steps: Array) -> Array:
        """Return ``K_k[rows][:, rows] @ steps`` for every kernel, (m, len(rows))."""
        out = np.zeros((self.m, self.n))
        self.each_add_to(out, rows, steps)
        return out[:, rows]

    def each_add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K_k[:, rows] @ steps`` to ``out[k]``, (m, n), for every kernel."""
        rows, steps = np.asarray(rows, np.int64), np.asarray(steps, np.float64)
        tables: dict[int, Array] = {}
        for line, parts in zip(out, self.parts):
            for part in parts:
                if id(part.lmers) not in tables:
                    tables[id(part.lmers)] = part.lmers.scattered(rows, steps)
                table = tables[id(part.lmers)].copy()
                part.lmers.look_up(part.lmers.multiplied(table, part.factors), self.engine, line)
                take_off(part, rows, steps, line)


def bound(kernel: Kernel, X: Any, engine: Engine, known: list[Lmers]) -> list[Bound]:
    """Return the innermost kernels of a kernel, bound; l-mers that are `known` are used again, new ones join them."""
    found = []
    for term in terms(kernel, X):
        inner = cast(Hamming, term.kernel)
        scale = None
        if term.norms is not None:
            scale = np.divide(1.0, term.norms, out=np.zeros_like(term.norms), where=term.norms > 0)
        lmers = _shared(Lmers(term.rows, inner, scale), known)
        values = np.asarray(inner.coefficients(term.rows.alphabet.size), np.float64)
        own = inner.own_features(term.rows) if inner.reverse_complement else None
        factors = term.factor * spectrum(values, lmers.letters) / 4.0**lmers.letters
        taken = None if own is None else FeatureOperator.bound(SharedColumns.of(own), engine)
        found.append(Bound(lmers, factors, taken, term.factor))
    return found


def _shared(made: Lmers, known: list[Lmers]) -> Lmers:
    """Return equal l-mers that are known already, or those made, which then are."""
    for other in known:
        mine, theirs = made.rows, other.rows
        same = other.letters == made.letters and (other.partner is None) == (made.partner is None)
        same = same and _equal(other.scale, made.scale) and _equal(theirs.weights, mine.weights)
        if same and _equal(theirs.offsets, mine.offsets) and _equal(theirs.letters, mine.letters):
            return other
    known.append(made)
    return made


def _equal(a: Array | None, b: Array | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def take_off(part: Bound, rows: Array, steps: Array, out: Array) -> None:
    """Take what features give that are their own reverse complement off the outputs."""
    if part.own is None:
        return
    lmers = part.lmers
    found = np.zeros(lmers.rows.n)
    part.own.add_to(found, rows, part.factor * lmers.scaled(rows, steps))
    out -= found if lmers.scale is None else lmers.scale * found


def diagonal(kernel: Kernel, X: Any, parts: Sequence[Bound]) -> Array:
    """Return the diagonal of a kernel; of a normalised one it is known from the norms."""
    (leaf, *others) = kernel.leaves()
    outer = leaf.path[: next((i for i, node in enumerate(leaf.path) if isinstance(node, Cosine)), len(leaf.path))]
    if len(outer) < len(leaf.path) and all(isinstance(node, Scaled | On) for node in outer) and not others:
        factor = float(np.prod([node.factor for node in outer if isinstance(node, Scaled)]))
        return factor * (np.asarray(parts[0].lmers.scale) > 0.0)
    return np.asarray(kernel.diag(X), np.float64)


def table_seconds(letters: int, places: int) -> float:
    """Return roughly the seconds of a product: the table, and a look-up for each letter of the rows."""
    return 1e-9 * (TRANSFORM_COST * 4.0**letters + LOOK_UP_COST * places)
