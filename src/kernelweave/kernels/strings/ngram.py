"""N-gram kernel: the spectrum kernel by its name in language, on words, tokens or characters and on lattices of them.

    K(x, y) = sum over n-grams u of  count_u(x) count_u(y),       cumulative:  sum_{j=1..n} weight_j K_j(x, y)

On lattices  count_u(X) = sum over strings x of  X(x) count_u(x)  is the expected count.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelweave.kernels.strings.spectrum import Spectrum


class NGram(Spectrum):
    """Shared n-grams of two texts or lattices, counted wherever they stand.

    An n-gram that contains a masked letter is not counted; epsilons of lattices are passed over.

    Parameters
    ----------
    n : length of the n-grams
    cumulative : count n-grams of all lengths from 1 to n
    weights : (n,) non-negative weight of each length in the kernel, for cumulative ones; None for 1
    binary : ask whether an n-gram is there instead of how often; not for lattices

    Examples
    --------
    >>> from kernelweave.data import Lattices, Sequences
    >>> X = Sequences.from_strings(["to be or not to be", "to be"], alphabet="words")
    >>> NGram(2).gram(X)
    array([[7., 2.],
           [2., 1.]])
    >>> Y = Lattices.from_arcs([([(0, 1, "to", 1.0), (1, 2, "be", 0.75), (1, 2, "bee", 0.25)], [2])])
    >>> counts = NGram(2).counts(Y)
    >>> NGram(2).names(counts.codes, Y.alphabet), counts.values
    (['to be', 'to bee'], array([0.75, 0.25]))
    """

    length_name = "n"
    reverse_complement = False

    def __init__(self, n: int, cumulative: bool = False, weights: Sequence[float] | None = None, binary: bool = False):
        self.n = n
        self.cumulative = cumulative
        self.weights = weights
        self.binary = binary
