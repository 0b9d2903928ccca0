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
from kernelweave.operators.features.design.rows import DenseRows, Rows
from kernelweave.operators.gram.mixture import Family
from kernelweave.solvers.problems import TINY

ALIKE_ROWS, ROUGH_ROWS, FEW_KERNELS = 64, 16, 200
"""Rows on which kernels are compared, and those by which candidates are found among more kernels than the last."""
ALIKE = 0.9999
"""Correlation of two centred kernel matrices from which on their weights are arbitrary."""
NEARLY = 0.999
"""Correlation on a sample of rows from which on all rows are asked."""
MOST_COMPARED = 1000
"""The heaviest kernels, which are compared with all others."""
COMPARED_TOGETHER = 1 << 20
"""Products of features that are looked at together."""
MOST_CONFIRMED, CONFIRMING_ROWS = 16, 4096
"""Candidates that are looked at once more, and the rows by which that is done where features are made afresh."""
NARROW = 128
"""Features whose products with each other are all computed, whether or not their kernels are in use."""
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
    """Return the heaviest kernel that has a near copy, with that copy, from features.

    With centred features Z_k the inner product of two centred kernel matrices is ``|Z_k' Z_l|^2``.  Candidates are
    found on a sample of the rows, and confirmed on many: features that few rows have agree on a sample by chance.
    """
    there, Z, offsets = _sampled(design, ROUGH_ROWS if design.dense else ALIKE_ROWS)
    used = np.flatnonzero(weights[there] > 0)
    used = used[np.argsort(-weights[there][used], kind="stable")][:MOST_COMPARED]
    near, widest = list[tuple[int, Array]](), int(np.diff(offsets).max(initial=1))
    for some in spans(len(used), max(1, COMPARED_TOGETHER // max(1, widest * Z.shape[1]))):
        rows = _correlations(Z, used[some], offsets)
        for i in np.flatnonzero(rows.max(axis=1, initial=0.0) > NEARLY):
            near.append((int(there[used[some][i]]), there[np.flatnonzero(rows[i] > NEARLY)[:MOST_CONFIRMED]]))
    return _confirmed(design, near[:MOST_CONFIRMED])


def _sampled(design: Design, rows: int) -> tuple[Array, Array, Array]:
    """Return the kernels that have features on a sample of rows, these features, centred, and where each one's begin.

    Few of many sparse features are there.
    """
    part = design.taken(sample_rows(design.n, rows)).part(0)
    if isinstance(part, DenseRows):
        return np.arange(design.m), _centred(part, design.width), design.offsets
    kept = np.unique(part.columns)
    first = np.searchsorted(kept, design.offsets)
    there = np.flatnonzero(np.diff(first))
    return there, _centred(part.only(kept, design.width), len(kept)), np.append(first[there], len(kept))


def _confirmed(design: Design, near: list[tuple[int, Array]]) -> tuple[int, int] | None:
    """Return the first of some kernels that many rows say to be alike one of its candidates, with that one."""
    if not near:
        return None
    some = np.unique(np.concatenate([[k, *others] for k, others in near]))
    sizes = np.diff(design.offsets)[some]
    held = design.taken(sample_rows(design.n, CONFIRMING_ROWS)) if design.streamed else design
    part = held.columns(np.concatenate([np.arange(*design.offsets[[k, k + 1]]) for k in some]))
    Z, offsets = _centred(part, int(sizes.sum())), np.concatenate([[0], np.cumsum(sizes)])
    for k, others in near:
        row = _correlations(Z, np.searchsorted(some, [k]), offsets)[0, np.searchsorted(some, others)]
        if row.max() > ALIKE:
            return k, int(others[row.argmax()])
    return None


def compares_features(design: Design) -> bool:
    """Tell whether features of a sample tell sooner than kernel values whether kernels are alike."""
    return design.dense or int(np.diff(design.offsets).max(initial=0)) <= ALIKE_ROWS


def _centred(part: Rows, width: int) -> Array:
    """Return features as a table whose columns have the mean zero."""
    Z = part.values.astype(np.float64) if isinstance(part, DenseRows) else part.dense(width)
    Z -= Z.mean(axis=0)
    return Z


def _correlations(Z: Array, some: Array, offsets: Array) -> Array:
    """Return the correlation of some kernels' centred matrices with everyone's, (some, m), zero with their own."""
    sizes = np.diff(offsets)
    if len(sizes) == Z.shape[1] and (sizes == 1).all():  # one feature each: the square of the features' own
        unit = (Z / np.maximum(np.sqrt(np.einsum("ij,ij->j", Z, Z)), TINY)).astype(np.float32)
        rows = unit[:, some].T @ unit
        np.multiply(rows, rows, out=rows)
    elif Z.shape[1] <= NARROW and (sizes > 0).all():  # all products at once
        squares = np.square(Z.T @ Z)
        shared = np.add.reduceat(np.add.reduceat(squares, offsets[:-1], axis=0), offsets[:-1], axis=1)
        own = np.sqrt(shared.diagonal())
        rows = shared[some] / np.maximum(own[some, None] * own, TINY)
    else:
        own = _own_norms(Z, offsets)
        rows = _shared(Z, some, offsets) / np.maximum(own[some, None] * own, TINY)
    rows[np.arange(len(rows)), some] = 0.0
    return rows


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
