"""Expected counts of strings on lattices, with or without gaps, by one sweep over the states.

    phi_u(X) = sum over paths of  weight(path)  sum over places i_1 < .. < i_n of the path that spell u  decay^(skipped)

Skipped are the letters between i_1 and i_n that are not of u; between two neighbours there may be at most `gaps` of
them (0: an n-gram stands in one piece; -1: any number).  With a_s the weight of all paths from the start to state s and
b_t that from t to an end, an arc (s, t) with letter c and weight w does three things:

    begin     the string c begins with weight a_s w
    extend    every partial string z that reaches s with weight p becomes z c with weight p w
    skip      or stays z, with weight p w decay, where a gap may grow

and each string that begins or grows adds its weight times b_t to its feature.  Partial strings of one state are merged
before they go on, so that the cost follows arcs and distinct partial strings, not paths.  An arc without a letter
carries all of them over; a masked letter can only be skipped.  Strings are nodes of a dictionary of prefixes, found by
(parent, letter): any length over any alphabet stays exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.lattices.rows import EPSILON, Lattices
from kernelweave.kernels.base import Array
from kernelweave.kernels.strings.counting import cuts_at, gather, longer
from kernelweave.kernels.strings.counts import Counts
from kernelweave.kernels.strings.lattices.trie import child_of, forget, grown, new_trie
from kernelweave.kernels.strings.numbering import Numbering
from kernelweave.kernels.strings.sorting import merge_rows, sort_row

ROOM = 64
"""Places for partial strings and features at the start; it doubles as needed."""
MOST = 2**26
"""More strings than this, or more partial strings in all states together, are refused: they would take gigabytes."""
ARCS_AT_A_TIME = 2**16
"""Lattices with so many arcs together are counted before their features are put to the others."""


def expected_counts(X: Lattices, numbering: Numbering, scales: Array, gaps: int = 0, decay: float = 1.0) -> Counts:
    """Return the expected count of every string, codes rising in each row.

    Parameters
    ----------
    numbering : of the strings
    scales : (longest that counts,) factor of the counts of each length; 0 leaves a length out
    gaps : most letters that may be skipped between neighbours, -1 for any number
    decay : factor for each letter that is skipped
    """
    scales = np.asarray(scales, float) if len(scales) else np.zeros(1)  # no length counts: single letters, times 0
    words = numbering.words(len(scales))
    ahead, behind = X.forward_weights(), X.backward_weights()
    arcs = X.source, X.target, X.labels, X.weights, X.arc_offsets, X.state_offsets, ahead, behind
    rules = X.alphabet.size, scales, gaps, float(decay)
    spelling = numbering.base, numbering.raised, numbering.per_word, words, numbering.firsts

    def count(first: int, last: int) -> Any:
        return _count(arcs, rules, spelling, MOST, first, last)

    cuts = cuts_at(X.arc_offsets, ARCS_AT_A_TIME)
    return Counts(*gather(cuts, words, numbering.dtype, count), X.alphabet)


def both_strands(counts: Counts, numbering: Numbering, turn: Array) -> Counts:
    """Return counts of strings and of their reverse complements together, under the smaller code of the two."""
    letters = numbering.spelled(counts.codes)
    turned = np.full_like(letters, EPSILON)
    lengths = (letters >= 0).sum(axis=1)
    for place in range(letters.shape[1]):
        inside = np.flatnonzero(lengths > place)
        turned[inside, place] = turn[letters[inside, lengths[inside] - 1 - place]]
    own, other = counts.codes.astype(np.int64), numbering.numbered(turned)[:, : counts.codes.shape[1]]
    differs = own != other
    word = np.argmax(differs, axis=1)
    entries = np.arange(len(own))
    smaller = (other[entries, word] < own[entries, word])[:, np.newaxis]
    codes, values, bounds = merge_rows(np.where(smaller, other, own), counts.values, counts.starts)
    return Counts(codes.astype(counts.codes.dtype), values, bounds, counts.alphabet)


@jit
def _count(arcs, rules, spelling, most, first, last):  # type: ignore[no-untyped-def]
    source, target, labels, weights, arc_offsets, state_offsets, ahead, behind = arcs
    words, width = spelling[3], max(rules[2], 0) + 1
    trie = new_trie(np.int64(ROOM), words, width)
    pool = np.empty(ROOM, np.int32), np.empty(ROOM, np.int32), np.empty(ROOM)
    codes, values = np.empty((ROOM, words), np.int64), np.empty(ROOM)
    bounds, filled = np.zeros(last - first + 1, np.int64), np.int64(0)
    for row in range(first, last):
        begin, end, low, high = arc_offsets[row], arc_offsets[row + 1], state_offsets[row], state_offsets[row + 1]
        lattice = source[begin:end], labels[begin:end], weights[begin:end], ahead[low:high], behind[low:high]
        into, starts = _by_target(target[begin:end], high - low)
        trie, pool, nodes = _sweep(lattice, into, starts, rules, spelling, most, trie, pool)
        if nodes < 0:
            bounds[0] = row + 1
            return codes[:0], values[:0], bounds
        codes, values = longer(codes, values, filled, filled + nodes)
        start, filled = filled, _emit(trie, nodes, rules[1], spelling[4], codes, values, filled)
        sort_row(codes, values, start, filled)
        forget(trie, nodes)
        bounds[row - first + 1] = filled
    return codes[:filled], values[:filled], bounds


@jit
def _by_target(target, states):  # type: ignore[no-untyped-def]
    # The arcs in the order of the states they lead to, and where those of each state start.
    starts = np.zeros(states + 1, np.int64)
    for arc in range(target.shape[0]):
        starts[target[arc] + 1] += 1
    for state in range(states):
        starts[state + 1] += starts[state]
    into, place = np.empty(target.shape[0], np.int64), starts[:-1].copy()
    for arc in range(target.shape[0]):
        into[place[target[arc]]] = arc
        place[target[arc]] += 1
    return into, starts


@jit
def _sweep(lattice, into, starts, rules, spelling, most, trie, pool):  # type: ignore[no-untyped-def]
    source, labels, weights, ahead, behind = lattice
    states = ahead.shape[0]
    lists = np.zeros(states + 1, np.int64)  # where the partial strings of each state start
    nodes, used = np.int64(1), np.int64(0)
    for state in range(states):
        fresh = used
        for i in range(starts[state], starts[state + 1]):
            arc = into[i]
            begin = ahead[source[arc]] * weights[arc]
            if behind[state] > 0.0 and begin > 0.0:
                low, high = lists[source[arc]], lists[source[arc] + 1]
                if max(nodes, used) + 2 * (high - low) > most:
                    return trie, pool, np.int64(-1)
                trie = grown(trie, nodes, nodes + high - low + 1)
                pool = _deeper(pool, used, used + 2 * (high - low) + 1)
                step = labels[arc], weights[arc], begin, behind[state]
                nodes, used = _follow(step, low, high, fresh, rules, spelling, trie, pool, nodes, used)
        lists[state + 1] = used
    return trie, pool, nodes


@jit
def _follow(step, low, high, fresh, rules, spelling, trie, pool, nodes, used):  # type: ignore[no-untyped-def]
    letter, weight, begin, end = step
    size, scales, gaps, decay = rules
    node_of, gap_of, weight_of = pool
    lengths, values, place, width = trie[3], trie[4], trie[6], max(gaps, 0) + 1
    if letter < 0 or gaps != 0:
        grow = 0 if letter < 0 or gaps < 0 else 1
        factor = weight if letter < 0 else weight * decay
        for i in range(low, high):
            gap = np.int64(gap_of[i]) + grow
            if gap < width:
                used = _put(np.int64(node_of[i]), gap, weight_of[i] * factor, fresh, place, width, pool, used)
    if letter < 0 or letter >= size:
        return nodes, used
    for i in range(low - 1, high):
        parent = np.int64(0) if i < low else np.int64(node_of[i])
        share = begin if i < low else weight_of[i] * weight
        node, nodes = child_of(trie, nodes, parent, letter, spelling)
        values[node] += share * end
        if lengths[node] < scales.shape[0]:
            used = _put(node, np.int64(0), share, fresh, place, width, pool, used)
    return nodes, used


@jit
def _put(node, gap, weight, fresh, place, width, pool, used):  # type: ignore[no-untyped-def]
    # A partial string joins those of the state, which start at `fresh`.
    at = place[node * width + gap]
    if at >= fresh:
        pool[2][at] += weight
        return used
    place[node * width + gap] = used
    pool[0][used], pool[1][used], pool[2][used] = node, gap, weight
    return used + 1


@jit
def _deeper(pool, used, needed):  # type: ignore[no-untyped-def]
    if needed <= pool[2].shape[0]:
        return pool
    nodes, gaps, weights = np.empty(2 * needed, np.int32), np.empty(2 * needed, np.int32), np.empty(2 * needed)
    for i in range(used):
        nodes[i], gaps[i], weights[i] = pool[0][i], pool[1][i], pool[2][i]
    return nodes, gaps, weights


@jit
def _emit(trie, nodes, scales, firsts, codes, values, filled):  # type: ignore[no-untyped-def]
    lengths, sums, spelled = trie[3], trie[4], trie[5]
    for node in range(1, nodes):
        value = sums[node] * scales[lengths[node] - 1]
        if value > 0.0:
            for word in range(codes.shape[1]):
                codes[filled, word] = spelled[node, word]
            codes[filled, 0] += firsts[lengths[node] - 1]
            values[filled] = value
            filled += 1
    return filled
