"""Normal vectors: one weight for each explicit feature and output, however many rows they were made of.

codes       features that have codes (k-mers, n-grams): w_o = sum_j a_oj phi(x_j) over the codes that the rows have
weights     few features in fixed columns (a table, landmarks, frequencies, monomials)
quadratic   (g x'z + c)^2 = g^2 x'zz'x + 2 g c x'z + c^2: with M = g^2 sum_j a_j z_j z_j', v = 2 g c sum_j a_j z_j
            and s = c^2 sum_j a_j it is x'Mx + v'x + s, d^2 numbers however many rows, whatever the sign of c
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from kernelweave._numba.csr import CSR
from kernelweave.data.blocks import FEATURE_ROWS, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.tree import Leaf
from kernelweave.operators.expansion.base import Share, State, held_bytes
from kernelweave.operators.expansion.values import SupportRows
from kernelweave.operators.features.design.maps import CodedMap, ColumnMap, number_codes
from kernelweave.operators.features.vocabulary import Vocabulary

ENTRIES_TOGETHER = 1 << 22
"""Features of these rows at most: a gapped k-mer kernel has tens of thousands for each row."""
DIRECT = 1 << 23
"""Features times outputs up to which weights are first added up by the numbers of the columns, without a hash table."""
FEW_ROWS = 64
"""New rows up to which kernel values cost less than making a vector that is too large to store."""
LOOKED_AT = 4
"""Rows that tell how many features a row has."""


class FeatureWeights:
    """Weights of the columns of one kernel, as a map numbers them.

    Parameters
    ----------
    number : of the kernel
    columns : from rows to columns
    w : (outputs, width)
    kept : whether the model holds the weights anyway, so that they are not part of the state
    """

    def __init__(self, number: int, columns: ColumnMap, w: Array, kept: bool = False):
        self.numbers: tuple[int, ...] = (number,)
        self.map, self.w, self.kept = columns, w, kept
        self.way = "weights" if columns.codes is None else "codes"
        self.used = bool(w.any())

    def scores(self, X: Any, engine: Engine) -> Array:
        """Return features times weights; where all weights are zero no feature is made."""
        if not self.used or not X.shape[0]:
            return np.zeros((X.shape[0], len(self.w)))
        if self.map.codes is None:
            return self.map.scores(X, self.w, engine)
        number_codes([self.map])  # before workers ask, each of which would number them for itself
        size = rows_together(self.map.columns(X[:LOOKED_AT]))
        return np.concatenate(engine.map(lambda cut: self.map.scores(X[cut], self.w), spans(X.shape[0], size)))

    def contributions(self, X: Any, engine: Engine) -> Array:
        """Return features times weights, as one kernel's."""
        return self.scores(X, engine)[None]

    def state(self) -> State:
        """Return codes and weights, unless the model holds them."""
        return {} if self.kept else {"codes": self.map.codes, "weights": self.w}

    @property
    def nbytes(self) -> int:
        """Bytes of the weights, the codes and the table that finds them."""
        known = self.map.__dict__.get("vocabulary")
        return held_bytes([self.w, *[part for part in (self.map.codes, known) if part is not None]])


def rows_together(some: CSR) -> int:
    """Return of how many rows the features are made together, by those of a few rows."""
    each = max(1, some.entries // max(1, len(some)))
    return int(np.clip(ENTRIES_TOGETHER // each, 1, FEATURE_ROWS))


def coded_weights(kernel: Kernel, share: Share, kept: Any) -> FeatureWeights:
    """Return the normal vector of kept rows over the codes of their features."""
    coef, able = share.coef * share.factor, cast(Features, kernel)
    rows = kept if len(share.places) == kept.shape[0] else kept[share.places]
    some = able.counts(rows[:LOOKED_AT])
    blocks = ((able.counts(rows[cut]), coef[cut]) for cut in spans(len(coef), rows_together(some)))
    if some.codes.shape[1] == 1 and able.n_features(rows[:1]) * coef.shape[1] <= DIRECT:
        w = np.zeros((coef.shape[1], able.n_features(rows[:1])))
        for found, alpha in blocks:
            _add_block(w, found.codes[:, 0], found, alpha)
        used = np.flatnonzero((w != 0).any(axis=0))
        return FeatureWeights(share.kernel, CodedMap(kernel, used[:, None], rows[:1]), np.ascontiguousarray(w[:, used]))
    known, w = Vocabulary(some.codes.shape[1]), np.zeros((coef.shape[1], 0))
    for found, alpha in blocks:
        number = known.number(found.codes)
        w = np.pad(w, ((0, 0), (0, known.size - w.shape[1])))
        _add_block(w, number, found, alpha)
    return FeatureWeights(share.kernel, CodedMap.of(kernel, known, rows[:1]), w)


def _add_block(w: Array, number: Array, found: CSR, coef: Array) -> None:
    """Add coefficients times features, given by their numbers, to the weights of each output."""
    sizes = np.diff(found.starts)
    for line, alpha in zip(w, coef.T):
        line += np.bincount(number, weights=found.values * np.repeat(alpha, sizes), minlength=len(line))


def stored_codes(kernel: Kernel, share: Share, kept: Any, state: State) -> FeatureWeights:
    """Return the normal vector that `FeatureWeights.state` described."""
    w = checked(state, "weights", (share.coef.shape[1], None))
    codes = state["codes"]
    if not isinstance(codes, np.ndarray) or codes.dtype.kind not in "iu" or codes.shape[:-1] != w.shape[1:]:
        raise ValueError(f"The codes of {kernel!r} do not fit its weights.")
    return FeatureWeights(share.kernel, CodedMap(kernel, codes, kept[share.places[:1]]), w)


class CodesOnDemand:
    """A normal vector that is far larger than the rows it is made of: a file holds the rows.

    A few new rows are scored by kernel values, more by the vector, which then is made.

    Parameters
    ----------
    kernel, share, kept : as for `coded_weights`
    """

    way = "codes on demand"

    def __init__(self, kernel: Kernel, share: Share, kept: Any):
        self.numbers: tuple[int, ...] = (share.kernel,)
        self.kernel, self.share, self.kept = kernel, share, kept
        self._values: SupportRows | None = None
        self._vector: FeatureWeights | None = None

    def scores(self, X: Any, engine: Engine) -> Array:
        """Return the scores by kernel values or by the vector; which, depends on the number of rows alone."""
        if X.shape[0] <= FEW_ROWS:
            self._values = self._values or SupportRows([self.kernel], [self.share], self.kept)
            return self._values.scores(X, engine)
        self._vector = self._vector or coded_weights(self.kernel, self.share, self.kept)
        return self._vector.scores(X, engine)

    def contributions(self, X: Any, engine: Engine) -> Array:
        """Return the scores, as one kernel's."""
        return self.scores(X, engine)[None]

    def state(self) -> State:
        """Return nothing: rows and coefficients belong to the model."""
        return {}

    @property
    def nbytes(self) -> int:
        """Bytes of what was made so far."""
        return sum(part.nbytes for part in (self._values, self._vector) if part is not None)


class DenseWeights:
    """One weight for each explicit feature and output.

    Parameters
    ----------
    number, kernel : with the ability `Features`
    w : (features, outputs)
    """

    way = "weights"

    def __init__(self, number: int, kernel: Kernel, w: Array):
        self.numbers: tuple[int, ...] = (number,)
        self.kernel, self.w = cast(Features, kernel), w

    @classmethod
    def of(cls, kernel: Kernel, share: Share, kept: Any) -> DenseWeights:
        """Return the weights that columns of a kernel add up to."""
        some, coef = kept[share.places], share.coef * share.factor
        w = sum(
            np.asarray(cast(Features, kernel).features(some[part]).T @ coef[part])
            for part in spans(len(coef), FEATURE_ROWS)
        )
        return cls(share.kernel, kernel, np.ascontiguousarray(w))

    @classmethod
    def stored(cls, kernel: Kernel, share: Share, kept: Any, state: State) -> DenseWeights:
        """Return the weights of a state."""
        return cls(share.kernel, kernel, checked(state, "weights", (None, share.coef.shape[1])))

    def scores(self, X: Any, engine: Engine) -> Array:
        """Return features times weights."""
        cuts = spans(X.shape[0], FEATURE_ROWS)
        made = engine.map(lambda cut: np.asarray(self.kernel.features(X[cut]) @ self.w), cuts)
        return np.concatenate([np.zeros((0, self.w.shape[1])), *made])

    def contributions(self, X: Any, engine: Engine) -> Array:
        """Return features times weights, as one kernel's."""
        return self.scores(X, engine)[None]

    def state(self) -> State:
        """Return the weights."""
        return {"weights": self.w}

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return self.w.nbytes


class QuadraticForm:
    """A quadratic function of a table for each output: the columns of a polynomial kernel of degree 2.

    Parameters
    ----------
    number : of the kernel
    leaf : the polynomial inside factors and selections
    M, v, s : (outputs, d, d), (d, outputs), (outputs,)
    """

    way = "quadratic"

    def __init__(self, number: int, leaf: Leaf, M: Array, v: Array, s: Array):
        self.numbers: tuple[int, ...] = (number,)
        self.leaf, self.M, self.v, self.s = leaf, M, v, s

    @classmethod
    def of(cls, kernel: Kernel, share: Share, kept: Any) -> QuadraticForm:
        """Return the form that columns of a kernel add up to."""
        (leaf,) = kernel.leaves()
        z, g, c = cast(Any, leaf.kernel).square(leaf.select(kept[share.places]))
        a = leaf.factor * share.coef * share.factor
        M = np.stack([g * g * (z.T * line) @ z for line in a.T])
        return cls(share.kernel, leaf, M, 2.0 * g * c * (z.T @ a), c * c * a.sum(axis=0))

    @classmethod
    def stored(cls, kernel: Kernel, share: Share, kept: Any, state: State) -> QuadraticForm:
        """Return the form of a state."""
        (leaf,) = kernel.leaves()
        v = checked(state, "v", (None, share.coef.shape[1]))
        d, outputs = v.shape
        return cls(share.kernel, leaf, checked(state, "M", (outputs, d, d)), v, checked(state, "s", (outputs,)))

    def scores(self, X: Any, engine: Engine) -> Array:
        """Return x'Mx + v'x + s."""

        def score(cut: slice) -> Array:
            x, _, _ = cast(Any, self.leaf.kernel).square(self.leaf.select(X[cut]))
            values = x @ self.v + self.s
            for o, M in enumerate(self.M):
                values[:, o] += np.einsum("ij,ij->i", x @ M, x)
            return values

        return np.concatenate([np.zeros((0, len(self.s))), *engine.map(score, spans(X.shape[0], FEATURE_ROWS))])

    def contributions(self, X: Any, engine: Engine) -> Array:
        """Return the form, as one kernel's."""
        return self.scores(X, engine)[None]

    def state(self) -> State:
        """Return the three arrays."""
        return {"M": self.M, "v": self.v, "s": self.s}

    @property
    def nbytes(self) -> int:
        """Bytes of the three arrays."""
        return held_bytes([self.M, self.v, self.s])


def checked(state: State, name: str, shape: tuple[int | None, ...]) -> Array:
    """Return an array of a state, or raise unless it has this shape and finite numbers only."""
    values = state[name]
    fits = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == len(shape)
    if not fits or any(want not in (None, got) for want, got in zip(shape, values.shape)):
        raise ValueError(f"The stored {name} of a model do not have the shape that its kernels need.")
    if not np.isfinite(values).all():
        raise ValueError(f"The stored {name} of a model are not finite.")
    return values
