"""The normal vector of a positional string kernel as sparse weights: clear, add, look up, batch look-up.

The kernel counts the k-mers that two rows share at (nearly) the same place,

    K(x, y) = sum_k sum_{|i - j| <= S} m_|i-j| sqrt(c_ik c_jk) [x_i .. x_{i+k-1} = y_j .. y_{j+k-1}],

so the product of ``w = sum_a steps_a Phi(x_a)`` with a row y is one weight per k-mer of y, read where it stands:

    <w, Phi(y)> = sum_j sum_k w_j(y_j .. y_{j+k-1}),
    w_j(u) = sum_a steps_a sum_{|i - j| <= S} m_|i-j| sqrt(c_ik c_jk) [the k-mer of x_a at i is u].

Shifts are paid for when rows are added; a look-up reads its own position only.  The prefix of an added k-mer is
added with it, so a look-up may stop at the first k-mer that is missing.

Legend: i source and j target position, k length, c `cells`, m `shift_weights`, S largest shift; `roots` are sqrt(c),
`reach[j]` is the longest k with ``c_jk > 0``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

import numpy as np

Array = np.ndarray

CODE_BITS = 63
"""Codes of k-mers are signed 64-bit integers, none of them negative."""

_GROWTH = 1.5  # a full array grows to at least this many times its size
WHILE_GROWING = 1.0 + _GROWTH
"""Bytes while an array grows, for each that it must hold: the old one and the new one."""


@runtime_checkable
class SparseWeights(Protocol):
    """A sparse vector over (position, k-mer) that rows are added to and multiplied with.

    Built as ``Store(cells, shift_weights, size, mask)``, empty.
    """

    def clear(self) -> None:
        """Forget everything, keep the memory."""

    def add(self, codes: Array, steps: Array) -> None:
        """Add ``sum_a steps[a] Phi(codes[a])``; codes are (q, length), steps (q,)."""

    def look_up(self, codes: Array) -> float:
        """Return ``<w, Phi(x)>`` of one row, (length,)."""

    def batch(self, codes: Array, out: Array) -> None:
        """Add ``<w, Phi(x_a)>`` of every row of codes (n, length) to `out` (n,).

        Only reads the store, without the interpreter lock: threads may call it on blocks of rows, and the bits of a
        row do not depend on its block.
        """

    @property
    def nbytes(self) -> int:
        """Memory in use."""


class PositionalStore(ABC):
    """What the stores share: the weights of the kernel, checks at the door, the look-up of a single row.

    Parameters
    ----------
    cells : (length, degree) non-negative weight of the k-mer of length k (column k - 1) that starts at position i
    shift_weights : (S + 1,) non-negative weight of a match that is 0..S letters apart
    size : number of letters, coded 0..size-1
    mask : code of a letter that matches nothing
    """

    def __init__(self, cells: Array, shift_weights: Array, size: int, mask: int):
        cells = np.asarray(cells, dtype=np.float64)
        length, degree = cells.shape
        inside = np.minimum(length - np.arange(length), degree)
        last = degree - np.argmax(cells[:, ::-1] > 0, axis=1)
        self.size = int(size)
        self.mask = int(mask)
        self._roots = np.sqrt(cells)
        self._shifts = np.array(shift_weights, dtype=np.float64)
        self._reach = np.where(cells.any(axis=1), np.minimum(last, inside), 0).astype(np.int64)
        self._depth = int(self._reach.max(initial=0))
        refused = self.refuses(cells, self.size)
        if refused is not None:
            raise ValueError(refused)
        self._reserve()
        self.clear()

    def add(self, codes: Array, steps: Array) -> None:
        """Add ``sum_a steps[a] Phi(codes[a])``; codes are (q, length), steps (q,)."""
        codes, steps = self._rows(codes), np.ascontiguousarray(steps, dtype=np.float64)
        if steps.shape != (len(codes),):
            raise ValueError(f"add needs one step for each of its {len(codes)} rows, but steps are {steps.shape}.")
        if steps.any() and self._depth:
            self._add(codes, steps)

    def look_up(self, codes: Array) -> float:
        """Return ``<w, Phi(x)>`` of one row, (length,)."""
        out = np.zeros(1)
        self.batch(np.asarray(codes)[None], out)
        return float(out[0])

    def batch(self, codes: Array, out: Array) -> None:
        """Add ``<w, Phi(x_a)>`` of every row of codes (n, length) to `out` (n,)."""
        codes = self._rows(codes)
        if out.shape != (len(codes),):
            raise ValueError(f"batch adds to one number for each of its {len(codes)} rows, but out is {out.shape}.")
        self._batch(codes, out)

    def _rows(self, codes: Array) -> Array:
        codes = np.ascontiguousarray(codes).view()
        codes.flags.writeable = False  # as those of Sequences are: the loops are compiled for one kind of array
        if codes.ndim != 2 or codes.shape[1] != len(self._reach):
            raise ValueError(
                f"{type(self).__name__} holds weights for rows of {len(self._reach)} letters, "
                f"but was given codes of shape {codes.shape}."
            )
        return codes

    @classmethod
    def code_count(cls, depth: int, size: int) -> int:
        """Return how many codes k-mers of up to so many letters take; 0 where the store needs none."""
        return 0

    @classmethod
    def refuses(cls, cells: Array, size: int) -> str | None:
        """Return why the k-mers of these cells cannot be held, None where they can."""
        depth = deepest(cells)
        if cls.code_count(depth, size) <= 2**CODE_BITS:
            return None
        return (
            f"K-mers of {depth} letters of an alphabet of {size} have no code of {CODE_BITS} bits, "
            f'which {cls.__name__} needs; use the store "trie", which takes any degree and alphabet.'
        )

    @classmethod
    @abstractmethod
    def most_bytes(cls, rows: int, cells: Array, shifts: int, size: int, reserved: bool = False) -> float:
        """Return the most bytes that so many rows can take, while they are added, whatever their letters.

        Parameters
        ----------
        cells : (length, degree) weights of the kernel
        shifts : number of its shift weights, S + 1
        size : letters of the alphabet
        reserved : whether room for them was made before, so that nothing grows
        """

    @abstractmethod
    def reserve(self, rows: int) -> None:
        """Make room for so many rows, so that arrays need not grow while they are added."""

    @abstractmethod
    def _reserve(self) -> None:
        """Allocate the arrays of an empty store."""

    @abstractmethod
    def clear(self) -> None:
        """Forget everything, keep the memory."""

    @abstractmethod
    def _add(self, codes: Array, steps: Array) -> None:
        """Add rows that are checked."""

    @abstractmethod
    def _batch(self, codes: Array, out: Array) -> None:
        """Look up rows that are checked."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory in use."""


def deepest(cells: Array) -> int:
    """Return the length of the longest k-mer with a weight that fits its row."""
    length, degree = cells.shape
    used = (cells > 0) & (np.arange(length)[:, None] + np.arange(degree) < length)
    return int(np.flatnonzero(used.any(axis=0)).max(initial=-1)) + 1


def most_kmers(rows: int, cells: Array, shifts: int, size: int) -> Array:
    """Return the most different k-mers that so many rows can have at each position, (length,).

    Of k letters there are no more than words of k letters, and no more than rows that come by, shifted ones included.
    """
    length, degree = cells.shape
    rows_by = rows * (2 * shifts - 1)
    each = np.array([min(float(rows_by), float(size) ** k) for k in range(1, degree + 1)])
    inside = np.minimum(length - np.arange(length), degree)
    return np.where(cells.any(axis=1), np.concatenate([[0.0], np.cumsum(each)])[inside], 0.0)


def grown(array: Array, least: int) -> Array:
    """Return the array with room for `least` first entries or more; what is behind the old ones is not set."""
    larger = np.empty((max(least, int(_GROWTH * len(array))), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
