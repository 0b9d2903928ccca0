"""Expansions over kept rows: which member scores each kernel.

Kernels are taken apart into summands first. Of those, k-mers with a place that share coefficients go into one set of
tables; l-mers of four letters become a table over all of them, other k-mers and n-grams weights of codes; explicit
features in columns, and squares of tables, become weights or a quadratic form where a new row costs less that way than
by kernel values; what is left is scored by kernel values, so that the cost of a model follows the rows of these
kernels.

A model file holds weights of codes, weights, quadratic forms and constants beside the rows and coefficients, which are
the model's own.  Weights of codes that would take more than `STORED_BYTES` are left out: the rows are far smaller, and
a few new rows are compared with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from kernelweave.data.kinds import n_rows
from kernelweave.data.tables import is_hollow
from kernelweave.kernels.abilities import Features, Positional, Square, Transduced, has_codes
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.base import width as row_width
from kernelweave.kernels.tree import Centred, On, Scaled, Sum
from kernelweave.operators.expansion.base import Expansion, Member, Part, Share, State
from kernelweave.operators.expansion.lmers import LmerWeights, has_lmer_tables
from kernelweave.operators.expansion.positional import PositionalTables, has_tables
from kernelweave.operators.expansion.terms import Term, terms
from kernelweave.operators.expansion.values import Constant, SupportRows
from kernelweave.operators.expansion.weights import (
    CodesOnDemand,
    DenseWeights,
    QuadraticForm,
    checked,
    coded_weights,
    stored_codes,
)
from kernelweave.operators.gram.mixture import Family

MAKING, CURVE = 240.0, 120.0
"""Cost of making a feature that is not a column of the table, and of turning an inner product into a kernel value, in
multiplications of a matrix product (measured: 30 and 15 ns against 0.12 ns)."""
STORED_BYTES = 256e6
"""Bytes of weights of codes that a model file holds: so many are read, checked and numbered in two to three seconds."""
STRINGS_A_ROW = 100
"""Strings of a lattice for each row that the model keeps from which on kernel values, which list none, cost less."""
WIDEST = 4096
"""Columns of a table up to which a quadratic form is held as a matrix."""


class RowExpansion(Expansion):
    """Kernels, the rows that a model keeps, and their coefficients.

    Parameters
    ----------
    kernels : of the model, every learned parameter filled in
    rows : what it keeps of the training rows
    shares : one for each kernel that has any coefficients
    outputs : how many

    Examples
    --------
    >>> from kernelweave.engines import Serial
    >>> from kernelweave.kernels import Linear, RBF
    >>> rows = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]])
    >>> shares = [Share(0, np.array([0, 1]), np.array([[1.0], [0.5]])), Share(1, np.array([2]), np.array([[2.0]]))]
    >>> model = RowExpansion([Linear(), RBF(width=1.0)], rows, shares, 1)
    >>> model.ways, model.scores(np.array([[1.0, 1.0]]), Serial())
    ({0: 'weights', 1: 'values'}, array([[4.]]))
    """

    def __init__(self, kernels: Sequence[Kernel], rows: Any, shares: Sequence[Share], outputs: int):
        super().__init__(kernels, rows, outputs)
        self.shares, self.common = list(shares), False

    @classmethod
    def weighted(cls, kernels: Sequence[Kernel], rows: Any, weights: Array, coef: Array) -> RowExpansion:
        """Return the expansion of a model with one weight for each kernel.

        Parameters
        ----------
        weights : (outputs, m)
        coef : (outputs, kept rows)
        """
        across, every = np.ascontiguousarray(coef.T), np.arange(coef.shape[1])
        used = np.flatnonzero((weights > 0).any(axis=0)) if len(every) else ()
        shares = [Share(int(k), every, across, np.ascontiguousarray(weights[:, k])) for k in used]
        made = cls(kernels, rows, shares, len(coef))
        made.common = True
        return made

    def _made(self, stored: Sequence[State]) -> list[Member]:
        pieces = [piece for share in self.shares for piece in summands(self.kernels[share.kernel], self.rows, share)]
        made: list[Member] = []
        for way, group in _groups(pieces):
            known = stored[len(made)] if len(made) < len(stored) else {}
            made.append(_member(way, group, known if known.get("way") == way else None))
        return made

    def check(self) -> None:
        """Raise unless every share names kernels and rows that are there, with finite coefficients."""
        n = n_rows(self.rows)
        for share in self.shares:
            places, coef = share.places, share.coef
            if not 0 <= share.kernel < len(self.kernels):
                raise ValueError(f"there is no kernel {share.kernel}")
            if len(places) and (places[0] < 0 or places[-1] >= n or (np.diff(places) <= 0).any()):
                raise ValueError(f"coefficients belong to rows that are not among the {n} kept ones")
            if coef.shape != (len(places), self.outputs) or coef.dtype != np.float64:
                raise ValueError(f"coefficients of shape {coef.shape} do not fit {len(places)} rows")
            if not np.isfinite(coef).all() or not np.isfinite(share.factor).all():
                raise ValueError("coefficients are not finite")
        if self.common and self.shares and len(self.shares[0].places) != n:
            raise ValueError(f"there are coefficients of {len(self.shares[0].places)} rows, but {n} rows")

    @property
    def keeps_rows(self) -> bool:
        """Whether any kernel has coefficients."""
        return len(self.shares) > 0

    @property
    def used(self) -> list[int]:
        """Numbers of the kernels that have coefficients."""
        return [share.kernel for share in self.shares]

    @property
    def weights(self) -> Array | None:
        """The weight of each kernel for each output, (outputs, m); None where kernels have their own coefficients."""
        if not self.common:
            return None
        out = np.zeros((self.outputs, len(self.kernels)))
        for share in self.shares:
            out[:, share.kernel] = share.factor
        return out

    def parts(self, output: int = 0, sign: float = 1.0) -> list[Part]:
        """Return what each kernel has learned: its innermost kernels with rows and coefficients."""
        of = {share.kernel: share for share in self.shares}
        known: dict[tuple[int, int], Any] = {}
        found = []
        for number, kernel in enumerate(self.kernels):
            share = of.get(number)
            weight = 0.0 if share is None else float(np.broadcast_to(share.factor, self.outputs)[output])
            inside: tuple[Term, ...] = ()
            if share is not None and weight > 0:
                key = (id(share.places), id(share.coef))
                if key not in known:  # rows and coefficients that kernels share stay the same objects
                    known[key] = self._kept(share), sign * np.ascontiguousarray(share.coef[:, output])
                inside = tuple(replace(term, factor=weight * term.factor) for term in terms(kernel, *known[key]))
            found.append(Part(number, kernel, weight if self.common else None, inside))
        return found

    def _kept(self, share: Share) -> Any:
        return self.rows if len(share.places) == self.rows.shape[0] else self.rows[share.places]


@dataclass(frozen=True)
class Piece:
    """A summand of a kernel with its coefficients: one to be scored by itself, or the constant of a centred kernel."""

    kernel: Kernel
    rows: Any
    share: Share
    constant: bool = False


def summands(kernel: Kernel, rows: Any, share: Share) -> Iterator[Piece]:
    """Take a kernel apart into what adds up to it.

    A centred kernel is the kernel inside on the kept rows, less its mean: on the rows it was centred on, with the sum
    of the coefficients, and a constant.
    """
    below = 0  # leaves that are still inside the last summand
    for leaf in kernel.leaves():
        if below:
            below -= 1
            continue
        nodes = (*leaf.path, leaf.kernel)
        depth = next(i for i, node in enumerate(nodes) if not isinstance(node, Sum | Scaled | On))
        top, outer = nodes[depth], nodes[:depth]
        below = len(list(top.leaves())) - 1
        if not any(isinstance(node, Sum) for node in outer) and not isinstance(top, Centred):
            yield Piece(kernel, rows, share)
            return
        whole = _rebuilt(top, outer)
        if not isinstance(top, Centred) or any(isinstance(node, On) for node in outer):
            yield Piece(whole, rows, share)
            continue
        inner, coef = _rebuilt(top.kernel, outer), share.coef * share.factor
        mean = Share(share.kernel, np.arange(len(top.share)), -np.multiply.outer(top.share, coef.sum(axis=0)))
        yield from summands(inner, rows, share)
        yield from summands(inner, top.reference, mean)
        yield Piece(whole, rows, share, constant=True)


def _rebuilt(kernel: Kernel, outer: Sequence[Kernel]) -> Kernel:
    """Return a kernel with the factors and selections around it, without the sums."""
    for node in reversed(outer):
        if isinstance(node, On):
            kernel = kernel.on(node.columns)
        elif isinstance(node, Scaled):
            kernel = node.factor * kernel
    return kernel


def _groups(pieces: Sequence[Piece]) -> Iterator[tuple[str, list[Piece]]]:
    """Put together what is scored together."""
    groups: dict[Any, tuple[str, list[Piece]]] = {}
    bare: dict[int, list[Piece]] = {}
    for number, piece in enumerate(pieces):
        way = _way(piece)
        if way == "values":
            bare.setdefault(id(piece.rows), []).append(piece)
        else:
            key = _letters_seen(piece) if way == "positions" else number
            groups.setdefault(key, (way, []))[1].append(piece)
    yield from groups.values()
    for some in bare.values():
        for members in Family([piece.kernel for piece in some]).members:
            yield "values", [some[i] for i in members]


def _letters_seen(piece: Piece) -> Any:
    """Return a key that positional kernels share whose tables can be one."""
    (leaf,) = piece.kernel.leaves()
    shifts, share = leaf.kernel.shift_weights(), piece.share  # type: ignore[attr-defined]
    return id(piece.rows), repr(leaf.view), shifts.tobytes(), id(share.coef), id(share.places)


def _way(piece: Piece) -> str:
    """Return the cheapest way to score a summand."""
    kernel, share = piece.kernel, piece.share
    if piece.constant:
        return "constant"
    if isinstance(kernel, Positional):
        return "positions" if has_tables(kernel, piece.rows) else "values"
    row = piece.rows[share.places[:1]]
    if has_lmer_tables(kernel, row, *share.coef.shape):
        return "l-mers"
    if has_codes(kernel):
        return _coded(kernel, row, *share.coef.shape)
    return _folded(kernel, row, *share.coef.shape)


def _coded(kernel: Kernel, row: Any, rows: int, outputs: int) -> str:
    """Return whether a kernel with codes is scored by their weights, stored or not, or by kernel values."""
    try:
        found = cast(Features, kernel).counts(row)
    except ValueError:  # more features than can be listed: kernel values have no such limit
        return "values"
    many = len(found.values) > STRINGS_A_ROW * rows
    if many and any(isinstance(leaf.kernel, Transduced) for leaf in kernel.leaves()):
        return "values"
    words, most = found.codes.shape[1], max(1, len(found.values)) * rows
    if words == 1:
        most = min(most, cast(Features, kernel).n_features(row))
    return "codes" if 8.0 * most * (words + outputs) <= STORED_BYTES else "codes on demand"


def _folded(kernel: Kernel, row: Any, columns: int, outputs: int) -> str:
    """Return whether columns of a table cost less as weights, as a quadratic form or as kernel values."""
    leaf = next(kernel.leaves())
    square = leaf.direct and isinstance(leaf.kernel, Square) and leaf.kernel.degree == 2
    if not square and not isinstance(kernel, Features):
        return "values"
    size = row_width(kernel.prepare(row))
    costs = {"values": columns * (size + CURVE)}
    width = _width(kernel, row, columns)
    if width is not None:
        costs["weights"] = float(width) * (outputs + (MAKING if width > size else 0.0))
    if square and size <= WIDEST:
        costs["quadratic"] = float(outputs) * size * (size + 2)
    return min(costs, key=lambda way: costs[way])


def _width(kernel: Kernel, row: Any, rows: int) -> int | None:
    """Return the number of explicit features, or None where there are none, too many, or most in none of the rows."""
    if not isinstance(kernel, Features):
        return None
    try:
        found = kernel.features(row)
    except ValueError:  # too many monomials, or some of negative weight
        return None
    return None if is_hollow(found, rows) else int(found.shape[1])


def _member(way: str, group: Sequence[Piece], stored: State | None) -> Member:
    """Return the member that scores a group, from its stored state where there is one."""
    kernels, shares, rows = [piece.kernel for piece in group], [piece.share for piece in group], group[0].rows
    if way == "positions":
        return PositionalTables(kernels, shares, rows)
    if way == "values":
        return SupportRows(kernels, shares, rows)
    kernel, share = kernels[0], shares[0]
    if way == "constant":
        return Constant(share.kernel, _constant(group[0]) if stored is None else checked(stored, "values", (None,)))
    if way == "l-mers":
        return LmerWeights(kernel, share, rows) if stored is None else LmerWeights.stored(kernel, share, rows, stored)
    if way == "codes on demand":
        return CodesOnDemand(kernel, share, rows)
    if way == "codes":
        return coded_weights(kernel, share, rows) if stored is None else stored_codes(kernel, share, rows, stored)
    cls: Any = DenseWeights if way == "weights" else QuadraticForm
    return cls.of(kernel, share, rows) if stored is None else cls.stored(kernel, share, rows, stored)


def _constant(piece: Piece) -> Array:
    """Return what a centred kernel adds to every row, (outputs,)."""
    leaf = next(piece.kernel.leaves())
    centred = next(node for node in leaf.path if isinstance(node, Centred))
    outer = leaf.path[: leaf.path.index(centred)]
    factor = float(np.prod([node.factor for node in outer if isinstance(node, Scaled)]))
    share = piece.share
    _, means = centred.prepare(piece.rows[share.places])
    return factor * ((centred.grand - means) @ (share.coef * share.factor))
