"""What suits rows of each kind.

`usual_kernels` and `usual_scaling` serve the command line, which knows the rows before it builds a model, and
estimators whose `kernel` or `kernels` is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kernelweave.data.blocks import sample_rows
from kernelweave.data.gram import GramRows
from kernelweave.data.kinds import alphabet_of, blocks_of, kind_of
from kernelweave.estimators.defaults.aligned import best, compared, is_informative
from kernelweave.kernels import (
    RBF,
    GappedKmer,
    Kernel,
    Linear,
    NGram,
    Precomputed,
    Spectrum,
    Sum,
    TfIdf,
    WeightedDegree,
)
from kernelweave.kernels.abilities import Positional
from kernelweave.kernels.tree import all_leaves

Array = np.ndarray
WIDTH_FACTORS = (0.1, 1.0, 10.0)
"""Many kernels on a table are a linear one and Gaussians of these multiples of the data's own scale."""
LONGEST_KMER = 20
"""Degree of the weighted-degree kernel: longer k-mers are rare and add little."""
SMALL_ALPHABET = 6
"""Letters up to which gapped 6-mers are common enough; larger alphabets get gapped 3-mers."""
WINDOWS = {True: (10, 6), False: (5, 3)}
"""Window of gapped k-mers, and how many of its letters count, for small alphabets and for others."""
STAND_IN = (8, 5)
"""Window and letters that stand for longer windows where kernels are compared: as good a guess, five times as quick."""
LONG_ENOUGH = 2
"""Most sequences must be so many times as long as the window, or plain 3-mers are taken."""
SHORT = 3
"""Length of those."""
SEEN = 256
"""Rows whose lengths are looked at."""
NEAR_DEGREE, SHIFT = 8, 4
"""Longest k-mers that may stand a little beside their place, and how many letters beside."""
MANY, FAR = 5000, 0.01
"""Above so many rows k-mers near their place must be better by so much: they train on kernel values, n x n of them."""
PLACED, NEAR = "k-mers at their place", "k-mers near their place"
BOTH, ONE = "k-mers anywhere, on both strands,", "k-mers anywhere"


class Usual(NamedTuple):
    """Kernels, why these, and how to scale them, as `normalize` spells it."""

    kernels: list[Kernel]
    why: str
    scaling: str | None = None


def usual_kernels(X: Any, many: bool, cheap_first: bool = False, values: Array | None = None) -> Usual:
    """Return what suits rows of this kind.

    Parameters
    ----------
    X : rows of any kind
    many : whether several kernels get a weight each; else several views are added up
    cheap_first : whether cheap kernels should stand before expensive ones
    values : (outputs, n) signs of classes, or numbers to predict, by which kernels for sequences are compared on a
        sample; None where there are none

    Examples
    --------
    >>> import kernelweave as kw
    >>> kernels, why, scaling = usual_kernels(kw.Sequences.from_strings(["ACGT" * 6, "ACG" * 9]), many=False)
    >>> kernels, scaling
    ([GappedKmer(10, 6, reverse_complement=True)], 'cosine')
    """
    if alphabet_of(X) is not None:
        return _several(X) if many else _for_strings(X, values)
    views = blocks_of(X)
    if views is not None:
        kernels = [kernel.on(name) for name, block in views.items() for kernel in _for_block(block, many, cheap_first)]
        return on_views(kernels, "the usual ones for their kinds of rows", many)
    if isinstance(X, GramRows):
        return Usual([Precomputed()], "because X is a Gram matrix")
    if not kind_of(X).tabular:
        raise ValueError(f"There is no usual kernel for {kind_of(X).noun}; name one.")
    scaling = "trace" if many else None
    if cheap_first:
        return Usual([Linear(), RBF()], "the usual ones for tables, the cheap one first", scaling)
    return Usual([RBF()], "the usual one for tables; width from the variance of the columns", scaling)


def several_widths(X: Any, weight: Array | None) -> Usual:
    """Return the kernels on a table of an estimator that learns weights: a linear one, and Gaussians around its scale.

    Parameters
    ----------
    X : table
    weight : (n,) sample weights, which count for the scale
    """
    gamma = RBF().fitted(X, weight).gamma  # type: ignore[attr-defined]
    kernels: list[Kernel] = [Linear(), *(RBF(gamma=factor * gamma) for factor in WIDTH_FACTORS)]
    return Usual(kernels, "a linear kernel and Gaussians around the scale of the columns", "trace")


def _for_block(block: Any, many: bool, cheap_first: bool) -> list[Kernel]:
    """Return the kernels of one view, of length one each where they are counts and are added up."""
    found = usual_kernels(block, many=True, cheap_first=cheap_first)
    return found.kernels if many or alphabet_of(block) is None else [_unit(kernel) for kernel in found.kernels]


def on_views(kernels: Sequence[Kernel], why: str, many: bool) -> Usual:
    """Return kernels on views as they are, or added up for a model with one kernel."""
    if many:
        return Usual(list(kernels), f"{why}, on each view", "trace")
    return Usual([Sum(list(kernels))], f"{why}, added over the views")


def _for_strings(X: Any, values: Array | None) -> Usual:
    """Return the kernel for rows of letters or words."""
    kind = X.alphabet.kind
    if kind_of(X).uncertain:
        return _scaled(NGram(2, cumulative=True), X, "the usual one for lattices")
    if kind != "characters":
        kernel: Kernel = TfIdf(NGram(1)) if kind == "words" else Spectrum(4)
        return _scaled(kernel, X, "the usual one for words" if kind == "words" else "the usual one for text")
    found = _anywhere(X)
    if X.is_fixed_length and X.shape[1]:
        length = X.shape[1]
        near = WeightedDegree(min(NEAR_DEGREE, length), shift=min(SHIFT, length - 1))
        found = {PLACED: WeightedDegree(min(LONGEST_KMER, length)), NEAR: near, **found}
    if len(found) > 1:
        return _by_sample(found, X, values)
    return _scaled(next(iter(found.values())), X, "because sequences have different lengths")


def _by_sample(found: dict[str, Kernel], X: Any, values: Array | None) -> Usual:
    """Return the kernel that separates a sample of the rows best, and the numbers that say so."""
    scores = compared({name: (_coarse(kernel), _scaling(kernel)) for name, kernel in found.items()}, X, values)
    if scores is None or values is None:
        return _by_letters(found, X)
    name = best(scores, {NEAR: FAR} if X.shape[0] > MANY else None)
    if len(found) == 2 and PLACED not in found and name == BOTH:  # nobody asks why the usual one was taken
        return _scaled(found[name], X, "because sequences have different lengths")
    other = max((one for one in scores if one != name), key=scores.__getitem__)
    measure = "mean of auROC and auPRC" if bool(np.isin(values, (-1.0, 1.0)).all()) else "correlation"
    numbers = f"{measure} {scores[name]:.3f} against {scores[other]:.3f} with {other.rstrip(',')}"
    how = "best" if scores[name] >= scores[other] else "nearly best"  # the simpler, or the quicker to train
    return _scaled(found[name], X, f"because {name.rstrip(',')} do {how} on a sample ({numbers})")


def _coarse(kernel: Kernel) -> Kernel:
    """Return a kernel that separates rows as this one does, and is cheaper to train with."""
    if not isinstance(kernel, GappedKmer) or kernel.l <= STAND_IN[0]:
        return kernel
    return GappedKmer(*STAND_IN, reverse_complement=kernel.reverse_complement)


def _by_letters(found: dict[str, Kernel], X: Any) -> Usual:
    """Return the kernel that suits the letters, where labels do not tell."""
    if PLACED in found and is_informative(X):
        return _scaled(found[PLACED], X, "because all sequences have one length, and some positions prefer letters")
    name = next(one for one in found if one not in (PLACED, NEAR))
    if PLACED in found:
        return _scaled(found[name], X, "because no position prefers letters, though all sequences have one length")
    return _scaled(found[name], X, "because sequences have different lengths")


def _anywhere(X: Any) -> dict[str, Kernel]:
    """Return the kernels that count k-mers wherever they stand, by name; both strands where there are two."""
    l, k = WINDOWS[X.alphabet.size <= SMALL_ALPHABET]
    lengths = X[sample_rows(X.shape[0], SEEN)].lengths
    long = np.median(lengths) >= LONG_ENOUGH * l
    plain: Kernel = GappedKmer(l, k) if long else Spectrum(SHORT)
    if X.alphabet.name != "dna" or X.alphabet.complement is None:
        return {ONE: plain}
    both = GappedKmer(l, k, reverse_complement=True) if long else Spectrum(SHORT, reverse_complement=True)
    return {BOTH: both, ONE: plain}


def _several(X: Any) -> Usual:
    """Return kernels for sequences whose weights are learned: with a place and without, or of several lengths."""
    kind = X.alphabet.kind
    if kind_of(X).uncertain:
        return Usual([_unit(NGram(n)) for n in (1, 2)], "n-grams of both lengths, usual for lattices", "trace")
    if kind == "words":
        return Usual([_unit(TfIdf(NGram(n))) for n in (1, 2)], "words, and pairs of words", "trace")
    if kind != "characters":
        return Usual([_unit(Spectrum(4))], "the usual one for text", "trace")
    kernels = [_unit(next(iter(_anywhere(X).values())))]
    if not X.is_fixed_length or not X.shape[1]:
        kernels.append(_unit(Spectrum(SHORT)))
        return Usual(kernels, "gapped and plain k-mers, because sequences have different lengths", "trace")
    placed = WeightedDegree(min(LONGEST_KMER, X.shape[1]))
    return Usual([placed, *kernels], "k-mers at their place and anywhere, because sequences have one length", "trace")


def _unit(kernel: Kernel) -> Kernel:
    return kernel.normalized()


def _scaled(kernel: Kernel, X: Any, why: str) -> Usual:
    return Usual([kernel], why, usual_scaling([kernel], X, many=False))


def _scaling(kernel: Kernel) -> str:
    return "trace" if isinstance(kernel, Positional) else "cosine"


def usual_scaling(kernels: Sequence[Kernel], X: Any, many: bool) -> str | None:
    """Return how kernels should be scaled on these rows, as `normalize` spells it.

    K-mers with a place give every row of letters the same length: one factor for all keeps them on tries.
    """
    if all(isinstance(kernel, Positional) for kernel in kernels):
        return "trace"
    if many and any(leaf.normalized for leaf in all_leaves(kernels)):
        return "trace"
    if alphabet_of(X) is not None:
        return "cosine"
    return "trace" if many else None
