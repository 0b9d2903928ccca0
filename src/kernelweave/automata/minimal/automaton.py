"""A minimal deterministic weighted automaton that is updated in place.

    W  <-  W + step * sum_z value_z [z],        W a function of strings with finitely many non-zero weights

**Minimal.**  The residual of W at a prefix u is the function v -> W(uv).  A deterministic automaton can lead two
prefixes to one state only if their residuals are proportional, so the fewest states are the classes of non-zero
residuals up to a factor, and the automaton that has them is unique once each residual is normalised: here the smallest
string, in the order of letters (end first), has weight one.  The initial state alone keeps its weights.

**Update.**  Only residuals at prefixes of added strings change.  The strings come sorted, so one walk meets each such
prefix once: a state that others refer to as well is copied on the way down, one that is our own leaves the register; on
the way up, each list of arcs is normalised and looked up in the register of all states (`register`), which either has
it (the prefix joins that state, and ours is given back) or takes it in.  A state that is half done is not in the
register, all others keep their lists, and no two have the same one: the automaton is minimal again.  The cost is the
sum, over prefixes of the added strings, of one plus the number of arcs there, in time and in new memory; arrays and
register double when full, so this holds on average over the updates.  States elsewhere cost nothing; a state on the way
costs as much as it has arcs, so that over a large alphabet each string pays for all arcs of the initial state.  A whole
automaton is added by another loop (`union`), which lists no strings and changes the initial state where it is.

**Exact.**  Minimality asks whether vectors are proportional, and for real numbers known by their roundings no algorithm
can tell: 0.1 + 0.2 and 0.3 are equal weights and different doubles.  What can be had is this.

1. Over the rationals all is exact.  Weights that are whole numbers (after a common scaling) stay whole: a residual
   is a factor times its *primitive* form, whose weights have no common divisor and whose first is positive.  The
   greatest common divisor of a state's own arcs is that of all string weights below, because the states behind are
   primitive; so it is found from the arcs alone.  All numbers on arcs divide weights of strings, and are exact in
   doubles as long as those stay below 2^53, which is tested before anything changes.  This is `exact=True`.
2. In doubles, states whose normalised weights agree to a relative `tolerance` tau are one, and a sum within tau of
   its larger term has cancelled.  Arcs of states that keep their first weight keep their bits.  With e = 2^-53, L the
   length of z plus one and |W| the larger of before and after, one update changes W(z), beside what it should, by at
   most (to first order)

       L (tau + 2 e) |W(z)|                               for strings that share a prefix with an added one,
       (tau + (L + 2) e) (|W(z)| + |step value_z|)        on top of this for the added ones,

   where tau counts only for states that merged and strings that vanished.  Errors of updates add up, as in any running
   sum.  While they are below tau, and residuals that are not proportional differ, normalised, by more than twice tau,
   the automaton is the minimal one; otherwise it may have too many or too few states, but no other weights than said.

A string whose weight becomes zero vanishes, with all states that only served it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.automata.base import Array, Transducer
from kernelweave.automata.minimal.loops import DEPTH, ROW, TOUCHED, TOUCHED_ITEMS, Path, advance
from kernelweave.automata.minimal.machines import Machines
from kernelweave.automata.minimal.pool import (
    ENDS,
    ENTRY_TOP,
    FINE,
    ITEMS,
    LIVE,
    LONGEST,
    OUT_OF_RANGE,
    grown,
    new_entry,
    new_pool,
)
from kernelweave.automata.minimal.reads import (
    first_too_large,
    first_unsorted,
    row_totals,
    string_weights,
    write_machine,
)
from kernelweave.automata.minimal.register import (
    TOLERANCE,
    check_whole,
    rules_for,
)
from kernelweave.automata.pack import AcceptorTable, pack


class MinimalStore:
    """Weights of strings, kept as the minimal deterministic automaton.

    Strings come as rows of letters with `EPSILON` behind the end, sorted, as `Features.letters` gives them.

    Parameters
    ----------
    exact : whether weights are whole numbers, below 2^53, and the automaton is minimal without any tolerance
    tolerance : relative distance up to which doubles count as equal (not used with `exact`)

    Attributes
    ----------
    n_states, n_arcs : size of the automaton
    nbytes : bytes of all arrays, with what they hold in reserve
    touched, touched_arcs : states rebuilt by the last addition, and arcs (and ends) of these

    Examples
    --------
    >>> import numpy as np
    >>> store = MinimalStore(exact=True)
    >>> strings = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32)
    >>> store.add(strings, np.array([1.0, 2.0, 3.0, 6.0]))
    >>> store                                                       # both letters lead to one state: (1, 2) ~ (3, 6)
    <minimal automaton, 3 states, 4 arcs>
    >>> store.add(strings[:1], np.array([1.0]), step=4.0)
    >>> store.n_states, store.weights(strings).tolist()
    (4, [5.0, 2.0, 3.0, 6.0])
    >>> store.look_up(strings[1:3], np.array([1.0, 10.0]))
    32.0
    """

    def __init__(self, *, exact: bool = False, tolerance: float = TOLERANCE) -> None:
        self.exact = bool(exact)
        self._rules = rules_for(self.exact, tolerance)
        self.clear()

    def clear(self) -> None:
        """Forget all strings."""
        self._pool = new_pool()
        new_entry(self._pool)
        self._path, self._machines = _new_path(1, 1), Machines()

    @property
    def n_states(self) -> int:
        """Number of states."""
        return int(self._pool.tops[LIVE])

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return int(self._pool.tops[ITEMS] - self._pool.tops[ENDS])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self._pool.nbytes + self._machines.nbytes + sum(array.nbytes for array in self._path)

    @property
    def touched(self) -> int:
        """States that the last addition rebuilt."""
        return int(self._path.place[TOUCHED])

    @property
    def touched_arcs(self) -> int:
        """Arcs and ends of the states that the last addition rebuilt."""
        return int(self._path.place[TOUCHED_ITEMS])

    def __repr__(self) -> str:
        return f"<minimal automaton, {self.n_states} states, {self.n_arcs} arcs>"

    def add(self, strings: Array, values: Array, step: float = 1.0) -> None:
        """Add `step` times `values` to the weights of strings.

        Parameters
        ----------
        strings : (m, longest) int32 letters, `EPSILON` behind the end, sorted; a string may come more than once
        values : (m,) finite numbers
        step : finite number
        """
        strings, values = _checked(strings, values)
        row = first_unsorted(strings)
        if row >= 0:
            raise ValueError(f"String {row} is smaller than the one before; sort the strings (np.lexsort).")
        deltas = float(step) * values
        if not np.isfinite(deltas).all():
            raise ValueError("Weights must be finite, but step * values has infinities or NaN.")
        if self.exact:
            self._check_whole(strings, deltas)
        self._prepare(*strings.shape)
        if len(strings):
            self._run(strings, deltas)

    def add_machine(self, machine: Transducer, step: float = 1.0) -> None:
        """Add `step` times the weights of an automaton, whose strings are not listed.

        Parameters
        ----------
        machine : acyclic deterministic acceptor without epsilons (`determinize` makes one)
        step : finite number

        Examples
        --------
        >>> from kernelweave.automata import Transducer
        >>> store = MinimalStore(exact=True)
        >>> arcs = [(place, place + 1, letter, 1.0 + letter) for place in range(40) for letter in range(2)]
        >>> store.add_machine(Transducer.from_arcs(arcs, finals=[40]))  # 2^40 strings
        >>> store
        <minimal automaton, 41 states, 80 arcs>
        """
        from kernelweave.automata.algorithms.determinize import is_deterministic

        if not is_deterministic(machine):
            raise ValueError("The automaton is not deterministic, or has epsilon arcs; use determinize first.")
        self.add_row(pack([machine]), 0, step)

    def add_row(self, table: AcceptorTable, row: int, step: float = 1.0) -> None:
        """Add `step` times one automaton of a table, which must be as `add_machine` wants it."""
        if not np.isfinite(step):
            raise ValueError(f"step={step!r} must be a finite number.")
        machine = table.machine(row)
        if self.exact:
            check_whole(*machine[3:], np.array([step]))
        if step == 0.0 or not len(machine[4]):
            return
        self._pool, fine = self._machines.add(self._pool, self._rules, machine, float(step))
        self._path.place[[TOUCHED, TOUCHED_ITEMS]] = self._machines.touched, self._machines.touched_arcs
        if not fine:
            self.clear()
            raise OverflowError(
                "A weight or the ratio of two weights left the range in which numbers are exact; the store is empty "
                "now: scale the weights and add them again."
            )

    def total(self, machine: Transducer) -> float:
        """Return D(A o W), the sum over all strings of the product of two automata's weights.

        Parameters
        ----------
        machine : A, an acyclic acceptor without epsilons, deterministic or not
        """
        return self.total_row(pack([machine]), 0)

    def total_row(self, table: AcceptorTable, row: int) -> float:
        """Return D(A o W) of one automaton of a table."""
        return self._machines.total(self._pool, table.machine(row), not table.rises)

    def look_up(self, strings: Array, values: Array) -> float:
        """Return the sum of value_z W(z) over strings z; sorted strings are found fastest."""
        return float(self.look_up_rows(strings, values, np.array([0, len(strings)]))[0])

    def look_up_rows(self, strings: Array, values: Array, bounds: Array) -> Array:
        """Return one sum of value_z W(z) for each row.

        Parameters
        ----------
        strings : (total, longest) int32, the strings of all rows, one row behind the other
        values : (total,) float64
        bounds : (n + 1,) int64, row i has the strings bounds[i]:bounds[i + 1]

        Returns
        -------
        (n,) float64
        """
        strings, values = _checked(strings, values)
        bounds = np.asarray(bounds, np.int64)
        out = np.empty(len(bounds) - 1)
        row_totals(self._pool, strings, values, bounds, out)
        return out

    def weights(self, strings: Array) -> Array:
        """Return the weight W(z) of each string, (m,) float64."""
        strings, out = _checked(strings, np.empty(len(strings)))
        string_weights(self._pool, strings, out)
        return out

    def to_transducer(self, alphabet: Any = None) -> Transducer:
        """Return the automaton as an acceptor, states in topological order.

        Examples
        --------
        >>> store = MinimalStore()
        >>> store.add(np.array([[0, -1], [0, 1]], np.int32), np.array([1.0, 0.5]))
        >>> store.to_transducer("ab")
        <acceptor, 3 states, 2 arcs>
        """
        from kernelweave.automata.build import as_alphabet

        n, k = self.n_states, self.n_arcs
        order, place = np.empty(n, np.int64), np.zeros(int(self._pool.tops[ENTRY_TOP]), np.int64)
        source, target, labels = (np.empty(k, np.int32) for _ in range(3))
        weights, finals = np.empty(k), np.zeros(n)
        write_machine(self._pool, order, place, source, target, labels, weights, finals)
        return Transducer(source, target, labels, labels, weights, finals, as_alphabet(alphabet))

    def _check_whole(self, strings: Array, deltas: Array) -> None:
        check_whole(deltas)
        row = first_too_large(strings, self.weights(strings), deltas)
        if row >= 0:
            raise OverflowError(
                f"The weight of string {row} would reach 2^53, where doubles stop being exact; use smaller weights, or "
                "exact=False."
            )

    def _prepare(self, m: int, longest: int) -> None:
        """Make the path long enough for the walk: an open node has its old items and at most m new ones."""
        items = (longest + 1) * (int(self._pool.tops[LONGEST]) + m + 1)
        if len(self._path.nodes) < longest + 1 or len(self._path.weights) < items:
            self._path = _new_path(longest + 1, 2 * items)
        self._path.place[:] = 0
        self._path.place[DEPTH] = -1

    def _run(self, strings: Array, deltas: Array) -> None:
        while (status := advance(self._pool, self._path, self._rules, strings, deltas)) != FINE:
            if status == OUT_OF_RANGE:
                row = int(self._path.place[ROW])
                self.clear()
                raise OverflowError(
                    f"Near string {row} the ratio of two weights left the range of double precision; the store is "
                    "empty now: scale the weights and add them again."
                )
            self._pool = grown(self._pool, status)


def _new_path(depth: int, items: int) -> Path:
    nodes, scales = np.zeros((depth, 7), np.int64), np.zeros((depth, 2))
    return Path(nodes, scales, np.empty((items, 2), np.int32), np.empty(items), np.zeros(4, np.int64))


def _checked(strings: Array, values: Array) -> tuple[Array, Array]:
    strings, values = np.ascontiguousarray(strings, np.int32), np.ascontiguousarray(values, np.float64)
    if strings.ndim != 2 or values.shape != strings.shape[:1]:
        raise ValueError(
            f"Strings are rows of letters, (m, longest), with one value each, but their shape is {strings.shape} and "
            f"that of the values {values.shape}."
        )
    return strings, values
