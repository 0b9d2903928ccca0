"""Weighted transducers over the real numbers, as arrays of arcs.

    U(x, y) = sum over accepting paths with input x and output y of  (product of arc weights) (final weight)

A path starts in state 0 with weight one.  Labels are small integers (codes of an `Alphabet`); `EPSILON` is the empty
string.  Functions of this room build new machines and never change those they are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.lattices.rows import EPSILON
from kernelweave.data.strings.alphabet import Alphabet

Array = np.ndarray

__all__ = ["EPSILON", "Array", "Transducer", "arc_order", "sorted_by_source"]

FEW_ARCS = 24
"""States with more arcs than this are sorted by merging rather than by insertion."""


@dataclass(frozen=True, eq=False)
class Transducer:
    """A weighted finite-state transducer; an acceptor has the same label on both sides of every arc.

    Build one with `from_arcs`, which checks and sorts; the constructor trusts its arrays.

    Attributes
    ----------
    source, target : (arcs,) int32 states; arcs are sorted by source, then input, then output, then target
    inputs, outputs : (arcs,) int32 labels, `EPSILON` for none
    weights : (arcs,) float64
    finals : (states,) float64, weight of ending in each state, 0 where a path cannot end; state 0 is the initial one
    alphabet : what the labels spell, or None

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 1, "a", "b", 3.0), (1, 1, "a", "a", 0.5)], finals={1: 2.0}, alphabet="ab")
    >>> T
    <transducer, 2 states, 2 arcs>
    >>> T.n_states, T.is_acceptor
    (2, False)
    """

    source: Array
    target: Array
    inputs: Array
    outputs: Array
    weights: Array
    finals: Array
    alphabet: Alphabet | None = None

    @classmethod
    def from_arcs(cls, arcs: Any, finals: Any, alphabet: Any = None, n_states: int | None = None) -> Transducer:
        """Return a transducer from its arcs.

        Parameters
        ----------
        arcs : of (source, target, input, output, weight), or (source, target, label, weight) for an acceptor; labels
            are letters of the alphabet or their codes, and None, "" or `EPSILON` for nothing
        finals : state -> weight of ending there, or a list of states of weight 1
        alphabet : Alphabet, a text of letters, or None where labels are numbers
        n_states : None for the highest state that is mentioned, plus one
        """
        from kernelweave.automata.build import machine

        return machine(cls, arcs, finals, alphabet, n_states)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.finals)

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return len(self.weights)

    @cached_property
    def starts(self) -> Array:
        """Where the arcs of each state begin, and where the last ones end, (states + 1,) int64."""
        starts = np.zeros(self.n_states + 1, np.int64)
        np.cumsum(np.bincount(self.source, minlength=self.n_states), out=starts[1:])
        return starts

    @cached_property
    def is_acceptor(self) -> bool:
        """Whether every arc writes what it reads."""
        return self.inputs is self.outputs or bool(np.array_equal(self.inputs, self.outputs))

    def __repr__(self) -> str:
        kind = "acceptor" if self.is_acceptor else "transducer"
        return f"<{kind}, {self.n_states} states, {self.n_arcs} arcs>"


def sorted_by_source(
    source: Array, target: Array, inputs: Array, outputs: Array, weights: Array, finals: Array, alphabet: Any = None
) -> Transducer:
    """Return a transducer from arcs in any order; arcs of one state come sorted by input, then output, then target."""
    finals = np.ascontiguousarray(finals, np.float64)
    order = arc_order(source, inputs, outputs, target, len(finals))
    first = np.ascontiguousarray(inputs[order], np.int32)
    return Transducer(
        np.ascontiguousarray(source[order], np.int32),
        np.ascontiguousarray(target[order], np.int32),
        first,
        first if inputs is outputs else np.ascontiguousarray(outputs[order], np.int32),
        np.ascontiguousarray(weights[order], np.float64),
        finals,
        alphabet,
    )


def arc_order(source: Array, first: Array, second: Array, third: Array, n_states: int) -> Array:
    """Return how to order arcs by source, then by three keys; arcs equal in all of them keep their order."""
    order = np.empty(len(source), np.int64)
    keys = (np.ascontiguousarray(key, np.int32) for key in (source, first, second, third))
    _order_arcs(*keys, n_states, order)
    return order


@jit
def _order_arcs(source, first, second, third, n_states, order):  # type: ignore[no-untyped-def]
    place = np.zeros(n_states + 1, np.int64)
    for arc in range(source.shape[0]):
        place[source[arc] + 1] += 1
    for state in range(n_states):
        place[state + 1] += place[state]
    starts = place.copy()
    for arc in range(source.shape[0]):
        order[place[source[arc]]] = arc
        place[source[arc]] += 1
    for state in range(n_states):
        arcs = order[starts[state] : starts[state + 1]]
        if arcs.shape[0] > FEW_ARCS:
            for keys in (third, second, first):
                arcs[:] = arcs[np.argsort(keys[arcs], kind="mergesort")]
        else:
            _insertion_sort(first, second, third, arcs)


@jit
def _insertion_sort(first, second, third, arcs):  # type: ignore[no-untyped-def]
    for k in range(1, arcs.shape[0]):
        arc, hole = arcs[k], k
        while hole > 0:
            other = arcs[hole - 1]
            if first[other] != first[arc]:
                if first[other] < first[arc]:
                    break
            elif second[other] != second[arc]:
                if second[other] < second[arc]:
                    break
            elif third[other] <= third[arc]:
                break
            arcs[hole] = other
            hole -= 1
        arcs[hole] = arc
