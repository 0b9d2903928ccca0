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

import reprlib
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kernelweave._numba.csr import CSR
from kernelweave.data.strings.alphabet import Alphabet
from kernelweave.kernels.abilities import Features, check_columns
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_count
from kernelweave.kernels.positional.code_rows import CodeRows, check_comparable, code_rows, fixed_length
from kernelweave.kernels.positional.features import column_starts, positional_features, positional_names
from kernelweave.kernels.positional.pairs import block_values, degree_values, own_values
from kernelweave.kernels.positional.weights import Plan, make_plan
from kernelweave.kernels.strings.columns import as_alphabet

if TYPE_CHECKING:
    from kernelweave.kernels.positional.windows import Windows


class WeightedDegree(Kernel, Features):
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
    >>> from kernelweave.data.strings.sequences import Sequences
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

    def reweighted(self, weights: Array) -> WeightedDegree:
        """Return the kernel with these weights of the lengths, the same at every position.

        Examples
        --------
        >>> WeightedDegree(20, only=3).reweighted([1.0, 0.5])
        WeightedDegree(2, weights=[1.0, 0.5])
        """
        return WeightedDegree(len(weights), self.shift, [float(weight) for weight in weights])

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
        rows = code_rows(self, X)
        if len(rows):
            self.place_weights(rows.codes.shape[1])
        return rows

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return the weighted numbers of shared k-mers."""
        check_comparable(self, A, B)
        if len(A) == 0 or len(B) == 0:
            return np.zeros((len(A), len(B)), dtype)
        return block_values(A.planes, B.planes, self._plan(A.codes.shape[1]), A is B, dtype)

    def diagonal(self, A: Any) -> Array:
        """Return the kernel of each row with itself."""
        out = np.zeros(len(A))
        if len(A) == 0:
            return out
        plan = self._plan(A.codes.shape[1])
        if int(self.shift) == 0 and int(A.codes.max(initial=0)) < A.alphabet.size:
            # Without masked letters every row matches itself everywhere.
            out[:] = own_values(A.planes[:1], plan)
        else:
            out[:] = own_values(A.planes, plan)
        return out

    def pair_degrees(self, A: Any, B: Any) -> Array:
        """Return what the rows of two prepared inputs share for each length of k-mers, (n, m, degree).

        Shifts, position weights and positions are counted in; the weights of the lengths are not, and `only` is not
        looked at: ``pair_degrees(A, B) @ degree_weights()`` is the block.

        Examples
        --------
        >>> from kernelweave.data.strings.sequences import Sequences
        >>> kernel = WeightedDegree(3)
        >>> A = kernel.prepare(Sequences.from_strings(["ACGT", "ACGA"], alphabet="dna"))
        >>> kernel.pair_degrees(A[:1], A)
        array([[[4., 3., 2.],
                [3., 2., 1.]]])
        """
        check_comparable(self, A, B)
        if len(A) == 0 or len(B) == 0:
            return np.zeros((len(A), len(B), int(self.degree)))
        length = A.codes.shape[1]
        places = self.place_weights(length)
        plan = make_plan(np.ones(int(self.degree)), places, self._window(length), self.shift_weights())
        return degree_values(A.planes, B.planes, plan)

    def rows(self, X: Any, dtype: type = np.float64) -> CSR:
        """Return one feature for each position and k-mer; inner products of rows are the kernel.

        What a column counts is fixed by degree and alphabet.  There are as many columns as conceivable k-mers, so
        operations whose work grows with their number (a transposed product) want only those in use: ``numpy.unique``.

        Parameters
        ----------
        X : n sequences of one length
        dtype : of the values

        Examples
        --------
        >>> from kernelweave.data.strings.sequences import Sequences
        >>> kernel = WeightedDegree(2, weights=[1, 4])
        >>> F = kernel.features(Sequences.from_strings(["CA"], alphabet="dna"))
        >>> dict(zip(kernel.names(F.indices), F.data.tolist()))
        {('C', 0): 1.0, ('CA', 0): 2.0, ('A', 1): 1.0}
        """
        A = self.prepare(X)
        length = A.codes.shape[1]
        check_columns(self, self._n_columns(length, A.alphabet))
        return positional_features(A.codes, A.alphabet, self.cells(length), self.shift_weights()).astype(dtype)

    def n_features(self, X: Any) -> int:
        """Return the number of conceivable k-mers at all positions."""
        return self._n_columns(fixed_length(self, X), X.alphabet)

    def _n_columns(self, length: int, alphabet: Alphabet) -> int:
        return length * column_starts(alphabet, int(self.degree))[-1]

    def spell(self, codes: Array, alphabet: str | Alphabet) -> list[tuple[str, int]]:
        """Return the k-mer and the position that each feature column counts.

        With shifts a column belongs to the k-mers that start at its position and up to `shift` letters behind it.
        """
        self.degree_weights()
        return positional_names(codes, as_alphabet(alphabet), int(self.degree))

    def per_degree(self) -> list[Self]:
        """Return the kernel split by the length of the k-mers; the parts add up to it.

        Lengths of weight zero are left out.

        Examples
        --------
        >>> WeightedDegree(2, shift=1).per_degree()
        [WeightedDegree(2, shift=1, only=1), WeightedDegree(2, shift=1, only=2)]
        """
        return [self._part(only=int(k) + 1) for k in np.flatnonzero(self.degree_weights())]

    def per_position(self, window: int = 1, length: int | None = None, by_degree: bool = False) -> list[Self] | Windows:
        """Return the kernel split by where the k-mers start.

        The parts add up to the whole, except with shifts: two equal k-mers in different windows belong to no part.

        Parameters
        ----------
        window : number of positions in a window; the last window may be shorter
        length : number of letters in a row; None to wait until an estimator sees rows
        by_degree : split each window by the length of the k-mers, too

        Examples
        --------
        >>> WeightedDegree(20).per_position(window=50, length=141)
        [WeightedDegree(20, positions=(0, 50)), WeightedDegree(20, positions=(50, 100)),
         WeightedDegree(20, positions=(100, 141))]
        """
        check_count(self, "window", window)
        if length is None:
            from kernelweave.kernels.positional.windows import Windows

            return Windows(self, window, by_degree)
        start, stop = self._window(length)
        parts = [self._part(positions=(at, min(at + window, stop))) for at in range(start, stop, window)]
        return [part for whole in parts for part in whole.per_degree()] if by_degree else parts

    def _part(self, **changed: Any) -> Self:
        return type(self)(**{**self.get_params(deep=False), **changed})

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
            raise ValueError(f"positions={self.positions!r} of WeightedDegree leave the {length} letters of a row.")
        return int(given[0]), int(given[1])

    def _plan(self, length: int) -> Plan:
        """Return what the loops need to know for rows of this length; lengths behind the last that counts are cut."""
        weights = self.degree_weights()
        used = int(np.flatnonzero(weights)[-1]) + 1 if weights.any() else 1
        return make_plan(weights[:used], self.place_weights(length), self._window(length), self.shift_weights())


def _non_negative(name: str, values: Any, size: int, expected: str) -> Array:
    weights = np.asarray(values, dtype=np.float64)
    if weights.shape != (size,) or not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(f"{name}={reprlib.repr(values)} of WeightedDegree must be {expected}.")
    return weights
