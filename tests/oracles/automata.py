"""Machines by brute force: every path is walked, every string is spelled.

A machine is (arcs, finals): arcs of (source, target, input, output, weight) with "" for the empty label, finals a dict.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise, product

Arc = tuple[int, int, str, str, float]
Machine = tuple[list[Arc], dict[int, float]]


def paths(machine: Machine, longest: int) -> Iterator[tuple[str, str, float]]:
    """Walk all accepting paths of at most so many arcs: what they read, what they write, their weight."""
    arcs, finals = machine
    waiting = [(0, "", "", 1.0, 0)]
    while waiting:
        state, read, written, weight, length = waiting.pop()
        if finals.get(state, 0.0):
            yield read, written, weight * finals[state]
        if length < longest:
            for source, target, a, b, w in arcs:
                if source == state:
                    waiting.append((target, read + a, written + b, weight * w, length + 1))


def relation(machine: Machine, longest: int) -> dict[tuple[str, str], float]:
    """Return the weight of every pair of strings, over paths of at most so many arcs."""
    table: dict[tuple[str, str], float] = defaultdict(float)
    for read, written, weight in paths(machine, longest):
        table[read, written] += weight
    return dict(table)


def composed(first: Machine, second: Machine, longest: int) -> dict[tuple[str, str], float]:
    """Return the weights of the composition: every pair of paths whose inner strings agree, once."""
    table: dict[tuple[str, str], float] = defaultdict(float)
    others = list(paths(second, longest))
    for x, z, weight in paths(first, longest):
        for z2, y, other in others:
            if z == z2:
                table[x, y] += weight * other
    return dict(table)


def ngrams(x: str, n: int) -> dict[str, int]:
    """Count the n-grams of a string."""
    return dict(Counter(x[i : i + n] for i in range(len(x) - n + 1)))


def gappy(x: str, n: int, decay: float, max_gap: int | None = None) -> dict[str, float]:
    """Sum decay^(letters skipped) over all ways to pick n letters in order."""
    table: dict[str, float] = defaultdict(float)
    for places in combinations(range(len(x)), n):
        gaps = [b - a - 1 for a, b in pairwise(places)]
        if max_gap is None or all(gap <= max_gap for gap in gaps):
            weight = 1.0
            for gap in gaps:
                weight *= decay**gap
            if weight:
                table["".join(x[i] for i in places)] += weight
    return dict(table)


def mismatches(x: str, letters: str, k: int, m: int) -> dict[str, float]:
    """Count for every k-mer over the letters the k-mers of x that differ from it in at most m places."""
    table: dict[str, float] = defaultdict(float)
    for start in range(len(x) - k + 1):
        for z in product(letters, repeat=k):
            if sum(a != b for a, b in zip(x[start : start + k], z)) <= m:
                table["".join(z)] += 1.0
    return dict(table)


def inner(phi: Mapping[str, float], psi: Mapping[str, float]) -> float:
    """Return the inner product of two tables of features."""
    return sum(value * psi.get(z, 0.0) for z, value in phi.items())
