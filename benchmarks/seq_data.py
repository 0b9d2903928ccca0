"""The *C. elegans* acceptor sites of the shared data folder, cut to windows, and parts of them.

The file has 100,000 rows of 398 letters in the order of the genome, with the AG of the site (or decoy) at 197 and 198.
A window of 141 letters from 137 on puts it at 60 and 61, where `kw.datasets.make_splice` has it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import kernelweave as kw
from common import ROOT

ACCEPTORS = ROOT.parent / "shared" / "data" / "splice" / "celegans_acceptor_chr1_2.tsv.gz"
SITE_IN_FILE, SITE, LENGTH = 197, 60, 141
VALIDATION = 5
"""Every fifth block of the training half is for validation."""
BLOCK = 500
"""Rows of a block: neighbours in the genome overlap, so validation takes whole stretches, not single rows."""


class Rows(NamedTuple):
    """Sequences with their labels."""

    X: kw.Sequences
    y: np.ndarray

    def take(self, chosen: np.ndarray) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[chosen], self.y[chosen])


def acceptors(before: int = SITE, length: int = LENGTH) -> Rows:
    """Return all rows of the file, `length` letters of each with `before` letters in front of the AG."""
    if not ACCEPTORS.exists():
        raise SystemExit(f"The data are missing: expected {ACCEPTORS}.")
    found = kw.read(ACCEPTORS, alphabet="dna", duplicates="allow")
    start = SITE_IN_FILE - before
    codes = np.ascontiguousarray(found.X.matrix[:, start : start + length])
    offsets = np.arange(len(codes) + 1) * length
    return Rows(kw.Sequences(codes.reshape(-1), offsets, found.X.alphabet), found.y)


def halves(rows: Rows) -> tuple[Rows, Rows]:
    """Return the first and the second half of the genome's rows: for training and for the test."""
    middle = len(rows.y) // 2
    return rows.take(np.arange(middle)), rows.take(np.arange(middle, len(rows.y)))


def validation_split(rows: Rows) -> tuple[Rows, Rows]:
    """Return four fifths of the rows for fitting and one fifth, in stretches, for choosing parameters."""
    held = np.arange(len(rows.y)) // BLOCK % VALIDATION == VALIDATION - 1
    return rows.take(np.flatnonzero(~held)), rows.take(np.flatnonzero(held))


def sample(rows: Rows, n: int, seed: int = 0, replace: bool = False) -> Rows:
    """Return `n` random rows with the share of true sites that all rows have."""
    rng = np.random.default_rng(seed)
    true, false = np.flatnonzero(rows.y == 1), np.flatnonzero(rows.y != 1)
    n_true = min(max(round(n * len(true) / len(rows.y)), 1), n - 1)
    chosen = np.r_[rng.choice(true, n_true, replace), rng.choice(false, n - n_true, replace)]
    return rows.take(np.sort(chosen))
