"""Simulated acceptor splice sites with signals planted at known positions.

Both classes share an order-3 Markov background and the AG of the site.  A true site also carries

    branch point          CTAAC with mutations, starting anywhere so that it lies in 25..38
    polypyrimidine tract  45..58, rich in T and C, the more so the nearer to the site
    site context          C before and G behind the AG (59 and 62), most of the time
    exon                  63 to the end, letters drawn with a period of three, as codons are
"""

from __future__ import annotations

import numpy as np

from kernelweave.data.random import RandomState, check_count, seeds_of
from kernelweave.data.strings.alphabet import DNA
from kernelweave.data.strings.sequences import Sequences

Array = np.ndarray

SITE = 60
BRANCH = (25, 39)
TRACT = (45, 59)
EXON = 63
MOTIF = np.array([1, 3, 0, 0, 1], np.uint8)  # CTAAC
CONTEXT = ((SITE - 1, 1, 0.70), (SITE + 2, 2, 0.50))  # position, letter, how often it is planted
CODON = np.array([[0.28, 0.22, 0.36, 0.14], [0.30, 0.24, 0.17, 0.29], [0.16, 0.30, 0.32, 0.22]])
TRACT_FAR, TRACT_NEAR = np.array([0.16, 0.28, 0.16, 0.40]), np.array([0.08, 0.32, 0.06, 0.54])
BACKGROUND_SEED, BACKGROUND_SPREAD = 141, 5.0  # one fixed chain: every call draws from the same background
ROWS_PER_SEED = 4096  # part of what a seed means: another number gives other data
SIGNALS = ("branch_point", "tract", "context", "exon")


def splice_signals(length: int = 141) -> dict[str, tuple[int, int]]:
    """Return where `make_splice` plants its signals: name -> (first position, one past the last).

    Examples
    --------
    >>> splice_signals()["tract"]
    (45, 59)
    """
    return {
        "branch_point": BRANCH,
        "tract": TRACT,
        "context": (SITE - 1, SITE + 3),
        "exon": (EXON, length),
    }


def make_splice(
    n_samples: int = 1000,
    length: int = 141,
    positive_fraction: float = 0.2,
    *,
    branch_mutation: float = 0.2,
    signal_rate: float = 1.0,
    decoy_rate: float = 0.0,
    random_state: RandomState = None,
) -> tuple[Sequences, Array]:
    """Simulate acceptor splice sites.

    Parameters
    ----------
    n_samples : number of rows
    length : letters of each row, at least 66; the AG of the site is at 60 and 61 in every row of both classes
    positive_fraction : share of true sites, rounded to whole rows (at least one row of each class)
    branch_mutation : chance that a letter of the branch point is replaced by a random one
    signal_rate : chance that a true site carries a given signal; below 1 the classes overlap
    decoy_rate : chance that a false site carries one of the four signals, chosen at random
    random_state : seed, numpy generator or None

    Returns
    -------
    X : Sequences over dna, (n_samples, length)
    y : (n_samples,) 1 for true sites, -1 for false ones

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_splice(50, random_state=0)
    >>> X.shape, int((y == 1).sum()), {row[60:62] for row in X}
    ((50, 141), 10, {'AG'})
    """
    n, length = check_count("n_samples", n_samples, 2), check_count("length", length, EXON + 3)
    for name, value in (("branch_mutation", branch_mutation), ("signal_rate", signal_rate), ("decoy_rate", decoy_rate)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name}={value!r} is not valid; expected a number from 0 to 1.")
    if not 0 < positive_fraction < 1:
        raise ValueError(f"positive_fraction={positive_fraction!r} is not valid; expected a number between 0 and 1.")
    seeds = seeds_of(random_state).spawn(1 + -(-n // ROWS_PER_SEED))
    y = np.full(n, -1)
    y[: min(max(round(positive_fraction * n), 1), n - 1)] = 1
    np.random.default_rng(seeds[0]).shuffle(y)
    codes = np.empty((n, length), np.uint8)
    for start, seed in zip(range(0, n, ROWS_PER_SEED), seeds[1:]):
        rng = np.random.default_rng(seed)
        rows = slice(start, start + ROWS_PER_SEED)
        codes[rows] = markov_rows(rng, y[rows].size, length)
        _plant(rng, codes[rows], _carried(rng, y[rows], signal_rate, decoy_rate), branch_mutation)
    return Sequences(codes.reshape(-1), np.arange(n + 1) * length, DNA), y


def markov_rows(rng: np.random.Generator, n: int, length: int) -> Array:
    """Return rows of the order-3 Markov chain."""
    chain = np.random.default_rng(BACKGROUND_SEED).dirichlet([BACKGROUND_SPREAD] * 4, 64)
    low, middle, high = chain.cumsum(1)[:, :3].T.astype(np.float32).copy()
    columns = np.empty((length, n), np.uint8)
    columns[:3] = rng.integers(0, 4, (3, n), np.uint8)
    context = columns[0] * np.uint8(16) + columns[1] * np.uint8(4) + columns[2]
    for j in range(3, length):
        u = rng.random(n, np.float32)
        columns[j] = (u > low[context]).view(np.uint8) + (u > middle[context]) + (u > high[context])
        context = (context << np.uint8(2) | columns[j]) & np.uint8(63)
    return columns.T


def _carried(rng: np.random.Generator, y: Array, signal_rate: float, decoy_rate: float) -> Array:
    """Return which signals each row carries, (n, 4) bool."""
    kept = rng.random((y.size, len(SIGNALS))) < signal_rate
    chosen = rng.integers(0, len(SIGNALS), y.size)[:, None] == np.arange(len(SIGNALS))
    decoys = chosen & (rng.random(y.size) < decoy_rate)[:, None]
    return np.where((y == 1)[:, None], kept, decoys)


def _plant(rng: np.random.Generator, codes: Array, carried: Array, branch_mutation: float) -> None:
    branch, tract, context, exon = (np.flatnonzero(column) for column in carried.T)
    starts = rng.integers(BRANCH[0], BRANCH[1] - MOTIF.size + 1, branch.size)
    mutated = rng.random((branch.size, MOTIF.size)) < branch_mutation
    letters = np.where(mutated, rng.integers(0, 4, mutated.shape), MOTIF)
    codes[branch[:, None], starts[:, None] + np.arange(MOTIF.size)] = letters
    for j in range(*TRACT):
        near = (j - TRACT[0]) / (TRACT[1] - 1 - TRACT[0])
        codes[tract, j] = _draw(rng, (1 - near) * TRACT_FAR + near * TRACT_NEAR, tract.size)
    for position, letter, rate in CONTEXT:
        codes[context[rng.random(context.size) < rate], position] = letter
    for j in range(EXON, codes.shape[1]):
        codes[exon, j] = _draw(rng, CODON[(j - EXON) % 3], exon.size)
    codes[:, SITE], codes[:, SITE + 1] = 0, 2


def _draw(rng: np.random.Generator, chances: Array, n: int) -> Array:
    return np.searchsorted(chances.cumsum()[:3], rng.random(n), side="right").astype(np.uint8)
