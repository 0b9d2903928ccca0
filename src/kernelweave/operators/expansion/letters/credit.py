"""What every place of a row adds to its scores: letters of sequences, arcs of lattices, columns of tables.

    letter    what a k-mer adds is divided evenly among its letters (of a gapped k-mer: those that count): k-mers with a
              place by tables of weights for each length (`places`), l-mers by tables for each of their places
              (`lmers.letter_shares`), others window by window (`windows`)
    arc       what a string adds is divided evenly among the arcs that spell it; so are n-grams with gaps (`masking`)
    column    a linear kernel adds w_j x_j for each column; a kernel that sees one column adds all of its value there
    row       a kernel that cannot be divided (products, kernels of several columns, transducers, ...) adds one number

so that the places of a row add up to its scores less what centring adds to every row (`constants`).  Where a kernel is
normalised, places are divided by the norm of their row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from kernelweave.data import select
from kernelweave.data.kinds import alphabet_of, blocks_of, kind_of
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Features, Hamming, Occurrences, Positional, Windowed
from kernelweave.kernels.base import Array
from kernelweave.kernels.tree import Leaf
from kernelweave.operators.expansion.base import Part, Share
from kernelweave.operators.expansion.letters.columns import column_numbers_seen, linear_credit, single_credit
from kernelweave.operators.expansion.letters.masking import by_masking
from kernelweave.operators.expansion.letters.places import by_place
from kernelweave.operators.expansion.letters.windows import by_window
from kernelweave.operators.expansion.lmers import letter_shares, new_norms
from kernelweave.operators.expansion.terms import Term
from kernelweave.operators.expansion.weights import coded_weights
from kernelweave.operators.features.vocabulary import Vocabulary
from kernelweave.operators.kmers.lmers import LETTERS
from kernelweave.operators.kmers.prefixes import spread

if TYPE_CHECKING:
    from kernelweave.operators.expansion.base import Expansion

EVERY = -1
"""Number of a credit that is of all kernels together."""


class Credit(NamedTuple):
    """What the places of rows add.

    Attributes
    ----------
    number : of the kernel, or `EVERY`
    unit : "letter", "arc", "column" or "row"
    view : the view that the places are of, None where rows are no views, or where the unit is a whole row
    values : (places of all rows behind one another, outputs)
    """

    number: int
    unit: str
    view: str | None
    values: Array


def credits(expansion: Expansion, X: Any, engine: Engine, by_kernel: bool = False) -> list[Credit]:
    """Return what every place of rows adds to each output.

    Parameters
    ----------
    by_kernel : keep the kernels apart; otherwise places get what all kernels give them together, and only what cannot
        be divided comes by kernel
    """
    found = Sums(expansion, X, by_kernel)
    for output in range(expansion.outputs):
        together: dict[Any, list[tuple[Term, int]]] = {}
        for part in expansion.parts(output):
            if not part.terms and part.weights is None:
                continue
            if part.weights is not None:
                _add_weights(found, part, output)
            for term in part.terms:
                if isinstance(term.kernel, Positional) and unit_of(term.leaf, X) is not None:
                    together.setdefault(_tables_key(term, part.number if by_kernel else EVERY), []).append(
                        (term, part.number)
                    )
                elif unit_of(term.leaf, X) is not None:
                    found.add(part.number, term.leaf, output, _of_term(term, X, engine))
        for group in together.values():
            _add_places(found, group, output, engine)
    return found.credits(engine)


def constants(expansion: Expansion) -> Array:
    """Return what centring adds to every row, (m, outputs)."""
    out = np.zeros((len(expansion.kernels), expansion.outputs))
    for member in expansion.members:
        if member.way == "constant":
            out[member.numbers[0]] += cast(Any, member).values
    return out


def letter_sums(expansion: Expansion, X: Any, engine: Engine) -> Array:
    """Return what every letter adds to each output, (letters of all rows behind one another, outputs)."""
    leaves = [leaf for number in expansion.used for leaf in expansion.kernels[number].leaves()]
    for leaf in leaves:
        if leaf.view != leaves[0].view:
            raise ValueError(f"{leaves[0].name} and {leaf.name} see different views, so that they share no letters.")
        if unit_of(leaf, X) != "letter":
            raise ValueError(
                f"What {leaf.name} adds cannot be divided among letters; expected kernels of k-mers or n-grams."
            )
    seen = leaves[0].select(X) if leaves else X
    if alphabet_of(seen) is None or kind_of(seen).uncertain:
        raise TypeError("Only rows of sequences have letters with a place.")
    out = np.zeros((len(seen.codes), expansion.outputs))
    for credit in credits(expansion, X, engine):
        if credit.unit == "row":
            raise ValueError(f"What {expansion.kernels[credit.number]!r} adds cannot be divided among letters.")
        out += credit.values
    each = np.repeat(1.0 / np.maximum(seen.lengths, 1), seen.lengths)
    return out + each[:, None] * constants(expansion).sum(axis=0)


def unit_of(leaf: Leaf, X: Any) -> str | None:
    """Return what a kernel's value can be divided among, None where it cannot."""
    if not leaf.additive or (leaf.normalized and leaf.centred):
        return None
    seen = leaf.select(X)
    if kind_of(seen).tabular:
        numbers = column_numbers_seen(leaf, X)
        linear = isinstance(leaf.kernel, Features) and leaf.kernel.identity
        return "column" if numbers is not None and (linear or len(numbers) == 1) else None
    if alphabet_of(seen) is None:
        return None
    counted = isinstance(leaf.kernel, Occurrences) and leaf.kernel.counts_occurrences()
    if kind_of(seen).uncertain:
        return "arc" if counted else None
    windowed = isinstance(leaf.kernel, Windowed) and len(leaf.kernel.window_lengths()) > 0
    of_lmers = isinstance(leaf.kernel, Hamming) and seen.alphabet.size <= LETTERS
    return "letter" if counted or windowed or of_lmers or isinstance(leaf.kernel, Positional) else None


def view_of(leaf: Leaf, X: Any) -> str | None:
    """Return the name of the view that a kernel sees, None where rows are no views."""
    if blocks_of(X) is None or not leaf.view:
        return None
    first = leaf.view[0]
    return first if isinstance(first, str) else first[0]


class Sums:
    """Credits as they add up.

    Parameters
    ----------
    expansion, X : the model and the rows
    by_kernel : whether kernels are kept apart
    """

    def __init__(self, expansion: Expansion, X: Any, by_kernel: bool):
        self.expansion, self.X, self.by_kernel = expansion, X, by_kernel
        self.values: dict[tuple[int, str, str | None], Array] = {}
        self.whole = {
            number
            for number in expansion.used
            if all(unit_of(leaf, X) is not None for leaf in expansion.kernels[number].leaves())
        }
        self.divided: dict[int, Array] = {}
        self._scales: dict[Any, tuple[Leaf, Array]] = {}

    def scale(self, leaf: Leaf) -> Array:
        """Return what the norms of all rows divide by, (rows,); kernels below the same ones share them."""
        key = tuple(map(id, leaf.path))
        if key not in self._scales:
            self._scales[key] = leaf, 1.0 / new_norms(leaf, self.X)  # the leaf keeps its path alive
        return self._scales[key][1]

    def add(self, number: int, leaf: Leaf, output: int, values: Array) -> None:
        """Add what the places of all rows get of one kernel, without norms."""
        unit, view = str(unit_of(leaf, self.X)), view_of(leaf, self.X)
        sizes = places_of(unit, leaf, self.X)
        values = values * np.repeat(self.scale(leaf), sizes)
        key = (number if self.by_kernel else EVERY, unit, view)
        if key not in self.values:
            self.values[key] = np.zeros((len(values), self.expansion.outputs))
        self.values[key][:, output] += values
        if number not in self.whole:
            rows = np.repeat(np.arange(len(sizes)), sizes)
            found = self.divided.setdefault(number, np.zeros((len(sizes), self.expansion.outputs)))
            found[:, output] += np.bincount(rows, values, len(sizes))

    def credits(self, engine: Engine) -> list[Credit]:
        """Return all credits; what is left of kernels that cannot be divided, or not wholly, by row."""
        out = [Credit(*key, values) for key, values in self.values.items()]
        left = [number for number in self.expansion.used if number not in self.whole]
        if left:
            every = self.expansion.contributions(self.X, engine)
            constant = constants(self.expansion)
            out += [Credit(k, "row", None, every[k] - constant[k] - self.divided.get(k, 0.0)) for k in left]
        return out


def places_of(unit: str, leaf: Leaf, X: Any) -> Array:
    """Return how many places every row has."""
    seen = leaf.select(X)
    if unit == "letter":
        return cast(Array, seen.lengths)
    if unit == "arc":
        return cast(Array, seen.arc_counts)
    table = X if blocks_of(X) is None else select(X, leaf.view[0])
    return np.full(table.shape[0], table.shape[1])


def _tables_key(term: Term, number: int) -> Any:
    """Return a key that kernels of k-mers with a place share whose tables can be one."""
    path = tuple(id(node) for node in term.leaf.path if term.leaf.normalized)
    return number, id(term.rows), id(term.coef), repr(term.leaf.view), term.kernel.shift_weights().tobytes(), path


def _add_places(found: Sums, group: list[tuple[Term, int]], output: int, engine: Engine) -> None:
    """Add kernels of k-mers with a place that share rows and coefficients, by one set of tables."""
    partly = [one for one in group if one[1] not in found.whole]
    for some in (*([one] for one in partly), [one for one in group if one[1] in found.whole]):
        if some:
            first, number = some[0]
            length = first.kernel.prepare(first.rows).codes.shape[1]
            parts = [term.factor * spread(term.kernel.cells(length), term.kernel.shift_weights()) for term, _ in some]
            given = np.zeros((*parts[0].shape[:2], max(part.shape[2] for part in parts)))
            for part in parts:
                given[..., : part.shape[2]] += part
            values = by_place(first, _unit_coef(first), given, first.leaf.select(found.X), engine)
            found.add(number, first.leaf, output, values)


def _unit_coef(term: Term) -> Array:
    """Return the coefficients of the rows of a term over their norms."""
    coef = np.asarray(term.coef, np.float64)
    return coef if term.norms is None else np.divide(coef, term.norms, out=np.zeros_like(coef), where=term.norms > 0)


def _of_term(term: Term, X: Any, engine: Engine) -> Array:
    """Return what the places of all rows get of one innermost kernel, without the norms of the rows."""
    seen, unit = term.leaf.select(X), unit_of(term.leaf, X)
    coef = term.factor * _unit_coef(term)
    if unit == "column":
        if isinstance(term.kernel, Features) and term.kernel.identity:
            w = np.asarray(term.kernel.features(term.rows).T @ coef)
            return linear_credit(term.leaf, w, X)
        return single_credit(term, coef, X, engine)
    if unit == "letter" and isinstance(term.kernel, Hamming) and seen.alphabet.size <= LETTERS:
        return letter_shares(term, seen)
    made = coded_weights(term.kernel, Share(0, np.arange(len(coef)), coef[:, None]), term.rows)
    return _by_codes(term.leaf, cast(Any, made.map).vocabulary, made.w[0], seen)


def _by_codes(leaf: Leaf, known: Vocabulary, w: Array, seen: Any) -> Array:
    """Return what places get of features that have codes."""
    if isinstance(leaf.kernel, Windowed) and leaf.kernel.window_lengths() and not kind_of(seen).uncertain:
        return by_window(leaf, known, w, seen)
    return by_masking(leaf, known, w, seen)


def _add_weights(found: Sums, part: Part, output: int) -> None:
    """Add a kernel whose features have weights that a solver found itself."""
    leaves = list(part.kernel.leaves())
    if len(leaves) > 1 or unit_of(leaves[0], found.X) is None or leaves[0].centred:
        found.whole.discard(part.number)
        return
    leaf, w = leaves[0], np.sqrt(leaves[0].factor) * cast(Array, part.weights)
    if part.codes is None and unit_of(leaf, found.X) == "column" and cast(Features, leaf.kernel).identity:
        found.add(part.number, leaf, output, linear_credit(leaf, w, found.X))
    elif part.codes is None or isinstance(leaf.kernel, Positional):
        found.whole.discard(part.number)
    else:
        known = Vocabulary(part.codes.shape[1])
        known.number(part.codes)
        found.add(part.number, leaf, output, _by_codes(leaf, known, w, leaf.select(found.X)))
