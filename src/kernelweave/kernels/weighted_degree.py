"""Weighted-degree kernel: k-mers that two sequences of one length share at the same place, or nearly so.

    K(x, y) = sum_{k=1..d} sum_{|i-j| <= S} m_|i-j| sqrt(c_ik c_jk) [x_i .. x_{i+k-1} = y_j .. y_{j+k-1}]

    c_ik = beta_k p_i,    beta_k = 2 (d - k + 1) / (d (d + 1)),    p_i = 1,    m_0 = 1,    m_s = 1 / (2 (s + 1))

beta are `weights`, p `position_weights` and S is `shift`: with S = 0 only k-mers at the same position count, otherwise
those up to S letters apart count as well, less the farther apart they are.

With shifts this is a kernel, too.  For one k-mer u, let v_i(x) be sqrt(c_ik) where u starts at i and 0 elsewhere; the
sum above is sum_u v_u(x)' T v_u(y) with the banded Toeplitz matrix T_ij = m_|i-j|.  Its symbol is

    m_0 + 2 sum_{s=1..S} m_s cos(s t) = 1/2 + (1/2 + sum_{s=1..S} cos(s t) / (s + 1)) >= 1/2,

because the bracket is never negative, whatever S (Rogosinski and Szego), so no eigenvalue of T is below 1/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from kernelweave._numba.bits import WORD, bit_planes, bit_window
from kernelweave.data.alphabet import Alphabet
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_alphabets, check_count, check_sequences
from kernelweave.kernels.weighted_degree_pairs import Plan, own_values, pair_values


@dataclass(frozen=True)
class CodeRows:
    """Sequences of one length.

    Attributes
    ----------
    codes : (n, length) letters
    planes : (n, words, planes) uint64, the same letters as bits
    alphabet : what they are spelled with
    """

    codes: Array
    planes: Array
    alphabet: Alphabet

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> CodeRows:
        return CodeRows(self.codes[rows], self.planes[rows], self.alphabet)


class WeightedDegree(Kernel):
    """Shared k-mers at the same position, of all lengths up to `degree`; a masked letter matches nothing.

    Parameters
    ----------
    degree : length of the longest k-mer that counts
    shift : how many letters apart two equal k-mers may stand; s letters apart they count 1 / (2 (s + 1)) times
    weights : (degree,) non-negative weight of each length 1..degree; None for 2 (d - k + 1) / (d (d + 1))
    position_weights : (length,) non-negative factor of the k-mers that start at each position; None for 1
    only : keep the k-mers of this length alone, with the weight they have in the whole kernel; None for all
    positions : (start, stop), keep only k-mers that start in start..stop-1, counted from 0; None for all

    Examples
    --------
    >>> from kernelweave.data.sequences import Sequences
    >>> X = Sequences.from_strings(["ACGT", "ACGA"], alphabet="dna")
    >>> WeightedDegree(2, weights=[1, 1]).gram(X)
    array([[7., 5.],
           [5., 7.]])
    >>> WeightedDegree(2, weights=[1, 1], only=2, positions=(0, 1)).gram(X)
    array([[1., 1.],
           [1., 1.]])
    >>> WeightedDegree(1, shift=3).gram(X)
    array([[4.   , 3.125],
           [3.125, 4.25 ]])
    """

    def __init__(
        self,
        degree: int,
        shift: int = 0,
        weights: Sequence[float] | None = None,
        position_weights: Sequence[float] | None = None,
        only: int | None = None,
        positions: tuple[int, int] | None = None,
    ):
        self.degree = degree
        self.shift = shift
        self.weights = weights
        self.position_weights = position_weights
        self.only = only
        self.positions = positions

    def degree_weights(self) -> Array:
        """Return the weight of each k-mer length, (degree,); zero for lengths that `only` leaves out.

        Examples
        --------
        >>> WeightedDegree(3).degree_weights()
        array([0.5       , 0.33333333, 0.16666667])
        """
        check_count(self, "degree", self.degree)
        d = int(self.degree)
        weights = 2.0 * np.arange(d, 0, -1) / (d * (d + 1))
        if self.weights is not None:
            weights = _non_negative("weights", self.weights, d, f"{d} non-negative numbers, one for each length")
        if self.only is None:
            return weights
        check_count(self, "only", self.only)
        if self.only > d:
            raise ValueError(f"only={self.only!r} of WeightedDegree must be a length up to the degree, {d}.")
        return np.where(np.arange(1, d + 1) == self.only, weights, 0.0)

    def place_weights(self, length: int) -> Array:
        """Return the factor of the k-mers that start at each position of rows of this length, (length,).

        Examples
        --------
        >>> WeightedDegree(3, positions=(1, 3)).place_weights(4)
        array([0., 1., 1., 0.])
        """
        places = np.ones(length)
        if self.position_weights is not None:
            expected = f"{length} non-negative numbers, one for each letter of a row"
            places = _non_negative("position_weights", self.position_weights, length, expected)
        start, stop = self._window(length)
        return np.where((np.arange(length) >= start) & (np.arange(length) < stop), places, 0.0)

    def cells(self, length: int) -> Array:
        """Return the weight of a k-mer of length k (column k - 1) that starts at each position, (length, degree).

        Examples
        --------
        >>> WeightedDegree(2, weights=[1, 5]).cells(3)
        array([[1., 5.],
               [1., 5.],
               [1., 0.]])
        """
        inside = np.arange(length)[:, None] + np.arange(1, int(self.degree) + 1) <= length
        return np.where(inside, np.outer(self.place_weights(length), self.degree_weights()), 0.0)

    def shift_weights(self) -> Array:
        """Return what equal k-mers 0, 1, .., shift letters apart count, (shift + 1,).

        Examples
        --------
        >>> WeightedDegree(2, shift=2).shift_weights()
        array([1.        , 0.25      , 0.16666667])
        """
        if not isinstance(self.shift, Integral) or isinstance(self.shift, bool) or self.shift < 0:
            raise ValueError(f"shift={self.shift!r} of WeightedDegree must be a non-negative integer.")
        weights = 0.5 / np.arange(1.0, int(self.shift) + 2)
        weights[0] = 1.0
        return weights

    def prepare(self, X: Any) -> CodeRows:
        """Return the letters as a matrix and as bit planes."""
        self.degree_weights()
        self.shift_weights()
        check_sequences(self, X)
        if len(X) == 0:
            codes = np.empty((0, 0), X.codes.dtype)
        elif X.is_fixed_length:
            codes = np.ascontiguousarray(X.matrix)
            self.place_weights(codes.shape[1])
        else:
            lengths = np.diff(X.offsets)
            row = int(np.argmax(lengths != lengths[0]))
            raise ValueError(
                f"WeightedDegree compares sequences of one length, but row 0 has {lengths[0]} letters and row {row} "
                f"has {lengths[row]}."
            )
        return CodeRows(codes, bit_planes(codes, X.alphabet.size, X.alphabet.mask), X.alphabet)

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the weighted numbers of shared k-mers."""
        check_alphabets(A.alphabet, B.alphabet)
        out: Array = np.zeros((len(A), len(B)), dtype)
        if out.size == 0:
            return out
        if A.codes.shape[1] != B.codes.shape[1]:
            raise ValueError(
                f"WeightedDegree compares sequences of one length, but one side has {A.codes.shape[1]} letters a row "
                f"and the other {B.codes.shape[1]}."
            )
        planes = np.ascontiguousarray(A.planes)
        others = planes if A is B else np.ascontiguousarray(B.planes)
        pair_values(planes, others, self._plan(A.codes.shape[1]), A is B, out)
        return out

    def diagonal(self, A: Any) -> Array:
        """Return the kernel of each row with itself."""
        out = np.zeros(len(A))
        if len(A):
            own_values(np.ascontiguousarray(A.planes), self._plan(A.codes.shape[1]), out)
        return out

    def _window(self, length: int) -> tuple[int, int]:
        """Return where k-mers may start."""
        if self.positions is None:
            return 0, length
        given = tuple(self.positions) if isinstance(self.positions, Sequence) else ()
        if len(given) != 2 or not all(isinstance(part, Integral) for part in given) or not 0 <= given[0] < given[1]:
            raise ValueError(
                f"positions={self.positions!r} of WeightedDegree must be (start, stop) with 0 <= start < stop."
            )
        if given[1] > length:
            raise ValueError(
                f"positions={self.positions!r} of WeightedDegree leave the rows, which have {length} letters."
            )
        return int(given[0]), int(given[1])

    def _plan(self, length: int) -> Plan:
        """Return what the loops need to know for rows of this length."""
        weights, places, shifts = self.degree_weights(), self.place_weights(length), self.shift_weights()
        weights = weights[: max(1, int(np.flatnonzero(weights)[-1:].sum()) + 1)]
        start, stop = self._window(length)
        reach, starts, factors = [], [], []
        for offset in diagonals(len(shifts)):
            begin, end = max(start, start - offset), min(stop, stop - offset)
            moved = np.zeros(length)
            moved[max(0, begin) : max(0, end)] = places[max(0, begin + offset) : max(0, end + offset)]
            factors.append(np.sqrt(places * moved))
            starts.append(bit_window(length, begin, end))
            reach.append(bit_window(length, begin, min(length, end + len(weights) - 1) if end > begin else 0))
        inside = places[start:stop]
        even = length == 0 or bool(np.all(inside == inside[0]))
        return Plan(
            reach=np.array(reach),
            starts=np.array(starts),
            factors=np.array(factors),
            weights=weights * inside[0] if even and length else weights,
            gains=np.concatenate([[0.0], np.cumsum(weights)]),
            shifts=shifts,
            walked=not even or len(weights) > WORD,
            low=start // WORD,
            high=min(max(1, -(-length // WORD)), (stop + len(weights) - 2) // WORD + 1),
        )


def diagonals(shifts: int) -> list[int]:
    """Return the diagonals in the order of the loops: 0, 1, -1, 2, -2, .."""
    return [0, *(sign * s for s in range(1, shifts) for sign in (1, -1))]


def _non_negative(name: str, values: Any, size: int, expected: str) -> Array:
    weights = np.asarray(values, dtype=np.float64)
    if weights.shape != (size,) or not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(f"{name}={values!r} of WeightedDegree must be {expected}.")
    return weights
