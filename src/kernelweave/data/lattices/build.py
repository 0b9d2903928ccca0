"""From arcs in any order to the checked, sorted arc table of `Lattices`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kernelweave.data.errors import Message, ParameterError
from kernelweave.data.rows import codes_in, offsets_of
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.data.strings.letters import check_unknown

Array = np.ndarray

EPSILON = -1
"""The label of an arc that spells nothing."""

MAX_STATES = np.iinfo(np.int32).max
"""States of one lattice are numbered by 32 bits."""


class LatticeError(ParameterError):
    """What is wrong with a lattice, and where.

    Attributes
    ----------
    reason : the sentence without the place; a `Message` where it names parameters
    lattice : number of the lattice
    arc : number of the arc within the lattice, as given; None when the fault is none of a single arc
    """

    def __init__(self, reason: str | Message, lattice: int, arc: int | None = None):
        self.reason, self.lattice, self.arc = reason, int(lattice), None if arc is None else int(arc)
        place = f"Lattice {self.lattice}" + ("" if arc is None else f", arc {self.arc}")
        super().__init__("{place}: {reason}", place=place, reason=reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.lattice, self.arc)


def unknown_letter(letter: str, alphabet: Alphabet, lattice: int, arc: int) -> LatticeError:
    """Return the error about an arc with a letter that is not in the alphabet."""
    reason = Message("the letter {letter!r} is unknown; {expected}.", letter=letter, expected=alphabet.expected)
    return LatticeError(reason, lattice, arc)


class Table(NamedTuple):
    """The arrays of `Lattices`, in the order of its constructor."""

    source: Array
    target: Array
    labels: Array
    weights: Array
    arc_offsets: Array
    finals: Array
    state_offsets: Array

    @property
    def rows(self) -> Array:
        """The lattice of each arc."""
        return np.repeat(np.arange(self.arc_offsets.size - 1), np.diff(self.arc_offsets))


def as_table(source: Any, target: Any, labels: Any, weights: Any, arcs: Any, finals: Any, states: Any) -> Table:
    """Return contiguous arrays of the right types whose sizes fit together."""
    table = Table(
        _whole("source", source),
        _whole("target", target),
        _whole("labels", labels),
        np.ascontiguousarray(weights, np.float64),
        np.ascontiguousarray(arcs, np.int64),
        np.ascontiguousarray(finals, np.float64),
        np.ascontiguousarray(states, np.int64),
    )
    n_arcs = table.weights.shape
    if any(x.ndim != 1 for x in table) or any(x.shape != n_arcs for x in table[:3]):
        raise ValueError("source, target, labels and weights must be flat arrays with an entry for each arc.")
    for name, total in (("arc_offsets", table.weights.size), ("state_offsets", table.finals.size)):
        offsets = getattr(table, name)
        if not offsets.size or offsets[0] != 0 or offsets[-1] != total or (np.diff(offsets) < 0).any():
            raise ValueError(f"{name} must rise from 0 to the number of entries, {total}.")
    if table.arc_offsets.size != table.state_offsets.size:
        raise ValueError(f"{table.arc_offsets.size - 1} lattices have arcs, but {table.state_offsets.size - 1} states.")
    return table


def _whole(name: str, values: Any) -> Array:
    """Return whole numbers as a contiguous array of 32 bits; others are an error."""
    values = np.asarray(values)
    if values.dtype == np.int32:
        return np.ascontiguousarray(values)
    small = np.iinfo(np.int32)
    if values.size and (values.dtype.kind not in "iu" or values.min() < small.min or values.max() > small.max):
        raise ValueError(f"{name} must hold whole numbers of 32 bits, got {values.dtype} such as {values.max()}.")
    return np.ascontiguousarray(values, np.int32)


def check_values(table: Table, alphabet: Alphabet, zero: bool) -> None:
    """Raise `LatticeError` at the first state, label or weight that cannot be; zero: arcs may have weight zero."""
    sizes = np.diff(table.state_offsets)
    if (sizes < 1).any():
        raise LatticeError("it has no state; a lattice has at least its initial state.", int(np.argmin(sizes)))
    n_states = sizes[table.rows]
    for name, states in (("source", table.source), ("target", table.target)):
        bad = (states < 0) | (states >= n_states)
        if (found := _first(table, bad)) is not None:
            n = n_states[bad.argmax()]
            raise LatticeError(f"its {name} {states[bad.argmax()]} is not a state; there are {n}.", *found)
    bad = (table.labels < EPSILON) | (table.labels > alphabet.size)
    if (found := _first(table, bad)) is not None:
        code = table.labels[bad.argmax()]
        raise LatticeError(f"the label {code} is unknown; {alphabet!r} is the alphabet.", *found)
    for bad, what in ((~np.isfinite(table.weights), "finite"), (table.weights < 0, "positive")):
        if (found := _first(table, bad)) is not None:
            raise LatticeError(f"the weight {table.weights[bad.argmax()]} is not {what}.", *found)
    if not zero and (found := _first(table, table.weights == 0)) is not None:
        raise LatticeError("the weight 0 is not positive.", *found)
    bad = ~(np.isfinite(table.finals) & (table.finals >= 0))
    if bad.any():
        row, state = _owner(table, bad.argmax())
        weight = table.finals[bad.argmax()]
        raise LatticeError(f"state {state} ends with weight {weight}, which is not finite and >= 0.", row)


def check_order(table: Table) -> None:
    """Raise unless arcs lead to higher states and are sorted by source, label and target."""
    if (found := _first(table, table.target <= table.source)) is not None:
        raise LatticeError("it does not lead to a higher state (from_arcs sorts states).", *found)
    keys = np.stack([table.rows, table.source, table.labels, table.target])
    step = np.diff(keys.astype(np.int64), axis=1)
    first = np.argmax(step != 0, axis=0)
    fallen = np.append(False, np.take_along_axis(step, first[None], 0)[0] < 0)
    if (found := _first(table, fallen)) is not None:
        raise LatticeError("it is out of order; arcs are sorted by source, label and target.", *found)


def sorted_table(table: Table, strict: bool, connect: bool) -> Table:
    """Return a checked table with states in topological order and arcs sorted; arcs of weight zero are left out."""
    from kernelweave.data.lattices.loops import reach

    rows, number = table.rows, _topological(table, connect)
    first_state = table.state_offsets[rows]
    source, target = number[first_state + table.source], number[first_state + table.target]
    order = np.lexsort((target, table.labels, source, rows))
    finals = np.empty_like(table.finals)
    finals[_places(number, table.state_offsets)] = table.finals
    new = Table(
        source[order], target[order], table.labels[order], table.weights[order], table.arc_offsets, finals,
        table.state_offsets,
    )  # fmt: skip
    mentioned, used = np.zeros(finals.size, np.bool_), np.zeros(finals.size, np.bool_)
    reach(*new[:2], new.weights, *new[4:], mentioned, used)
    if strict and (lost := ~mentioned & (finals > 0)).any():
        place = int(lost[_places(number, table.state_offsets)].argmax())
        row, state = _owner(table, place)
        raise LatticeError(f"the final state {state} cannot be reached from the initial state 0.", row)
    return _without(new, used if connect else np.ones_like(used))


def table_of(lattices: Iterable[tuple[Any, Any]], alphabet: Any, unknown: str) -> tuple[Table, Alphabet]:
    """Return the unsorted table of lattices given as Python lists of arcs and final weights."""
    check_unknown(unknown)
    lattices = [(list(arcs), _final_weights(finals)) for arcs, finals in lattices]
    columns: list[tuple[Any, Any, Any, Any]] = []
    sizes, states = [], []
    for row, (arcs, finals) in enumerate(lattices):
        highest = max(finals, default=0)
        for number, arc in enumerate(arcs):
            if len(arc) != 4:
                raise LatticeError(f"it is {arc!r}, expected (source, target, label, weight).", row, number)
            highest = max(highest, arc[0], arc[1])
        if min(finals, default=0) < 0 or highest >= MAX_STATES:
            raise LatticeError(f"states must be numbered from 0 to less than {MAX_STATES}.", row)
        columns.extend(arcs)
        sizes.append(len(arcs))
        states.append(int(highest) + 1)
    source, target, labels, weights = zip(*columns) if columns else ((), (), (), ())
    arc_offsets, state_offsets = offsets_of(np.array(sizes, np.int64)), offsets_of(np.array(states, np.int64))
    ends = np.zeros(state_offsets[-1])
    for row, (_, finals) in enumerate(lattices):
        for state, weight in finals.items():
            ends[state_offsets[row] + state] = weight
    codes, chosen = _codes(labels, alphabet, unknown, arc_offsets)
    return as_table(source, target, codes, weights, arc_offsets, ends, state_offsets), chosen


def _final_weights(finals: Any) -> dict[int, float]:
    return dict(finals) if isinstance(finals, Mapping) else dict.fromkeys(finals, 1.0)


def _codes(labels: Sequence[Any], alphabet: Any, unknown: str, offsets: Array) -> tuple[Array, Alphabet]:
    """Return the codes of labels: letters, codes, or None, "" and EPSILON for nothing."""
    letters = {str(label) for label in labels if isinstance(label, str) and label}
    if alphabet is None or alphabet == "words":
        alphabet = Alphabet.words(sorted(letters))
    elif isinstance(alphabet, str):
        alphabet = Alphabet.named(alphabet)
    lookup = {"": EPSILON, **dict(zip(letters, codes_in(alphabet, letters).tolist()))}
    codes = np.empty(len(labels), np.int64)
    for number, label in enumerate(labels):
        codes[number] = lookup[label] if isinstance(label, str) else EPSILON if label is None else label
        if unknown == "error" and isinstance(label, str) and codes[number] == alphabet.size:
            row, arc = _place(offsets, number)
            raise unknown_letter(label, alphabet, row, arc)
    return codes, alphabet


def _topological(table: Table, connect: bool) -> Array:
    """Return the new number of every state within its lattice; that of the initial state is 0."""
    if (table.target > table.source).all():
        sizes = np.diff(table.state_offsets)
        return (np.arange(table.finals.size) - np.repeat(table.state_offsets[:-1], sizes)).astype(np.int32)
    number, row = _numbered(table, np.ones(table.source.size, np.bool_))
    if row >= 0:
        raise LatticeError("it lies on a cycle, but lattices have none.", row, _cyclic_arc(table, row, number))
    entering = table.target == 0
    if not entering.any():
        return number
    if not connect:
        raise LatticeError("it enters the initial state 0.", *_place(table.arc_offsets, int(entering.argmax())))
    # Without a cycle such arcs come from states that cannot be reached: they go, and must not push state 0 back.
    return _numbered(table, ~entering)[0]


def _numbered(table: Table, counted: Array) -> tuple[Array, int]:
    """Return the topological numbers of states along some of the arcs, and the first lattice with a cycle or -1."""
    from kernelweave.data.lattices.loops import number_states

    where = (table.state_offsets[table.rows] + table.source)[counted]
    order = np.argsort(where, kind="stable")
    starts = np.searchsorted(where[order], np.arange(table.finals.size + 1)).astype(np.int64)
    number = np.empty(table.finals.size, np.int32)
    return number, int(number_states(table.target[counted][order], starts, table.state_offsets, number))


def _cyclic_arc(table: Table, row: int, number: Array) -> int:
    """Return an arc on a cycle: going back from a state without a number stays among such states."""
    base = table.state_offsets[row]
    arcs = range(table.arc_offsets[row], table.arc_offsets[row + 1])
    into = {int(table.target[a]): a for a in arcs if number[base + table.source[a]] < 0}
    arc = next(iter(into.values()))
    for _ in into:
        arc = into[int(table.source[arc])]
    return arc - int(table.arc_offsets[row])


def _without(table: Table, used: Array) -> Table:
    """Return the table of the used states only, and of the arcs between them that have a positive weight."""
    rows = table.rows
    first_state = table.state_offsets[rows]
    kept = (table.weights > 0) & used[first_state + table.source] & used[first_state + table.target]
    if kept.all() and used.all():
        return table
    before = offsets_of(used)
    states, arcs = before[table.state_offsets], offsets_of(kept)[table.arc_offsets]
    within = (before[:-1] - np.repeat(states[:-1], np.diff(table.state_offsets))).astype(np.int32)
    return Table(
        within[first_state + table.source][kept],
        within[first_state + table.target][kept],
        table.labels[kept],
        table.weights[kept],
        arcs,
        table.finals[used],
        states,
    )


def _places(number: Array, state_offsets: Array) -> Array:
    """Return where each state of the whole table goes when states of a lattice are renumbered."""
    return number + np.repeat(state_offsets[:-1], np.diff(state_offsets))


def _first(table: Table, bad: Array) -> tuple[int, int] | None:
    """Return (lattice, arc) of the first bad arc, or None."""
    return _place(table.arc_offsets, int(bad.argmax())) if bad.any() else None


def _owner(table: Table, place: Any) -> tuple[int, int]:
    """Return lattice and number of a state of the whole table."""
    return _place(table.state_offsets, int(place))


def _place(offsets: Array, at: int) -> tuple[int, int]:
    row = int(np.searchsorted(offsets, at, side="right")) - 1
    return row, at - int(offsets[row])
