"""Expansions over features: weights that a solver found itself, so that the model needs no training row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelweave.kernels.base import Array, Kernel
from kernelweave.operators.expansion.base import Expansion, Member, Part, State
from kernelweave.operators.expansion.weights import FeatureWeights
from kernelweave.operators.features.design.columns import sampled
from kernelweave.operators.features.design.maps import ColumnMap, column_map


class FeatureExpansion(Expansion):
    """Kernels and a weight for each of their explicit features.

    Parameters
    ----------
    kernels : of the model
    rows : a row of the training data, by which rows of another kind are recognised
    coef : (outputs, features), those of one kernel after those of the other
    offsets : (m + 1,) where the features of each kernel begin
    codes : of each kernel, (features, words) or None for columns by number
    """

    def __init__(
        self, kernels: Sequence[Kernel], rows: Any, coef: Array, offsets: Array, codes: Sequence[Array | None]
    ):
        super().__init__(kernels, rows, len(coef))
        self.coef, self.offsets, self.codes = coef, offsets, list(codes)
        self._maps: Sequence[ColumnMap] | None = None

    def check(self) -> None:
        """Raise unless every kernel has its own finite weights, one for each of its codes."""
        coef, offsets, m = self.coef, np.asarray(self.offsets), len(self.kernels)
        if coef.ndim != 2 or coef.dtype != np.float64 or not np.isfinite(coef).all():
            raise ValueError("the weights of features are not finite numbers, a line for each output")
        if offsets.shape != (m + 1,) or offsets.dtype.kind not in "iu" or (np.diff(offsets) < 0).any():
            raise ValueError(f"the places of weights do not fit {m} kernels")
        if offsets[0] != 0 or offsets[-1] != coef.shape[1] or len(self.codes) != m:
            raise ValueError(f"there are {coef.shape[1]} weights, and others were promised")
        for codes, width in zip(self.codes, np.diff(offsets)):
            if codes is not None and (codes.ndim != 2 or codes.dtype.kind not in "iu" or len(codes) != width):
                raise ValueError("codes of features do not fit their weights")

    @property
    def keeps_rows(self) -> bool:
        """False: the model is made of weights."""
        return False

    @property
    def maps(self) -> Sequence[ColumnMap]:
        """From rows to columns, for each kernel."""
        if self._maps is None:
            widths = np.diff(self.offsets)
            known = zip(self.kernels, self.codes, widths)
            self._maps = [column_map(kernel, codes, int(width), self.rows) for kernel, codes, width in known]
        return self._maps

    def with_maps(self, maps: Sequence[ColumnMap]) -> FeatureExpansion:
        """Return the expansion with maps that are at hand, so that codes need not be numbered again."""
        self._maps = sampled(maps, self.rows)
        return self

    def _weights(self, number: int) -> Array:
        return np.ascontiguousarray(self.coef[:, self.offsets[number] : self.offsets[number + 1]])

    def _made(self, stored: Sequence[State]) -> list[Member]:
        return [FeatureWeights(k, one, self._weights(k), kept=True) for k, one in enumerate(self.maps)]

    def parts(self, output: int = 0, sign: float = 1.0) -> list[Part]:
        """Return the codes and weights of each kernel's features."""
        return [
            Part(k, kernel, None, codes=self.codes[k], weights=sign * self._weights(k)[output])
            for k, kernel in enumerate(self.kernels)
        ]
