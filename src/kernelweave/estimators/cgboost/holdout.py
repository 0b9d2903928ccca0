"""Which rows a boosted model is trained on, and which judge its rounds.

Rows of weight zero are left out altogether: a column of theirs would be a basis function that the data do not have.
Of a precomputed Gram matrix the columns of left-out rows go with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.data import GramRows, Views
from kernelweave.data.kinds import blocks_of
from kernelweave.kernels import Kernel, reference

Array = np.ndarray
USUAL_FRACTION = 0.2
"""Share of the rows that judge where TR3 needs some and none were given."""


@dataclass(frozen=True)
class ValidationRows:
    """Rows that judge the rounds: what they are, their targets, their weights."""

    X: Any
    y: Array
    weight: Array


def draw(strata: Array, rows: Array, fraction: float, rng: np.random.RandomState) -> Array:
    """Return which of the rows to hold out: a share of each stratum, but never all of one.

    Strata whose share is less than a row are drawn from together, at most one row of each: with many small classes
    each would round to none.

    Parameters
    ----------
    strata : (n,) class of each training row (all alike where there are none)
    rows : numbers of the rows to draw from
    """
    found, firsts, small = [], [], 0
    for label in np.unique(strata[rows]):
        some = rng.permutation(rows[strata[rows] == label])
        size = min(round(fraction * len(some)), len(some) - 1)
        found.append(some[:size])
        if size == 0 and len(some) > 1:
            firsts.append(some[0])
            small += len(some)
    if firsts:
        found.append(rng.permutation(firsts)[: round(fraction * small)])
    chosen = np.sort(np.concatenate(found))
    if len(chosen) == 0:
        raise ValueError(
            f"validation_fraction={fraction!r} of n_samples={len(rows)} is less than one row; raise it or pass "
            "validation rows to fit."
        )
    return chosen


def matrices(kernels: Sequence[Kernel], X: Any) -> set[str]:
    """Return the views of X that are precomputed Gram matrices; the name is empty where all of X is one."""
    kept = reference(kernels, X, np.zeros(1, np.int64))
    blocks, views = blocks_of(kept), blocks_of(X)
    if blocks is not None and views is not None:
        return {name for name in views if isinstance(blocks[name], GramRows)}
    return {""} if isinstance(kept, np.ndarray) and kept.ndim == 1 else set()


def cut(X: Any, rows: Array | slice, columns: Array, given: set[str]) -> Any:
    """Return some rows; of Gram matrices (the views `given`) the columns of the training rows `columns` alone."""
    views = blocks_of(X)
    if views is not None:
        tables = {name for name in given if not isinstance(views[name], GramRows)}  # the others know their columns
        return Views(
            {name: block[rows][:, columns] if name in tables else block[rows] for name, block in views.items()}
        )
    return X[rows][:, columns] if given else X[rows]
