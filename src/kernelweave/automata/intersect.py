"""Total weights of intersections: inner products of acceptors, without building the intersections.

    <A, B> = sum over strings z of A(z) B(z) = D(A o B)          A, B acyclic, without epsilons

With v(p, q) the weight of all pairs of paths that spell the same string and lead to p in A and to q in B,

    v(0, 0) = 1,   v(p', q') = sum over arcs p --a/s--> p', q --a/t--> q' of  v(p, q) s t,
    <A, B>  = sum over (p, q) of  v(p, q) f_A(p) f_B(q)

States are in topological order, so that all of (p, .) is known when p comes up: the pairs that wait at p are a linked
list, and where the list has several of them a dense array over q adds up those that met.  Nothing is hashed; the cost
is that of the matching arcs.  Arcs of a state lie together and rise by label, so matching merges two short runs (with
growing strides where one is long).  Pairs in which one side has no further arcs end at once and never wait.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit
from kernelweave.automata.algorithms.compose import seek
from kernelweave.automata.base import Array, Transducer
from kernelweave.automata.pack import AcceptorTable, pack

UNEVEN = 8
"""Where one state has this many times the arcs of the other, strides grow instead of stepping arc by arc."""
WAITING = 1024
"""Pairs that can wait at the start; more make room."""


def intersection_total(first: Transducer, second: Transducer) -> float:
    """Return the sum over all strings of the product of two acceptors' weights, D(A o B).

    Parameters
    ----------
    first, second : acyclic acceptors without epsilons, deterministic or not

    Examples
    --------
    >>> from kernelweave.automata import acceptor, scale, union
    >>> A = union(acceptor("ab", "ab"), scale(acceptor("b", "ab"), 3.0))
    >>> intersection_total(A, A)
    10.0
    """
    return float(intersection_totals(pack([first]), pack([second]))[0, 0])


def intersection_totals(left: AcceptorTable, right: AcceptorTable | None = None) -> Array:
    """Return the total weights of all intersections of two tables; exactly symmetric for one table with itself.

    Parameters
    ----------
    left : n acceptors
    right : m acceptors, or None for the left ones again

    Returns
    -------
    (n, m) float64
    """
    same = right is None or right is left
    other = left if right is None else right
    _check_alphabets(left, other)
    out = np.empty((len(left), len(other)))
    _fill_block(*left.arrays, *other.arrays, same, out)
    return out


def intersection_pairs(left: AcceptorTable, right: AcceptorTable, rows: Array, columns: Array) -> Array:
    """Return the total weights of the listed pairs of acceptors, (pairs,) float64."""
    _check_alphabets(left, right)
    out = np.empty(len(rows))
    _fill_pairs(*left.arrays, *right.arrays, np.asarray(rows, np.int64), np.asarray(columns, np.int64), out)
    return out


def _check_alphabets(left: AcceptorTable, right: AcceptorTable) -> None:
    if left.alphabet is not None and right.alphabet is not None and left.alphabet != right.alphabet:
        raise ValueError(
            f"Acceptors over different alphabets cannot be compared: {left.alphabet!r} and {right.alphabet!r}."
        )


@jit
def _fill_block(  # type: ignore[no-untyped-def]
    starts1,
    target1,
    labels1,
    weights1,
    finals1,
    states1,
    starts2,
    target2,
    labels2,
    weights2,
    finals2,
    states2,
    same,
    out,
):
    n, m = out.shape
    heads, met = np.full(_longest(states1), -1, np.int32), np.full(_longest(states2), -1, np.int32)
    links, values = np.empty((WAITING, 2), np.int32), np.empty(WAITING)
    for i in range(n):
        for j in range(i if same else 0, m):
            p, q = states1[i], states2[j]
            while not _walk(
                starts1[p:], target1, labels1, weights1, finals1[p : states1[i + 1]],
                starts2[q:], target2, labels2, weights2, finals2[q : states2[j + 1]],
                heads, met, links, values, out[i, j : j + 1],
            ):  # fmt: skip
                links, values = np.empty((2 * links.shape[0], 2), np.int32), np.empty(2 * links.shape[0])
            if same:
                out[j, i] = out[i, j]


@jit
def _fill_pairs(  # type: ignore[no-untyped-def]
    starts1, target1, labels1, weights1, finals1, states1, starts2, target2, labels2, weights2, finals2, states2,
    left, right, out,
):  # fmt: skip
    heads, met = np.full(_longest(states1), -1, np.int32), np.full(_longest(states2), -1, np.int32)
    links, values = np.empty((WAITING, 2), np.int32), np.empty(WAITING)
    for k in range(out.shape[0]):
        p, q = states1[left[k]], states2[right[k]]
        while not _walk(
            starts1[p:], target1, labels1, weights1, finals1[p : states1[left[k] + 1]],
            starts2[q:], target2, labels2, weights2, finals2[q : states2[right[k] + 1]],
            heads, met, links, values, out[k : k + 1],
        ):  # fmt: skip
            links, values = np.empty((2 * links.shape[0], 2), np.int32), np.empty(2 * links.shape[0])


@jit
def _longest(offsets):  # type: ignore[no-untyped-def]
    longest = 0
    for i in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@jit
def _walk(  # type: ignore[no-untyped-def]
    starts1, target1, labels1, weights1, finals1, starts2, target2, labels2, weights2, finals2,
    heads, met, links, values, out,
):  # fmt: skip
    """Sweep the pairs of states of two acceptors in the order of the first; False where too many pairs have to wait.

    heads[p] : the last pair that came to wait at p, -1 for none, as at the start and at the end
    links[k] : the second state of the waiting pair k, and the next pair that waits at the same first state
    values[k] : its weight;  met[q] : the pair in which q was met first at this state, -1 in between
    """
    total = finals1[0] * finals2[0]
    used, spare = 1, -1
    heads[0], links[0, 0], links[0, 1], values[0] = 0, 0, -1, 1.0
    for p in range(finals1.shape[0]):
        pair = heads[p]
        if pair < 0:
            continue
        heads[p] = -1
        if links[pair, 1] >= 0:
            add_up(pair, met, links, values)
        while pair >= 0:
            q, v, following = links[pair, 0], values[pair], links[pair, 1]
            links[pair, 1], spare = spare, pair
            pair = following
            i, end1, j, end2 = starts1[p], starts1[p + 1], starts2[q], starts2[q + 1]
            uneven = end1 - i > UNEVEN * (end2 - j) or end2 - j > UNEVEN * (end1 - i)
            while i < end1 and j < end2:
                label, other = labels1[i], labels2[j]
                if label != other:
                    if uneven:
                        i, j = seek(labels1, i, end1, other), seek(labels2, j, end2, label)
                    else:  # without a branch on which label is smaller, which no processor can guess
                        i += label < other
                        j += other < label
                    continue
                k = j
                while k < end2 and labels2[k] == label:
                    p_next, q_next = target1[i], target2[k]
                    value = v * weights1[i] * weights2[k]
                    total += value * finals1[p_next] * finals2[q_next]
                    if starts1[p_next] < starts1[p_next + 1] and starts2[q_next] < starts2[q_next + 1]:
                        if spare >= 0:
                            place, spare = spare, links[spare, 1]
                        elif used < values.shape[0]:
                            place = used
                            used += 1
                        else:
                            heads[:] = -1
                            return False
                        links[place, 0], links[place, 1], values[place] = q_next, heads[p_next], value
                        heads[p_next] = place
                    k += 1
                i += 1  # the next arc of p may have the same label: q's run is read again
    out[0] = total
    return True


@jit
def add_up(pair, met, links, values):  # type: ignore[no-untyped-def]
    """Add the values of pairs with the same second state to the first of them, and take the others off the list."""
    first, last = pair, pair
    while pair >= 0:
        q, following = links[pair, 0], links[pair, 1]
        if met[q] < 0:
            met[q] = pair
            last = pair
        else:
            values[met[q]] += values[pair]
            links[last, 1] = following
        pair = following
    while first >= 0:
        met[links[first, 0]] = -1
        first = links[first, 1]
