"""Rows of letters that are hard on tries: they share long stretches, some are equal, some letters are masked."""

from __future__ import annotations

import numpy as np

from kernelweave.data.strings.sequences import Sequences

ALPHABETS = {"dna": "ACGT", "protein": "ACDEFGHIKLMNPQRSTVWY", "bytes": "abcdefghijklmnop qrst.!0123\xe9"}


def related(rng, n, length, letters):
    """Return texts that share long stretches, some of them twice."""
    rows = ["".join(rng.choice(list(letters), length)) for _ in range(n)]
    for i in range(1, n, 2):
        cut = rng.integers(length + 1)
        rows[i] = rows[i - 1][:cut] + rows[i][cut:]
    if n > 4:
        rows[3] = rows[n - 1] = rows[0]
    return rows


def sequences(n, length, alphabet="dna", masked=0.0, seed=0):
    """Return n related rows over a ready alphabet, a share of their letters masked."""
    rng = np.random.default_rng([seed, n, length])
    rows = [row.encode("latin-1") for row in related(rng, n, length, ALPHABETS[alphabet])]
    return mask(Sequences.from_strings(rows, alphabet=alphabet), masked, rng)


def mask(X, share, rng):
    """Return the rows with a share of their letters masked."""
    codes = np.where(rng.random(X.codes.size) < share, X.alphabet.mask, X.codes)
    return Sequences(codes.astype(X.codes.dtype), X.offsets, X.alphabet)
