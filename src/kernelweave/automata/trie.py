"""The prefix tree of weighted strings: the deterministic automaton with a state for each prefix."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.automata.base import EPSILON, Array, Transducer
from kernelweave.automata.build import as_alphabet
from kernelweave.automata.minimal.reads import common, first_unsorted


def trie(strings: Array, values: Array, alphabet: Any = None) -> Transducer:
    """Return the tree of strings; values of equal strings are summed, strings of weight zero are left out.

    Parameters
    ----------
    strings : (m, longest) int32 letters, `EPSILON` behind the end, in any order
    values : (m,) weights

    Examples
    --------
    >>> trie(np.array([[0, -1], [0, 1], [1, 1]], np.int32), np.array([1.0, 2.0, 3.0]), "ab")
    <acceptor, 5 states, 4 arcs>
    """
    strings, weights = np.ascontiguousarray(strings, np.int32), np.array(values, np.float64)
    if strings.ndim != 2 or weights.shape != strings.shape[:1]:
        raise ValueError(
            f"Strings are rows of letters, (m, longest), with one value each, but their shape is {strings.shape} and "
            f"that of the values {weights.shape}."
        )
    if first_unsorted(strings) >= 0:
        order = np.lexsort(strings.T[::-1])
        strings, weights = strings[order], weights[order]
    _sum_equal(strings, weights)
    strings, weights = strings[weights != 0.0], weights[weights != 0.0]
    source, target, labels = (np.empty(strings.size, np.int32) for _ in range(3))
    finals = np.zeros(strings.size + 1)
    arcs = _plant(strings, weights, source, target, labels, finals)
    by_source = np.argsort(source[:arcs], kind="stable")
    labels = labels[by_source]
    chosen = as_alphabet(alphabet)
    return Transducer(source[by_source], target[by_source], labels, labels, np.ones(arcs), finals[: arcs + 1], chosen)


@jit
def _sum_equal(strings, weights):  # type: ignore[no-untyped-def]
    """Move the weights of equal strings, which are neighbours, to the last of them."""
    for row in range(1, strings.shape[0]):
        j = common(strings, row - 1, row)
        if j == strings.shape[1] or strings[row - 1, j] == strings[row, j]:
            weights[row] += weights[row - 1]
            weights[row - 1] = 0.0


@jit
def _plant(strings, weights, source, target, labels, finals):  # type: ignore[no-untyped-def]
    longest = strings.shape[1]
    path = np.zeros(longest + 1, np.int64)
    states = 1
    for row in range(strings.shape[0]):
        j = common(strings, row - 1, row) if row > 0 else 0
        while j < longest and strings[row, j] != EPSILON:
            source[states - 1], target[states - 1], labels[states - 1] = path[j], states, strings[row, j]
            j += 1
            path[j] = states
            states += 1
        finals[path[j]] = weights[row]
    return states - 1
