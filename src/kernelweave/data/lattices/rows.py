"""Many lattices in one arc table, indexed like an array of rows.

A lattice is a distribution over strings (or any weighting of them): an acyclic weighted acceptor over the reals,

    X(x) = sum over paths from state 0 that spell x of  (product of arc weights) (weight of ending there)

Weights are probabilities, not logarithms.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from kernelweave.data.atomic import PathLike
from kernelweave.data.html import lattices_html
from kernelweave.data.lattices.build import (
    EPSILON,
    LatticeError,
    Table,
    as_table,
    check_order,
    check_values,
    sorted_table,
    table_of,
    unknown_letter,
)
from kernelweave.data.rows import (
    as_ids,
    check_parts,
    codes_in,
    offsets_of,
    packed_ids,
    row_numbers,
    same_ids,
    stepped_rows,
    unpacked_ids,
)
from kernelweave.data.saved import DESCRIBED_WRONGLY, read_saved, write_saved
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.letters import check_unknown
from kernelweave.data.strings.sequences import Sequences

Array = np.ndarray

__all__ = ["EPSILON", "LatticeError", "Lattices"]


class Lattices:
    """Immutable rows of lattices over one alphabet.

    Lattice ``i`` has the arcs ``arc_offsets[i]:arc_offsets[i + 1]``, sorted by source, label and target, and the
    states ``state_offsets[i]:state_offsets[i + 1]``, numbered from 0 within the lattice.  State 0 is the initial one
    and every arc leads to a higher state.  A lattice that accepts nothing has one state, no arcs and final weight 0.

    An integer index gives the heaviest path as a string; slices, integer arrays and boolean masks give `Lattices`.
    scikit-learn splits and indexes them as it does arrays.

    Parameters
    ----------
    source, target : (arcs,) int32 states
    labels : (arcs,) int32 letter codes, `EPSILON` (-1) for none.  The code ``alphabet.size`` is a masked letter: one
        that the alphabet lacks, which matches nothing, not even itself
    weights : (arcs,) float64, positive
    arc_offsets : (n + 1,) int64
    finals : (states,) float64, weight of ending in each state, 0 where a path cannot end
    state_offsets : (n + 1,) int64
    alphabet : Alphabet
    ids : n names, or None

    Examples
    --------
    >>> import kernelweave as kw
    >>> X = kw.Lattices.from_arcs([([(0, 1, "flights", 0.7), (0, 1, "lights", 0.3), (1, 2, "out", 1.0)], [2])])
    >>> X, X[0], X.total_weights()
    (<1 lattices, words, 3 arcs each>, 'flights out', array([1.]))
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        source: Array,
        target: Array,
        labels: Array,
        weights: Array,
        arc_offsets: Array,
        finals: Array,
        state_offsets: Array,
        alphabet: Alphabet,
        ids: Iterable[str] | None = None,
    ):
        table = as_table(source, target, labels, weights, arc_offsets, finals, state_offsets)
        check_values(table, alphabet, zero=False)
        check_order(table)
        self._set(table, alphabet, as_ids(ids, table.arc_offsets.size - 1))

    def _set(self, table: Table, alphabet: Alphabet, ids: Array | None) -> None:
        self._table = Table._make(x.view() for x in table)
        for x in self._table:
            x.flags.writeable = False
        self.source, self.target, self.labels, self.weights, self.arc_offsets, self.finals, self.state_offsets = (
            self._table
        )
        self.alphabet, self.ids = alphabet, ids

    @classmethod
    def _trusted(cls, table: Table, alphabet: Alphabet, ids: Array | None) -> Self:
        made = cls.__new__(cls)
        made._set(table, alphabet, ids)
        return made

    @classmethod
    def from_arcs(
        cls,
        lattices: Iterable[tuple[Any, Any]],
        alphabet: str | Alphabet | None = None,
        unknown: str = "error",
        ids: Iterable[str] | None = None,
        *,
        strict: bool = True,
        connect: bool = True,
    ) -> Self:
        """Return lattices from lists of arcs; states are put in topological order, 0 stays the initial one.

        Parameters
        ----------
        lattices : n pairs (arcs, finals).  An arc is (source, target, label, weight); a label is a letter or its
            code, and None, "" or `EPSILON` for nothing.  finals: state -> weight of ending there, or a list of states
            of weight 1
        alphabet : an Alphabet, "dna", "rna", "protein" or "bytes"; None (or "words") to learn words from the labels
        unknown : "error" names the first letter that is not in the alphabet, "mask" makes it match nothing
        ids : n names, or None
        strict : whether a final state that no arcs lead to is an error
        connect : leave out states that lie on no path from the start to an end (arcs of weight zero always are)

        Examples
        --------
        >>> Lattices.from_arcs([([(0, 1, "a", 1.0), (1, 0, "b", 1.0)], [1])])
        Traceback (most recent call last):
        ...
        kernelweave.data.lattices.build.LatticeError: Lattice 0, arc 0: it lies on a cycle, but lattices have none.
        """
        table, chosen = table_of(lattices, alphabet, unknown)
        return cls.from_table(*table, chosen, ids, strict=strict, connect=connect)

    @classmethod
    def from_table(
        cls,
        source: Array,
        target: Array,
        labels: Array,
        weights: Array,
        arc_offsets: Array,
        finals: Array,
        state_offsets: Array,
        alphabet: Alphabet,
        ids: Iterable[str] | None = None,
        *,
        strict: bool = True,
        connect: bool = True,
    ) -> Self:
        """Return lattices from the arrays of the constructor with states and arcs in any order, as `from_arcs` does."""
        table = as_table(source, target, labels, weights, arc_offsets, finals, state_offsets)
        check_values(table, alphabet, zero=True)
        return cls._trusted(sorted_table(table, strict, connect), alphabet, as_ids(ids, table.arc_offsets.size - 1))

    @classmethod
    def from_sequences(cls, sequences: Sequences) -> Self:
        """Return for each string the lattice that accepts it alone, with weight 1.

        Examples
        --------
        >>> Lattices.from_sequences(Sequences.from_strings(["ACGT", ""])).one_best().to_strings()
        ['ACGT', '']
        """
        n, lengths, offsets = len(sequences), sequences.lengths, sequences.offsets
        source = (np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)).astype(np.int32)
        labels = np.minimum(sequences.codes, sequences.alphabet.size).astype(np.int32)
        state_offsets = offsets + np.arange(n + 1)
        finals = np.zeros(state_offsets[-1])
        finals[state_offsets[1:] - 1] = 1.0
        table = Table(source, source + 1, labels, np.ones(source.size), offsets, finals, state_offsets)
        return cls._trusted(as_table(*table), sequences.alphabet, sequences.ids)

    @classmethod
    def of(cls, X: Sequences | Lattices) -> Lattices:
        """Return lattices as they are, and sequences as lattices of one string each."""
        return X if isinstance(X, Lattices) else cls.from_sequences(X)

    @classmethod
    def concatenate(cls, parts: Sequence[Lattices]) -> Self:
        """Put rows behind one another; ids are kept when every part has them."""
        ids = check_parts(parts, "Lattices")
        columns = [np.concatenate([part._table[k] for part in parts]) for k in (0, 1, 2, 3, 5)]
        arcs, states = (offsets_of(np.concatenate([np.diff(part._table[k]) for part in parts])) for k in (4, 6))
        table = Table._make((*columns[:4], arcs, columns[4], states))
        return cls._trusted(table, parts[0].alphabet, ids)

    @property
    def arc_counts(self) -> Array:
        """Number of arcs of each lattice, (n,) int64."""
        return np.diff(self.arc_offsets)

    @property
    def state_counts(self) -> Array:
        """Number of states of each lattice, (n,) int64."""
        return np.diff(self.state_offsets)

    @property
    def shape(self) -> tuple[int]:
        """``(n,)``."""
        return (len(self),)

    def __len__(self) -> int:
        return self.arc_offsets.size - 1

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            if len(key) != 2 or key[1] is not Ellipsis:
                raise IndexError("Lattices are indexed by rows only: X[rows] or X[rows, ...].")
            key = key[0]
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            return self._span(start, max(start, stop)) if step == 1 else self._take(stepped_rows(start, stop, step))
        if np.ndim(key) == 0 and not isinstance(key, bool | np.bool_):
            row = int(row_numbers([operator.index(key)], len(self))[0])
            return self._span(row, row + 1).one_best()[0]
        return self._take(row_numbers(key, len(self)))

    def _span(self, start: int, stop: int) -> Self:
        arcs, states = self.arc_offsets[start : stop + 1], self.state_offsets[start : stop + 1]
        columns = (x[arcs[0] : arcs[-1]] for x in self._table[:4])
        table = Table._make((*columns, arcs - arcs[0], self.finals[states[0] : states[-1]], states - states[0]))
        return self._trusted(table, self.alphabet, None if self.ids is None else self.ids[start:stop])

    def _take(self, rows: Array) -> Self:
        from kernelweave.data.strings.loops import gather_rows

        arcs, states = offsets_of(self.arc_counts[rows]), offsets_of(self.state_counts[rows])
        columns = [np.empty(arcs[-1], x.dtype) for x in self._table[:4]]
        finals = np.empty(states[-1])
        for old, new in zip(self._table[:4], columns):
            gather_rows(old, self.arc_offsets, rows, arcs, new)
        gather_rows(self.finals, self.state_offsets, rows, states, finals)
        ids = None if self.ids is None else self.ids[rows]
        return self._trusted(Table._make((*columns, arcs, finals, states)), self.alphabet, ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self.one_best())

    def one_best(self) -> Sequences:
        """Return the string of the heaviest path of each lattice (an empty one where no path is accepted)."""
        from kernelweave.data.lattices import loops

        choice = np.empty(self.finals.size, np.int64)
        loops.best_arcs(*self._table[:2], self.weights, *self._table[4:], choice)
        walk = choice, self.target, self.labels, self.state_offsets
        lengths = np.empty(len(self), np.int64)
        loops.count_letters(*walk, lengths)
        offsets = offsets_of(lengths)
        letters = np.empty(offsets[-1], np.int32)
        loops.spell_letters(*walk, offsets, letters)
        codes = np.where(letters < self.alphabet.size, letters, self.alphabet.mask).astype(self.alphabet.dtype)
        return Sequences._trusted(codes, offsets, self.alphabet, self.ids)

    def forward_weights(self) -> Array:
        """Return the summed weight of the paths from the start to each state, (states,)."""
        from kernelweave.data.lattices.loops import forward_sums

        out = np.empty(self.finals.size)
        forward_sums(*self._table[:2], self.weights, self.arc_offsets, self.state_offsets, out)
        return out

    def backward_weights(self) -> Array:
        """Return the summed weight of the paths from each state to an end, (states,)."""
        with np.errstate(over="ignore"):  # infinite is the honest answer
            return np.ldexp(*self._backward())

    def _backward(self) -> tuple[Array, Array]:
        from kernelweave.data.lattices.loops import backward_sums

        mantissas, exponents = np.empty(self.finals.size), np.empty(self.finals.size, np.int64)
        backward_sums(*self._table[:2], self.weights, *self._table[4:], mantissas, exponents)
        return mantissas, exponents

    def total_weights(self) -> Array:
        """Return the summed weight of all paths of each lattice, (n,)."""
        return self.backward_weights()[self.state_offsets[:-1]]

    def scaled_weights(self) -> tuple[Array, Array]:
        """Return the same as mantissas and exponents of two, both (n,), which hold what doubles cannot."""
        mantissas, exponents = self._backward()
        return mantissas[self.state_offsets[:-1]], exponents[self.state_offsets[:-1]]

    def normalized(self) -> Self:
        """Return each lattice divided by its total weight, arcs being conditional probabilities.

        Weights are pushed: of every state, the arcs and the weight of ending sum to 1.  A lattice that accepts nothing
        stays empty.

        Examples
        --------
        >>> X = Lattices.from_arcs([([(0, 1, "a", 3.0), (0, 2, "b", 1.0), (1, 2, "c", 2.0)], {2: 5.0})])
        >>> X.normalized().weights
        array([0.85714286, 0.14285714, 1.        ])
        """
        from kernelweave.data.lattices.loops import push_weights

        weights, finals = self.weights.copy(), self.finals.copy()
        push_weights(self.source, self.target, weights, finals, self._table.rows, self.state_offsets, *self._backward())
        table = self._table._replace(weights=weights, finals=finals)
        if not (weights > 0).all():
            table = sorted_table(table, strict=False, connect=True)
        return self._trusted(table, self.alphabet, self.ids)

    def with_alphabet(self, alphabet: Alphabet, unknown: str = "error") -> Self:
        """Return the same lattices over another alphabet.

        Parameters
        ----------
        alphabet : Alphabet
        unknown : "error" names the first letter that the alphabet lacks, "mask" makes it match nothing

        Examples
        --------
        >>> X = Lattices.from_arcs([([(0, 1, "a", 1.0), (1, 2, "b", 1.0)], [2])])
        >>> X.with_alphabet(Alphabet.words(["b", "c"]), unknown="mask")[0]
        '<unk> b'
        """
        check_unknown(unknown)
        if alphabet == self.alphabet:
            return self
        codes = np.append(codes_in(alphabet, self.alphabet.letters), [alphabet.size, EPSILON]).astype(np.int32)
        labels = codes[self.labels]  # EPSILON, -1, is the last entry
        lost = (labels == alphabet.size) & (self.labels < self.alphabet.size)
        if unknown == "error" and lost.any():
            arc = int(lost.argmax())
            row = int(self._table.rows[arc])
            letter = self.alphabet.letters[self.labels[arc]]
            raise unknown_letter(letter, alphabet, row, arc - self.arc_offsets[row])
        order = np.lexsort((self.target, labels, self.source, self._table.rows))
        columns = (x[order] for x in (self.source, self.target, labels, self.weights))
        return self._trusted(Table._make((*columns, *self._table[4:])), alphabet, self.ids)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lattices):
            return NotImplemented
        return (
            self.alphabet == other.alphabet
            and all(np.array_equal(a, b) for a, b in zip(self._table, other._table))
            and same_ids(self.ids, other.ids)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), tuple(self._table), self.alphabet, self.ids)

    def __repr__(self) -> str:
        counts, span = self.arc_counts, ""
        if len(self):
            low, high = int(counts.min()), int(counts.max())
            span = f", {low} arcs each" if low == high else f", {low} to {high} arcs"
        return f"<{len(self)} lattices, {self.alphabet.name}{span}>"

    def _repr_html_(self) -> str:
        return lattices_html(self)

    def save(self, path: PathLike) -> None:
        """Write the rows to one file that `open` can map; the file appears whole or not at all."""
        arrays = {**self._table._asdict(), **packed_ids(self.ids)}
        write_saved(path, {"rows": "lattices", "alphabet": self.alphabet.to_dict()}, arrays)

    @classmethod
    def open(cls, path: PathLike, mmap: bool = True) -> Self:
        """Return the rows of a saved file, mapped from disk or read into memory; a damaged file is an error."""
        meta, arrays = read_saved(path, mmap)
        if meta.get("rows") != "lattices":
            raise ValueError(f"{path} holds sequences, not lattices; open it with Sequences.open.")
        try:
            table = Table._make(arrays[name] for name in Table._fields)
            ids = unpacked_ids(arrays, table.arc_offsets.size - 1)
            return cls(*table, Alphabet.from_dict(meta["alphabet"]), ids)
        except DESCRIBED_WRONGLY:
            raise ValueError(f"{path} is damaged: its parts do not fit together.") from None


def _rebuild(cls: type[Lattices], table: tuple[Array, ...], *parts: Any) -> Lattices:
    return cls._trusted(Table(*table), *parts)
