"""Positional k-mers in plain Python: a kernel of any cells and shifts, and importance by enumerating all strings."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.data import Sequences
from kernelweave.kernels.base import Kernel


@dataclass(frozen=True)
class Rows:
    """Letters of some rows, as the contract wants them."""

    codes: np.ndarray
    alphabet: Any

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Rows:
        return Rows(self.codes[rows], self.alphabet)


class Cells(Kernel):
    """A positional kernel told by its table of cells, rows of (position, length), and its shift weights."""

    def __init__(self, table: Any, shifts: Any = (1.0,)):
        self.table = table
        self.shifts = shifts

    def cells(self, length: int) -> np.ndarray:
        return np.asarray(self.table, dtype=float)

    def shift_weights(self) -> np.ndarray:
        return np.asarray(self.shifts, dtype=float)

    def prepare(self, X: Any) -> Rows:
        return Rows(X.matrix, X.alphabet)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> np.ndarray:
        mask = A.alphabet.mask
        return np.array([[self._value(a, b, mask) for b in B.codes.tolist()] for a in A.codes.tolist()], dtype)

    def diagonal(self, A: Any) -> np.ndarray:
        return np.array([self._value(a, a, A.alphabet.mask) for a in A.codes.tolist()])

    def _value(self, x: list[int], y: list[int], mask: int) -> float:
        c, total = self.cells(len(x)), 0.0
        for k, i, j in itertools.product(range(1, c.shape[1] + 1), range(len(x)), range(len(x))):
            if abs(i - j) < len(self.shifts) and max(i, j) + k <= len(x):
                here, there = x[i : i + k], y[j : j + k]
                if here == there and mask not in here:
                    total += self.shifts[abs(i - j)] * math.sqrt(c[i, k - 1] * c[j, k - 1])
        return total


def cells(rng: np.random.Generator, length: int, degree: int) -> list[list[float]]:
    """Draw cells, some of them zero, as the contract wants them: none for a k-mer that would leave the row."""
    drawn = rng.random((length, degree)) * (rng.random((length, degree)) < 0.8)
    for i in range(length):
        drawn[i, length - i :] = 0.0
    return drawn.tolist()


def weight(model: Any, kmer: str, position: int) -> float:
    """Return what a k-mer at a position adds to the score of a model of one `Cells` kernel."""
    c, k, total = model.kernel_.cells(0), len(kmer), 0.0
    for row, alpha in zip(model.reference_.to_strings(), model.dual_coef_[0]):
        for start in range(len(row) - k + 1):
            gap = abs(start - position)
            if gap < len(model.kernel_.shifts) and row[start : start + k] == kmer:
                total += alpha * model.kernel_.shifts[gap] * math.sqrt(c[position, k - 1] * c[start, k - 1])
    return total


def importance(score: Any, alphabet: Any, length: int, k: int, p: Any) -> np.ndarray:
    """Return E[score | z at j] - E[score] for every z and j, (letters^k, positions), from all strings."""
    strings = list(itertools.product(range(alphabet.size), repeat=length))
    rows = Sequences.from_strings(["".join(alphabet.letters[a] for a in string) for string in strings], alphabet)
    values = score(rows)
    chance = np.array([math.prod(p[a] for a in string) for string in strings])
    out = []
    for z in itertools.product(range(alphabet.size), repeat=k):
        line = []
        for j in range(length - k + 1):
            has = np.array([string[j : j + k] == z for string in strings])
            line.append(chance[has] @ values[has] / chance[has].sum() - chance @ values)
        out.append(line)
    return np.array(out)
