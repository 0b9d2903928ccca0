"""Which n-grams decide: what a model with kernels of counted strings has learned, on texts, sequences and lattices.

A model with weights beta on kernels that count strings (features phi of the ability `Features`) and coefficients alpha
of its support rows x_r scores a row x by

    s(x) = b + sum_m beta_m sum_u w_u phi_u(x),     w_u = sum_r alpha_r phi_u(x_r)

so that the string u adds  beta_m w_u phi_u(x).  On lattices phi_u is an expected count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from kernelweave.interpret.parts import check_ranking, counts_strings, lacking, last_step, learned_parts
from kernelweave.kernels.base import Array
from kernelweave.operators.expansion.base import Part
from kernelweave.operators.expansion.terms import Term


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
    check_ranking(by, n, "n-gram")
    core = last_step(model)
    parts = learned_parts(core, target)
    found_terms = counted(parts)
    if any(part.weights is not None for part in parts):
        raise ValueError(lacking(core, parts))
    if not found_terms:
        raise ValueError(
            f"This {type(core).__name__} gives no weight to n-grams wherever they stand; expected a model with support "
            "rows and a kernel such as NGram or Spectrum."
        )
    by_leaf = [list(some) for _, some in groupby(found_terms, key=lambda term: id(term.leaf))]
    found = [candidate for some in by_leaf for candidate in _candidates(some, n, length, by)]
    found.sort(key=lambda candidate: (-candidate[0], candidate[1].ngram))
    return [gram for _, gram in found[:n]]


def counted(parts: Iterable[Part]) -> list[Term]:
    """Return the kernels that count strings inside those of a model; a centred one comes twice, see `terms`."""
    return [term for part in parts for term in part.terms if counts_strings(term.kernel)]


def _candidates(part: list[Term], n: int, length: int | None, by: str) -> Iterator[tuple[float, NGramWeight]]:
    """Iterate over the n best n-grams of one kernel with their rank."""
    first, kernel = part[0], part[0].kernel
    counts = _unit_counts(first)
    index, rows = counts.index, len(counts)
    if not len(index.codes):
        return
    firsts, having = index.starts[:-1], np.diff(index.starts)
    sums, squares = (np.add.reduceat(values, firsts) for values in (index.values, index.values**2))
    w = first.factor * _learned(part, counts)
    means = sums / rows
    weight = w * sums / having
    spread = np.abs(w) * np.sqrt(np.maximum(squares / rows - means**2, 0.0))
    rank = spread if by == "spread" else np.abs(weight)
    kept = np.flatnonzero(rank > 0)
    if length is not None:
        letters = kernel.letters(index.codes[kept], counts.alphabet)
        kept = kept[(letters >= 0).sum(axis=1) == length]
    if len(kept) > n:
        kept = kept[np.argpartition(-rank[kept], n - 1)[:n]]
    for q, name in zip(kept, kernel.spell(index.codes[kept], counts.alphabet)):
        yield float(rank[q]), NGramWeight(name, float(weight[q]), int(having[q]), first.leaf.name)


def _learned(part: list[Term], counts: Any) -> Array:
    """Return w of the strings that the support rows have: coefficients times counts, over all terms of one kernel."""
    index = counts.index
    w = np.add.reduceat(np.asarray(part[0].coef)[index.rows] * index.values, index.starts[:-1])
    for term in part[1:]:
        others = _unit_counts(term)
        place = others.places(index.codes)
        known = np.flatnonzero(place >= 0)
        coef = np.repeat(np.asarray(term.coef), np.diff(others.starts))
        w += np.bincount(place[known], weights=(coef * others.values)[known], minlength=len(w))
    return w


def _unit_counts(term: Term) -> Any:
    """Return the counted strings of the rows of a term, divided by the norms of the rows."""
    counts = term.kernel.counts(term.rows)
    if term.norms is None:
        return counts
    return counts.times(np.divide(1.0, term.norms, out=np.zeros_like(term.norms), where=term.norms > 0))
