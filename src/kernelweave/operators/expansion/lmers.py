"""A weight for each of all 4^l l-mers: scores of new rows by one look-up for each of their l-mers.

    f(x) = sum over the l-mers u of x of  g(place) T[u] / norm(x),
    T[u] = sum_j coef_j / norm_j  sum over the l-mers v of x_j of  g(place) (c[d(u, v)] + c[d(u~, v)])

T is made from the kept rows in a tenth of a second for l = 11 (see `kmers.tables`), so a model file holds the rows, and
coef_j / norm_j: norms of many rows would take longer than the table.
Features that are their own reverse complement would count twice; they are few, and their weights are looked up by code.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from kernelweave._numba.walsh import add_other_strand, multiply, multiply_at, spectrum
from kernelweave.data import select
from kernelweave.data.blocks import spans
from kernelweave.data.kinds import alphabet_of, kind_of
from kernelweave.data.strings.sequences import Sequences
from kernelweave.engines.base import Engine
from kernelweave.kernels.abilities import Features, Hamming
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.tree import Cosine, Leaf, On
from kernelweave.operators.expansion.base import Share, State, held_bytes
from kernelweave.operators.expansion.terms import Term, terms
from kernelweave.operators.expansion.weights import checked
from kernelweave.operators.features.vocabulary import Vocabulary
from kernelweave.operators.kmers.lmers import LETTERS, LmerRows
from kernelweave.operators.kmers.tables import Lmers

TABLE_BYTES = 600e6
"""Bytes of the tables of one model at most; with more, rows are kept in another way."""
BEYOND = 100
"""Letters of l-mers whose number is not even asked for."""
SMALL_TABLE = 1 << 16
"""Entries of a table that is always worth its bytes."""
ROWS_TOGETHER = 1 << 12
"""New rows that are looked up together."""
LMERS_TOGETHER = 1 << 16
"""L-mers whose own features are made together."""


class LmerTable(NamedTuple):
    """What an innermost kernel has learned of l-mers, for one output.

    Attributes
    ----------
    leaf : the kernel, where it stands in the tree
    table : (4^l,) the weight of each l-mer, by its number: first letter highest, two bits a letter
    known, own : codes of features that count twice in the table, and their weights; empty where there are none
    """

    leaf: Leaf
    table: Array
    known: Vocabulary
    own: Array

    @property
    def kernel(self) -> Any:
        """The innermost kernel."""
        return self.leaf.kernel

    def weights(self, alphabet: Any) -> Array:
        """Return the weight of every l-mer, (4^l,), features that count twice taken off."""
        out, length = self.table.copy(), self.kernel.window()[0]
        if not len(self.own):
            return out
        for cut in spans(len(out), LMERS_TOGETHER):
            words = np.arange(cut.start, cut.stop)
            letters = np.stack([(words >> 2 * place) & 3 for place in range(length - 1, -1, -1)], axis=1)
            usable = (letters < alphabet.size).all(axis=1)
            rows = _sequences(letters[usable], alphabet)
            out[words[usable]] -= self._taken(rows)
        return out

    def scores(self, seen: Any, engine: Engine) -> Array:
        """Return the sums over the l-mers of rows, without their norms."""
        rows, out = LmerRows(seen, self.kernel), np.zeros(seen.shape[0])
        cuts = spans(len(out), ROWS_TOGETHER)
        engine.map_into(out, lambda cut, part: rows.gather(self.table, cut.start, part), cuts)
        return out - self._taken(seen) if len(self.own) else out

    def _taken(self, rows: Any) -> Array:
        found = self.kernel.own_features(rows)
        place = self.known.find(found.codes)
        values = np.where(place >= 0, self.own[np.maximum(place, 0)], 0.0) * found.values
        return np.bincount(np.repeat(np.arange(len(rows)), np.diff(found.starts)), values, len(rows))


class LmerWeights:
    """A kernel made of sums over l-mers, scored by tables.

    Parameters
    ----------
    kernel, share, kept : a summand of a model, its coefficients and the rows that the model keeps
    """

    way = "l-mers"

    def __init__(self, kernel: Kernel, share: Share, kept: Any, units: Array | None = None):
        self.numbers: tuple[int, ...] = (share.kernel,)
        self.kernel, self.share, self.kept = kernel, share, kept
        self._units = units
        self._tables: list[list[LmerTable]] | None = None

    @classmethod
    def stored(cls, kernel: Kernel, share: Share, kept: Any, state: State) -> LmerWeights:
        """Return the weights of a state; files of an earlier version have an empty one."""
        shape = share.coef.shape[1], sum(1 for _ in kernel.leaves()), len(share.coef)
        return cls(kernel, share, kept, checked(state, "units", shape) if "units" in state else None)

    def units(self) -> Array:
        """Return the coefficients of rows over their norms, (outputs, innermost kernels, rows)."""
        if self._units is None:
            coef, rows = self.share.coef * self.share.factor, self._rows()
            lines = [np.ascontiguousarray(line) for line in coef.T]
            self._units = np.stack(
                [np.stack([_unit_coef(t) for t in terms(self.kernel, rows, line)]) for line in lines]
            )
        return self._units

    def _rows(self) -> Any:
        return self.kept if len(self.share.coef) == self.kept.shape[0] else self.kept[self.share.places]

    def tables(self) -> list[list[LmerTable]]:
        """Return the tables of each output, made at the first use."""
        if self._tables is None:
            rows, leaves = self._rows(), list(self.kernel.leaves())
            seen = [leaf.select(rows) for leaf in leaves]
            self._tables = [[_table(*given) for given in zip(leaves, seen, lines)] for lines in self.units()]
        return self._tables

    def scores(self, X: Any, engine: Engine) -> Array:
        """Return the sums over l-mers, (rows, outputs)."""
        out = np.zeros((X.shape[0], self.share.coef.shape[1]))
        made = self.tables()
        for number, leaf in enumerate(self.kernel.leaves()):
            seen = leaf.select(X)
            check_seen(leaf, seen, self.kept)
            scale = 1.0 / new_norms(leaf, X)
            for output, tables in enumerate(made):
                out[:, output] += scale * tables[number].scores(seen, engine)
        return out

    def contributions(self, X: Any, engine: Engine) -> Array:
        """Return the sums, as one kernel's."""
        return self.scores(X, engine)[None]

    def state(self) -> State:
        """Return the coefficients over the norms: tables are made again from these and from the rows."""
        return {"units": self.units()}

    @property
    def nbytes(self) -> int:
        """Bytes of the tables that were made."""
        return held_bytes([one.table for tables in self._tables or [] for one in tables])


def lmer_table(term: Term) -> LmerTable:
    """Return the table of a term."""
    return _table(term.leaf, term.rows, _unit_coef(term))


def _table(leaf: Leaf, rows: Any, coef: Array) -> LmerTable:
    """Return the table of rows: scattered by their coefficients, and multiplied by the kernel."""
    kernel = cast(Hamming, leaf.kernel)
    lmers = Lmers(rows, kernel)
    values = np.asarray(kernel.coefficients(rows.alphabet.size), np.float64)
    table = lmers.scattered(np.arange(len(coef)), coef)
    lmers.multiplied(table, spectrum(values, lmers.letters) / 4.0**lmers.letters)
    found = kernel.own_features(rows) if kernel.reverse_complement else None
    if found is None:
        return LmerTable(leaf, table, Vocabulary(1), np.empty(0))
    known = Vocabulary(found.codes.shape[1])
    number = known.number(found.codes)
    own = np.bincount(number, found.values * np.repeat(coef, np.diff(found.starts)), known.size)
    return LmerTable(leaf, table, known, own)


def _unit_coef(term: Term) -> Array:
    """Return the coefficients of the rows of a term over their norms."""
    coef = term.factor * np.asarray(term.coef)
    return coef if term.norms is None else np.divide(coef, term.norms, out=np.zeros_like(coef), where=term.norms > 0)


def letter_shares(term: Term, seen: Any) -> Array:
    """Return what every letter of rows gets of a term, without their norms, (letters of all rows behind one another,).

    What two l-mers give each other is divided evenly among the letters in which they agree, as that of gapped k-mers
    is among the letters that count; where they agree in none, among all letters.
    """
    kernel, lmers, coef = cast(Hamming, term.kernel), Lmers(term.rows, cast(Hamming, term.kernel)), _unit_coef(term)
    length, size = lmers.letters, term.rows.alphabet.size
    h = np.zeros(length + 1)
    known = kernel.coefficients(size)
    h[: len(known)] = np.asarray(known, np.float64)[: length + 1]
    counts, rows = lmers.scattered(np.arange(len(coef)), coef), LmerRows(seen, kernel)
    if lmers.partner is not None:
        add_other_strand(counts, length, lmers.partner)
    factors, out = spectrum(h[:-1] / np.arange(length, 0, -1), length - 1) / 4.0**length, np.zeros(len(seen.codes))
    nothing = None if h[-1] == 0.0 else counts.copy()
    if nothing is not None:
        multiply(nothing, length, spectrum(h * (np.arange(length + 1) == length), length) / 4.0**length / length)
    for place in range(length):
        table = counts.copy()
        multiply_at(table, length, place, np.append(factors, 0.0))
        rows.credit(table if nothing is None else table + nothing, place, out)
    return out - _own_shares(lmer_table(term), seen)


def _own_shares(made: LmerTable, seen: Any) -> Array:
    """Return what letters have too much of, through features that are their own reverse complement."""
    out, kernel = np.zeros(len(seen.codes)), made.kernel
    if not len(made.own):
        return out
    length = kernel.window()[0]
    last = np.repeat(np.asarray(seen.offsets[1:]), seen.lengths) - length
    every = np.flatnonzero(np.arange(len(out)) <= last)
    for cut in spans(len(every), LMERS_TOGETHER):
        windows = every[cut, None] + np.arange(length)
        found = kernel.own_features(_sequences(seen.codes[windows], seen.alphabet))
        place = made.known.find(found.codes)
        value = np.where(place >= 0, made.own[np.maximum(place, 0)], 0.0) * found.values
        fixed = kernel.letters(found.codes, seen.alphabet)[:, :length] != seen.alphabet.mask
        entry, at = np.nonzero(fixed)
        window = np.repeat(np.arange(len(windows)), np.diff(found.starts))
        np.add.at(out, windows[window[entry], at], (value / fixed.sum(axis=1))[entry])
    return out


def has_lmer_tables(kernel: Kernel, rows: Any, count: int, outputs: int) -> bool:
    """Tell whether a summand of a model, of so many rows and outputs, is best scored by tables over all l-mers."""
    entries = 0.0
    for leaf in kernel.leaves():
        if not suits_table(leaf, rows):
            return False
        letters = cast(Hamming, leaf.kernel).window()[0]
        size = 4.0**letters if letters < BEYOND else np.inf
        entries += size
        seen = leaf.select(rows)
        near = float(leaf.kernel.coefficients(seen.alphabet.size)[0])  # type: ignore[attr-defined]
        features = count * len(seen.codes) / max(1, seen.shape[0]) * near
        if isinstance(leaf.kernel, Features) and size > max(SMALL_TABLE, features):
            return False
    return 8.0 * entries * outputs <= TABLE_BYTES


def suits_table(leaf: Leaf, rows: Any) -> bool:
    """Tell whether an innermost kernel is a sum over l-mers of at most four letters."""
    if not isinstance(leaf.kernel, Hamming) or not leaf.additive or leaf.centred:
        return False
    seen = leaf.select(rows)
    alphabet = alphabet_of(seen)
    return alphabet is not None and not kind_of(seen).uncertain and alphabet.size <= LETTERS


def check_seen(leaf: Leaf, seen: Any, kept: Any) -> None:
    """Raise where new rows are of another kind or alphabet than the kept ones; the kernel says what is wrong."""
    if seen.shape[0]:
        leaf.kernel.block(leaf.kernel.prepare(seen[:1]), leaf.kernel.prepare(leaf.select(kept[:1])))


def new_norms(leaf: Leaf, X: Any) -> Array:
    """Return the norms by which a normalised kernel divides new rows, (rows,); infinite for a row of zeros."""
    norms = np.ones(X.shape[0])
    for node in leaf.path:
        if isinstance(node, Cosine):
            norms *= np.sqrt(node.kernel.diag(X))
        elif isinstance(node, On):
            X = select(X, node.columns)
    return np.where(norms > 0, norms, np.inf)


def _sequences(letters: Array, alphabet: Any) -> Sequences:
    """Return words of one length as rows."""
    offsets = np.arange(len(letters) + 1, dtype=np.int64) * letters.shape[1]
    return Sequences._trusted(np.ascontiguousarray(letters, alphabet.dtype).ravel(), offsets, alphabet, None)
