"""A kernel centred in feature space around the mean of reference rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.data.blocks import TILE, spans
from kernelweave.kernels.base import Array, Kernel, count, take


class Centred(Kernel):
    """``<Phi(x) - m, Phi(y) - m>`` with ``m`` the mean feature vector of the reference rows.

    Unlike other kernels it holds data: the rows it was centred on.  It is made while fitting, never by hand.

    Parameters
    ----------
    kernel : the kernel to centre
    reference : the training rows
    share : (number of reference rows,), their weights, adding up to one
    grand : mean of the kernel over all pairs of reference rows
    """

    def __init__(self, kernel: Kernel, reference: Any, share: Array, grand: float):
        self.kernel, self.reference, self.share, self.grand = kernel, reference, share, grand

    def children(self) -> tuple[Kernel, ...]:
        """Return the kernel that is centred."""
        return (self.kernel,)

    def prepare(self, X: Any) -> Any:
        """Return the inner kernel's rows and the mean kernel value of each with the reference."""
        rows, reference = self.kernel.prepare(X), self.kernel.prepare(self.reference)
        means = np.zeros(count(rows))
        for cut in spans(count(rows), TILE):
            some = take(rows, cut)
            for part in spans(len(self.share), TILE):
                means[cut] += self.kernel.block(some, take(reference, part)) @ self.share[part]
        return rows, means

    def block(self, A: Any, B: Any, dtype: type = np.float64) -> Array:
        """Return kernel values with both means taken off."""
        (rows, left), (columns, right) = A, B
        out = self.kernel.block(rows, rows if A is B else columns)
        out -= np.add.outer(left, right)
        out += self.grand
        return out.astype(dtype, copy=False)

    def diagonal(self, A: Any) -> Array:
        """Return the squared distance of each row from the mean."""
        rows, means = A
        return self.kernel.diagonal(rows) - 2.0 * means + self.grand

    def __repr__(self) -> str:
        return f"Centred({self.kernel!r}, {len(self.share)} rows)"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__
