"""Random Fourier features of kernels of the difference of two rows (Rahimi and Recht, 2007).

A stationary kernel is a mean of waves over a distribution of frequencies w,

    K(x, y) = E cos(w'(x - y)),         RBF, exp(-gamma |x - y|^2):        w_j normal, variance 2 gamma
                                        Laplacian, exp(-gamma |x - y|_1):  w_j Cauchy, scale gamma

and m drawn frequencies give 2m features, (cos w_1'x .. cos w_m'x, sin w_1'x .. sin w_m'x) / sqrt(m), whose inner
product is the mean of the m waves.  Its error falls as 1 / sqrt(m), and its diagonal is exact: 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernelweave._numba import jit
from kernelweave.data.blocks import sample_rows
from kernelweave.data.kinds import n_rows, take
from kernelweave.data.random import RandomState, generator
from kernelweave.data.tables import is_hollow
from kernelweave.kernels.abilities import Stationary
from kernelweave.kernels.approximate.embedding import Approximation, Embedded, counted_rows
from kernelweave.kernels.base import Array, Kernel
from kernelweave.kernels.checks import check_count
from kernelweave.kernels.parts import by_rows, sliced
from kernelweave.kernels.vector.table import as_table

ERROR_ROWS = 512
"""Training rows, evenly spread, whose pairs show the error."""
TERMS = 11
"""Powers of half a turn in each of the sums for sine and cosine: the first one left out is below 1e-16."""
SINE = tuple((-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(TERMS))
COSINE = tuple((-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(TERMS))


class Fourier(Approximation):
    """Random Fourier features of a Gaussian or Laplacian kernel.

    Parameters
    ----------
    kernel : `RBF` or `Laplacian`
    n_components : even number of features, a cosine and a sine for each frequency
    random_state : seed of the frequencies

    Examples
    --------
    >>> from kernelweave.kernels.vector.kernels import RBF
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    >>> kernel = Fourier(RBF(width=4.0), n_components=2000).fitted(X)
    >>> kernel.features(X).shape, kernel.approximation_error_ < 0.05
    ((3, 2000), True)
    >>> np.abs(kernel.gram(X) - RBF(width=4.0).gram(X)).max() < 0.05
    np.True_
    """

    def __init__(self, kernel: Kernel, n_components: int = 100, random_state: RandomState = 0):
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def check(self) -> None:
        """Raise unless there is an even number of features of a kernel of waves."""
        check_count(self, "n_components", self.n_components)
        if self.n_components % 2:
            raise ValueError(f"n_components={self.n_components} of Fourier must be even: features come in pairs.")

    def embedded(self, kernel: Kernel, X: Any, weight: Array | None) -> Waves:
        """Return features with frequencies drawn for the columns of X."""
        if not isinstance(kernel, Stationary):
            raise TypeError(
                f"Fourier features are known for RBF and Laplacian kernels, but got {kernel!r}; use "
                "IncompleteCholesky or Nystrom."
            )
        X = sliced(X)
        if is_hollow(X):
            raise ValueError(
                f"{self!r} draws frequencies for every column, and nearly all of the {X.shape[1]} columns are empty; "
                "use Nystrom."
            )
        rows = counted_rows(n_rows(X), weight)
        rows = rows[sample_rows(len(rows), ERROR_ROWS)]
        sample = as_table(take(X, rows))
        drawn = kernel.frequencies(sample.shape[1], self.n_components // 2, generator(self.random_state))
        turns = drawn / (2.0 * math.pi)
        return Waves(kernel, turns, _error(kernel, Waves(kernel, turns, 0.0), sample))


class Waves(Embedded):
    """Features with drawn frequencies.

    Parameters
    ----------
    kernel : the kernel they stand for
    turns : (columns of the table, frequencies), whole turns for a step of 1 in the column
    error : root of the mean squared difference to the kernel over pairs of training rows
    """

    def __init__(self, kernel: Kernel, turns: Array, error: float):
        if turns.ndim != 2 or not turns.shape[1]:
            raise ValueError("Waves need a table of at least one frequency.")
        self.kernel, self.turns, self.error = kernel, turns, error

    @property
    def rank_(self) -> int:
        """How many features there are."""
        return 2 * int(self.turns.shape[1])

    def rows(self, X: Any, dtype: type = np.float64) -> Array:
        """Return the waves at the rows of X, (n, rank_)."""

        def waves(part: Any) -> Array:
            table = as_table(part)
            if table.shape[1] != len(self.turns):
                raise ValueError(
                    f"Rows of different width cannot be compared: one side has {table.shape[1]} columns, the other "
                    f"{len(self.turns)}."
                )
            out: Array = np.empty((table.shape[0], self.rank_), dtype)
            _waves(table @ self.turns, math.sqrt(2.0 / self.rank_), out)
            return out

        return by_rows(X, waves, dtype)


def _error(kernel: Kernel, waves: Waves, sample: Any) -> float:
    """Return the root mean square of what the features miss, over pairs of different rows of a sample."""
    difference = kernel.gram(sample)
    difference -= waves.gram(sample)
    above = difference[np.triu_indices(len(difference), 1)]
    return float(np.sqrt(np.mean(above**2))) if len(above) else 0.0


@jit
def _waves(turns, scale, out):  # type: ignore[no-untyped-def]
    # The library's cosine takes one number at a time.  Counted in turns, an angle is reduced without rounding to a
    # quarter turn either side of a multiple of half a turn, where two short sums do for several angles at once.
    m = turns.shape[1]
    for i in range(turns.shape[0]):
        row, cosines, sines = turns[i], out[i, :m], out[i, m:]
        for j in range(m):
            half = 2.0 * row[j]
            whole = np.rint(half)
            f = half - whole
            z = f * f
            sine, cosine = SINE[TERMS - 1], COSINE[TERMS - 1]
            for k in range(TERMS - 2, -1, -1):
                sine = sine * z + SINE[k]
                cosine = cosine * z + COSINE[k]
            sign = scale * (1.0 - 2.0 * abs(whole - 2.0 * np.rint(0.5 * whole)))
            cosines[j] = sign * cosine
            sines[j] = sign * sine * f
