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


def enhancer_log_odds(X: Sequences, site_rate: float = 0.7) -> tuple[Array, Array]:
    """Return what each letter tells for an enhancer under the rules of `make_enhancers`, and what a whole row tells.

    A motif of w places lies at each of n = length - w + 1 places on each strand with the same chance, site_rate in all.
    Given the letters of a row, a site at p has the chance P(p) = r exp(S_p) / (1 - site_rate + r sum_q exp(S_q)), with
    r = site_rate / 2n and S_p the log-odds of its letters, matrix against 1/4. A letter is worth the sum of its own
    log-odds over the sites that it may belong to, each by its chance: an additive truth without ties. A row is worth
    the logarithm of the denominator, summed over the motifs.

    Parameters
    ----------
    X : sequences over dna, of one length
    site_rate : as for `make_enhancers`

    Returns
    -------
    letters : (n, length)
    rows : (n,)

    Examples
    --------
    >>> X, y, planted = make_enhancers(200, length=60, random_state=0, return_planted=True)
    >>> letters, rows = enhancer_log_odds(X)
    >>> letters.shape, bool(rows[y > 0].mean() > rows[y < 0].mean() + 5)
    ((200, 60), True)
    """
    codes = np.asarray(X.matrix)
    letters, rows = np.zeros(codes.shape), np.zeros(len(codes))
    for matrix in enhancer_motifs().values():
        width = len(matrix)
        rate = site_rate / (2 * (codes.shape[1] - width + 1))
        own = []
        for turned in (matrix, matrix[::-1, ::-1]):
            known = np.where(codes[..., None] == np.arange(4), np.log(turned / 0.25)[:, None, None, :], 0.0).sum(
                axis=-1
            )
            own.append(np.stack([known[at, :, at : codes.shape[1] - width + 1 + at] for at in range(width)]))
        worth = np.stack(own)  # strand, place in the motif, row, first letter
        odds = rate * np.exp(worth.sum(axis=1))
        whole = 1.0 - site_rate + odds.sum(axis=(0, 2))
        rows += np.log(whole)
        chance = odds / whole[:, None]
        for at in range(width):
            letters[:, at : codes.shape[1] - width + 1 + at] += (chance * worth[:, at]).sum(axis=0)
    return letters, rows


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
