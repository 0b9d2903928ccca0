"""A classifier on its way to the parts: which training rows it keeps, and with which coefficients.

Rows travel by number, never by their letters: who scores a part reads them where the part itself comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from kernelweave.data.kinds import take
from kernelweave.engines.base import Serial, Shared
from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.expansion.rows import RowExpansion


class PartModel:
    """``f = sum_k weights_k sum_j coef_j K_k(., x_j)``; what it scores with is made at the first part of a process.

    Parameters
    ----------
    kernels : with every learned parameter filled in
    weights : (m,)
    rows : (kept,) numbers of the training rows it keeps, rising
    coef : (kept,)
    """

    def __init__(self, kernels: Sequence[Kernel], weights: Array, rows: Array, coef: Array):
        self.kernels, self.weights, self.coef = list(kernels), np.atleast_2d(weights), np.atleast_2d(coef)
        self.rows: Array = rows.astype(np.uint32) if len(rows) == 0 or rows[-1] < 2**32 else rows
        self._made: RowExpansion | None = None
        self._lock = Lock()

    def expansion(self, X: Any) -> RowExpansion:
        """Return what scores new rows, given the training rows."""
        with self._lock:
            if self._made is None:
                kept = take(X, self.rows.astype(np.int64))
                self._made = RowExpansion.weighted(self.kernels, kept, self.weights, self.coef)
                _ = self._made.members
            return self._made

    def scores(self, X: Any, part: slice) -> Array:
        """Return the outputs of the rows of one part, (rows,)."""
        return self.expansion(X).scores(take(X, part), Serial())[:, 0]

    def contributions(self, X: Any, part: slice) -> Array:
        """Return what each kernel adds to the outputs of the rows of one part, before its weight, (m, rows)."""
        made = self.expansion(X)
        return made.contributions(take(X, part), Serial())[:, :, 0]

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return int(self.rows.nbytes + self.coef.nbytes + self.weights.nbytes)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_made", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _made=None, _lock=Lock())


class SharedRows:
    """Rows that parts are cut from: a store travels as its path, rows in memory once to each worker."""

    def __init__(self, rows: Any, handle: Shared[Any] | None = None):
        self.rows: Any = rows if handle is None else None
        self.handle = handle

    def get(self) -> Any:
        """Return the rows."""
        return self.rows if self.handle is None else self.handle.get()
