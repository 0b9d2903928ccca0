"""Nyström features (Williams and Seeger, 2001): landmarks drawn at random among the training rows.

With the eigenvectors U and eigenvalues s of the kernel between the landmarks, the features of a row are
``s^-1/2 U' k(x)``; directions whose eigenvalue is rounding are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.blocks import FEATURE_ROWS, spans
from kernelweave.data.random import RandomState, generator
from kernelweave.kernels.approximate.embedding import Approximation, counted_rows
from kernelweave.kernels.approximate.landmarks import Landmarks, diagonal_and_shares, landmark_rows
from kernelweave.kernels.base import Array, Kernel, take
from kernelweave.kernels.checks import check_count


class Nystrom(Approximation):
    """Features of any kernel through landmarks that are drawn at random.

    Parameters
    ----------
    kernel : the kernel to stand for
    n_components : landmarks; there are as many features, fewer where some landmarks say nothing new
    random_state : seed of the draw

    Examples
    --------
    >>> from kernelweave.kernels.vector.kernels import RBF
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> kernel = Nystrom(RBF(width=1.0), n_components=4).fitted(X)
    >>> kernel.rank_, kernel.approximation_error_ < 0.01
    (4, True)
    """

    def __init__(self, kernel: Kernel, n_components: int = 100, random_state: RandomState = 0):
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def check(self) -> None:
        """Raise unless the number of landmarks is a positive integer."""
        check_count(self, "n_components", self.n_components)

    def embedded(self, kernel: Kernel, X: Any, weight: Array | None) -> Landmarks:
        """Return features through landmarks; a row of weight w is as likely drawn as w rows."""
        prepared = kernel.prepare(X)
        diagonal, share = diagonal_and_shares(kernel, prepared, weight)
        rows = counted_rows(len(diagonal), weight)
        chance = None if weight is None else share[rows] / share[rows].sum()
        size = min(len(rows), int(self.n_components))
        drawn = np.sort(generator(self.random_state).choice(rows, size, replace=False, p=chance))
        kept, inner = landmark_rows(kernel, X, prepared, drawn)
        made = Landmarks(kernel, kept, inverse_root(inner), 0.0)
        made.error = _missed(made, prepared, diagonal, share)
        return made


def inverse_root(matrix: Array) -> Array:
    """Return F with ``F F'`` the pseudo-inverse of a positive semi-definite matrix, (p, rank), rank at least 1.

    Examples
    --------
    >>> inverse_root(np.array([[4.0, 4.0], [4.0, 4.0]])).round(3).T.tolist()
    [[0.25, 0.25]]
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = values > len(values) * np.finfo(np.float64).eps * values[0]
    if not keep.any():
        return np.zeros((len(values), 1))
    factor = vectors[:, keep] / np.sqrt(values[keep])
    return np.ascontiguousarray(factor * np.where(factor.sum(axis=0) < 0, -1.0, 1.0))


def _missed(made: Landmarks, prepared: Any, diagonal: Array, share: Array) -> float:
    """Return the share of the trace that the features miss."""
    trace, missed = float(share @ diagonal), 0.0
    for part in spans(len(diagonal), FEATURE_ROWS):
        features = made.kernel.block(take(prepared, part), made.prepared_landmarks) @ made.factor
        missed += float(share[part] @ (diagonal[part] - np.einsum("ij,ij->i", features, features)))
    return max(0.0, missed / trace) if trace > 0 else 0.0
