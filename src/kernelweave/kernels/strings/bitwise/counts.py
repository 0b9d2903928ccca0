"""Sums over all pairs of l-mers by their number of mismatches, over small alphabets 64 pairs at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelweave.data.strings.sequences import Sequences
from kernelweave.kernels.base import Array
from kernelweave.kernels.strings.bitwise import groups, letters
from kernelweave.kernels.strings.bitwise.tally import wanted

GROUP_COST, LETTER_COST = 0.1, 0.04
"""Nanoseconds to compare two l-mers by groups of letters, and for each letter of them one by one."""


def suits(size: int, length: int) -> bool:
    """Tell whether l-mers over so many letters can be compared in this way."""
    return by_groups(size, length) or (size <= letters.LETTERS and length <= letters.LONGEST)


def by_groups(size: int, length: int) -> bool:
    """Tell whether groups of three letters are looked up."""
    return size <= groups.LETTERS and length <= groups.LONGEST


def pair_cost(size: int, length: int) -> float:
    """Return the nanoseconds to compare two l-mers."""
    return GROUP_COST if by_groups(size, length) else LETTER_COST * length


def own_counts(X: Sequences, length: int, table: Sequence[Any], turn: Array, weights: list[Array]) -> Array:
    """Return the sum over all pairs of l-mers of each row with itself, (n,).

    Parameters
    ----------
    X : rows over an alphabet that suits
    length : l
    table : what a pair adds, by the number of letters in which it differs; zero behind the end
    turn : complements, to add the pairs with the other strand; or empty
    weights : of the l-mers of each row by their place; empty where all count alike
    """
    out = np.zeros(len(X))
    flat, starts = _flat(weights)
    values = np.array([float(value) for value in table])
    given = np.ascontiguousarray(X.codes), np.asarray(X.offsets, np.int64), X.alphabet.mask
    rest = values, wanted(length, len(values)), flat, starts, out
    if not by_groups(X.alphabet.size, length):
        letters.own_letters(*given, X.alphabet.size, length, turn, *rest)
        return out
    if len(turn):  # letters that a smaller alphabet does not have occur nowhere
        turn = np.concatenate([turn, np.arange(len(turn), groups.LETTERS)])
    groups.own_groups(*given, length, turn, *rest)
    return out


def pair_counts(X: Sequences, Y: Sequences, length: int, table: Sequence[Any], weights: Any, same: bool) -> Array:
    """Return the sum over all pairs of l-mers of each row of X and each row of Y, (rows of X, rows of Y).

    Parameters
    ----------
    X, Y : rows over an alphabet that suits
    length, table : as for `own_counts`
    weights : of the l-mers of X and of Y by row and place, two lists, both empty where all count alike
    same : whether Y is X, so that half of the pairs suffice
    """
    out = np.zeros((len(X), len(Y)))
    (mine, starts), (others, other_starts) = (_flat(side) for side in weights)
    values = np.array([float(value) for value in table])
    left = np.ascontiguousarray(X.codes), np.asarray(X.offsets, np.int64), mine, starts
    right = np.ascontiguousarray(Y.codes), np.asarray(Y.offsets, np.int64), others, other_starts
    mask, size, rest = X.alphabet.mask, X.alphabet.size, (values, wanted(length, len(values)), same, out)
    if by_groups(size, length):
        groups.pair_groups(*left, *right, mask, length, *rest)
    else:
        letters.pair_letters(*left, *right, mask, size, length, *rest)
    return out


def _flat(weights: list[Array]) -> tuple[Array, Array]:
    """Return lists of weights behind one another, and where each begins."""
    if not weights:
        return np.empty(0), np.zeros(1, np.int64)
    ends = np.cumsum([len(each) for each in weights])
    return np.concatenate(weights).astype(np.float64), np.concatenate([[0], ends[:-1]]).astype(np.int64)
