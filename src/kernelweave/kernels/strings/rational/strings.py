"""The strings of acyclic acceptors, listed as numbers; and how long the outputs of a transducer can get.

A string of letters c_1 .. c_m is the number with the digits c_1 + 1, .., c_m + 1 in base |A| + 1, cut into words of as
many digits as fit (see `numbering`).  No digit of a letter is zero: the empty string is 0, and lengths stay apart.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave.automata.algorithms.rational import connect
from kernelweave.automata.base import EPSILON, Array, Transducer
from kernelweave.automata.graph import strong_components
from kernelweave.automata.pack import AcceptorTable
from kernelweave.data.rows import offsets_of
from kernelweave.kernels.strings.kmers import digits_per_word
from kernelweave.kernels.strings.numbering import Numbering
from kernelweave.kernels.strings.sorting import merge_rows

MOST_STRINGS = 1_000_000
"""A row with more output strings than this is not listed."""


def numbering_of(size: int, longest: int) -> Numbering:
    """Return the numbers of all strings of up to so many letters, the empty one included.

    Examples
    --------
    >>> numbering_of(4, 2).numbered(np.array([[-1, -1], [0, -1], [3, 1]])).ravel()
    array([ 0,  1, 22])
    """
    return Numbering(longest, size + 1, 1, digits_per_word(size + 1), np.zeros(longest, np.int64), None)


def longest_output(machine: Transducer) -> int | None:
    """Return how many letters a path of the machine can write at most, None where there is no bound.

    Examples
    --------
    >>> T = Transducer.from_arcs([(0, 0, "a", None, 1.0), (0, 1, "a", "a", 1.0), (1, 2, None, "b", 1.0)], [2], "ab")
    >>> longest_output(T)
    2
    """
    m = connect(machine)
    members, bounds = strong_components(m.starts, m.target)
    group = np.empty(m.n_states, np.int64)
    group[members] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    steps = np.stack([group[m.source], group[m.target], m.outputs != EPSILON], axis=1)
    longest = [0] * (len(bounds) - 1)
    for here, there, writes in np.unique(steps, axis=0).tolist():  # a group comes after all that its arcs lead to
        if here == there and writes:
            return None
        longest[here] = max(longest[here], longest[there] + writes)
    return longest[group[0]]


def string_sizes(table: AcceptorTable) -> tuple[Array, Array]:
    """Return how many paths each acceptor has, (n,) float64, and the letters of its longest one, (n,), -1 for none."""
    paths, letters = np.empty(len(table)), np.empty(len(table), np.int64)
    _measure(table.starts, table.target, table.finals, table.state_offsets, paths, letters)
    return paths, letters


def listed_strings(table: AcceptorTable, paths: Array, numbering: Numbering) -> tuple[Array, Array, Array]:
    """Return codes (total, words), values (total,) and bounds (n + 1,) of the strings of all acceptors.

    Codes rise in each row, and a string that several paths spell comes once.

    Parameters
    ----------
    paths : of each acceptor, as `string_sizes` gives them
    numbering : of strings that are as long as these, or longer
    """
    bounds = offsets_of(paths.astype(np.int64))
    codes = np.empty((bounds[-1], numbering.words(numbering.longest)), np.int64)
    values = np.empty(bounds[-1])
    _list(*table.arrays, numbering.base, numbering.per_word, numbering.longest, bounds, codes, values)
    return merge_rows(codes, values, bounds)


@jit
def _measure(starts, target, finals, offsets, paths, letters):  # type: ignore[no-untyped-def]
    for row in range(paths.shape[0]):
        first = offsets[row]
        n = offsets[row + 1] - first
        ways, depth = np.zeros(n), np.full(n, -1)
        for q in range(n - 1, -1, -1):
            if finals[first + q] != 0.0:
                ways[q], depth[q] = 1.0, 0
            for arc in range(starts[first + q], starts[first + q + 1]):
                ways[q] += ways[target[arc]]
                if depth[target[arc]] >= 0:
                    depth[q] = max(depth[q], depth[target[arc]] + 1)
        paths[row], letters[row] = ways[0], depth[0]


@jit
def _list(  # type: ignore[no-untyped-def]
    starts, target, labels, weights, finals, offsets, base, per_word, longest, bounds, codes, values
):
    """Walk all paths depth first; state, next arc, weight and code of each prefix of the path stand on a stack."""
    words = codes.shape[1]
    states, arcs = np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)
    weight, code = np.ones(longest + 1), np.zeros((longest + 1, words), np.int64)
    for row in range(bounds.shape[0] - 1):
        first, filled, depth = offsets[row], bounds[row], 0
        arcs[0], new = starts[first], True
        while depth >= 0:
            state = first + states[depth]
            if new and finals[state] != 0.0:
                values[filled] = weight[depth] * finals[state]
                for word in range(words):
                    codes[filled, word] = code[depth, word]
                filled += 1
            new = arcs[depth] < starts[state + 1]
            if not new:
                depth -= 1
                continue
            arc = arcs[depth]
            arcs[depth] += 1
            depth += 1
            states[depth], arcs[depth] = target[arc], starts[first + target[arc]]
            weight[depth] = weight[depth - 1] * weights[arc]
            for word in range(words):
                code[depth, word] = code[depth - 1, word]
            word = (depth - 1) // per_word
            code[depth, word] = code[depth, word] * base + labels[arc] + 1
