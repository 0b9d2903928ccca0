"""Which kernels are used, and how they are scaled, where the user names none: the one place that decides, and says why.

`usual_kernels` and `usual_scaling` serve the command line, which knows the rows before it builds a model;
`kernel_for` and `kernels_for` serve estimators whose `kernel` or `kernels` is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kernelweave.data.gram import GramRows
from kernelweave.data.kinds import alphabet_of, blocks_of, kind_of
from kernelweave.kernels import RBF, Kernel, Linear, NGram, Precomputed, Spectrum, Sum, WeightedDegree
from kernelweave.kernels.abilities import Positional

Array = np.ndarray
WIDTH_FACTORS = (0.1, 1.0, 10.0)
"""Many kernels on a table are a linear one and Gaussians of these multiples of the data's own scale."""
LONGEST_KMER = 20
"""Degree of the weighted-degree kernel: longer k-mers are rare and add little."""
SMALL_ALPHABET = 6
"""Letters up to which 6-mers are common enough; larger alphabets get 3-mers."""


class Usual(NamedTuple):
    """Kernels, and why these."""

    kernels: list[Kernel]
    why: str


def kernel_for(X: Any) -> Kernel:
    """Return the kernel of an estimator whose `kernel` is None: one that suits the rows."""
    return usual_kernels(X, many=False).kernels[0]


def kernels_for(X: Any, weight: Array | None) -> list[Kernel]:
    """Return the kernels of an estimator whose `kernels` is None: tables get several widths, other rows one kernel."""
    if not kind_of(X).tabular:
        return usual_kernels(X, many=True).kernels
    gamma = RBF().fitted(X, weight).gamma  # type: ignore[attr-defined]
    return [Linear(), *(RBF(gamma=factor * gamma) for factor in WIDTH_FACTORS)]


def usual_kernels(X: Any, many: bool, cheap_first: bool = False) -> Usual:
    """Return what suits rows of this kind.

    Parameters
    ----------
    X : rows of any kind
    many : whether several kernels get a weight each; else several views are added up
    cheap_first : whether cheap kernels should stand before expensive ones

    Examples
    --------
    >>> import kernelweave as kw
    >>> usual_kernels(kw.Sequences.from_strings(["ACGT", "ACG"]), many=False)
    Usual(kernels=[Spectrum(6)], why='because sequences have different lengths')
    """
    if alphabet_of(X) is not None:
        return _for_strings(X)
    views = blocks_of(X)
    if views is not None:
        kernels = [kernel.on(name) for name, block in views.items() for kernel in _for_block(block, cheap_first)]
        return on_views(kernels, "the usual ones for their kinds of rows", many)
    if isinstance(X, GramRows):
        return Usual([Precomputed()], "because X is a Gram matrix")
    if not kind_of(X).tabular:
        raise ValueError(f"There is no usual kernel for {kind_of(X).noun}; name one.")
    if cheap_first:
        return Usual([Linear(), RBF()], "the usual ones for tables, the cheap one first")
    return Usual([RBF()], "the usual one for tables; width from the variance of the columns")


def _for_block(block: Any, cheap_first: bool) -> list[Kernel]:
    return usual_kernels(block, many=True, cheap_first=cheap_first).kernels


def on_views(kernels: Sequence[Kernel], why: str, many: bool) -> Usual:
    """Return kernels on views as they are, or added up for a model with one kernel."""
    if many:
        return Usual(list(kernels), f"{why}, on each view")
    return Usual([Sum(list(kernels))], f"{why}, added over the views")


def _for_strings(X: Any) -> Usual:
    if kind_of(X).uncertain:
        return Usual([NGram(2, cumulative=True)], "the usual one for lattices")
    letters = X.alphabet.kind == "characters"
    if X.is_fixed_length and letters and X.shape[1]:
        kernel = WeightedDegree(min(LONGEST_KMER, X.shape[1]))
        return Usual([kernel], "because all sequences have the same length")
    k = {"words": 1, "bytes": 4}.get(X.alphabet.kind, 6 if X.alphabet.size <= SMALL_ALPHABET else 3)
    return Usual([Spectrum(k)], "because sequences have different lengths" if letters else "the usual one for text")


def usual_scaling(kernels: Sequence[Kernel], X: Any, many: bool) -> str | None:
    """Return how kernels should be scaled on these rows, as `normalize` spells it.

    K-mers with a place give every row of letters the same length: one factor for all keeps them on tries.
    """
    if all(isinstance(kernel, Positional) for kernel in kernels):
        return "trace"
    if alphabet_of(X) is not None:
        return "cosine"
    return "trace" if many else None
