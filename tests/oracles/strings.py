"""Features of strings in plain Python: what each one counts, by its name.

N is a masked letter.  A feature that is the reverse complement of another has the name of the earlier column.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, product
from typing import Any

PARTNER = {"A": "T", "C": "G", "G": "C", "T": "A", ".": "."}


def windows(text: str, length: int) -> list[str]:
    """Return the k-mers of a text that have no masked letter, with repeats."""
    found = [text[start : start + length] for start in range(len(text) - length + 1)]
    return [kmer for kmer in found if "N" not in kmer]


def turned(kmer: str) -> str:
    """Return the reverse complement."""
    return "".join(PARTNER[letter] for letter in reversed(kmer))


def column_order(kmer: str) -> tuple:
    """Return what gapped k-mers of one kind are ordered by: their places, then their letters."""
    return [i for i, letter in enumerate(kmer) if letter != "."], kmer.replace(".", "")


def merged(counts: Counter, reverse_complement: bool) -> Counter:
    """Return the counts of features and reverse complements together."""
    if not reverse_complement:
        return counts
    together: Counter = Counter()
    for kmer, times in counts.items():
        together[min(kmer, turned(kmer), key=column_order)] += times
    return together


def spectrum(k: Any, text: str) -> dict[str, float]:
    """Return the features of Spectrum."""
    found = {}
    for length in range(1 if k.cumulative else k.k, k.k + 1):
        weight = k.weights[length - 1] if k.weights is not None else 1
        for kmer, times in merged(Counter(windows(text, length)), k.reverse_complement).items():
            if weight > 0:
                found[kmer] = math.sqrt(weight) * (1 if k.binary else times)
    return found


def mismatch(k: Any, text: str, letters: str = "ACGT") -> dict[str, float]:
    """Return the features of Mismatch."""
    counts: Counter = Counter()
    for kmer in windows(text, k.k):
        for other in product(letters, repeat=k.k):
            if sum(a != b for a, b in zip(kmer, other)) <= k.m:
                counts["".join(other)] += 1
    return merged(counts, k.reverse_complement)


def gapped(k: Any, text: str) -> dict[str, float]:
    """Return the features of GappedKmer."""
    counts: Counter = Counter()
    for kmer in windows(text, k.l):
        for places in combinations(range(k.l), k.k):
            counts["".join(letter if i in places else "." for i, letter in enumerate(kmer))] += 1
    return merged(counts, k.reverse_complement)


FEATURES = {"Spectrum": spectrum, "Mismatch": mismatch, "GappedKmer": gapped}


def features(kernel: Any, text: str) -> dict[str, float]:
    """Return the features of a string by name."""
    return FEATURES[type(kernel).__name__](kernel, text)


def shared(kernel: Any, x: str, y: str) -> float:
    """Return the kernel of two strings."""
    left, right = features(kernel, x), features(kernel, y)
    return math.fsum(value * right.get(name, 0) for name, value in left.items())
