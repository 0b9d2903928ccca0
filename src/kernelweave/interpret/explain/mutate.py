"""In-silico mutagenesis: every single change of a letter, scored by the model itself.

    change[p, a] = f(row with letter a at place p) - f(row)

Rows are scored as any new rows are, through the tables of the model, so that the norm of a normalised kernel changes
with the letter too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.data.kinds import alphabet_of, kind_of
from kernelweave.data.strings.sequences import Sequences
from kernelweave.interpret.explain.rows import output_names
from kernelweave.interpret.parts import last_step
from kernelweave.kernels.base import Array

LETTERS_TOGETHER = 1 << 24
"""Letters of the changed rows that are scored together."""
MOST_LETTERS = 64
"""Letters of an alphabet up to which every change is tried: words have far too many."""


@dataclass(frozen=True)
class Mutations:
    """What every single change of a letter does to the decision values of rows.

    Attributes
    ----------
    rows : the rows as they are
    outputs : names of the decision values
    decision : (n, outputs) of the rows as they are
    changes : (letters of all rows behind one another, letters of the alphabet, outputs); 0 for the letter that is there
    """

    rows: Sequences
    outputs: tuple[str, ...]
    decision: Array
    changes: Array

    def of(self, row: int, output: int = 0) -> Array:
        """Return the changes of one row, (its letters, letters of the alphabet)."""
        return self.changes[self.rows.offsets[row] : self.rows.offsets[row + 1], :, output]


def mutagenesis(model: Any, X: Any) -> Mutations:
    """Score every single change of a letter of sequences.

    Parameters
    ----------
    model : fitted on sequences
    X : sequences

    Returns
    -------
    `Mutations`

    Examples
    --------
    >>> import kernelweave as kw
    >>> model = kw.KernelClassifier("wd:3").fit(["ACGTA", "ACGTC", "TTGCA", "TAGCA"], [1, 1, 0, 0])
    >>> found = mutagenesis(model, ["ACGTA"])
    >>> found.of(0).shape, float(found.of(0)[0, 0])
    ((5, 4), 0.0)
    """
    core = last_step(model)
    X = core._new(X)
    alphabet = alphabet_of(X)
    if alphabet is None or kind_of(X).uncertain:
        raise TypeError("Only letters of sequences can be changed one by one; this model was trained on other rows.")
    if alphabet.size > MOST_LETTERS:
        raise ValueError(
            f"The {alphabet.name} alphabet has {alphabet.size} letters, too many to try each at every place; explain "
            "the rows instead."
        )
    expansion, engine = core.expansion_, core._engine()
    plain = expansion.scores(X, engine)
    out = np.zeros((len(X.codes), alphabet.size, expansion.outputs))
    letters = np.cumsum(X.lengths * X.lengths) * alphabet.size
    first = 0
    while first < len(X):
        done = letters[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(letters, done + LETTERS_TOGETHER, side="right")))
        part = X[first:last]
        scores = expansion.scores(changed(part), engine).reshape(len(part.codes), alphabet.size, -1)
        rows = np.repeat(np.arange(first, last), part.lengths)
        out[X.offsets[first] : X.offsets[last]] = scores - plain[rows][:, None]
        first = last
    same = np.flatnonzero(X.codes < alphabet.size)
    out[same, X.codes[same]] = 0.0
    return Mutations(X, output_names(core), plain + core.intercept_, out)


def changed(X: Sequences) -> Sequences:
    """Return the rows with each letter in turn, at each place in turn, (letters of all rows) times (alphabet) rows.

    Examples
    --------
    >>> changed(Sequences.from_strings(["AC"])).to_strings()
    ['AC', 'CC', 'GC', 'TC', 'AA', 'AC', 'AG', 'AT']
    """
    size, lengths = X.alphabet.size, X.lengths
    rows = np.repeat(np.arange(len(lengths)), lengths * size)
    copies = X[rows]
    place = np.arange(len(X.codes)) - np.repeat(np.asarray(X.offsets[:-1]), lengths)
    codes = copies.codes.copy()
    codes[np.asarray(copies.offsets[:-1]) + np.repeat(place, size)] = np.tile(np.arange(size), len(X.codes))
    return Sequences._trusted(codes, copies.offsets, X.alphabet, None)
