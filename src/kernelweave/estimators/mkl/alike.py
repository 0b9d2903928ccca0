"""Kernels that are nearly the same on the training rows: how weight is divided between them is arbitrary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelweave.data.blocks import sample_rows, spans
from kernelweave.engines import one_blas_thread
from kernelweave.kernels import Kernel
from kernelweave.kernels.base import Array, count
from kernelweave.kernels.reference import takes_gram
from kernelweave.operators.features.design.matrix import Design
from kernelweave.operators.features.design.rows import table
from kernelweave.operators.features.design.set import plain
from kernelweave.operators.gram.mixture import Family
from kernelweave.solvers.problems import TINY

ALIKE_ROWS, ROUGH_ROWS, FEW_KERNELS = 64, 16, 200
"""Rows on which kernels are compared, and those by which candidates are found among more kernels than the last."""
ALIKE = 0.9999
"""Correlation of two centred kernel matrices from which on their weights are arbitrary."""
MOST_COMPARED = 1000
"""The heaviest kernels, which are compared with all others."""
COMPARED_TOGETHER = 1 << 20
"""Products of features that are looked at together."""
VERY_MANY = 5000
"""Kernels beyond which the heaviest ones are compared with each other only."""


def kernel_correlations(kernels: Sequence[Kernel], X: Any, rows: int = ALIKE_ROWS, chosen: Any = slice(None)) -> Array:
    """Return the correlation of the chosen kernels' centred matrices on a sample of rows with everyone's, (chosen, m).

    All are chosen by default.
    """
    family = Family(kernels)
    prepared = family.prepare(X[sample_rows(X.shape[0], rows)])
    made = np.empty((len(family.kernels), count(prepared), count(prepared)))
    for group in range(len(family.bases)):
        for k, values in family.finished(group, family.base_block(group, prepared, prepared, np.float64)):
            made[k] = values
    made -= made.mean(axis=1, keepdims=True)
    made -= made.mean(axis=2, keepdims=True)
    flat = made.reshape(len(made), -1)
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), TINY)  # a constant kernel resembles none
    with one_blas_thread():
        return flat[chosen] @ flat.T


def alike_features(design: Design, weights: Array) -> tuple[int, int] | None:
    """Return the heaviest kernel that has a near copy, with that copy, from features of a sample of rows.

    With centred features Z_k the inner product of two centred kernel matrices is ``|Z_k' Z_l|^2``.
    """
    part = design.taken(sample_rows(design.n, ALIKE_ROWS)).part(0)
    Z = plain(table(part, np.ones(design.width)))
    Z = Z - Z.mean(axis=0)
    sizes, own = np.diff(design.offsets), _own_norms(Z, design.offsets)
    used = np.flatnonzero(weights > 0)
    used = used[np.argsort(-weights[used], kind="stable")][:MOST_COMPARED]
    for some in spans(len(used), max(1, COMPARED_TOGETHER // max(1, int(sizes.max(initial=1)) * design.width))):
        shared = _shared(Z, used[some], design.offsets)
        rows = shared / np.maximum(own[used[some], None] * own, TINY)
        rows[np.arange(len(rows)), used[some]] = 0.0
        near = np.flatnonzero(rows.max(axis=1) > ALIKE)
        if len(near):
            return int(used[some][near[0]]), int(rows[near[0]].argmax())
    return None


def compares_features(design: Design) -> bool:
    """Tell whether features of a sample tell sooner than kernel values whether kernels are alike."""
    return design.dense or int(np.diff(design.offsets).max(initial=0)) <= ALIKE_ROWS


def _shared(Z: Array, some: Array, offsets: Array) -> Array:
    """Return ``|Z_k' Z_l|^2`` of some kernels with everyone, (some, m)."""
    sizes, out = np.diff(offsets), np.zeros((len(some), len(offsets) - 1))
    filled, mine = np.flatnonzero(sizes > 0), sizes[some]
    first = np.cumsum(mine) - mine
    chosen = np.repeat(offsets[some] - first, mine) + np.arange(mine.sum())
    if len(chosen):
        squares = np.add.reduceat(np.square(Z[:, chosen].T @ Z), offsets[filled], axis=1)
        out[np.ix_(mine > 0, filled)] = np.add.reduceat(squares, first[mine > 0], axis=0)
    return out


def _own_norms(Z: Array, offsets: Array) -> Array:
    """Return the norm of each centred kernel matrix, (m,), blocks of one size together."""
    sizes, own = np.diff(offsets), np.zeros(len(offsets) - 1)
    for size in np.unique(sizes[sizes > 0]):
        some = np.flatnonzero(sizes == size)
        blocks = Z[:, offsets[some][:, None] + np.arange(size)].transpose(1, 2, 0)
        own[some] = np.sqrt(np.square(blocks @ blocks.transpose(0, 2, 1)).sum(axis=(1, 2)))
    return own


def alike_pair(kernels: Sequence[Kernel], X: Any, weights: Array) -> tuple[int, int] | None:
    """Return the heaviest kernel that has a near copy, with that copy."""
    if takes_gram(kernels):  # some rows of a whole matrix do not know their columns
        return None
    used = np.flatnonzero(weights > 0)
    used = used[np.argsort(-weights[used], kind="stable")]
    if len(kernels) > VERY_MANY:
        heaviest = used[:MOST_COMPARED]
        pair = alike_pair([kernels[k] for k in heaviest], X, weights[heaviest])
        return None if pair is None else (int(heaviest[pair[0]]), int(heaviest[pair[1]]))
    few = len(kernels) <= FEW_KERNELS
    for k, row in zip(used, kernel_correlations(kernels, X, ALIKE_ROWS if few else ROUGH_ROWS, used)):
        row[k] = 0.0
        if row.max() > ALIKE:
            near = np.flatnonzero(row > ALIKE)
            if not few:  # judged by few rows; now by as many as a short list would be
                row[near] = kernel_correlations([kernels[i] for i in (k, *near)], X, ALIKE_ROWS, [0])[0, 1:]
            if row[near].max() > ALIKE:
                return int(k), int(near[row[near].argmax()])
    return None
