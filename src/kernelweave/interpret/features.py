"""The weights of explicit features: what a model that walks in the space of features learned, read off directly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from kernelweave.interpret.parts import last_step, learned_parts
from kernelweave.kernels.abilities import Features
from kernelweave.kernels.base import Array
from kernelweave.operators.expansion.base import Part


@dataclass(frozen=True)
class FeatureWeight:
    """A feature, what one unit of it adds to the decision value, and the kernel it belongs to.

    The feature is its name (an n-gram, a k-mer and its position) where the kernel has names, else its number.
    """

    feature: Any
    weight: float
    kernel: str


def top_features(model: Any, n: int = 20, *, target: Any = None) -> list[FeatureWeight]:
    """Return the features with the largest weights of a model that was trained on explicit features.

    Parameters
    ----------
    model : fitted with a solver such as "svrg"
    n : how many
    target : the class whose decision value is meant, for a model of several classes

    Examples
    --------
    >>> import kernelweave as kw
    >>> X = kw.Sequences.from_strings(["TAGGAT", "ATGGTA", "TAGAGT", "ATGTGA"] * 3, alphabet="dna")
    >>> model = kw.MKLClassifier([kw.Spectrum(2)], loss="logistic", norm=2.0, solver="svrg")
    >>> best = top_features(model.fit(X, [1, 1, 0, 0] * 3), 1)[0]
    >>> best.feature, best.weight > 0, best.kernel
    ('GG', True, 'Spectrum(2)')
    """
    core = last_step(model)
    if n < 1:
        raise ValueError(f"n={n!r} is not valid; expected at least one feature.")
    parts = [part for part in learned_parts(core, target) if part.weights is not None]
    if not parts:
        raise ValueError(
            f"This {type(core).__name__} keeps support vectors, no weights of features; train it with a solver such as "
            "'svrg', or use top_ngrams."
        )
    w = np.concatenate([np.asarray(part.weights) for part in parts])
    offsets = np.cumsum([0, *(len(np.asarray(part.weights)) for part in parts)])
    best = np.argpartition(-np.abs(w), min(n, len(w)) - 1)[:n] if len(w) else np.empty(0, np.int64)
    best = best[np.lexsort((best, -np.abs(w[best])))]
    owner = np.searchsorted(offsets, best, side="right") - 1
    names: dict[int, Any] = {}
    for k in np.unique(owner):
        columns = best[owner == k]
        names |= dict(zip(columns.tolist(), _names(parts[k], columns - offsets[k], core.expansion_.rows)))
    return [FeatureWeight(names[j], float(w[j]), str(core.kernel_names_[k])) for j, k in zip(best.tolist(), owner)]


def _names(part: Part, columns: Array, rows: Any) -> list[Any]:
    """Return what columns of one kernel are."""
    codes, kernel = part.codes, part.kernel
    if codes is None:
        return columns.tolist()
    able = cast(Features, kernel)
    return able.spell(codes[columns], able.alphabets(rows))
