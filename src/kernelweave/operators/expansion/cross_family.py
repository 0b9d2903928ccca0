"""Many kernels between new rows and the rows a model keeps; kernels with the same base compute it once."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave.engines.base import Engine
from kernelweave.kernels.base import Array, count, take
from kernelweave.operators.expansion.cross import KEPT_ROWS, NEW_ROWS, spans
from kernelweave.operators.gram.mixture import Family


class CrossFamily:
    """Evaluates a family tile by tile; no rectangle is ever whole in memory.

    Parameters
    ----------
    family : the kernels, all parameters filled in
    new, kept : rows on either side, prepared by the family
    """

    def __init__(self, family: Family, new: Any, kept: Any, engine: Engine):
        self.family, self.new, self.kept, self.engine = family, new, kept, engine
        self.rows = count(new)

    def contributions(self, coef: Array) -> Array:
        """Return ``K_k(new, kept) @ coef[k]`` for every kernel, (m, new rows, outputs); coef is (m, kept, outputs)."""
        out = np.zeros((len(coef), self.rows, coef.shape[2]))
        self._sweep(coef, lambda k, tile: out[k, tile])
        return out

    def total(self, coef: Array) -> Array:
        """Return the contributions added over the kernels, (new rows, outputs)."""
        out = np.zeros((self.rows, coef.shape[2]))
        self._sweep(coef, lambda k, tile: out[tile])
        return out

    def _sweep(self, coef: Array, target: Any) -> None:
        kept = [(take(self.kept, span), coef[:, span]) for span in spans(coef.shape[1], KEPT_ROWS)]

        def fill(tile: slice) -> None:
            new = take(self.new, tile)
            for part, steps in kept:
                for group in range(len(self.family.bases)):
                    for k, values in self.family.finished(group, self.family.base_block(group, new, part, np.float64)):
                        out = target(k, tile)
                        out += values @ steps[k]

        self.engine.map(fill, spans(self.rows, NEW_ROWS))
