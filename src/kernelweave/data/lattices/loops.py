"""Jitted loops over the arcs of many lattices.

Arcs of a lattice lie behind one another, sorted by source, and lead to higher states: going through them forwards
(backwards) meets every state after all that lead to it (all it leads to).

    A(s) = sum over paths from the start to s of their weight          A(0) = 1
    B(s) = sum over paths from s to an end of their weight             B(s) = f(s) + sum over arcs s -> t of w B(t)

Long paths leave the range of doubles, so sums over paths to an end are kept as m 2^e with 1/2 <= m < 1 (or m = 0).
"""

from __future__ import annotations

import math

from kernelweave._numba import jit

END = -1
"""Choice of a state whose best path ends in it."""

DEAD = -2
"""Choice of a state that no path leads on from."""

FAR = -2000
"""A power of two this small is zero beside any mantissa."""


@jit
def forward_sums(source, target, weights, arc_offsets, state_offsets, out):  # type: ignore[no-untyped-def]
    """Write A(s) of every state."""
    out[:] = 0.0
    for i in range(state_offsets.size - 1):
        base = state_offsets[i]
        out[base] = 1.0
        for a in range(arc_offsets[i], arc_offsets[i + 1]):
            out[base + target[a]] += out[base + source[a]] * weights[a]


@jit
def backward_sums(  # type: ignore[no-untyped-def]
    source, target, weights, arc_offsets, finals, state_offsets, mantissas, exponents
):
    """Write B(s) of every state as mantissa and power of two."""
    for s in range(finals.size):
        mantissas[s], exponents[s] = math.frexp(finals[s])
    for i in range(state_offsets.size - 1):
        base = state_offsets[i]
        for a in range(arc_offsets[i + 1] - 1, arc_offsets[i] - 1, -1):
            s, t = base + source[a], base + target[a]
            m, e = _times(weights[a], mantissas[t], exponents[t])
            mantissas[s], exponents[s] = _plus(mantissas[s], exponents[s], m, e)


@jit
def push_weights(source, target, weights, finals, rows, state_offsets, mantissas, exponents):  # type: ignore[no-untyped-def]
    """Turn weights into conditional ones, in place: w(s -> t) B(t) / B(s) and f(s) / B(s); 0 where B is."""
    for a in range(weights.size):
        s, t = state_offsets[rows[a]] + source[a], state_offsets[rows[a]] + target[a]
        if mantissas[s] == 0.0 or mantissas[t] == 0.0:
            weights[a] = 0.0
        else:
            m, e = _times(weights[a], mantissas[t], exponents[t])
            weights[a] = math.ldexp(m / mantissas[s], max(e - exponents[s], FAR))
    for s in range(finals.size):
        if finals[s] > 0.0:
            m, e = math.frexp(finals[s])
            finals[s] = math.ldexp(m / mantissas[s], max(e - exponents[s], FAR))


@jit
def best_arcs(source, target, weights, arc_offsets, finals, state_offsets, choice):  # type: ignore[no-untyped-def]
    """Write the first arc of the heaviest path from every state to an end: an arc, `END` or `DEAD`.

    Of equally heavy paths one that ends comes before one that goes on, an earlier arc before a later one.
    """
    for i in range(state_offsets.size - 1):
        base, n_states = state_offsets[i], state_offsets[i + 1] - state_offsets[i]
        mantissas, exponents = [0.0] * n_states, [0] * n_states
        for s in range(n_states):
            mantissas[s], exponents[s] = math.frexp(finals[base + s])
            choice[base + s] = END if finals[base + s] > 0.0 else DEAD
        for a in range(arc_offsets[i + 1] - 1, arc_offsets[i] - 1, -1):
            s, t = source[a], target[a]
            m, e = _times(weights[a], mantissas[t], exponents[t])
            if m == 0.0:
                continue
            heavier = mantissas[s] == 0.0 or e > exponents[s] or (e == exponents[s] and m > mantissas[s])
            equal = m == mantissas[s] and e == exponents[s] and choice[base + s] >= 0
            if heavier or equal:
                mantissas[s], exponents[s], choice[base + s] = m, e, a


@jit
def count_letters(choice, target, labels, state_offsets, out):  # type: ignore[no-untyped-def]
    """Write how many letters the chosen path of each lattice spells."""
    for i in range(state_offsets.size - 1):
        out[i] = 0
        a = choice[state_offsets[i]]
        while a >= 0:
            out[i] += labels[a] >= 0
            a = choice[state_offsets[i] + target[a]]


@jit
def spell_letters(choice, target, labels, state_offsets, offsets, out):  # type: ignore[no-untyped-def]
    """Write the labels along the chosen path of each lattice."""
    for i in range(state_offsets.size - 1):
        at = offsets[i]
        a = choice[state_offsets[i]]
        while a >= 0:
            if labels[a] >= 0:
                out[at] = labels[a]
                at += 1
            a = choice[state_offsets[i] + target[a]]


@jit
def number_states(target, starts, state_offsets, number):  # type: ignore[no-untyped-def]
    """Write a topological number for every state; return the first lattice with a cycle, or -1.

    The arcs out of state s of the whole table are target[starts[s]:starts[s + 1]].  The initial state comes first
    unless an arc enters it.  A state on a cycle or behind one gets no number (-1).
    """
    waiting = [0] * number.size
    for i in range(state_offsets.size - 1):
        base, stop = state_offsets[i], state_offsets[i + 1]
        for a in range(starts[base], starts[stop]):
            waiting[base + target[a]] += 1
        queue = [s for s in range(base, stop) if waiting[s] == 0]
        number[base:stop] = -1
        done = 0
        while done < len(queue):
            s = queue[done]
            number[s] = done
            done += 1
            for a in range(starts[s], starts[s + 1]):
                t = base + target[a]
                waiting[t] -= 1
                if waiting[t] == 0:
                    queue.append(t)
        if done < stop - base:
            return i
    return -1


@jit
def reach(source, target, weights, arc_offsets, finals, state_offsets, mentioned, used):  # type: ignore[no-untyped-def]
    """Tell which states arcs of any weight lead to, and which lie on a path of positive weight to an end."""
    for i in range(state_offsets.size - 1):
        base = state_offsets[i]
        first, last = arc_offsets[i], arc_offsets[i + 1]
        forward = [False] * (state_offsets[i + 1] - base)
        forward[0] = mentioned[base] = True
        for a in range(first, last):
            mentioned[base + target[a]] |= mentioned[base + source[a]]
            if weights[a] > 0.0 and forward[source[a]]:
                forward[target[a]] = True
        for s in range(state_offsets[i + 1] - base):
            used[base + s] = forward[s] and finals[base + s] > 0.0
        for a in range(last - 1, first - 1, -1):
            if weights[a] > 0.0 and forward[source[a]] and used[base + target[a]]:
                used[base + source[a]] = True
        used[base] = True


@jit
def _times(weight, m, e):  # type: ignore[no-untyped-def]
    wm, we = math.frexp(weight)
    pm, pe = math.frexp(wm * m)
    return pm, pe + we + e


@jit
def _plus(m1, e1, m2, e2):  # type: ignore[no-untyped-def]
    if m1 == 0.0:
        return m2, e2
    if m2 == 0.0:
        return m1, e1
    top = max(e1, e2)
    m, e = math.frexp(math.ldexp(m1, max(e1 - top, FAR)) + math.ldexp(m2, max(e2 - top, FAR)))
    return m, e + top
