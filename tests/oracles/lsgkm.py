"""Kernels of LS-GKM by matrices over all l-mers: gapped k-mer counts, and the pseudo-inverse that estimates l-mers."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np

from oracles.strings import turned


@cache
def lmers(length: int) -> list[str]:
    return ["".join(letters) for letters in product("ACGT", repeat=length)]


def mismatches(u: str, v: str) -> int:
    return sum(a != b for a, b in zip(u, v))


@cache
def gapped_counts(length: int, letters: int) -> np.ndarray:
    """Return which gapped k-mers each l-mer has, (|A|^l, gapped k-mers)."""
    columns: dict[Any, int] = {}
    found = []
    for row, word in enumerate(lmers(length)):
        for places in combinations(range(length), letters):
            key = places, tuple(word[i] for i in places)
            found.append((row, columns.setdefault(key, len(columns))))
    table = np.zeros((len(lmers(length)), len(columns)))
    table[tuple(zip(*found))] = 1.0
    return table


@cache
def matrix(length: int, letters: int, how: str | None, most: int | None) -> np.ndarray:
    """Return what two l-mers add to the kernel, (|A|^l, |A|^l)."""
    counts = gapped_counts(length, letters)
    words = lmers(length)
    apart = np.array([[mismatches(u, v) for v in words] for u in words])
    estimate = counts @ np.linalg.pinv(counts)
    if how == "truncated":
        first = next((m for m in range(length + 1) if estimate[apart == m].mean() < 1e-12), length + 1)
        estimate = np.where(apart < first, estimate, 0.0)
    out = counts @ counts.T if how is None else estimate @ estimate.T
    return out if most is None else np.where(apart <= most, out, 0.0)


def weights(k: Any, n: int) -> list[float]:
    """Return the weight of each of n l-mers of a row."""
    if k.center_weight is None:
        return [1.0] * n
    most, half = k.center_weight
    return [min(most, math.floor(most * 0.5 ** (abs(i - n // 2) / half) + 1)) for i in range(n)]


def value(k: Any, x: str, y: str) -> float:
    """Return the sum over all pairs of l-mers, of both strands of y."""
    number = {word: i for i, word in enumerate(lmers(k.l))}
    table = matrix(k.l, k.k, k.filter, k.d)
    total = 0.0
    sides = [[text[i : i + k.l] for i in range(len(text) - k.l + 1)] for text in (x, y)]
    for u, first in zip(sides[0], weights(k, len(sides[0]))):
        for v, second in zip(sides[1], weights(k, len(sides[1]))):
            if "N" in u + v:
                continue
            total += first * second * table[number[u], number[v]]
            if k.reverse_complement:
                total += first * second * table[number[u], number[turned(v)]]
    return float(total)
