"""Rows for the benchmark of gapped k-mers: human enhancers of the shared data folder, and simulated ones like them.

The file has 2,968 regions of 200 letters.  968 of them, drawn once, are held out for every size; the other 2,000 are
for training.  More training rows than that are simulated: two Markov chains of order 5, one for each class, whose
chances are counted in the 2,000 training rows, write as many new rows of 200 letters as are asked for.
"""

from __future__ import annotations

import numpy as np

import kernelweave as kw
from common import ROOT
from seq_data import Rows

ENHANCERS = ROOT.parent / "shared" / "data" / "dna" / "human_enhancers_200.tsv.gz"
TRAINING = 2_000
"""Rows of the file that are for training; the others are held out."""
ORDER = 5
"""Letters that a simulated letter depends on: 4,096 chances from 100,000 letters of each class are well measured."""
LETTERS, SEED = 4, 0


def enhancers() -> tuple[Rows, Rows]:
    """Return the 2,000 training rows and the 968 rows that are held out, both half positive."""
    if not ENHANCERS.exists():
        raise SystemExit(f"The data are missing: expected {ENHANCERS}.")
    found = kw.read(ENHANCERS, alphabet="dna")
    rows = Rows(found.X, found.y)
    rng = np.random.default_rng(SEED)
    parts = [rng.permutation(np.flatnonzero(rows.y == label)) for label in (1, -1)]
    half = TRAINING // 2
    train = rng.permutation(np.concatenate([part[:half] for part in parts]))
    return rows.take(train), rows.take(np.sort(np.concatenate([part[half:] for part in parts])))


def training_rows(n: int) -> Rows:
    """Return n training rows: real ones as far as they go, then simulated ones, half of them positive."""
    real, _ = enhancers()
    if n <= len(real.y):
        return real.take(_balanced(real.y, n))
    more = n - len(real.y)
    length = int(real.X.lengths[0])
    codes = np.empty((more, length), np.uint8)
    y = np.where(np.arange(more) % 2 == 0, 1, -1)
    rng = np.random.default_rng(SEED + 1)
    for label in (1, -1):
        chances = _chances(real.X.matrix[real.y == label])
        codes[y == label] = _simulated(chances, int(np.sum(y == label)), length, rng)
    both = np.concatenate([np.asarray(real.X.matrix), codes])
    offsets = np.arange(n + 1) * length
    return Rows(kw.Sequences(both.reshape(-1), offsets, real.X.alphabet), np.concatenate([real.y, y]))


def _balanced(y: np.ndarray, n: int) -> np.ndarray:
    return np.sort(np.concatenate([np.flatnonzero(y == 1)[: n // 2], np.flatnonzero(y == -1)[: n - n // 2]]))


def _chances(codes: np.ndarray) -> np.ndarray:
    """Return the cumulated chances of each letter after each context of `ORDER` letters, (4^5, 4)."""
    counts = np.ones((LETTERS**ORDER, LETTERS))
    for context, letter in _words(codes):
        np.add.at(counts, (context, letter), 1.0)
    return np.cumsum(counts / counts.sum(1, keepdims=True), axis=1)


def _words(codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    values = LETTERS ** np.arange(ORDER - 1, -1, -1)
    return [(codes[:, j - ORDER : j] @ values, codes[:, j]) for j in range(ORDER, codes.shape[1])]


def _simulated(chances: np.ndarray, n: int, length: int, rng: np.random.Generator) -> np.ndarray:
    codes = np.empty((n, length), np.uint8)
    codes[:, :ORDER] = rng.integers(0, LETTERS, (n, ORDER))
    values = LETTERS ** np.arange(ORDER - 1, -1, -1)
    for j in range(ORDER, length):
        context = codes[:, j - ORDER : j] @ values
        codes[:, j] = np.sum(rng.random(n)[:, None] > chances[context], axis=1).clip(0, LETTERS - 1)
    return codes


def write_fasta(rows: Rows, positive: str, negative: str) -> None:
    """Write rows as two FASTA files, one for each class, as LS-GKM reads them."""
    texts = rows.X.to_strings()
    for path, label in ((positive, 1), (negative, -1)):
        with open(path, "w", encoding="ascii") as file:
            for i in np.flatnonzero(rows.y == label):
                file.write(f">r{i}\n{texts[i]}\n")
