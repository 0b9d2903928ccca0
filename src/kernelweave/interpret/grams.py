"""Which n-grams decide: what a model with kernels of counted strings has learned, on texts, sequences and lattices.

A model with weights beta on kernels that count strings (features phi of the ability `Counted`) and coefficients alpha
of its support rows x_r scores a row x by

    s(x) = b + sum_m beta_m sum_u w_u phi_u(x),     w_u = sum_r alpha_r phi_u(x_r)

so that the string u adds  beta_m w_u phi_u(x).  On lattices phi_u is an expected count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.data import select
from kernelweave.interpret.parts import lacking, last_step, output, weighted_kernels
from kernelweave.kernels.base import Array, Counted, Kernel, Positional
from kernelweave.kernels.compose import Cosine, On, Scaled, Sum

RANKINGS = ("spread", "weight")


@dataclass(frozen=True)
class NGramWeight:
    """An n-gram and what it adds to the decision value.

    Attributes
    ----------
    ngram : as it is written: letters, or words with blanks between them
    weight : what it adds, on average over the support rows that have it
    rows : how many of the support rows have it
    kernel : which of the kernels counts it
    """

    ngram: str
    weight: float
    rows: int
    kernel: str

    def __str__(self) -> str:
        return f"{self.weight:+.4f}  {self.rows:>6}  {self.ngram}"


@dataclass(frozen=True)
class _Part:
    """A counting kernel inside a model; row r has the features  scale_r phi(x_r)  and the kernel enters with factor."""

    kernel: Any
    rows: Any
    scale: Array
    factor: float
    name: str


def top_ngrams(
    model: Any, n: int = 20, length: int | None = None, *, by: str = "spread", target: Any = None
) -> list[NGramWeight]:
    """Return the n-grams that tell the classes apart most, with what each adds to the decision value.

    For kernels that count strings wherever they stand: `NGram`, `GappyNGram`, `Spectrum`, `Mismatch`, `Rational`,
    scaled, normalised, added, on views, or among the kernels of a model with learned weights.

    Parameters
    ----------
    model : fitted, with such a kernel
    n : how many
    length : letters (or words) of the n-grams; None for any
    by : what ranks them: "spread", the standard deviation over the support rows of what an n-gram adds, so that neither
        rare nor ubiquitous ones come first; or "weight", what it adds on average to the rows that have it
    target : the class whose decision value is meant, for a model of several classes

    Returns
    -------
    list of `NGramWeight` (ngram, weight, rows, kernel), the most discriminative first

    Examples
    --------
    >>> import kernelweave as kw
    >>> X = kw.Sequences.from_strings(["how far is it", "how are you", "it is far", "you are here"], alphabet="words")
    >>> model = kw.KernelClassifier(kw.NGram(1), C=10.0).fit(X, ["question", "question", "no", "no"])
    >>> best = top_ngrams(model, 1)[0]
    >>> best.ngram, best.weight > 0, best.kernel
    ('how', True, 'NGram(1)')
    """
    if by not in RANKINGS:
        raise ValueError(f"by={by!r} is unknown; choose one of {', '.join(RANKINGS)}.")
    if n < 1:
        raise ValueError(f"n={n!r} is not valid; expected at least one n-gram.")
    core = last_step(model)
    place, sign = output(core, target)
    alpha = sign * core.dual_coef_[place]
    parts = [] if not len(alpha) else list(counted_parts(core, target))
    if hasattr(core, "coef_"):
        raise ValueError(lacking(core))
    if not parts:
        raise ValueError(
            f"This {type(core).__name__} gives no weight to n-grams wherever they stand; expected a model with support "
            "rows and a kernel such as NGram or Spectrum."
        )
    found = [candidate for part in parts for candidate in _candidates(part, alpha, n, length, by)]
    found.sort(key=lambda candidate: (-candidate[0], candidate[1].ngram))
    return [gram for _, gram in found[:n]]


def counted_parts(core: Any, target: Any = None) -> Iterator[_Part]:
    """Iterate over the kernels with a weight, inside those of a fitted model, that count strings."""
    ones = np.ones(len(core.support_))
    for kernel, weight in weighted_kernels(core, target):
        if weight > 0:
            yield from _inside(kernel, core.reference_, ones, weight, "")


def _inside(kernel: Kernel, rows: Any, scale: Array, factor: float, view: str) -> Iterator[_Part]:
    if isinstance(kernel, On):
        yield from _inside(kernel.kernel, select(rows, kernel.columns), scale, factor, f".on({kernel.columns!r})")
    elif isinstance(kernel, Scaled):
        yield from _inside(kernel.kernel, rows, scale, factor * kernel.factor, view)
    elif isinstance(kernel, Sum):
        for part in kernel.kernels:
            yield from _inside(part, rows, scale, factor, view)
    elif isinstance(kernel, Cosine):
        norms = np.sqrt(kernel.kernel.diag(rows))
        units = np.divide(scale, norms, out=np.zeros_like(norms), where=norms > 0)
        yield from _inside(kernel.kernel, rows, units, factor, view)
    elif isinstance(kernel, Counted) and not isinstance(kernel, Positional):
        yield _Part(kernel, rows, scale, factor, f"{kernel!r}{view}")


def _candidates(part: _Part, alpha: Array, n: int, length: int | None, by: str) -> Iterator[tuple[float, NGramWeight]]:
    """Iterate over the n best n-grams of one kernel with their rank."""
    counts = part.kernel.counts(part.rows).times(part.scale)
    index = counts.index
    if not len(index.codes):
        return
    firsts, having = index.starts[:-1], np.diff(index.starts)
    sums, squares, w = (
        np.add.reduceat(values, firsts) for values in (index.values, index.values**2, alpha[index.rows] * index.values)
    )
    means = sums / len(alpha)
    weight = part.factor * w * sums / having
    spread = np.abs(part.factor * w) * np.sqrt(np.maximum(squares / len(alpha) - means**2, 0.0))
    rank = spread if by == "spread" else np.abs(weight)
    kept = np.flatnonzero(rank > 0)
    if length is not None:
        letters = part.kernel.spelled(index.codes[kept], counts.alphabet)
        kept = kept[(letters >= 0).sum(axis=1) == length]
    if len(kept) > n:
        kept = kept[np.argpartition(-rank[kept], n - 1)[:n]]
    for q, name in zip(kept, part.kernel.names(index.codes[kept], counts.alphabet)):
        yield float(rank[q]), NGramWeight(name, float(weight[q]), int(having[q]), part.name)
