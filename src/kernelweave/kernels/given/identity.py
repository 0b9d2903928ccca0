"""The identity matrix as a kernel: every training row resembles itself only."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave.data.kinds import convert, n_rows
from kernelweave.kernels.base import Array, Kernel


@dataclass(frozen=True)
class IdentityRows:
    """Which rows of which input: `owner` is one input as a whole, also after a trip to another process."""

    owner: str
    index: Array

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, rows: Any) -> IdentityRows:
        return IdentityRows(self.owner, self.index[rows])


class Identity(Kernel):
    """One for a row and itself, zero for everything else; new data never match, not even equal rows.

    Added to another kernel it absorbs what is particular to single rows (a ridge, noise in the labels).

    Examples
    --------
    >>> Identity().gram([[1.0], [1.0]])
    array([[1., 0.],
           [0., 1.]])
    >>> Identity().gram([[1.0], [1.0]], [[1.0]])
    array([[0.],
           [0.]])
    """

    def prepare(self, X: Any) -> IdentityRows:
        """Return the numbers of the rows of X, which count as new rows each time they are prepared."""
        return IdentityRows(uuid.uuid4().hex, np.arange(n_rows(convert(X) if isinstance(X, Mapping) else X)))

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return ones where both sides are the same row of the same prepared input."""
        if A.owner != B.owner:
            return np.zeros((len(A), len(B)), dtype)
        return (A.index[:, None] == B.index[None, :]).astype(dtype)

    def diagonal(self, A: Any) -> Array:
        """Return ones."""
        return np.ones(len(A))
