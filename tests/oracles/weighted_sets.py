"""Weighted sets of strings in plain Python: a dict, and the size of its minimal automaton by comparing residuals."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction


class DictStore:
    """Weights of strings, exact: a string without a weight has weight zero."""

    def __init__(self):
        self.weights = defaultdict(Fraction)

    def add(self, strings, values, step=1):
        for string, value in zip(strings, values):
            self.weights[tuple(string)] += Fraction(step) * Fraction(value)
        self.weights = defaultdict(Fraction, {string: w for string, w in self.weights.items() if w})

    def look_up(self, strings, values):
        return sum(Fraction(value) * self.weights.get(tuple(string), 0) for string, value in zip(strings, values))


def residuals(weights):
    """Return the residual of every prefix, u -> {v: W(uv)}."""
    found = defaultdict(dict)
    for string, weight in weights.items():
        for k in range(len(string) + 1):
            found[string[:k]][string[k:]] = weight
    return dict(found)


def normalised(residual):
    """Return a residual divided by the weight of its smallest string, as something to put into a set."""
    first = residual[min(residual)]
    return frozenset((string, weight / first) for string, weight in residual.items())


def minimal_size(weights):
    """Return how many states and arcs the minimal deterministic automaton has."""
    if not weights:
        return 1, 0
    states = {normalised(residual) for residual in residuals(weights).values()}
    return len(states), sum(len({string[0] for string, _ in state if string}) for state in states)


def accepted(machine):
    """Return {string: weight} of an acyclic acceptor, path by path; labels below 0 are epsilons."""
    arcs = defaultdict(list)
    for p, q, label, weight in zip(machine.source, machine.target, machine.inputs, machine.weights):
        arcs[int(p)].append((int(q), int(label), Fraction(float(weight))))
    found = defaultdict(Fraction)

    def walk(state, string, weight):
        if machine.finals[state]:
            found[string] += weight * Fraction(float(machine.finals[state]))
        for target, label, factor in arcs[state]:
            walk(target, string if label < 0 else (*string, label), weight * factor)

    walk(0, (), Fraction(1))
    return {string: weight for string, weight in found.items() if weight}


def prefixes(strings):
    """Return all prefixes of some strings, the strings and the empty one included."""
    return {tuple(string[:k]) for string in strings for k in range(len(string) + 1)}
