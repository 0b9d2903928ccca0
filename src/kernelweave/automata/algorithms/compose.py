"""Composition: the outputs of one machine read by another.

    (U1 o U2)(x, y) = sum over strings z of  U1(x, z) U2(z, y)

A path of the result is a pair of paths, of U1 with output z and of U2 with input z.  Its states are pairs (p, q), and

    matching    p --a:b/v--> p',  q --b:c/w--> q'   gives   (p, q) --a:c/v w--> (p', q')
    first alone p --a:eps/v--> p'                   gives   (p, q) --a:eps/v--> (p', q)
    second alone           q --eps:c/w--> q'        gives   (p, q) --eps:c/w--> (p, q')

Between two matched letters the k lone steps of the first path and the l lone steps of the second could be shuffled in
(k + l)! / (k! l!) ways, and every one would be counted.  One of them is kept: first all of U1's, then all of U2's.  A
third component of the state remembers it: FREE after a match or a step of U1, LATE after a lone step of U2, from where
U1 may not step alone until letters match again.  So each pair of paths is one path of the result, exactly.

Two short cuts keep the result small.  Where p has no output epsilons, LATE forbids nothing: the state is FREE.  Where p
has only output epsilons and is not final, LATE leads nowhere: the state is not made.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave._numba.hashing import line_of
from kernelweave.automata.algorithms.rational import connect, shared_alphabet
from kernelweave.automata.base import EPSILON, Transducer, arc_order, sorted_by_source

FREE, LATE = 0, 1
NO_EPSILON, ONLY_EPSILON, SOME_EPSILON = 0, 1, 2
ROOM = 4
"""States and arcs of the result for which there is room at the start, for each state of the two machines."""


def compose(first: Transducer, second: Transducer) -> Transducer:
    """Return the machine that reads what the first one reads and writes what the second one makes of its outputs.

    Only states on a path from the initial to a final one are made part of the result.

    Parameters
    ----------
    first, second : machines over the same alphabet (or over plain numbers)

    Examples
    --------
    >>> from kernelweave.automata import acceptor, ngram_counter
    >>> X = acceptor("abab", "ab")
    >>> compose(X, ngram_counter("ab", 2))
    <transducer, 9 states, 10 arcs>
    """
    alphabet = shared_alphabet((first, second))
    if first.n_states * second.n_states >= np.iinfo(np.int64).max // 2:
        raise ValueError("The two machines are too large to be composed: their pairs of states do not fit 63 bits.")
    left = arc_order(first.source, first.outputs, first.inputs, first.target, first.n_states)
    arcs, weights, finals = _compose(
        first.starts,
        first.target[left],
        first.inputs[left],
        first.outputs[left],
        first.weights[left],
        first.finals,
        second.starts,
        second.target,
        second.inputs,
        second.outputs,
        second.weights,
        second.finals,
    )
    source, target, inputs, outputs = (np.ascontiguousarray(column) for column in arcs.T)
    same = first.is_acceptor and second.is_acceptor
    made = connect(Transducer(source, target, inputs, inputs if same else outputs, weights, finals, alphabet))
    return sorted_by_source(
        made.source, made.target, made.inputs, made.outputs, made.weights, made.finals, made.alphabet
    )


@jit
def _compose(  # type: ignore[no-untyped-def]
    starts1, target1, inputs1, outputs1, weights1, finals1, starts2, target2, inputs2, outputs2, weights2, finals2
):
    kinds = _epsilon_kinds(starts1, outputs1, finals1)
    capacity = ROOM * (finals1.shape[0] + finals2.shape[0])
    keys, table = np.empty(capacity, np.int64), np.empty((0, 2), np.int64)
    arcs, weights, pairs = np.empty((capacity, 4), np.int32), np.empty(capacity), np.empty((capacity, 2), np.int64)
    keys[0] = 0
    progress = np.array([1, 0, 0, 0])
    while progress[1] < progress[0]:  # the loop comes back for more room, until all states are done
        made, n_arcs, count = progress[0], progress[2], progress[3]
        pairs = _regrown(pairs, count)
        keys = _regrown(keys, made + count)
        arcs, weights = _regrown(arcs, n_arcs + count), _regrown(weights, n_arcs + count)
        if table.shape[0] < 2 * keys.shape[0]:
            table = _table_of(keys, made)
        _expand(
            starts1, target1, inputs1, outputs1, weights1, starts2, target2, inputs2, outputs2, weights2,
            kinds, table, keys, arcs, weights, pairs, progress,
        )  # fmt: skip
    made, n2 = progress[0], starts2.shape[0] - 1
    finals = np.empty(made)
    for state in range(made):
        finals[state] = finals1[(keys[state] >> 1) // n2] * finals2[(keys[state] >> 1) % n2]
    return arcs[: progress[2]], weights[: progress[2]], finals


@jit
def _expand(  # type: ignore[no-untyped-def]
    starts1, target1, inputs1, outputs1, weights1, starts2, target2, inputs2, outputs2, weights2,
    kinds, table, keys, arcs, weights, pairs, progress,
):  # fmt: skip
    """Make the arcs of one state after the other until all are done or an array is full.

    keys[k] : of state k = (p, q, FREE or LATE), 2 (p n2 + q) + (0 or 1);  table : from keys to states
    progress : states made, states done, arcs made, and how many steps the state has that comes next
    """
    made, done, n_arcs, count = progress[0], progress[1], progress[2], progress[3]
    n2 = starts2.shape[0] - 1
    while done < made:
        late = keys[done] & 1
        p = (keys[done] >> 1) // n2
        q = (keys[done] >> 1) - p * n2
        kind = kinds[p]
        count = _steps(outputs1, starts1[p], starts1[p + 1], inputs2, starts2[q], starts2[q + 1], late, kind, pairs)
        if count > pairs.shape[0] or made + count > keys.shape[0] or n_arcs + count > weights.shape[0]:
            break
        for k in range(count):
            i, j = pairs[k, 0], pairs[k, 1]
            p_next = p if i < 0 else np.int64(target1[i])
            q_next = q if j < 0 else np.int64(target2[j])
            key = 2 * (p_next * n2 + q_next) + (LATE if i < 0 and kind != NO_EPSILON else FREE)
            line = line_of(key, table)
            if table[line, 0] < 0:
                table[line, 0], table[line, 1], keys[made] = key, made, key
                made += 1
            arcs[n_arcs, 0], arcs[n_arcs, 1] = done, table[line, 1]
            arcs[n_arcs, 2] = EPSILON if i < 0 else inputs1[i]
            arcs[n_arcs, 3] = EPSILON if j < 0 else outputs2[j]
            weights[n_arcs] = (1.0 if i < 0 else weights1[i]) * (1.0 if j < 0 else weights2[j])
            n_arcs += 1
        done += 1
    progress[0], progress[1], progress[2], progress[3] = made, done, n_arcs, count


@jit
def _epsilon_kinds(starts, outputs, finals):  # type: ignore[no-untyped-def]
    kinds = np.empty(finals.shape[0], np.int8)
    for state in range(finals.shape[0]):
        lo, hi = starts[state], starts[state + 1]
        if lo == hi or outputs[lo] != EPSILON:
            kinds[state] = NO_EPSILON
        elif outputs[hi - 1] == EPSILON and finals[state] == 0.0:
            kinds[state] = ONLY_EPSILON
        else:
            kinds[state] = SOME_EPSILON
    return kinds


@jit
def _steps(outputs1, i, end1, inputs2, j, end2, late, kind, pairs):  # type: ignore[no-untyped-def]
    """List the steps from a pair of states as pairs of arcs, -1 where one side stays, as far as there is room.

    Labels rise on both sides.  Return how many steps there are, whether there was room for them or not.
    """
    count, capacity = 0, pairs.shape[0]
    while i < end1 and outputs1[i] == EPSILON:
        if late == FREE:
            if count < capacity:
                pairs[count, 0], pairs[count, 1] = i, -1
            count += 1
        i += 1
    while j < end2 and inputs2[j] == EPSILON:
        if kind != ONLY_EPSILON:
            if count < capacity:
                pairs[count, 0], pairs[count, 1] = -1, j
            count += 1
        j += 1
    while i < end1 and j < end2:
        label, other = outputs1[i], inputs2[j]
        if label < other:
            i = seek(outputs1, i + 1, end1, other)
        elif other < label:
            j = seek(inputs2, j + 1, end2, label)
        else:
            k = j
            while k < end2 and inputs2[k] == label:
                if count < capacity:
                    pairs[count, 0], pairs[count, 1] = i, k
                count += 1
                k += 1
            i += 1  # the next arc of the first may have the same label: the run of the second is read again
    return count


@jit
def seek(labels, lo, hi, wanted):  # type: ignore[no-untyped-def]
    """Return the first place from `lo` on whose label is not below the wanted one, or `hi`: by growing strides."""
    if lo >= hi or labels[lo] >= wanted:
        return lo
    stride = 1
    while lo + stride < hi and labels[lo + stride] < wanted:
        lo += stride
        stride *= 2
    above = min(lo + stride, hi)
    while above - lo > 1:
        middle = (lo + above) // 2
        if labels[middle] < wanted:
            lo = middle
        else:
            above = middle
    return above


@jit
def _table_of(keys, made):  # type: ignore[no-untyped-def]
    """Return the table from keys to states, open addressing at most half full once all keys are used."""
    size = 2
    while size < 2 * keys.shape[0]:
        size *= 2
    table = np.full((size, 2), -1, np.int64)
    for state in range(made):
        line = line_of(keys[state], table)
        table[line, 0], table[line, 1] = keys[state], state
    return table


@jit
def _regrown(array, needed):  # type: ignore[no-untyped-def]
    if needed <= array.shape[0]:
        return array
    longer = np.empty((max(needed, 2 * array.shape[0]),) + array.shape[1:], array.dtype)  # noqa: RUF005
    longer[: array.shape[0]] = array
    return longer
