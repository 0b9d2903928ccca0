"""Kernels in plain Python, one pair of rows at a time.

A row is a list of numbers, a string (N matches nothing), or a dict of named rows.
"""

from __future__ import annotations

import math
from operator import mul
from typing import Any

from oracles import lsgkm, rational
from oracles.strings import shared


def gram(kernel: Any, rows: list, others: list | None = None) -> list[list[float]]:
    """Return the kernel matrix; `others=None` says that both sides are the same rows."""
    columns = rows if others is None else others
    return [
        [value(kernel, x, y, i if others is None else None, j) for j, y in enumerate(columns)]
        for i, x in enumerate(rows)
    ]


def value(kernel: Any, x: Any, y: Any, i: int | None, j: int) -> float:
    """Return one kernel value; i and j are row numbers, i is None for a row that is not among the columns."""
    return TWINS[type(kernel).__name__](kernel, x, y, i, j)


def dot(x, y):
    return math.fsum(map(mul, x, y))


def rate(k, x):
    if getattr(k, "width", None) is not None:
        return 1 / k.width
    return 1 / len(x) if k.gamma is None else k.gamma


def rbf(k, x, y, i, j):
    return math.exp(-rate(k, x) * math.fsum((a - b) ** 2 for a, b in zip(x, y)))


def laplacian(k, x, y, i, j):
    return math.exp(-rate(k, x) * math.fsum(abs(a - b) for a, b in zip(x, y)))


def weighted_degree(k, x, y, i, j):
    d = k.degree
    total = 0.0
    for length in range(1, d + 1):
        weight = 2 * (d - length + 1) / (d * (d + 1)) if k.weights is None else k.weights[length - 1]
        for start in range(len(x) - length + 1):
            kmer = x[start : start + length]
            if "N" not in kmer and kmer == y[start : start + length]:
                total += weight
    return total


def selected(x, columns):
    if hasattr(columns, "tolist"):
        columns = columns.tolist()
    if isinstance(columns, str | slice):
        return x[columns]
    if isinstance(columns, int):
        return [x[columns]]
    if isinstance(columns[0], bool):
        return [a for a, chosen in zip(x, columns) if chosen]
    return [x[column] for column in columns]


def on(k, x, y, i, j):
    return value(k.kernel, selected(x, k.columns), selected(y, k.columns), i, j)


def cosine(k, x, y, i, j):
    norm = value(k.kernel, x, x, j, j) * value(k.kernel, y, y, j, j)
    return value(k.kernel, x, y, i, j) / math.sqrt(norm) if norm > 0 else 0.0


def rows_of(data):
    return data.to_strings() if hasattr(data, "to_strings") else data.tolist()


def solved(matrix, right):
    """Solve linear equations by elimination, the largest pivot first."""
    rows = [[*row, b] for row, b in zip(matrix, right)]
    for c in range(len(rows)):
        best = max(range(c, len(rows)), key=lambda r: abs(rows[r][c]))
        rows[c], rows[best] = rows[best], rows[c]
        for r in range(len(rows)):
            if r != c:
                rows[r] = [a - rows[r][c] / rows[c][c] * b for a, b in zip(rows[r], rows[c])]
    return [row[-1] / row[c] for c, row in enumerate(rows)]


def landmarks(k, x, y, i, j):
    points = rows_of(k.landmarks)
    inner = [[value(k.kernel, p, q, None, 0) for q in points] for p in points]
    left, right = ([value(k.kernel, z, p, None, 0) for p in points] for z in (x, y))
    return dot(left, solved(inner, right))


def waves(k, x, y, i, j):
    each = [math.cos(2 * math.pi * dot(w, [a - b for a, b in zip(x, y)])) for w in k.turns.T.tolist()]
    return math.fsum(each) / len(each)


def induced_rbf(k, x, y, i, j):
    apart = value(k.kernel, x, x, j, j) + value(k.kernel, y, y, j, j) - 2 * value(k.kernel, x, y, i, j)
    return math.exp(-k.gamma * max(apart, 0.0))


def rarity(k, x, y, i, j):
    weights = dict(zip(k.kernel.spell(k.codes, "dna"), k.weights.tolist()))
    first, second = (rational.ngrams(k.kernel, row, lambda letter: letter == "N") for row in (x, y))
    return math.fsum(
        weights["".join(gram)] ** 2 * value * second[gram] for gram, value in first.items() if gram in second
    )


TWINS = {
    "Linear": lambda k, x, y, i, j: dot(x, y),
    "Polynomial": lambda k, x, y, i, j: (rate(k, x) * dot(x, y) + k.coef0) ** k.degree,
    "RBF": rbf,
    "Laplacian": laplacian,
    "Sigmoid": lambda k, x, y, i, j: math.tanh(rate(k, x) * dot(x, y) + k.coef0),
    "Identity": lambda k, x, y, i, j: float(i == j),
    "Precomputed": lambda k, x, y, i, j: x[j],
    "Spectrum": lambda k, x, y, i, j: shared(k, x, y),
    "Mismatch": lambda k, x, y, i, j: shared(k, x, y),
    "GappedKmer": lambda k, x, y, i, j: shared(k, x, y),
    "LSGKM": lambda k, x, y, i, j: lsgkm.value(k, x, y),
    "WeightedDegree": weighted_degree,
    "NGram": lambda k, x, y, i, j: rational.shared(k, x, y),
    "GappyNGram": lambda k, x, y, i, j: rational.shared(k, x, y),
    "Rational": lambda k, x, y, i, j: rational.shared(k, x, y),
    "On": on,
    "Sum": lambda k, x, y, i, j: math.fsum(value(part, x, y, i, j) for part in k.kernels),
    "Product": lambda k, x, y, i, j: math.prod(value(part, x, y, i, j) for part in k.kernels),
    "Scaled": lambda k, x, y, i, j: k.factor * value(k.kernel, x, y, i, j),
    "Cosine": cosine,
    "InducedRBF": induced_rbf,
    "Landmarks": landmarks,
    "Rarity": rarity,
    "Waves": waves,
}
