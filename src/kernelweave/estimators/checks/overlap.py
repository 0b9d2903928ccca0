"""Whether training rows have anything in common under kernels of k-mers or n-grams.

Where no two rows share a feature the Gram matrix is diagonal: the optimum is found at once, with a gap of zero, but
each row speaks for itself alone, and a new row that resembles none gets the intercept.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from kernelweave.data.blocks import sample_rows, spans
from kernelweave.engines.base import Engine
from kernelweave.kernels import Kernel
from kernelweave.kernels.abilities import Features, Positional, Transduced, has_codes
from kernelweave.operators.expansion.rows import RowExpansion
from kernelweave.operators.features.vocabulary import Vocabulary

FIRST_ROWS = 24
"""Rows that are compared first: of usual data some pair among them shares a feature."""
TOGETHER = 256
"""Rows whose features are made together where the sample shares nothing."""
SAME = 1e-9
"""Relative difference below which the sum of a row of the Gram matrix is its diagonal entry."""


def warn_if_nothing_shared(kernels: Sequence[Kernel], X: Any, engine: Engine) -> None:
    """Warn where under none of the kernels two rows share anything.

    Parameters
    ----------
    kernels : with every learned parameter filled in, not scaled
    X : training rows
    """
    if X.shape[0] < 2 or not kernels or not all(_shares_nothing(kernel, X, engine) for kernel in kernels):
        return
    names = " or ".join(map(repr, kernels[:2])) + (" or any other kernel" if len(kernels) > 2 else "")
    if not any(kernel.diag(X).any() for kernel in kernels):
        text = f"No training row is long enough for {names}: the model says the same of every row; take shorter k-mers."
    else:
        text = (
            f"No two training rows share anything that {names} counts, so that nothing was learned from one row about "
            "another; take shorter k-mers, or a kernel that allows for differences."
        )
    warnings.warn(text, UserWarning, stacklevel=6)


def _shares_nothing(kernel: Kernel, X: Any, engine: Engine) -> bool:
    sample = X[sample_rows(X.shape[0], FIRST_ROWS)]
    if isinstance(kernel, Positional):
        return not _same_letters(kernel, sample) and _diagonal_alone(kernel, X, engine)
    if not has_codes(kernel):
        return False
    if any(isinstance(leaf.kernel, Transduced) for leaf in kernel.leaves()) and _values_between(kernel, sample):
        return False  # a lattice may have a million strings, and kernel values need no list of them
    try:
        return not _repeated(kernel, [sample]) and not _repeated(
            kernel, (X[cut] for cut in spans(X.shape[0], TOGETHER))
        )
    except ValueError:  # features that cannot be listed
        return False


def _values_between(kernel: Kernel, rows: Any) -> bool:
    """Return whether two of a few rows have a kernel value that is not zero."""
    values = kernel.gram(rows)
    np.fill_diagonal(values, 0.0)
    return bool(values.any())


def _same_letters(kernel: Positional, rows: Any) -> bool:
    """Return whether two of a few rows have a k-mer at one place, of the shortest length that counts."""
    prepared = kernel.prepare(rows)  # type: ignore[attr-defined]
    codes, length = prepared.codes, prepared.codes.shape[1]
    counted = np.flatnonzero(kernel.cells(length).any(axis=0))
    if not len(counted):
        return False
    same = (codes[:, None] == codes[None]) & (codes < prepared.alphabet.size)
    same[np.arange(len(codes)), np.arange(len(codes))] = False
    shortest = int(counted[0]) + 1
    runs = np.asarray(np.lib.stride_tricks.sliding_window_view(same, shortest, axis=2).all(axis=3))
    return bool(runs[:, :, kernel.cells(length)[: runs.shape[2], shortest - 1] > 0].any())


def _repeated(kernel: Kernel, parts: Iterable[Any]) -> bool:
    """Return whether some feature is one of two rows."""
    known, met = None, 0
    for rows in parts:
        found = cast(Features, kernel).counts(rows)
        known = known or Vocabulary(found.codes.shape[1])
        known.number(found.codes)
        met += len(found.codes)
        if known.size < met:  # a code comes once a row
            return True
    return False


def _diagonal_alone(kernel: Kernel, X: Any, engine: Engine) -> bool:
    every = RowExpansion.weighted([kernel], X, np.ones((1, 1)), np.ones((1, X.shape[0])))
    return bool(np.allclose(every.scores(X, engine)[:, 0], kernel.diag(X), rtol=SAME, atol=0.0))
