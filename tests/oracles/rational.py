"""Rational kernels in plain Python: features of strings by their letters, and of lattices over all of their paths.

A string is a sequence of letters (text, words or codes); `masked` says which letters match nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise, product
from typing import Any

from oracles.lattices import paths

Features = dict[tuple, float]


def ngrams(k: Any, text: Sequence, masked: Callable[[Any], bool]) -> Features:
    """Return the features of NGram (and of Spectrum, under the name k)."""
    n = k.get_params().get("n") or k.k
    found: Counter = Counter()
    for length in range(1 if k.cumulative else n, n + 1):
        weight = 1.0 if k.weights is None else k.weights[length - 1]
        for start in range(len(text) - length + 1):
            gram = tuple(text[start : start + length])
            if weight > 0 and not any(map(masked, gram)):
                found[gram] += math.sqrt(weight)
    if k.binary:
        return {gram: math.sqrt(1.0 if k.weights is None else k.weights[len(gram) - 1]) for gram in found}
    return dict(found)


def gappy(k: Any, text: Sequence, masked: Callable[[Any], bool]) -> Features:
    """Return the features of GappyNGram."""
    found: Counter = Counter()
    for length in range(1 if k.cumulative else k.n, k.n + 1):
        for places in combinations(range(len(text)), length):
            gram = tuple(text[place] for place in places)
            gaps = [b - a - 1 for a, b in pairwise(places)]
            if any(map(masked, gram)) or (k.max_gap is not None and max(gaps, default=0) > k.max_gap):
                continue
            found[gram] += k.decay ** sum(gaps)
    return dict(found)


def mismatch(k: Any, text: Sequence, masked: Callable[[Any], bool], letters: Sequence = range(3)) -> Features:
    """Return the features of Mismatch over an alphabet."""
    found: Counter = Counter()
    for start in range(len(text) - k.k + 1):
        gram = text[start : start + k.k]
        if not any(map(masked, gram)):
            for other in product(letters, repeat=k.k):
                found[other] += sum(a != b for a, b in zip(gram, other)) <= k.m
    return {gram: float(times) for gram, times in found.items() if times}


def written(k: Any, text: Sequence, masked: Callable[[Any], bool]) -> Features:
    """Return the features of Rational: every string that its transducer writes while it reads the text."""
    T = k.transducer
    arcs = list(zip(*(part.tolist() for part in (T.source, T.target, T.inputs, T.outputs, T.weights))))
    code = {letter: number for number, letter in enumerate(T.alphabet.letters)}
    letters = [len(code) if masked(letter) else code[letter] for letter in text]
    found: dict[tuple, list[float]] = {}
    waiting = [(0, 0, (), 1.0)]
    while waiting:
        state, place, string, weight = waiting.pop()
        if place == len(letters) and T.finals[state]:
            found.setdefault(string, []).append(weight * float(T.finals[state]))
        for source, target, read, write, cost in arcs:
            if source == state and (read < 0 or (place < len(letters) and letters[place] == read)):
                longer = string if write < 0 else (*string, write)
                waiting.append((target, place + (read >= 0), longer, weight * cost))
    return {string: math.fsum(each) for string, each in found.items()}


FEATURES = {"NGram": ngrams, "Spectrum": ngrams, "GappyNGram": gappy, "Mismatch": mismatch, "Rational": written}


def is_n(letter: Any) -> bool:
    """Return whether a letter of text is a masked one."""
    return letter == "N"


def string_features(kernel: Any, text: Sequence, masked: Callable[[Any], bool] = is_n) -> Features:
    """Return the features of a string."""
    return FEATURES[type(kernel).__name__](kernel, text, masked)


def expected_features(kernel: Any, lattices: Any, i: int) -> Features:
    """Return the features of lattice i: the sum over its paths of weight times features of the string."""
    found: dict[tuple, list[float]] = {}
    for letters, weight in paths(lattices, i):
        for gram, value in string_features(kernel, letters, lambda code: code >= lattices.alphabet.size).items():
            found.setdefault(gram, []).append(weight * value)
    return {gram: math.fsum(each) for gram, each in found.items()}


def inner(left: Features, right: Features) -> float:
    """Return the kernel of two rows."""
    return math.fsum(value * right.get(gram, 0.0) for gram, value in left.items())


def shared(kernel: Any, x: Sequence, y: Sequence) -> float:
    """Return the kernel of two strings."""
    return inner(string_features(kernel, x), string_features(kernel, y))
