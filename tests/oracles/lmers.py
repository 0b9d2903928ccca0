"""Sums over pairs of l-mers by their Hamming distance, letter by letter."""

from __future__ import annotations

import numpy as np

from kernelweave import Sequences


def ragged(n: int, seed: int = 0, longest: int = 30) -> Sequences:
    """Return rows of DNA of many lengths, one of them empty, some with a masked letter."""
    rng = np.random.default_rng(seed)
    texts = ["".join(rng.choice(list("ACGT"), rng.integers(1, longest))) for _ in range(n - 1)]
    texts[::4] = ["N".join((text[: len(text) // 2], text[len(text) // 2 :])) for text in texts[::4]]
    return Sequences.from_strings([*texts, ""], alphabet="dna", unknown="mask")


def weighted_lmers(kernel, X):
    """Return, for each row, its l-mers without a masked letter, each with the weight of its place."""
    l, found = kernel.window()[0], []
    for text in X:
        letters = str(text)
        places = range(len(letters) - l + 1)
        weights = kernel.place_weights(len(letters))
        each = [(letters[i : i + l], 1.0 if weights is None else weights[i]) for i in places]
        found.append([(word, weight) for word, weight in each if set(word) <= set("ACGT")])
    return found


def reverse_complement(word: str) -> str:
    """Return the other strand of an l-mer."""
    return word[::-1].translate(str.maketrans("ACGT", "TGCA"))


def hamming_gram(kernel, X, Y=None):
    """Return K(x, y) of every pair of rows from the definition of the ability `Hamming`."""
    c = kernel.coefficients(4)
    left, right = weighted_lmers(kernel, X), weighted_lmers(kernel, X if Y is None else Y)

    def value(u: str, v: str) -> float:
        d = sum(a != b for a, b in zip(u, v))
        return float(c[d]) if d < len(c) else 0.0

    out = np.zeros((len(left), len(right)))
    for i, x in enumerate(left):
        for j, y in enumerate(right):
            for u, g in x:
                for v, h in y:
                    out[i, j] += g * h * value(u, v)
                    if kernel.reverse_complement:
                        out[i, j] += g * h * value(u, reverse_complement(v))
    own = [kernel.own_features(Z) for Z in (X, X if Y is None else Y)] if kernel.reverse_complement else [None]
    return out if own[0] is None else out - own[0].gram(own[1])
