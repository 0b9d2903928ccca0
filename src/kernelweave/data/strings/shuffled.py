"""Shuffles of sequences that keep every count of two neighbours.

A sequence is a path through the graph whose arcs are its pairs of neighbours.  Another path over the same arcs, from
the same first letter to the same last, is another sequence with the same pairs (Altschul and Erickson, Molecular
Biology and Evolution 2:526, 1985): the arcs that leave each letter last must form a tree towards the last letter; the
others may be taken in any order.  Trees are drawn by drawing last arcs until they form one, so that all paths are
equally likely.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kernelweave.data.random import RandomState, generator
from kernelweave.data.rows import as_ids
from kernelweave.data.strings.sequences import Sequences

Array = np.ndarray


def shuffled(X: Sequences, random_state: RandomState = 0) -> Sequences:
    """Return each row in another order of letters, with the same number of every pair of neighbours.

    First and last letters stay.  Of a row without another such order, the row itself comes back.

    Parameters
    ----------
    X : n rows
    random_state : seed, or a generator

    Examples
    --------
    >>> X = Sequences.from_strings(["ACGTACGGTCAACGT"])
    >>> text = shuffled(X, 1).to_strings()[0]
    >>> sorted(zip(text, text[1:])) == sorted(zip(X[0], X[0][1:])), (text[0], text[-1])
    (True, ('A', 'T'))
    """
    rng = generator(random_state)
    codes = X.codes.copy()
    for start, stop in zip(X.offsets[:-1].tolist(), X.offsets[1:].tolist()):
        if stop - start > 2:
            codes[start:stop] = _path(X.codes[start:stop].tolist(), rng)
    ids = None if X.ids is None else as_ids([f"{name}_shuffled" for name in X.ids], len(X))
    return Sequences(codes, X.offsets, X.alphabet, ids)


def _path(row: list[int], rng: np.random.Generator) -> list[int]:
    """Return the letters of another path over the arcs of a row."""
    after: dict[int, list[int]] = {letter: [] for letter in row}
    for letter, following in pairwise(row):
        after[letter].append(following)
    end = row[-1]
    last = _tree(after, end, rng)
    for letter, targets in after.items():
        if letter in last:
            targets.remove(last[letter])
        targets[:] = [targets[i] for i in rng.permutation(len(targets))]
        if letter in last:
            targets.append(last[letter])
    here, out = row[0], [row[0]]
    taken = dict.fromkeys(after, 0)
    for _ in range(len(row) - 1):
        step = taken[here]
        taken[here] = step + 1
        here = after[here][step]
        out.append(here)
    return out


def _tree(after: dict[int, list[int]], end: int, rng: np.random.Generator) -> dict[int, int]:
    """Return a last arc for each letter but the end, such that all of them lead to the end."""
    letters = [letter for letter in after if letter != end]
    while True:
        last = {letter: after[letter][int(rng.integers(len(after[letter])))] for letter in letters}
        good = {end}
        for letter in letters:
            trail: list[int] = []
            while letter not in good and letter not in trail:
                trail.append(letter)
                letter = last[letter]
            if letter not in good:
                break
            good.update(trail)
        else:
            return last
