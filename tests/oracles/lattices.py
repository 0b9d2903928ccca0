"""All paths of a lattice, one after another, and what is computed from them."""

from __future__ import annotations

from math import fsum


def paths(lattices, i):
    """Return (letters, weight) of every accepting path of lattice i; epsilons spell nothing, letters are codes."""
    arcs = [
        (int(lattices.source[a]), int(lattices.target[a]), int(lattices.labels[a]), float(lattices.weights[a]))
        for a in range(lattices.arc_offsets[i], lattices.arc_offsets[i + 1])
    ]
    finals = lattices.finals[lattices.state_offsets[i] : lattices.state_offsets[i + 1]].tolist()

    def onwards(state):
        found = [((), finals[state])] if finals[state] > 0 else []
        for source, target, label, weight in arcs:
            if source == state:
                letters = () if label < 0 else (label,)
                found += [(letters + rest, weight * tail) for rest, tail in onwards(target)]
        return found

    return onwards(0)


def strings(lattices, i):
    """Return string -> summed weight of its paths."""
    weights = {}
    for letters, weight in paths(lattices, i):
        weights.setdefault(letters, []).append(weight)
    return {letters: fsum(each) for letters, each in weights.items()}
