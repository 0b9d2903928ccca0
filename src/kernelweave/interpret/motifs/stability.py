"""How firm motifs are: what models of resampled rows find in the same rows.

Each of B bootstrap samples costs one fit, one explanation and one search: B times what the motifs took.  A motif is
found again where the shares of one of a sample correlate with its own by `AGAIN` or more, at the best shift and strand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from kernelweave.data.kinds import convert
from kernelweave.data.random import RandomState, check_count, generator
from kernelweave.interpret.explain.stability import factor, resampled
from kernelweave.interpret.motifs.find import Motif, motifs_of, searched
from kernelweave.kernels.base import Array

AGAIN = 0.8


class Span(NamedTuple):
    """A number under all rows, and between which two most bootstrap samples have it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class MotifStability:
    """A motif with its bootstrap intervals.

    Attributes
    ----------
    motif : as the model on all rows has it
    found : share of the samples in which it was found again
    n_sites, total : sites, and what one adds on average, with the interval over the samples that found it; what models
        of samples add is brought to the scale of the model on all rows, as in `explanation_stability`
    lower, upper : (w, A) the same of the shares of letters, `motif.frequencies`
    n_samples : models that were trained
    """

    motif: Motif
    found: float
    n_sites: Span
    total: Span
    lower: Array
    upper: Array
    n_samples: int

    def __str__(self) -> str:
        sites, total = self.n_sites, self.total
        return (
            f"{self.motif.consensus}  found in {self.found:.0%} of {self.n_samples}, {sites.value:.0f} sites "
            f"[{sites.low:.0f}, {sites.high:.0f}], {total.value:+.3f} each [{total.low:+.3f}, {total.high:+.3f}]"
        )


def motif_stability(
    estimator: Any,
    X: Any,
    y: Any,
    rows: Any,
    n: int = 10,
    *,
    n_samples: int = 20,
    level: float = 0.9,
    target: Any = None,
    against: bool = False,
    both_strands: bool | None = None,
    min_sites: int = 20,
    random_state: RandomState = None,
) -> list[MotifStability]:
    """Find motifs, and find them again with models of bootstrap samples of the training rows.

    Parameters
    ----------
    estimator : what is trained, by `clone`; it may be fitted already
    X, y : training rows and labels
    rows : rows in which motifs are searched, for example those of a class
    n : most motifs
    n_samples : models that are trained beside the one on all rows
    level : share of the samples between the ends of the intervals
    target, against, both_strands, min_sites : as for `find_motifs`
    random_state : seed, numpy generator or None

    Returns
    -------
    list of `MotifStability`, the motif with most sites first; intervals are nan where no sample found it

    Examples
    --------
    >>> import kernelweave as kw
    >>> X, y = kw.datasets.make_enhancers(400, length=60, random_state=0)
    >>> model = kw.KernelClassifier(kw.LSGKM(7, 5, 2), normalize="cosine")
    >>> (found,) = motif_stability(model, X, y, X[y == 1], 1, n_samples=2, random_state=0)
    >>> found.found, bool((found.lower <= found.upper).all())
    (1.0, True)
    """
    check_count("n_samples", n_samples, 2)
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} is not valid; expected a number between 0 and 1.")
    X, y, rng = convert(X), np.asarray(y), generator(random_state)
    how = target, against, both_strands
    told, number, sign, both = searched(clone(estimator).fit(X, y), rows, *how)
    samples = []
    for _ in range(n_samples):
        again = searched(resampled(estimator, X, y, rng), rows, *how)[0]
        scale = float(factor(told, again)[number])
        found = motifs_of(again, 2 * n, number, sign, both, min_sites)
        samples.append([replace(one, total=scale * one.total, adds=scale * one.adds) for one in found])
    return [_summed(one, samples, both, level) for one in motifs_of(told, n, number, sign, both, min_sites)]


def _summed(motif: Motif, samples: list[list[Motif]], both: bool, level: float) -> MotifStability:
    """Return the intervals of a motif over what samples found."""
    again = [found for found in (_again(motif, some, both) for some in samples) if found is not None]
    tails = [(1 - level) / 2, (1 + level) / 2]
    shares = np.full((2, *motif.counts.shape), np.nan)
    sites = totals = np.full(2, np.nan)
    if again:
        shares = np.quantile([aligned for _, aligned in again], tails, axis=0)
        sites = np.quantile([one.n_sites for one, _ in again], tails)
        totals = np.quantile([one.total for one, _ in again], tails)
    return MotifStability(
        motif, len(again) / len(samples), Span(motif.n_sites, *sites.tolist()), Span(motif.total, *totals.tolist()),
        shares[0], shares[1], len(samples),
    )  # fmt: skip


def _again(motif: Motif, some: Sequence[Motif], both: bool) -> tuple[Motif, Array] | None:
    """Return the motif among some that is most like one, if it is alike, with its shares moved over those of it."""
    laid = [(one, *laid_over(motif.frequencies, one.frequencies, both)) for one in some]
    best = max(laid, key=lambda each: each[1], default=None)
    return None if best is None or best[1] < AGAIN else (best[0], best[2])


def laid_over(one: Array, other: Array, both: bool) -> tuple[float, Array]:
    """Return the best correlation of a matrix of shares with another one, shifted and turned, and that one so moved.

    Examples
    --------
    >>> one = np.eye(4)[[0, 1, 2]] * 0.8 + 0.05
    >>> close, moved = laid_over(one, one[1:], False)
    >>> round(close, 2), moved[0].tolist(), bool((moved[1:] == one[1:]).all())
    (0.82, [0.25, 0.25, 0.25, 0.25], True)
    """
    w, size = one.shape
    best, moved = -1.0, np.full(one.shape, 1.0 / size)
    for turned in (other, other[::-1, ::-1]) if both else (other,):
        padded = np.pad(turned, ((w, w), (0, 0)), constant_values=1.0 / size)
        for start in range(len(padded) - w + 1):
            part = padded[start : start + w]
            close = _cosine(one - 1.0 / size, part - 1.0 / size)
            if close > best:
                best, moved = close, part
    return best, moved


def _cosine(a: Array, b: Array) -> float:
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float((a * b).sum()) / size if size > 0 else 0.0
