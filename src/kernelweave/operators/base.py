"""Contracts between kernels and optimisation: kernels bound to training rows."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

Array = np.ndarray


@runtime_checkable
class Operator(Protocol):
    """A kernel bound to n training rows.  It never sees labels: one operator serves all classes and costs."""

    n: int

    def diag(self) -> Array:
        """Return the diagonal, (n,)."""

    def columns(self, rows: Array) -> Array:
        """Return ``K[:, rows]``, (n, len(rows))."""

    def submatrix(self, rows: Array) -> Array:
        """Return ``K[rows][:, rows]``, contiguous."""

    def add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K[:, rows] @ steps`` to `out` (n,)."""


@runtime_checkable
class Dense(Protocol):
    """Ability: the whole Gram matrix is in memory, for loops that need every column at machine speed."""

    gram: Array


@runtime_checkable
class WholeProducts(Protocol):
    """Ability: ``K @ alpha`` for a whole alpha has a way of its own, which spares what steps of few rows work on."""

    def whole_product(self, alpha: Array) -> Array | None:
        """Return ``K @ alpha``, or None where it is no better than a step of all rows."""


def product(operator: Operator, alpha: Array) -> Array:
    """Return ``K @ alpha``, reading only the columns where alpha is not zero."""
    found = operator.whole_product(alpha) if isinstance(operator, WholeProducts) else None
    if found is not None:
        return found
    out = np.zeros(operator.n)
    rows = np.flatnonzero(alpha)
    operator.add_to(out, rows, alpha[rows])
    return out


@runtime_checkable
class Rounded(Protocol):
    """Ability: values may be stored in single precision, but the kernel is at hand for products in double."""

    def exact_product(self, alpha: Array, rows: Array | None = None) -> Array | None:
        """Return ``K @ alpha`` computed afresh in double precision, or None where the stored values are double.

        Only some rows of it where `rows` are named, (len(rows),); those where alpha is not zero must be among them.
        """


@runtime_checkable
class OnDemand(Protocol):
    """Ability: values are made from the rows when they are asked for, so that those of few rows cost little."""

    most_rows: int
    """So many rows' Gram matrix fits the memory."""

    def restricted(self, rows: Array) -> Operator:
        """Return the kernel on some of the rows, to be held as their Gram matrix."""

    def fresh_product(self, alpha: Array, rows: Array | None = None) -> Array:
        """Return ``K @ alpha`` in double precision without keeping values; `rows` as for `Rounded.exact_product`."""


@runtime_checkable
class AtOnce(Protocol):
    """Ability of a kernel, or of a set of kernels: products cost about the same however few rows move.

    Solvers that move all rows in each of few steps suit it best; single kernel values are expensive.
    """

    product_seconds: float
    """Roughly, of a product with any vector; of a set of kernels, with their sum."""


@runtime_checkable
class OperatorSet(Protocol):
    """m kernels bound to the same n training rows."""

    n: int
    m: int

    def energies(self, alpha: Array) -> Array:
        """Return ``alpha' K_k alpha`` for every kernel, (m,)."""

    def each_inside(self, rows: Array, steps: Array) -> Array:
        """Return ``K_k[rows][:, rows] @ steps`` for every kernel, (m, len(rows))."""

    def each_add_to(self, out: Array, rows: Array, steps: Array) -> None:
        """Add ``K_k[:, rows] @ steps`` to ``out[k]``, (m, n), for every kernel."""

    def combined(self, weights: Array) -> Operator:
        """Return ``sum_k weights[k] K_k`` as an operator."""

    def combined_submatrix(self, weights: Array, rows: Array) -> Array:
        """Return ``sum_k weights[k] K_k[rows][:, rows]``."""

    def diagonals(self) -> Array:
        """Return the diagonal of every kernel, (m, n)."""


@runtime_checkable
class RoundedSet(Protocol):
    """Ability of a set of kernels: it knows whether its values are rounded to single precision.

    Rounded values find the optimum; what they say of either objective is proved by products in double precision.
    """

    rounded: bool


@runtime_checkable
class Selectable(Protocol):
    """Ability of a set of kernels: some of them can be had on their own, at a cost that grows with these alone."""

    def selected(self, kernels: Array) -> OperatorSet:
        """Return some of the kernels, by number, on the same rows."""


@runtime_checkable
class Linadd(Protocol):
    """Ability: products go through a normal vector, so that working on fewer rows costs less."""

    def narrowed(self, rows: Array) -> Operator:
        """Return the kernel on some of the rows."""


@runtime_checkable
class Blocks(Protocol):
    """Ability: values between two sets of rows are made afresh, so that those that are known are worth keeping."""

    def block(self, rows: Array, others: Array) -> Array:
        """Return ``K[rows][:, others]``, contiguous."""


@runtime_checkable
class Restrictable(Protocol):
    """Ability of a set of kernels: it can be bound to some of its rows at little cost."""

    curvature_rows: int
    """So many rows' kernel values are cheap beside a solution; a second-order method looks at no more."""

    def restricted(self, rows: Array) -> OperatorSet:
        """Return the same kernels on some of the rows."""


class DescentState(NamedTuple):
    """What coordinate descent knows of each row; shapes (copies, n), (n,) or single numbers."""

    p: Array
    ridge: Array
    entropy: float
    """Weight of the entropies of a logistic loss, 0 for other losses."""
    low: Array
    high: Array
    curvature: Array
    """Second derivative in each variable: diagonal, ridge and `pull`."""
    fixed: Array
    """What rows that do not take part add to the outputs."""
    intercept: float
    pull: float
    """By how much a change of the sum of alpha moves every output."""
    v: Array
    """The variables; changed in place."""
    outputs: Array
    """Set to the output of each row as it was when its turn came, intercept included."""


@runtime_checkable
class Descent(Protocol):
    """Explicit features of some rows and a normal vector that follows alpha."""

    n: int

    def start(self, alpha: Array) -> None:
        """Set the normal vector to ``sum_i alpha_i Phi(x_i)``."""

    def sweep(self, rows: Array, state: DescentState) -> float:
        """Step along each of the rows in turn; return by how much the sum of alpha changed."""

    def outputs(self, alpha: Array) -> Array:
        """Return the output of every row, from the normal vector."""

    def product(self, alpha: Array, rows: Array | None = None) -> Array:
        """Return ``K @ alpha`` afresh, in double precision; only some rows of it where `rows` are named."""


@runtime_checkable
class Automaton(Protocol):
    """Ability of a `Descent`: its normal vector is an automaton, whose size is known."""

    n_arcs: int


KMER_STORES = ("map", "sorted", "trie")
"""How working sets can keep the normal vector of positioned k-mers, beside the index that is the fastest."""
DESCENT_STORES = {
    "indexed": "a flat array over numbered features; the fastest",
    "trie": "a tree of prefixes, followed letter by letter along each string of a row",
    "minimal": "the minimal deterministic automaton, changed in place",
    "naive": "the sum of the automata of all support rows as it is, followed as a whole in each step",
}
"""How coordinate descent can keep the normal vector: over numbered features, or as an automaton of strings."""


@runtime_checkable
class StringFeatures(Protocol):
    """Ability: features are strings, so that the normal vector can be an automaton."""

    def stored(self, store: str) -> Descent:
        """Return a normal vector over all rows, kept in a store of this name."""


@runtime_checkable
class PrimalOperator(Operator, Protocol):
    """Ability: rows have explicit features, and coordinate descent can keep the normal vector itself."""

    def descent(self, rows: Array | None, dtype: type) -> Descent:
        """Return a normal vector over some rows (None: all), to be kept in this precision."""


@runtime_checkable
class RankOneVectors(Protocol):
    """Ability of a set of kernels: each is the product of one number a row."""

    n: int
    m: int
    vectors: Array
    """(m, n)."""


@runtime_checkable
class Ranked(Protocol):
    """Ability of a kernel, or of a set of kernels: the number of explicit features is known."""

    rank: int
    entries: float
    """Features of a row that are not zero, on average."""


@runtime_checkable
class Factored(Protocol):
    """Ability: ``K = X X' + diag(own)`` with a table X of `rank` columns, for methods that work in their number."""

    n: int
    rank: int
    entries: float
    """Features of a row that are not zero, on average."""

    def diag(self) -> Array:
        """Return the diagonal, (n,)."""

    def factor(self) -> tuple[Array, Array]:
        """Return X (n, rank) and own (n,), in double precision."""


@runtime_checkable
class DesignMatrix(Protocol):
    """The explicit features of m kernels on n rows, side by side: ``X = [X_1 .. X_m]``, ``K_k = X_k X_k'``."""

    n: int
    m: int
    width: int
    offsets: Array
    """(m + 1,) int64: kernel k owns the columns from ``offsets[k]`` to ``offsets[k + 1]``."""
    dense: bool
    streamed: bool
    """Whether `part` makes rows afresh, so that each call costs the features of its rows."""
    parts: list[slice]
    """The rows of each part; a single one where all are in memory."""

    @property
    def widest(self) -> int:
        """Columns of the kernel that has most."""

    def affordable(self) -> int:
        """Return how many columns may be copied, with matrices of as many rows and columns, within the memory limit."""

    def part(self, i: int) -> Any:
        """Return rows: `values` (rows, width), or `starts` (rows + 1,), `columns` and `values` where not dense."""

    def taken(self, rows: Array) -> DesignMatrix:
        """Return the same columns on some of the rows, in memory."""

    def columns(self, some: Array, former: tuple[Array, Any] | None = None) -> Any:
        """Return some columns, which rise, of all rows, numbered anew, in memory and in double precision.

        `former` are other columns and what was returned for them: it need not be made again.
        """

    def outputs(self, w: Array) -> Array:
        """Return ``X w``, (n,)."""

    def correlate(self, coef: Array) -> Array:
        """Return ``X' coef``, (width,)."""

    def squares(self) -> Array:
        """Return the mean and the largest squared length of the rows under every kernel, (m, 2)."""


@runtime_checkable
class HasDesign(Protocol):
    """Ability of a set of kernels: their features are at hand, for solvers that walk in the space of w."""

    design: DesignMatrix


@runtime_checkable
class Sharded(Protocol):
    """Ability of a kernel, or of a set of kernels: rows are too many to be held, and are worked through part by part.

    What is asked of all rows goes to an engine, one part at a time; some of the rows can be bound in memory.
    """

    n: int
    parts: list[slice]
    """Cuts of the rows by their number alone."""
    most_rows: int
    """So many rows can be bound in memory at a time."""

    def subset(self, rows: Array) -> Any:
        """Return the kernel, or the kernels, on some rows that rise, in memory: an `Operator` or an `OperatorSet`."""

    def scored(self, weights: Array, rows: Array, coef: Array, fn: Any, jobs: list[Any]) -> tuple[list[Any], int]:
        """Return ``fn(outputs, job)`` for every part, and about how many bytes that took there and back.

        Parameters
        ----------
        weights, rows, coef : the classifier: weights of the kernels, rows that it keeps, their coefficients
        fn : pure; gets the outputs of a part's rows, without intercept, and its job
        jobs : what else each part needs
        """
