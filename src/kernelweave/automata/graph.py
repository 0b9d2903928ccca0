"""The graph under a machine: what can be reached, in which order, and which states lie on common cycles.

Arcs of state q are `starts[q]:starts[q + 1]` of the array `target`.
"""

from __future__ import annotations

import numpy as np

from kernelweave._numba import jit

Array = np.ndarray


def useful_states(starts: Array, target: Array, finals: Array) -> Array:
    """Return which states lie on a path from state 0 to a state of non-zero final weight, (states,) bool."""
    useful = np.zeros(len(finals), np.bool_)
    _mark_useful(starts, target, finals, useful)
    return useful


def topological_places(starts: Array, target: Array) -> Array | None:
    """Return the states that state 0 reaches, each before the targets of its arcs; None where there is a cycle."""
    order = np.empty(len(starts) - 1, np.int64)
    found = _topological(starts, target, order)
    return None if found < 0 else order[:found]


def strong_components(starts: Array, target: Array) -> tuple[Array, Array]:
    """Return the states grouped by strongly connected component, and where each group starts.

    A component comes after all that its arcs lead to, so that values known at the ends of arcs sweep backwards.
    """
    n = len(starts) - 1
    members, bounds = np.empty(n, np.int64), np.empty(n + 1, np.int64)
    groups = _components(starts, target, members, bounds)
    return members, bounds[: groups + 1]


@jit
def _mark_useful(starts, target, finals, useful):  # type: ignore[no-untyped-def]
    n = useful.shape[0]
    reached = np.zeros(n, np.bool_)
    queue = np.empty(n, np.int64)
    queue[0] = 0
    reached[0] = True
    filled, done, rising = 1, 0, True
    while done < filled:
        state = queue[done]
        done += 1
        for arc in range(starts[state], starts[state + 1]):
            end = target[arc]
            rising &= end > state
            if not reached[end]:
                reached[end] = True
                queue[filled] = end
                filled += 1
    if rising:  # the usual case: one pass from the back instead of the list of arcs into each state
        for state in range(n - 1, -1, -1):
            if reached[state]:
                useful[state] = finals[state] != 0.0
                for arc in range(starts[state], starts[state + 1]):
                    useful[state] |= useful[target[arc]]
        return
    _mark_backwards(starts, target, finals, reached, useful)


@jit
def _mark_backwards(starts, target, finals, reached, useful):  # type: ignore[no-untyped-def]
    n = useful.shape[0]
    into = np.zeros(n + 1, np.int64)
    for arc in range(target.shape[0]):
        into[target[arc] + 1] += 1
    for state in range(n):
        into[state + 1] += into[state]
    place = into[:n].copy()
    origin = np.empty(target.shape[0], np.int64)
    for state in range(n):
        for arc in range(starts[state], starts[state + 1]):
            origin[place[target[arc]]] = state
            place[target[arc]] += 1
    queue = np.empty(n, np.int64)
    filled, done = 0, 0
    for state in range(n):
        if reached[state] and finals[state] != 0.0:
            useful[state] = True
            queue[filled] = state
            filled += 1
    while done < filled:
        state = queue[done]
        done += 1
        for k in range(into[state], into[state + 1]):
            if reached[origin[k]] and not useful[origin[k]]:
                useful[origin[k]] = True
                queue[filled] = origin[k]
                filled += 1


@jit
def _topological(starts, target, order):  # type: ignore[no-untyped-def]
    n = order.shape[0]
    reached = np.zeros(n, np.bool_)
    order[0] = 0
    reached[0] = True
    filled, done = 1, 0
    while done < filled:
        for arc in range(starts[order[done]], starts[order[done] + 1]):
            if not reached[target[arc]]:
                reached[target[arc]] = True
                order[filled] = target[arc]
                filled += 1
        done += 1
    waiting = np.zeros(n, np.int64)
    for k in range(filled):
        for arc in range(starts[order[k]], starts[order[k] + 1]):
            waiting[target[arc]] += 1
    if waiting[0] > 0:
        return -1
    reachable = filled
    filled, done = 1, 0
    while done < filled:
        for arc in range(starts[order[done]], starts[order[done] + 1]):
            waiting[target[arc]] -= 1
            if waiting[target[arc]] == 0:
                order[filled] = target[arc]
                filled += 1
        done += 1
    return filled if filled == reachable else -1


@jit
def _components(starts, target, members, bounds):  # type: ignore[no-untyped-def]
    """Tarjan's algorithm with the recursion written out; every state is visited, reachable from state 0 or not."""
    n = members.shape[0]
    index = np.full(n, -1, np.int64)
    low = np.empty(n, np.int64)
    open_ = np.zeros(n, np.bool_)
    stack, calls, next_arc = np.empty(n, np.int64), np.empty(n, np.int64), starts[:n].copy()
    count, height, written, groups = 0, 0, 0, 0
    bounds[0] = 0
    for root in range(n):
        depth = 0
        if index[root] < 0:
            calls[0] = root
            depth = 1
        while depth > 0:
            state = calls[depth - 1]
            if index[state] < 0:
                index[state] = low[state] = count
                count += 1
                stack[height] = state
                height += 1
                open_[state] = True
            deeper = False
            while next_arc[state] < starts[state + 1] and not deeper:
                end = target[next_arc[state]]
                if index[end] < 0:
                    calls[depth] = end
                    depth += 1
                    deeper = True
                else:
                    next_arc[state] += 1
                    if open_[end]:
                        low[state] = min(low[state], low[end])
            if deeper:
                continue
            depth -= 1
            if low[state] == index[state]:
                while True:
                    height -= 1
                    member = stack[height]
                    open_[member] = False
                    members[written] = member
                    written += 1
                    if member == state:
                        break
                groups += 1
                bounds[groups] = written
    return groups
