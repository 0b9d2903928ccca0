"""Motifs in the text form of the MEME suite, which TOMTOM and FIMO read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kernelweave.interpret.motifs.find import Motif
from kernelweave.kernels.base import Array


def letter_shares(X: Any) -> Array:
    """Return how often each letter stands in rows, (A,), one count of each added."""
    counts = np.bincount(X.codes, minlength=X.alphabet.size)[: X.alphabet.size] + 1.0
    return counts / counts.sum()


def meme_lines(motifs: Sequence[Motif], background: Array | None = None, both_strands: bool = False) -> Iterator[str]:
    """Yield the lines of a MEME file (version 4).

    Parameters
    ----------
    motifs : of one alphabet
    background : (A,) shares of the letters, None for equal ones
    both_strands : whether the motifs stand for their reverse complements as well

    Examples
    --------
    >>> counts = np.array([[8, 0, 0, 0], [0, 0, 8, 0]])
    >>> motif = Motif("AG", counts, np.ones(2), tuple("ACGT"), 8, 2.0, ())
    >>> list(meme_lines([motif]))[-3:-1]
    [' 0.750000 0.083333 0.083333 0.083333\\n', ' 0.083333 0.083333 0.750000 0.083333\\n']
    """
    if not motifs:
        raise ValueError("There are no motifs to write.")
    letters = motifs[0].letters
    shares = np.full(len(letters), 1.0 / len(letters)) if background is None else np.asarray(background, float)
    yield "MEME version 4\n\n"
    yield f"ALPHABET= {''.join(letters)}\n\n"
    if both_strands:
        yield "strands: + -\n\n"
    yield "Background letter frequencies\n"
    yield " ".join(f"{letter} {share:.6f}" for letter, share in zip(letters, shares)) + "\n\n"
    for number, motif in enumerate(motifs, 1):
        yield f"MOTIF {number}-{motif.consensus} {motif.consensus}\n"
        size = len(motif.counts)
        yield f"letter-probability matrix: alength= {len(letters)} w= {size} nsites= {motif.n_sites} E= 0\n"
        for line in motif.frequencies:
            yield "".join(f" {share:.6f}" for share in line) + "\n"
        yield "\n"
