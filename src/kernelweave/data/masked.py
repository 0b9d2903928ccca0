"""Copies of rows of strings in which one letter, or arc, matches nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.lattices.rows import Lattices
from kernelweave.data.strings.sequences import Sequences

Array = np.ndarray


def places(X: Any) -> Array:
    """Return how many letters (of sequences) or arcs (of lattices) every row has, (n,)."""
    return X.arc_counts if isinstance(X, Lattices) else X.lengths


def masked_one_by_one(X: Any) -> Any:
    """Return every row as it is, followed by its copies with one letter, or the letter of one arc, masked.

    Examples
    --------
    >>> masked_one_by_one(Sequences.from_strings(["AC", "G"])).to_strings()
    ['AC', 'NC', 'AN', 'G', 'N']
    """
    sizes = places(X)
    copies = X[np.repeat(np.arange(len(sizes)), sizes + 1)]
    copied = np.repeat(sizes, sizes + 1)  # places of every copy
    starts = np.cumsum(copied) - copied
    number = np.arange(len(copied)) - np.repeat(np.cumsum(sizes + 1) - sizes - 1, sizes + 1)
    at = (starts + number - 1)[number > 0]
    if isinstance(X, Lattices):
        labels = copies.labels.copy()
        labels[at[labels[at] >= 0]] = X.alphabet.size  # an arc without a letter stays one
        return Lattices._trusted(copies._table._replace(labels=labels), X.alphabet, None)
    codes = copies.codes.copy()
    codes[at] = X.alphabet.mask
    return Sequences._trusted(codes, copies.offsets, X.alphabet, None)
