"""Seqlets as matrices of contributions, and how well they lie over one another: by shift and strand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelweave.kernels.base import Array

REACH = 3
"""A seqlet is shifted by its letters divided by this at most."""


@dataclass(frozen=True)
class Seqlets:
    """Windows of rows that add much.

    Attributes
    ----------
    places : (s, 2) row, and first letter among those of all rows (windows may reach beyond their row)
    matrices : (s, w, A) what each letter adds, at the column of the letter
    letters : (s, w) codes, -1 beyond the row
    partners : (A,) the complement of each letter, or None
    """

    places: Array
    matrices: Array
    letters: Array
    partners: Array | None

    @classmethod
    def empty(cls, width: int, alphabet: Any) -> Self:
        """Return no seqlets."""
        shape = 0, width, alphabet.size
        return cls(np.empty((0, 2), np.int64), np.empty(shape), np.empty((0, width), np.int64), _partners(alphabet))

    @classmethod
    def cut(cls, places: Array, width: int, codes: Array, offsets: Array, values: Array, alphabet: Any) -> Self:
        """Return the windows that begin at places, of letters of all rows behind one another and what they add."""
        at = places[:, 1][:, None] + np.arange(width)
        row = places[:, 0][:, None]
        inside = (at >= offsets[row]) & (at < offsets[row + 1])
        safe = np.clip(at, 0, max(len(codes) - 1, 0))
        letters = np.where(inside & (codes[safe] < alphabet.size), codes[safe].astype(np.int64), -1)
        matrices = np.where(letters[..., None] == np.arange(alphabet.size), values[safe][..., None], 0.0)
        return cls(places, matrices, letters, _partners(alphabet))

    def aligned_letters(self, members: Array) -> Array:
        """Return the letters of members (number, shift, strand), shifted and turned, -1 where there are none."""
        some = self.letters[members[:, 0]]
        turn = np.flatnonzero(members[:, 2] < 0)
        if len(turn) and self.partners is not None:
            flipped = some[turn][:, ::-1]
            some[turn] = np.where(flipped >= 0, self.partners[np.maximum(flipped, 0)], -1)
        return shifted(some, members[:, 1], fill=-1)


def _partners(alphabet: Any) -> Array | None:
    if alphabet.complement is None:
        return None
    return np.asarray(alphabet.complement_codes[: alphabet.size], np.int64)


def turned_matrices(matrices: Array, partners: Array | None) -> Array:
    """Return matrices (.., w, A) of the other strand."""
    flipped = matrices[..., ::-1, :]
    return flipped if partners is None else flipped[..., partners]


def shifted(some: Array, shifts: Array, fill: float = 0.0) -> Array:
    """Return entries (s, w, ..) moved to the right by so many places each.

    Examples
    --------
    >>> shifted(np.array([[1, 2, 3], [1, 2, 3]]), np.array([1, -1])).tolist()
    [[0, 1, 2], [2, 3, 0]]
    """
    width = some.shape[1]
    at = np.arange(width)[None] - np.asarray(shifts)[:, None]
    inside = (at >= 0) & (at < width)
    picked = np.take_along_axis(some, np.clip(at, 0, width - 1).reshape(at.shape + (1,) * (some.ndim - 2)), axis=1)
    return np.where(inside.reshape(at.shape + (1,) * (some.ndim - 2)), picked, np.asarray(fill, some.dtype))


def best_alignment(some: Array, centre: Array, both: bool, partners: Array | None = None) -> tuple[Array, Array, Array]:
    """Return the cosine of matrices and one that they are moved over, the shift, and the strand (1 or -1), each (s,).

    Parameters
    ----------
    some : (s, w, A)
    centre : (w, A)
    both : try the other strand as well; dna and rna have the complement of letter a at A - 1 - a
    """
    width, reach = centre.shape[0], centre.shape[0] // REACH
    if both and partners is None:
        partners = np.arange(centre.shape[1])[::-1]
    strands = (1, -1) if both else (1,)
    size = np.linalg.norm(some.reshape(len(some), -1), axis=1) * np.linalg.norm(centre)
    scores = np.full((len(strands), 2 * reach + 1, len(some)), -np.inf)
    for line, strand in enumerate(strands):
        turned = some if strand > 0 else turned_matrices(some, partners)
        for number, shift in enumerate(range(-reach, reach + 1)):
            a, b = max(0, -shift), width - max(0, shift)
            scores[line, number] = np.einsum("swa,wa->s", turned[:, a:b], centre[a + shift : b + shift])
    flat = scores.reshape(-1, len(some))
    best = flat.argmax(axis=0)
    close = np.divide(flat[best, np.arange(len(some))], size, out=np.zeros(len(some)), where=size > 0)
    return close, best % (2 * reach + 1) - reach, np.array(strands)[best // (2 * reach + 1)]
