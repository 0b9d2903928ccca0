"""Simulated enhancers: motifs planted anywhere, on either strand, and which letters they are.

Both classes share the order-3 Markov background of `make_splice`.  An enhancer carries one site of each motif with a
given chance; the letters of a site are drawn from the matrix of its motif, or of its reverse complement.  Sites of one
row do not overlap.
"""

from __future__ import annotations

import numpy as np

from kernelweave.data.generators.splice import markov_rows
from kernelweave.data.random import RandomState, check_count, generator
from kernelweave.data.strings.alphabet import DNA
from kernelweave.data.strings.sequences import Sequences

Array = np.ndarray

SURE = 0.91
"""Share of the letter that a motif asks for; the others share the rest."""
MOTIFS = {"first": "TGACTCAG", "second": "CACGTGCC", "third": "GGAA.TTCC"}
"""The planted motifs; a dot stands for any letter."""


def enhancer_motifs() -> dict[str, Array]:
    """Return the matrices of the motifs that `make_enhancers` plants: name -> (places, ACGT) shares.

    Examples
    --------
    >>> enhancer_motifs()["third"][4]
    array([0.25, 0.25, 0.25, 0.25])
    """
    return {name: np.stack([_shares(letter) for letter in text]) for name, text in MOTIFS.items()}


def _shares(letter: str) -> Array:
    if letter == ".":
        return np.full(4, 0.25)
    out = np.full(4, (1.0 - SURE) / 3)
    out["ACGT".index(letter)] = SURE
    return out


def make_enhancers(
    n_samples: int = 1000,
    length: int = 200,
    *,
    site_rate: float = 0.7,
    random_state: RandomState = None,
    return_planted: bool = False,
) -> tuple[Sequences, Array] | tuple[Sequences, Array, Array]:
    """Simulate enhancers with planted motifs, and background sequences.

    Parameters
    ----------
    n_samples : number of rows, half of each class
    length : letters of each row, at least 40
    site_rate : chance that an enhancer carries a site of a given motif
    random_state : seed, numpy generator or None
    return_planted : return as well which letters were planted

    Returns
    -------
    X : Sequences over dna, (n_samples, length)
    y : (n_samples,) 1 for enhancers, -1 for background
    planted : only with ``return_planted``: (n_samples, length), for each letter of a site the logarithm of its share in
        the matrix over 1/4, 0 elsewhere

    Examples
    --------
    >>> X, y, planted = make_enhancers(10, length=60, random_state=0, return_planted=True)
    >>> X.shape, int(y.sum()), bool((planted[y < 0] == 0).all())
    ((10, 60), 0, True)
    """
    n, length = check_count("n_samples", n_samples, 2), check_count("length", length, 40)
    if not 0 <= site_rate <= 1:
        raise ValueError(f"site_rate={site_rate!r} is not valid; expected a number from 0 to 1.")
    rng = generator(random_state)
    y = np.where(np.arange(n) < n // 2, 1, -1)
    rng.shuffle(y)
    codes = np.ascontiguousarray(markov_rows(rng, n, length))
    planted = np.zeros((n, length))
    matrices = list(enhancer_motifs().values())
    for row in np.flatnonzero(y > 0):
        _plant(rng, codes[row], planted[row], [m for m in matrices if rng.random() < site_rate])
    X = Sequences(codes.reshape(-1), np.arange(n + 1) * length, DNA)
    return (X, y, planted) if return_planted else (X, y)


def _plant(rng: np.random.Generator, codes: Array, planted: Array, matrices: list[Array]) -> None:
    """Put sites of motifs into a row, in random order with random spaces."""
    order = rng.permutation(len(matrices))
    spare = len(codes) - sum(len(m) for m in matrices)
    cuts = np.sort(rng.integers(0, spare + 1, len(matrices)))
    used = 0
    for cut, number in zip(cuts.tolist(), order.tolist()):
        matrix = matrices[number] if rng.random() < 0.5 else matrices[number][::-1, ::-1]
        start = cut + used
        for at, shares in enumerate(matrix, start):
            codes[at] = rng.choice(4, p=shares)
            planted[at] = np.log(shares[codes[at]] / 0.25)
        used += len(matrix)
