"""Sparse weights of a positional string kernel in plain Python: a dict, and the kernel itself by its formula."""

from __future__ import annotations

from collections import defaultdict
from math import sqrt


class DictWeights:
    """Weights keyed by (position, k-mer)."""

    def __init__(self, cells, shift_weights, size, mask):
        self.cells, self.shift_weights, self.mask = cells.tolist(), list(shift_weights), mask
        self.clear()

    def clear(self):
        self.weights = defaultdict(float)

    def add(self, codes, steps):
        for row, step in zip(codes.tolist(), steps):
            for i, kmer in kmers(row, len(self.cells[0]), self.mask):
                for j in range(len(row)):
                    if abs(i - j) < len(self.shift_weights) and j + len(kmer) <= len(row):
                        product = self.cells[i][len(kmer) - 1] * self.cells[j][len(kmer) - 1]
                        self.weights[j, kmer] += step * self.shift_weights[abs(i - j)] * sqrt(product)

    def look_up(self, codes):
        return sum(self.weights.get(place, 0.0) for place in kmers(codes.tolist(), len(self.cells[0]), self.mask))


def kmers(row, degree, mask):
    """Return all (start, k-mer) of a row, k = 1..degree, without masked letters."""
    words = [(i, tuple(row[i : i + k])) for i in range(len(row)) for k in range(1, min(degree, len(row) - i) + 1)]
    return [(i, word) for i, word in words if mask not in word]


def positional_kernel(x, y, cells, shift_weights, mask):
    """Return the kernel of two rows: all pairs of k-mers, one by one."""
    total = 0.0
    for i, kmer in kmers(x.tolist(), cells.shape[1], mask):
        for j, other in kmers(y.tolist(), cells.shape[1], mask):
            if kmer == other and abs(i - j) < len(shift_weights):
                total += shift_weights[abs(i - j)] * sqrt(cells[i, len(kmer) - 1] * cells[j, len(kmer) - 1])
    return total
